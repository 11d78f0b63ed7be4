"""Trilobite positions as one line of text.

`.../.o./xxo`: the rows from the top down, x for the chips of the player who moved first, o for the other player's, a dot for an
empty cell. The number of chips tells who is to move.
"""

from __future__ import annotations

import numpy as np

from leafwise.envs.core.arrays import Array, Words
from leafwise.envs.core.contract.texts import SIDES, last_player, marked, need
from leafwise.envs.trilobite.rules import has_line
from leafwise.envs.trilobite.tables import Tables


def cells(row: Array, T: Tables) -> list[list[int]]:
    """Returns the cells row by row from the top: 0 empty, 1 player 0, 2 player 1."""
    first, second = int(row[0]), int(row[1])
    stride = int(T.stride)

    def at(x: int, y: int) -> int:
        bit = x * stride + y
        return (first >> bit & 1) + 2 * (second >> bit & 1)

    return [[at(x, y) for x in range(T.width)] for y in reversed(range(T.height))]


def to_text(row: Array, T: Tables) -> str:
    """Returns the line of text for a row."""
    return "/".join("".join(SIDES[cell] for cell in line) for line in cells(row, T))


def column(text: str) -> str:
    """Returns the name of the column that a person typed, `4` for `d`; other texts unchanged."""
    letter = text.strip().lower()
    return str(ord(letter) - ord("a") + 1) if len(letter) == 1 and "a" <= letter <= "h" else text.strip()


def parse_row(text: str, T: Tables) -> Words:
    """Returns the row that a line of text describes; raises ValueError if no game leads there."""
    shape = f"{T.height} rows of {T.width} cells"
    chips = marked(text, [T.width] * T.height, SIDES, shape, "cells")
    sides = [0, 0]
    for k, player in enumerate(chips):
        up, x = divmod(k, int(T.width))
        if player:
            sides[player - 1] |= 1 << (x * int(T.stride) + int(T.height) - 1 - up)
    filled, floor = sides[0] | sides[1], int(T.bottom)
    floating = any((filled & floor << y) >> 1 & ~filled for y in range(1, T.height))
    need(not floating, "every chip to lie on another or on the floor", text)
    row = np.array(sides, dtype=np.uint64)
    tops = (filled + floor) >> 1 & ~(floor >> 1)
    last_player(row, tops, lambda side: has_line(side, T), "line", "chip that made", text)
    return row
