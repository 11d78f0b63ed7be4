"""The variants of Trilobite: sizes of the board and of a winning row."""

from __future__ import annotations

from typing import Any

import numpy as np

from leafwise.envs.trilobite.options import Options
from leafwise.envs.trilobite.rules import Tables


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
        stop=np.zeros(1, dtype=np.uint8),
        leaf=(),
    )
