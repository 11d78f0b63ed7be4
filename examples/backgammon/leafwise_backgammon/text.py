"""Notation of backgammon: positions with GNU position IDs, moves as 8/5, bar/22 and 6/off, and a drawing.

A position is an ID and what comes next. The ID is that of GNU Backgammon, 80 bits. It lists the points of the waiting player,
then those of the player who throws or moves, each from the first point to the bar. A point has a 1 for each checker, then a 0.
Canonical turns need two more facts on what may still move: `from 13`, and `after 8 by 3` (`after 8* by 3`, if that hit).

    4HPwATDgc/ABMA opening              4HPwATDgc/ABMA white throws
    4HPwATDgc/ABMA black 6-5            ... white 2-2-2 from 13          ... white 5 after 8* by 3
"""

from __future__ import annotations

import base64
import binascii
import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leafwise.authoring import Canvas
from leafwise_backgammon import rules
from leafwise_backgammon.rules import (
    BAR,
    CHECKERS,
    DIE,
    HIT,
    LAST,
    LEFT,
    MOVE,
    MOVER,
    OPENING,
    OTHER,
    OVER,
    PHASE,
    SIDE,
    THROW,
)

Row = NDArray[np.int8]
PLAYERS = ("white", "black")
BITS = 80
ID = r"[A-Za-z0-9+/]{14}"
NEXT = (
    rf"({'|'.join(PLAYERS)}) (?:(throws)|(has won)|"
    r"([1-6](?:-[1-6]){0,3})(?: from (\d+)|(?: after (\d+|bar)(\*?) by ([1-6])))?)"
)
EXPECTED = "'4HPwATDgc/ABMA white throws', '... black 6-5', '... opening' or '... white has won'"


def action_names() -> tuple[str, ...]:
    """Returns the names of all actions; a larger die is named when bearing off: 5/off(6)."""

    def name(point: int, pips: int) -> str:
        start = "bar" if point == BAR else str(point)
        return f"{start}/{point - pips}" if point > pips else f"{start}/off" + f"({pips})" * (point < pips)

    return (*(name(point, pips) for point in range(1, BAR + 1) for pips in range(1, 7)), "pass")


def action_words(row: Row, action: int, T: Any) -> str:
    """Returns a move, with a star if it hits."""
    name = action_names()[action]
    if action == rules.PASS:
        return name
    point, pips = action // 6 + 1, action % 6 + 1
    hit = point > pips and row[SIDE * (1 - int(row[MOVER])) + BAR - (point - pips)] == 1
    return name + "*" * bool(hit)


