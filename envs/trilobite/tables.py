"""The variants of Trilobite, sizes of the board and of a winning row, and the tables that compiled code reads of each."""

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
"""What lies on top of a column: two or more chips of the first player, of the second, or neither."""


@dataclass(frozen=True)
class Options:
    """The variant; raises ValueError for one that Trilobite does not have. `ABOUT` says what each option is."""

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
    """Everything compiled code needs besides the row."""

    width: int
    height: int
    k: np.uint64
    """Chips in a row that win."""
    stride: np.uint64
    """Bits from a cell to its right neighbour: height + 1."""
    board: np.uint64
    """All cells."""
    bottom: np.uint64
    """The lowest cell of every column."""
    lines_on: Ints
    """Bit [64, 3, 2] -> the lines that features tell of (row, diagonals) on a cell, and the cell's power of 3."""
    line_features: Ints
    """First feature of each line, [lines + 1]; the last entry is the first feature after them."""
    column_features: int
    """Features of each column: which of its empty cells would complete a line, for either player."""
    top: np.uint64
    """The highest cell of every column."""
    windows: Words
    """How each window of `windows` is read, [windows, 6]."""
    base3: Ints
    """Bits read as a number in base 3, [2 ** (k + 2)]."""
    threat_starts: Ints
    """Empty cells -> the first feature of such a column and how many it has for one kind of run, [height + 1, 2]."""
    threat_ranks: NDArray[np.int32]
    """Which of those a pattern of threats is, by empty cells and pattern."""
    parity_features: Ints
    """The features of all windows, and those of each column, [2]."""
    candidates: int
    """Which of `rules.CANDIDATES` a search considers."""
    stop: Bytes
    leaf: Any


def action_names(options: Options) -> tuple[str, ...]:
    """Returns the names of the columns, `1` from the left on."""
    return tuple(str(c + 1) for c in range(options.size[0]))


def lines(width: int, height: int, k: int) -> list[list[tuple[int, int]]]:
    """Returns the cells of every row, and of every diagonal of k cells or more, as (column, height)."""
    found = [[(x, y) for x in range(width)] for y in range(height)]
    for edge in range(1 - height, width):
        rising = [(edge + y, y) for y in range(height) if 0 <= edge + y < width]
        if len(rising) >= k:
            found += [rising, [(width - 1 - x, y) for x, y in rising]]
    return found


def line_tables(width: int, height: int, k: int) -> dict[str, Any]:
    """Returns what `Tables` holds for the features `sparse`: every row and diagonal, and columns."""
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
    """Returns how each window of cells is read (first bit, mask, factor, shift, mask of the result, first feature), and the first
    feature after them.

    Rows and diagonals of k to k + 2 cells are one window, rows of fewer too; longer ones are windows of k + 1 cells, two apart.
    """
    found, first = [], 0
    for line in lines(width, height, k):
        bits = sorted(x * (height + 1) + y for x, y in line)
        length, step = len(bits), bits[1] - bits[0]
        size = min(length if length <= k + 2 else k + 1, step)
        mask, factor = (sum(1 << apart * n for n in range(size)) for apart in (step, step - 1))
        for at in [*range(0, length - size, 2), length - size]:
            found.append([bits[at], mask, factor, (step - 1) * (size - 1), (1 << size) - 1, first])
            first += 3**size
    return found, first


def two_lowest(pattern: int, left: int) -> tuple[tuple[int, int], ...]:
    """Returns the two lowest threats in a column of so many empty cells, as (cell, whose): 1 the first player's, 2 the second's."""
    whose = [((pattern >> y) & 1) + 2 * ((pattern >> (left + y)) & 1) for y in range(left)]
    return tuple((y, who) for y, who in enumerate(whose) if who)[:2]


@cache
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
    read, after = windows(width, height, k)
    starts, ranks, size = column_ranks(height)
    base3 = [sum(3**n for n in range(k + 2) if bits >> n & 1) for bits in range(1 << (k + 2))]
    return {
        "windows": np.array(read, dtype=np.uint64),
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
