"""The variants of Trilobite (board and length of a winning row), and the tables that compiled code reads."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.arrays import Bytes, Ints, Words
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.ranges import Range, settle_fields

MAX_SIDE, MAX_CELLS = 8, 56
RUNS = 3
"""Kinds of tops of a column: two or more chips of the first player, of the second, or neither."""


@dataclass(frozen=True)
class Options:
    """The options of a variant; raises ValueError for one that Trilobite does not have. `ABOUT` describes each option."""

    board: str = "3x3"
    k: Annotated[int, Range(3, 5)] = 3

    def __post_init__(self) -> None:
        board = self.board.lower() if isinstance(self.board, str) else ""
        if not re.fullmatch("[3-8]x[3-8]", board) or int(board[0]) * int(board[2]) > MAX_CELLS:
            boards = f"3x3 to 8x7 (width x height, 3 to {MAX_SIDE} each, at most {MAX_CELLS} cells)"
            raise UserError(f"trilobite: expected board as {boards}, got {self.board!r}")
        object.__setattr__(self, "board", board)
        settle_fields(self, "trilobite")
        if self.k > max(self.size):
            raise UserError(f"trilobite: expected k of at most {max(self.size)} on a {board} board, got {self.k!r}")

    @property
    def size(self) -> tuple[int, int]:
        """Width and height of the board."""
        return int(self.board[0]), int(self.board[2])


class Tables(NamedTuple):
    """The tables that compiled code reads."""

    width: int
    height: int
    k: np.uint64
    """Chips in a winning row."""
    stride: np.uint64
    """Bits from a cell to its right neighbour: height + 1."""
    board: np.uint64
    """All cells."""
    bottom: np.uint64
    """The lowest cell of every column."""
    lines_on: Ints
    """Bit [64, 3, 2] -> the lines of the features (row, diagonals) through a cell, and the cell's power of 3 in each."""
    line_features: Ints
    """First feature of each line, [lines + 1]; the last entry is the first feature after them."""
    column_features: int
    """Features of each column: the pattern of its empty cells that would complete a line, for either player."""
    top: np.uint64
    """The highest cell of every column."""
    windows: Words
    """How to read each window of `windows`, [windows, 6]."""
    base3: Ints
    """Bits read as a number in base 3, [2 ** (k + 2)]."""
    threat_starts: Ints
    """Empty cells -> first feature of such a column, and its number of features for one kind of run, [height + 1, 2]."""
    threat_ranks: NDArray[np.int32]
    """The rank of a pattern of threats among these features, by empty cells and pattern."""
    parity_features: Ints
    """The number of features of all windows, and of each column, [2]."""
    candidates: int
    """Index into `rules.CANDIDATES` for a search."""
    stop: Bytes
    leaf: Any


def action_names(options: Options) -> tuple[str, ...]:
    """Returns the names of the columns, from `1` on the left."""
    return tuple(str(c + 1) for c in range(options.size[0]))


def lines(width: int, height: int, k: int) -> list[list[tuple[int, int]]]:
    """Returns the cells of every row, and of every diagonal of k cells or more, as (column, height)."""
    cells = [[(x, y) for x in range(width)] for y in range(height)]
    for edge in range(1 - height, width):
        rising = [(edge + y, y) for y in range(height) if 0 <= edge + y < width]
        if len(rising) >= k:
            cells += [rising, [(width - 1 - x, y) for x, y in rising]]
    return cells


def line_tables(width: int, height: int, k: int) -> dict[str, Any]:
    """Returns the fields of `Tables` for the features `sparse`: every row and diagonal, and columns."""
    lines_on = np.zeros((64, 3, 2), dtype=np.int64)  # an unused place adds 0 to line 0
    used = [0] * 64
    starts = [0]
    for number, line in enumerate(lines(width, height, k)):
        starts.append(starts[-1] + 3 ** len(line))
        for place, (x, y) in enumerate(line):
            bit = x * (height + 1) + y
            lines_on[bit, used[bit]] = number, 3**place
            used[bit] += 1
    return {
        "lines_on": lines_on,
        "line_features": np.array(starts),
        "column_features": sum(4**empty for empty in range(height + 1)),
    }


def windows(width: int, height: int, k: int) -> tuple[list[list[int]], int]:
    """Returns how to read each window of cells, and the first feature after all windows.

    An entry is first bit, mask, factor, shift, mask of the result, first feature. Rows and diagonals of up to k + 2 cells are
    one window; longer ones are windows of k + 1 cells, two cells apart.
    """
    entries, first = [], 0
    for line in lines(width, height, k):
        bits = sorted(x * (height + 1) + y for x, y in line)
        length, step = len(bits), bits[1] - bits[0]
        size = min(length if length <= k + 2 else k + 1, step)
        mask, factor = (sum(1 << apart * n for n in range(size)) for apart in (step, step - 1))
        for start in [*range(0, length - size, 2), length - size]:
            entries.append([bits[start], mask, factor, (step - 1) * (size - 1), (1 << size) - 1, first])
            first += 3**size
    return entries, first


def two_lowest(pattern: int, left: int) -> tuple[tuple[int, int], ...]:
    """Returns the two lowest threats in a column with `left` empty cells, as (cell, owner): 1 the first player's, 2 the
    second's.
    """
    owners = [((pattern >> y) & 1) + 2 * ((pattern >> (left + y)) & 1) for y in range(left)]
    return tuple((y, owner) for y, owner in enumerate(owners) if owner)[:2]


@cache
def column_ranks(height: int) -> tuple[list[list[int]], list[int], int]:
    """Returns the layout of a column's features.

    It has, for each number of empty cells, the first feature and the number of features for one kind of run; then the rank of
    each pattern of threats; then the number of all features of a column.
    """
    starts, ranks, size = [], [], 0
    for left in range(height + 1):
        known: dict[tuple[tuple[int, int], ...], int] = {}
        for pattern in range(4**left):
            ranks.append(known.setdefault(two_lowest(pattern, left), len(known)))
        starts.append([size, len(known)])
        size += (RUNS if left <= height - 2 else 1) * len(known)
    return starts, ranks, size


def parity_tables(width: int, height: int, k: int) -> dict[str, Any]:
    """Returns the fields of `Tables` for the features `parity`."""
    entries, after = windows(width, height, k)
    starts, ranks, size = column_ranks(height)
    base3 = [sum(3**n for n in range(k + 2) if bits >> n & 1) for bits in range(1 << (k + 2))]
    return {
        "windows": np.array(entries, dtype=np.uint64),
        "base3": np.array(base3, dtype=np.int64),
        "threat_starts": np.array(starts, dtype=np.int64),
        "threat_ranks": np.array(ranks, dtype=np.int32),
        "parity_features": np.array([after, size], dtype=np.int64),
    }


def make_tables(options: Options) -> Tables:
    """Returns the tables of one variant."""
    width, height = options.size
    bottom = sum(1 << c * (height + 1) for c in range(width))
    return Tables(
        width=width,
        height=height,
        k=np.uint64(options.k),
        stride=np.uint64(height + 1),
        board=np.uint64(bottom * ((1 << height) - 1)),
        bottom=np.uint64(bottom),
        **line_tables(width, height, options.k),
        top=np.uint64(bottom << (height - 1)),
        **parity_tables(width, height, options.k),
        candidates=0,
        stop=np.zeros(1, dtype=np.uint8),
        leaf=(),
    )