def position_id(mine: NDArray[Any], theirs: NDArray[Any]) -> str:
    """Returns the ID of a position from the checkers (words 0 to 25) of the player who acts and of the other."""
    bits = "".join("1" * int(n) + "0" for side in (theirs, mine) for n in side[1:])
    packed = int(bits.ljust(BITS, "0")[::-1], 2).to_bytes(BITS // 8, "little")
    return base64.b64encode(packed).decode().rstrip("=")


def sides_of(name: str) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
    """Returns the checkers of the player who acts and of the other; raises ValueError for a wrong ID."""
    try:
        packed = base64.b64decode(name + "==", validate=True)
    except binascii.Error:
        raise ValueError(f"backgammon: expected a position ID of 14 letters, got {name!r:.40}") from None
    bits = f"{int.from_bytes(packed, 'little'):0{BITS}b}"[::-1]
    points = [len(ones) for ones in bits.split("0")[: 2 * BAR]]
    if len(points) < 2 * BAR or "1" in "".join(bits.split("0")[2 * BAR :]):
        raise ValueError(f"backgammon: expected an ID of 50 points, got {name!r}")
    both = np.array(points, dtype=np.int8).reshape(2, BAR)
    theirs, mine = both
    off = CHECKERS - both.sum(axis=1)
    if min(off) < 0 or max(off) > CHECKERS or min(off) == max(off) == CHECKERS:
        raise ValueError(f"backgammon: expected up to {CHECKERS} checkers of each player, got {name!r}")
    if any(a and b for a, b in zip(mine[:24], theirs[:24][::-1], strict=True)):
        raise ValueError(f"backgammon: expected points of one player each, got {name!r}")
    return np.concatenate([off[1:], mine]).astype(np.int8), np.concatenate([off[:1], theirs]).astype(np.int8)


def write(row: Row, T: Any) -> str:
    """Returns a position in one line."""
    mover, phase = int(row[MOVER]), row[PHASE]
    mine, theirs = row[SIDE * mover :][:SIDE], row[SIDE * (1 - mover) :][:SIDE]
    name = position_id(mine, theirs)
    if phase == OPENING:
        return f"{name} opening"
    if phase != MOVE:
        return f"{name} {PLAYERS[mover]} {'throws' if phase == THROW else 'has won'}"
    die, other, left, last = (int(row[word]) for word in (DIE, OTHER, LEFT, LAST))
    if die == other:
        dice = "-".join([str(die)] * left) + (f" from {last}" if last < BAR else "" if left > 1 else " from 25")
    elif left == 2:
        dice = f"{die}-{other}"
    else:
        start = "bar" if last == BAR else str(last)
        dice = f"{die}" + (f" after {start}{'*' * int(row[HIT])} by {other}" if last else "")
    return f"{name} {PLAYERS[mover]} {dice}"


def parse(text: str, T: Any) -> Row:
    """Returns the row of a position; raises ValueError for a wrong text."""
    match = re.fullmatch(rf"({ID}) (?:(opening)|{NEXT})", text.strip(), re.ASCII)
    if match is None:
        raise ValueError(f"backgammon: expected a position like {EXPECTED}, got {text!r:.80}")
    name, opening, player, throws, won, dice, limit, first, star, by = match.groups()
    mine, theirs = sides_of(name)
    mover = PLAYERS.index(player) if player else 0
    row = np.zeros(rules.WIDTH, dtype=np.int8)
    row[SIDE * mover :][:SIDE], row[SIDE * (1 - mover) :][:SIDE], row[MOVER] = mine, theirs, mover
    row[PHASE] = OPENING if opening else THROW if throws else OVER if won else MOVE
    if (mine[0] == CHECKERS) != bool(won) or theirs[0] == CHECKERS:
        raise ValueError(f"backgammon: expected a winner who has borne all off, or none, got {text!r}")
    if dice is None:
        return row
    pips = [int(word) for word in dice.split("-")]
    double = limit is not None or (len(pips) > 1 and len(set(pips)) == 1)
    last = BAR if first == "bar" or (double and limit is None) else int(limit or first or 0)
    row[DIE], row[LEFT] = pips[0], len(pips)
    row[OTHER] = pips[0] if double else int(by) if by else pips[1] if len(pips) == 2 else 0
    row[LAST], row[HIT] = last, bool(star)
    if double:
        sound = not first and 1 <= last <= BAR and (T.canonical or last == BAR)
        sound = sound and (limit is None or (last < BAR and len(pips) < 4) or (last == BAR and len(pips) == 1))
    else:
        sound = len(pips) == 1 or (len(pips) == 2 and pips[0] > pips[1] and not first)
        sound = sound and (not first or (T.canonical and _was_first(row, last)))
    if not sound:
        raise ValueError(f"backgammon: expected dice like 6-5, 2-2-2 from 13 or 5 after 8 by 3, got {text!r}")
    return row


def _was_first(row: Row, point: int) -> bool:
    """Whether the turn could begin with a move by OTHER from `point`."""
    mover, low = int(row[MOVER]), int(row[OTHER])
    mine, theirs = row[SIDE * mover :][:SIDE], row[SIDE * (1 - mover) :][:SIDE]
    to = max(point - low, 0)
    if not (low != row[DIE] and 1 <= point <= BAR and mine[to] > 0):
        return False
    if row[HIT] and not (to > 0 and mine[to] == 1 and theirs[BAR] > 0):
        return False
    before = row[None].copy()
    before[0, SIDE * mover + to] -= 1
    before[0, SIDE * mover + point] += 1
    if row[HIT]:
        before[0, SIDE * (1 - mover) + BAR] -= 1
        before[0, SIDE * (1 - mover) + BAR - to] += 1
    nowhere = (rules.NO_POINT,) * 4
    return bool(rules.can_move(before, np.uint64(0), mover, point, low, *nowhere))


def outcome_name(before: Row, after: Row, T: Any) -> str:
    """Returns a throw; at the opening with the first player."""
    dice = f"{after[DIE]}-{after[OTHER]}"
    return f"{PLAYERS[int(after[MOVER])]} {dice}" if before[PHASE] == OPENING else dice


SIGNS = "OX"
"""White's and black's checkers as text."""


def board(row: Row, T: Any) -> str:
    """Returns the board as text from white's side: up to five checkers a point, or their number, then bar and off."""

    def line(points: range, level: int) -> str:
        cells = []
        for point in points:
            checkers = int(row[point]), int(row[SIDE + BAR - point])
            n, sign = max(checkers), SIGNS[checkers[1] > 0]
            cells.append(
                "  ." if n == 0 == level else "   " if n <= level else f"{n:3}" if level == 4 < n - 1 else f"  {sign}"
            )
        return ("".join(cells[:6]) + "  |" + "".join(cells[6:])).rstrip()

    def numbers(points: range) -> str:
        cells = [f"{point:3}" for point in points]
        return "".join(cells[:6]) + "   " + "".join(cells[6:])

    above, below = range(13, BAR), range(12, 0, -1)
    sides = (
        f"{name} {sign}: bar {row[SIDE * p + BAR]}, off {row[SIDE * p]}"
        for p, (name, sign) in enumerate(zip(PLAYERS, SIGNS, strict=True))
    )
    upper, lower = [line(above, level) for level in range(5)], [line(below, level) for level in range(4, -1, -1)]
    return "\n".join([numbers(above), *upper, "", *lower, numbers(below), "; ".join(sides), write(row, T)])


WIDE, HIGH, CELL = 460, 360, 30
COLOURS = {"board": "#f2ead8", "dark": "#b98b5e", "light": "#dcc6a0", "bar": "#d8cbb0"}
DISCS = ("#ffffff", "#3b3b3b")


def draw(row: Row, T: Any) -> Canvas:
    """Draws the board from white's side: points 1 to 12 below from right to left, 13 to 24 above."""
    canvas = Canvas(WIDE, HIGH, COLOURS["board"])
    canvas.box(20 + 6 * CELL, 20, 40, HIGH - 60, fill=COLOURS["bar"])

    def point_at(point: int) -> tuple[float, bool]:
        column = 12 - point if point <= 12 else point - 13
        return 20 + CELL * (column + 0.5) + (40 if column > 5 else 0), point <= 12

    def stack(x: float, below: bool, player: int, n: int) -> None:
        for k in range(min(n, 5)):
            canvas.disc(x, HIGH - 54 - 26 * k if below else 34 + 26 * k, 12, fill=DISCS[player], edge="#222222")
        if n > 5:
            canvas.text(x, HIGH - 54 if below else 34, str(n), colour=DISCS[1 - player], size=13)

    for point in range(1, BAR):
        x, below = point_at(point)
        shade = COLOURS["dark" if point % 2 else "light"]
        for k in range(14):  # a triangle in strips
            half = 13 - 0.9 * k
            canvas.box(x - half, HIGH - 50 - 9 * k if below else 20 + 9 * k, 2 * half, 9, fill=shade)
        canvas.text(x, HIGH - 30 if below else 10, str(point), size=11)
        for player in range(2):
            from_side = point if player == 0 else BAR - point
            stack(x, below, player, int(row[SIDE * player + from_side]))
    for player in range(2):
        stack(20 + 6 * CELL + 20, player == 1, player, int(row[SIDE * player + BAR]))
        off = int(row[SIDE * player])
        canvas.text(WIDE - 20, HIGH - 60 if player == 0 else 40, f"{off} off", size=11)
    canvas.text(WIDE / 2, HIGH - 10, write(row, T).partition(" ")[2], size=13)
    return canvas
