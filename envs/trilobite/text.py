"""Trilobite positions as one line of text.

`.../.o./xxo`: the rows from the top down, x for the chips of the player who moved first, o for the other's, a dot for an
empty cell. Who is to move follows from the number of chips.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.trilobite.rules import Tables, has_line

MARKS = ".xo"


def cells(row: NDArray[Any], T: Tables) -> list[list[int]]:
    """Returns the cells row by row from the top: 0 empty, 1 player 0, 2 player 1."""
    first, second = int(row[0]), int(row[1])
    stride = int(T.stride)

    def at(x: int, y: int) -> int:
        bit = x * stride + y
        return (first >> bit & 1) + 2 * (second >> bit & 1)

    return [[at(x, y) for x in range(T.width)] for y in reversed(range(T.height))]


def to_text(row: NDArray[Any], T: Tables) -> str:
    """Returns the line of text for a row."""
    return "/".join("".join(MARKS[cell] for cell in line) for line in cells(row, T))


def parse_row(text: str, T: Tables) -> NDArray[np.uint64]:
    """Returns the row that a line of text describes; raises ValueError if no game leads there."""
    lines = text.strip().split("/")
    if len(lines) != T.height or any(len(line) != T.width for line in lines):
        raise ValueError(f"trilobite: expected {T.height} rows of {T.width} cells separated by '/', got {text!r}")
    sides = [0, 0]
    for y, line in enumerate(reversed(lines)):
        for x, mark in enumerate(line):
            if mark not in MARKS:
                raise ValueError(f"trilobite: expected cells among '.', 'x', 'o', got {mark!r} in {text!r}")
            if mark != ".":
                sides[MARKS.index(mark) - 1] |= 1 << (x * int(T.stride) + y)
    row = np.array(sides, dtype=np.uint64)
    check_row(row, T, text)
    return row


def check_row(row: NDArray[np.uint64], T: Tables, text: str) -> None:
    """Raises ValueError if chips float, their numbers do not fit, or the game went on after a win."""
    first, second = int(row[0]), int(row[1])
    filled = first | second
    for y in range(1, T.height):
        above = filled & int(T.bottom) << y
        if above >> 1 & ~filled:
            raise ValueError(f"trilobite: expected every chip to lie on another or on the floor, got {text!r}")
    counts = first.bit_count(), second.bit_count()
    if counts[0] - counts[1] not in (0, 1):
        raise ValueError(
            f"trilobite: expected as many x as o, or one more, got {counts[0]} x and {counts[1]} o in {text!r}"
        )
    last = 0 if counts[0] > counts[1] else 1
    if has_line(row[1 - last], T):
        raise ValueError(f"trilobite: expected no move after a line of {'xo'[1 - last]}, got {text!r}")
    if has_line(row[last], T) and not any(
        not has_line(row[last] ^ np.uint64(chip), T) for chip in top_chips(filled, int(row[last]), T)
    ):
        raise ValueError(f"trilobite: expected one last chip that made every line, got {text!r}")


def top_chips(filled: int, chips: int, T: Tables) -> list[int]:
    """Returns those of `chips` (one bit each) that lie on top of their column."""
    tops = (filled + int(T.bottom)) >> 1 & ~(int(T.bottom) >> 1)
    return [1 << b for b in range(64) if tops & chips & 1 << b]
