"""The variants of Trilobite: sizes of the board and of a winning row."""

from __future__ import annotations

from typing import Any

import numpy as np

from leafwise.envs.trilobite.options import Options
from leafwise.envs.trilobite.rules import Tables

RUNS = 3
"""What lies on top of a column: two or more chips of the first player, of the second, or neither."""


def action_names(options: Options) -> tuple[str, ...]:
    """Returns the names of the columns, `1` from the left on."""
    return tuple(str(c + 1) for c in range(options.size[0]))


def floor(width: int, height: int) -> int:
    """Returns the lowest cell of every column as a bitboard."""
    return sum(1 << c * (height + 1) for c in range(width))


def feature_tables(width: int, height: int, k: int) -> dict[str, Any]:
    """Returns what `Tables` holds for the features: every row, every diagonal of k cells or more, and columns."""
    lines = [[(x, y) for x in range(width)] for y in range(height)]
    for edge in range(1 - height, width):
        rising = [(edge + y, y) for y in range(height) if 0 <= edge + y < width]
        lines += [line for line in (rising, [(width - 1 - x, y) for x, y in rising]) if len(line) >= k]
    lines_on = np.zeros((64, 3, 2), dtype=np.int64)  # an unused place adds 0 to line 0
    used = [0] * 64
    for number, line in enumerate(lines):
        for place, (x, y) in enumerate(line):
            bit = x * (height + 1) + y
            lines_on[bit, used[bit]] = number, 3**place
            used[bit] += 1
    starts = np.cumsum([0, *(3 ** len(line) for line in lines)])
    return {
        "lines_on": lines_on,
        "line_features": starts.astype(np.int64),
        "column_features": sum(4**empty for empty in range(height + 1)),
    }


def windows(width: int, height: int, k: int) -> tuple[list[list[int]], int]:
    """Returns how each window of cells is read (first bit, mask, factor, shift, mask of the result, first feature), and the first
    feature after them.

    Rows and diagonals of k to k + 2 cells are one window, rows of fewer too; longer ones are windows of k + 1 cells, two apart.
    """
    lines = [((0, y), (1, 0), width) for y in range(height)]
    for x in range(1 - height, width):
        cells = [y for y in range(height) if 0 <= x + y < width]
        if len(cells) >= k:
            y = cells[0]
            lines += [((x + y, y), (1, 1), len(cells)), ((width - 1 - x - y, y), (-1, 1), len(cells))]
    found, first = [], 0
    for (x, y), (right, up), length in lines:
        if right < 0:  # from the top, so that bits go up
            x, y, right, up = x - (length - 1), y + length - 1, 1, -1
        step = right * (height + 1) + up
        size = min(length if length <= k + 2 else k + 1, step)
        for at in [*range(0, length - size, 2), length - size]:
            mask = sum(1 << step * n for n in range(size))
            factor = sum(1 << (step - 1) * n for n in range(size))
            bit = (x + right * at) * (height + 1) + y + up * at
            found.append([bit, mask, factor, (step - 1) * (size - 1), (1 << size) - 1, first])
            first += 3**size
    return found, first


def two_lowest(pattern: int, left: int) -> tuple[tuple[int, int], ...]:
    """Returns the two lowest threats in a column of so many empty cells, as (cell, whose): 1 the first player's, 2 the second's."""
    whose = [((pattern >> y) & 1) + 2 * ((pattern >> (left + y)) & 1) for y in range(left)]
    return tuple((y, who) for y, who in enumerate(whose) if who)[:2]


def column_ranks(height: int) -> tuple[list[list[int]], list[int], int]:
    """Returns for each number of empty cells the first feature and how many there are for one kind of run; the rank of each pattern
    of threats; and the features of a column."""
    starts, ranks, size = [], [], 0
    for left in range(height + 1):
        known: dict[tuple[tuple[int, int], ...], int] = {}
        for pattern in range(4**left):
            ranks.append(known.setdefault(two_lowest(pattern, left), len(known)))
        starts.append([size, len(known)])
        size += (RUNS if left <= height - 2 else 1) * len(known)
    return starts, ranks, size


def parity_tables(width: int, height: int, k: int) -> dict[str, Any]:
    """Returns what `Tables` holds for these features."""
    lines, after = windows(width, height, k)
    starts, ranks, size = column_ranks(height)
    base3 = [sum(3**n for n in range(k + 2) if bits >> n & 1) for bits in range(1 << (k + 2))]
    return {
        "windows": np.array(lines, dtype=np.uint64),
        "base3": np.array(base3, dtype=np.int64),
        "threat_starts": np.array(starts, dtype=np.int64),
        "threat_ranks": np.array(ranks, dtype=np.int32),
        "parity_features": np.array([after, size], dtype=np.int64),
    }


def make_tables(options: Options) -> Tables:
    """Returns the tables of one variant."""
    width, height = options.size
    bottom = floor(width, height)
    return Tables(
        width=width,
        height=height,
        k=np.uint64(options.k),
        stride=np.uint64(height + 1),
        board=np.uint64(bottom * ((1 << height) - 1)),
        bottom=np.uint64(bottom),
        **feature_tables(width, height, options.k),
        top=np.uint64(bottom << (height - 1)),
        **parity_tables(width, height, options.k),
        candidates=0,
        stop=np.zeros(1, dtype=np.uint8),
        leaf=(),
    )
