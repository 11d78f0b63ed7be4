"""Trap positions as one line of text.

`...1.../......./.#...../......./......./......./...2... turn=1`: the rows from the top down, a dot for a free cell, `#` for a
trap, 1 and 2 for the players; then the number of turns played (even: player 1 acts; default: 0). `throw` means that the player
has moved and must throw, `throw=3,4` that the trap thrown at row 3, column 4 is in the air. `won=1`, `won=2` and `draw` mark a
finished game.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from leafwise.envs.core.arrays import Array, Words
from leafwise.envs.core.contract.texts import before_fields, marked, need, whole_number
from leafwise.envs.trap import rules as r
from leafwise.envs.trap.tables import Tables

MARKS = ".#12"
COURSE_CODES = {"0": 0, "-1": 1, "1": 2, "2": 3}
"""The codes of the course's boards for MARKS."""
ENDS = ("", "won=1", "won=2", "draw")


class Fields(NamedTuple):
    """The fields of a row as Python values."""

    turn: int
    """Turns played; odd if player 2 acts."""
    phase: int
    """MOVE, THROW or LANDING."""
    end: int
    """Index into ENDS."""
    me: int
    """The cell of the player who acts."""
    other: int
    players: tuple[int, int]
    """The cells of players 1 and 2."""
    traps: int
    """One bit per cell."""
    target: int | None
    """The target of a trap in the air; None if there is none."""


def fields(row: Array) -> Fields:
    """Returns the fields of a row."""
    word = int(row[1])
    turn, phase = word >> int(r.TURN) & int(r.LOW16), word >> int(r.PHASE) & int(r.LOW2)
    first, second, target = (word >> int(at) & int(r.LOW7) for at in (r.PLAYER, r.PLAYER + r.CELL, r.TARGET))
    me, other = (second, first) if turn % 2 else (first, second)
    traps = int(row[0]) | (word & int(r.SECOND_TRAPS)) << 64
    aim = target if phase == r.LANDING else None
    return Fields(turn, phase, word >> int(r.END), me, other, (first, second), traps, aim)


def cells(row: Array, T: Tables) -> list[int]:
    """Returns the cells row by row from the top: 0 free, 1 trap, 2 player 1, 3 player 2."""
    state = fields(row)
    marks = [state.traps >> cell & 1 for cell in range(T.cells)]
    for player, cell in enumerate(state.players):
        marks[cell] = 2 + player
    return marks


def to_text(row: Array, T: Tables) -> str:
    """Returns the line of text for a row."""
    state, marks = fields(row), "".join(MARKS[cell] for cell in cells(row, T))
    words = ["/".join(marks[k : k + T.size] for k in range(0, T.cells, T.size)), f"turn={state.turn}"]
    if state.phase != r.MOVE:
        words.append("throw" if state.target is None else f"throw={cell_name(state.target, T)}")
    return " ".join([*words, *filter(None, [ENDS[state.end]])])


def cell_name(cell: int, T: Tables) -> str:
    """Returns `row,column`."""
    return f"{cell // T.size},{cell % T.size}"


def parse_row(text: str, T: Tables) -> Words:
    """Returns the row that a line of text describes; raises ValueError in the game's terms."""
    rows, turn, throw, wanted = parse_words(text)
    row = parse_board(rows, T)
    need(turn <= T.max_turns, f"at most turn={int(T.max_turns)}", turn, text)
    row[1] |= np.uint64(turn) << r.TURN
    if throw is not None:
        row[1] |= r.THROW << r.PHASE
    # If both are stuck, the player to move has lost, unless the text says that the other player trapped himself.
    ends = [end for end in range(len(ENDS)) if r.is_end(row[None], 0, np.uint64(end), T)]
    natural = 2 - turn % 2 if 2 - turn % 2 in ends else ends[0]
    end = wanted if wanted in ends else natural
    need(wanted in (0, end), f"{ENDS[end] or 'no end'} for this position", ENDS[wanted], text)
    if throw:
        place = [whole_number(word, "a row and a column") for word in throw.split(",")]
        sound = len(place) == 2 and max(place) < T.size and place[0] * T.size + place[1] not in fields(row).players
        need(sound, "a throw at a cell of the board without a player", f"throw={throw}")
        row[1] += (r.LANDING - r.THROW) << r.PHASE
        row[1] |= np.uint64(place[0] * T.size + place[1]) << r.TARGET
        need(not end, "a throw in a game that is not over", text)
    need(turn < T.max_turns or (end and throw is None), "no throw after the last turn", text)
    row[1] |= np.uint64(end) << r.END
    return row


def parse_words(text: str) -> tuple[str, int, str | None, int]:
    """Returns the board, the turn, the target of a throw ("" not thrown yet, None no throw) and the index into ENDS."""
    board, *words = text.split() or [""]
    if "/" not in board.strip("/|"):  # in lines, or with spaces
        board, words = before_fields(text, ("throw", "draw"))
    turn: int | None = None
    throw: str | None = None
    end = 0
    for word in words:
        name, equals, value = word.partition("=")
        if name == "turn" and turn is None:
            turn = whole_number(value, "a turn")
        elif name == "throw" and throw is None and bool(equals) == bool(value):
            throw = value
        else:
            fields = "perhaps turn=N, throw or throw=ROW,COLUMN, and won=1, won=2 or draw, each once"
            need(word in ENDS and not end, f"after the board {fields}", word)
            end = ENDS.index(word)
    return board, turn or 0, throw, end


def parse_board(text: str, T: Tables) -> Words:
    """Returns a row with the traps and players of a board; raises ValueError in the game's terms."""
    marks = marked(text, [T.size] * T.size, MARKS, f"{T.size} rows of {T.size} cells", "cells", (COURSE_CODES,))
    need(marks.count(2) == 1 and marks.count(3) == 1, "each of the players 1 and 2 on one cell", text)
    traps = sum(1 << cell for cell, mark in enumerate(marks) if mark == 1)
    second = traps >> 64 | marks.index(2) << int(r.PLAYER) | marks.index(3) << int(r.PLAYER + r.CELL)
    return np.array([traps & (1 << 64) - 1, second], dtype=np.uint64)


def outcome_name(before: Array, after: Array, T: Tables) -> str:
    """Returns the cell on which the trap has landed, or `unchanged` if it landed on a trap."""
    old, new = cells(before, T), cells(after, T)
    changed = [cell for cell in range(T.cells) if old[cell] != new[cell]]
    return cell_name(changed[0], T) if changed else "unchanged"
