"""Trap positions as one line of text.

`...1.../......./.#...../......./......./......./...2... turn=1`: the rows from the top down, a dot for a free cell, `#` for a
trap, 1 and 2 for the players; then the turns already played (even: player 1 acts; 0 if left out). `throw` says that the
player has moved and must throw, `throw=3,4` that the trap thrown at row 3, column 4 is in the air. `won=1`, `won=2` and
`draw` mark a finished game.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.trap import rules as r
from leafwise.envs.trap.rules import Tables

MARKS = ".#12"
ENDS = ("", "won=1", "won=2", "draw")
NUMBER = r"0|[1-9]\d{0,5}"
FIELDS = re.compile(
    rf"(?P<rows>\S+)(?: turn=(?P<turn>{NUMBER}))?"
    rf"(?: (?P<throw>throw)(?:=(?P<row>{NUMBER}),(?P<column>{NUMBER}))?)?(?: (?P<end>won=[12]|draw))?",
    re.ASCII,
)


def cells(row: NDArray[Any], T: Tables) -> list[int]:
    """Returns the cells row by row from the top: 0 free, 1 trap, 2 player 1, 3 player 2."""
    traps = int(row[0]) | (int(row[1]) & int(r.SECOND_TRAPS)) << 64
    found = [traps >> cell & 1 for cell in range(T.cells)]
    for player in range(2):
        found[int(r.cell_of(row[1], player))] = 2 + player
    return found


def target(row: NDArray[Any]) -> int | None:
    """Returns the cell that a trap in the air was thrown at, None if none is."""
    return int(row[1] >> r.TARGET & r.LOW7) if r.phase_of(row[1]) == r.LANDING else None


def to_text(row: NDArray[Any], T: Tables) -> str:
    """Returns the line of text for a row."""
    marks = "".join(MARKS[cell] for cell in cells(row, T))
    words = ["/".join(marks[k : k + T.size] for k in range(0, T.cells, T.size)), f"turn={int(r.turn_of(row[1]))}"]
    aim = target(row)
    if aim is not None:
        words.append(f"throw={cell_name(aim, T)}")
    elif r.phase_of(row[1]) == r.THROW:
        words.append("throw")
    if end := int(row[1] >> r.END):
        words.append(ENDS[end])
    return " ".join(words)


def cell_name(cell: int, T: Tables) -> str:
    """Returns `row,column`."""
    return f"{cell // T.size},{cell % T.size}"


def parse_row(text: str, T: Tables) -> NDArray[np.uint64]:
    """Returns the row that a line of text describes; raises ValueError in the game's words."""
    match = FIELDS.fullmatch(text.strip())
    if match is None:
        raise ValueError(
            f"trap: expected rows of cells separated by '/', perhaps turn=N, throw or throw=ROW,COLUMN, and won=1, won=2 "
            f"or draw, got {text!r}"
        )
    found = match.groupdict()
    turn = int(found["turn"] or 0)
    row = parse_board(found["rows"], T)
    if turn > T.max_turns:
        raise ValueError(f"trap: expected at most turn={int(T.max_turns)}, got turn={turn} in {text!r}")
    row[1] |= np.uint64(turn) << r.TURN
    if found["throw"]:
        row[1] |= r.THROW << r.PHASE
    wanted = ENDS.index(found["end"] or "")
    end = natural_end(row, T)
    if self_trapped(row, T) and wanted == 1 + turn % 2 and not found["throw"]:
        end = wanted  # the same board, unmarked, is one to play: it was set up by hand
    if wanted and wanted != end:
        raise ValueError(f"trap: expected {ENDS[end] or 'no end'} for this position, got {ENDS[wanted]!r} in {text!r}")
    if found["row"]:
        row[1] += (r.LANDING - r.THROW) << r.PHASE
        row[1] |= np.uint64(parse_target(found, row, T)) << r.TARGET
        if end:
            raise ValueError(f"trap: expected a throw in a game that is not over, got {text!r}")
    if turn == T.max_turns and (not end or found["throw"]):
        raise ValueError(f"trap: expected no throw after the last turn, got {text!r}")
    row[1] |= np.uint64(end) << r.END
    return row


def parse_board(text: str, T: Tables) -> NDArray[np.uint64]:
    """Returns a row with the traps and players of a board; raises ValueError in the game's words."""
    lines = text.split("/")
    if [len(line) for line in lines] != [T.size] * T.size:
        raise ValueError(f"trap: expected {T.size} rows of {T.size} cells separated by '/', got {text!r}")
    marks = "".join(lines)
    for mark in marks:
        if mark not in MARKS:
            raise ValueError(f"trap: expected cells among '.', '#', '1', '2', got {mark!r} in {text!r}")
    if marks.count("1") != 1 or marks.count("2") != 1:
        raise ValueError(f"trap: expected each of the players 1 and 2 on one cell, got {text!r}")
    traps = sum(1 << cell for cell, mark in enumerate(marks) if mark == "#")
    second = traps >> 64 | marks.index("1") << int(r.PLAYER) | marks.index("2") << int(r.PLAYER + r.CELL)
    return np.array([traps & (1 << 64) - 1, second], dtype=np.uint64)


def parse_target(found: dict[str, str], row: NDArray[np.uint64], T: Tables) -> int:
    """Returns the cell thrown at; raises ValueError if it is off the board or a player's."""
    down, right = int(found["row"]), int(found["column"])
    cell = down * T.size + right
    if down >= T.size or right >= T.size or r.is_player(row[1], cell):
        raise ValueError(f"trap: expected a throw at a cell of the board without a player, got throw={down},{right}")
    return cell


def self_trapped(row: NDArray[np.uint64], T: Tables) -> bool:
    """Whether the player who does not act is stuck and has lost by it (`self_trap="immediate"`)."""
    other = 1 - int(r.turn_of(row[1])) % 2
    return bool(T.immediate and r.is_stuck(row[None], 0, other, T))


def natural_end(row: NDArray[np.uint64], T: Tables) -> int:
    """Returns the end that a board with phase and turn cannot but have, 0 if there is none."""
    turn = int(r.turn_of(row[1]))
    player = turn % 2
    if r.phase_of(row[1]) == r.THROW:
        return 1 + player if r.is_stuck(row[None], 0, 1 - player, T) else 0
    if r.is_stuck(row[None], 0, player, T):
        return 2 - player
    if turn == T.max_turns:
        return 1 + player if self_trapped(row, T) else int(r.DRAW)
    return 0


def outcome_name(before: NDArray[Any], after: NDArray[Any], T: Tables) -> str:
    """Returns the cell on which the trap has landed, or `unchanged`: on a trap."""
    old, new = cells(before, T), cells(after, T)
    changed = [cell for cell in range(T.cells) if old[cell] != new[cell]]
    return cell_name(changed[0], T) if changed else "unchanged"
