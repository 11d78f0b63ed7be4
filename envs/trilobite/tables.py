"""The variants of Trilobite: sizes of the board and of a winning row."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from leafwise.envs.trilobite.rules import Tables

DEFAULTS: dict[str, Any] = {"board": "3x3", "k": 3}
MAX_SIDE, MAX_CELLS = 8, 56


def board_size(board: str) -> tuple[int, int]:
    """Returns width and height of a board written as `7x6`; raises ValueError if Trilobite has no such board."""
    sides = board.lower().split("x") if isinstance(board, str) else []
    if len(sides) == 2 and all(len(side) == 1 and side in "345678" for side in sides):
        width, height = int(sides[0]), int(sides[1])
        if width * height <= MAX_CELLS:
            return width, height
    raise ValueError(
        f"trilobite: expected board as 3x3 to 8x7 (width x height, 3 to {MAX_SIDE} each, at most {MAX_CELLS} cells), "
        f"got {board!r}"
    )


def check(options: dict[str, Any]) -> dict[str, Any]:
    """Returns checked options; raises ValueError for a variant that Trilobite does not have."""
    width, height = board_size(options["board"])
    k = options["k"]
    if isinstance(k, bool) or not isinstance(k, int) or not 3 <= k <= 5:
        raise ValueError(f"trilobite: expected k in 3..5, got {k!r}")
    if k > max(width, height):
        raise ValueError(
            f"trilobite: expected k of at most {max(width, height)} on a {width}x{height} board, got {k!r}"
        )
    return {**options, "board": f"{width}x{height}"}


def action_names(options: Mapping[str, Any]) -> tuple[str, ...]:
    """Returns the names of the columns, `1` from the left on."""
    return tuple(str(c + 1) for c in range(board_size(options["board"])[0]))


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


def make_tables(options: Mapping[str, Any]) -> Tables:
    """Returns the tables of one variant."""
    width, height = board_size(options["board"])
    bottom = floor(width, height)
    return Tables(
        width=width,
        height=height,
        k=np.uint64(options["k"]),
        stride=np.uint64(height + 1),
        board=np.uint64(bottom * ((1 << height) - 1)),
        bottom=np.uint64(bottom),
        **feature_tables(width, height, options["k"]),
        stop=np.zeros(1, dtype=np.uint8),
        leaf=(),
    )
