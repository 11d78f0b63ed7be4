"""The hand-made evaluators of Threes, as functions on rows.

`openness` and `openness_wegner` are the two evaluators of the Threesus bot (Walt Destler 2014; the second by Matthew Wegner).
`rows` and `rows_cli` are the line-table heuristic of the threes-ai program (Robert Xiao, "nneonneo", 2014), with the weights of
its assistants and of its command line. All read only the board, so they are called right after a tile has entered, before the
next is drawn.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.arrays import Array, Floats32
from leafwise.envs.core.compile.jit import jit
from leafwise.envs.core.contract.bits import (
    FOUR,
    NIBBLES,
    ONE,
    S16,
    THREE,
    TWO,
    count_bits,
    highest_rank,
    looked_up,
    occupied,
    sum_of_rows,
    transpose,
)
from leafwise.envs.core.contract.evaluator import Evaluator, Speed, Terminal
from leafwise.envs.core.contract.stream import u64
from leafwise.envs.threes.lines import ByTile, by_tile, make_line_siblings
from leafwise.envs.threes.tables import Options, cells_of

LEFT_COLUMN = u64(0x0001000100010001)
RIGHT_COLUMN = u64(0x1000100010001000)
EDGE_COLUMNS = LEFT_COLUMN | RIGHT_COLUMN
EDGE_ROWS = u64(0x1111000000001111)


class LineTable(NamedTuple):
    """Weights of an evaluator that is a sum over the eight lines of a board."""

    value: Floats32
    """Line [65536]: its share of the value."""
    twice: NDArray[np.uint16]
    """Line [65536]: for each cell (bits 0, 4, 8, 12), whether a neighbour in the line is twice the cell."""
    twice_bonus: float
    """The bonus for a cell with a neighbour of twice its value."""
    by_tile: ByTile
    """The same tables in the layout of `lines`."""


def line_table(value: Array, twice: NDArray[np.uint16], twice_bonus: float) -> LineTable:
    """Returns the weights for the value of each line."""
    value = value.astype(np.float32)
    return LineTable(value, twice, twice_bonus, by_tile(value, twice, twice_bonus))


@jit(inline=True)
def sum_of_lines(b, t, T):
    """Returns the sum of the table over the rows of a board `b` and of its transpose `t`."""
    return np.float64(sum_of_rows(b, T.leaf.value)) + np.float64(sum_of_rows(t, T.leaf.value))


@jit(inline=True)
def openness(S, i, T):
    """Returns the value of Threesus' first evaluator."""
    b = S[i, 0]
    t = transpose(b)
    twice = looked_up(b, T.leaf.twice) | transpose(looked_up(t, T.leaf.twice))
    return sum_of_lines(b, t, T) + T.leaf.twice_bonus * count_bits(twice)


@jit(inline=True)
def of_rank(b, rank):
    """Returns the lowest bit of each cell that holds `rank`."""
    return NIBBLES & ~occupied(b ^ (NIBBLES * rank))


@jit(inline=True)
def right_of(cells):
    """Returns the cells whose left neighbour is in `cells`."""
    return (cells << FOUR) & ~LEFT_COLUMN


@jit(inline=True)
def left_of(cells):
    """Returns the cells whose right neighbour is in `cells`."""
    return (cells >> FOUR) & ~RIGHT_COLUMN


@jit(inline=True)
def beside(cells):
    """Returns the cells with a neighbour in `cells`."""
    return right_of(cells) | left_of(cells) | (cells << S16) | (cells >> S16)


@jit(inline=True)
def big_tiles(b):
    """Returns the part of Wegner's evaluator for the three highest ranks in a corner, side by side."""
    highest = highest_rank(b)
    if highest <= FOUR:
        return 0.0
    first = of_rank(b, highest)
    second = of_rank(b, highest - ONE)
    third = of_rank(b, highest - TWO)
    joined = second & beside(first)
    points = THREE * (count_bits(first & EDGE_COLUMNS) + count_bits(first & EDGE_ROWS))
    points += count_bits(joined) + count_bits(joined & EDGE_COLUMNS) + count_bits(joined & EDGE_ROWS)
    # For each third-highest tile, only the first second-highest neighbour counts, in the order left, right, up, down.
    chained = third & right_of(joined)
    third &= ~right_of(second)
    chained |= third & left_of(joined)
    third &= ~left_of(second)
    chained |= third & (joined << S16)
    third &= ~(second << S16)
    chained |= third & (joined >> S16)
    return np.float64(points + count_bits(chained))


@jit(inline=True)
def openness_wegner(S, i, T):
    """Returns the value of Threesus' evaluator by Matthew Wegner."""
    return openness(S, i, T) + big_tiles(S[i, 0])


@jit(inline=True)
def rows(S, i, T):
    """Returns the value of nneonneo's heuristic."""
    b = S[i, 0]
    return sum_of_lines(b, transpose(b), T)


@jit(inline=True)
def total_score(S, i, T):
    """Returns the points of the board."""
    return np.float64(sum_of_rows(S[i, 0], T.points))


@jit(inline=True)
def empty_spaces(S, i, T):
    """Returns the number of empty cells."""
    return np.float64(u64(16) - count_bits(occupied(S[i, 0])))


def openness_table(empty: float, merge: float, trap: float, twice: float) -> LineTable:
    """Returns the weights of Threesus' evaluators: points per empty cell, mergeable neighbour, trapped axis, twice."""
    ranks = cells_of(np.arange(65536))
    value = np.zeros(65536)
    mask = np.zeros(65536, dtype=np.uint16)
    wall = np.full(65536, 99)
    for k, rank in enumerate(ranks):
        before = ranks[k - 1] if k > 0 else wall
        after = ranks[k + 1] if k < 3 else wall
        value += np.where(rank == 0, empty / 2, 0)  # every cell lies in two lines
        higher = [(neighbour >= 3) & (neighbour > rank) for neighbour in (before, after)]
        value += np.where((rank > 0) & higher[0] & higher[1], trap, 0)
        for neighbour in (before, after):
            value += np.where((rank > 0) & (((neighbour == rank) & (rank >= 3)) | (neighbour * rank == 2)), merge, 0)
            mask |= np.where((rank >= 3) & (neighbour == rank + 1), 1 << (4 * k), 0).astype(np.uint16)
    return line_table(value, mask, twice)


def rows_table(
    empties: float, merges: float, one_two: float, monotone: tuple[float, float], total: tuple[float, float]
) -> LineTable:
    """Returns the weights of nneonneo's heuristic; `monotone` and `total` are (power, weight)."""
    # Empty cells, and runs of equal ranks.
    ranks = cells_of(np.arange(65536))
    value = np.full(65536, 200_000.0)
    value += empties * sum((rank == 0).astype(float) for rank in ranks)
    previous, run, merged = np.zeros(65536, dtype=int), np.zeros(65536, dtype=int), np.zeros(65536)
    for rank in ranks:
        same = (rank != 0) & (rank == previous)
        merged += np.where(same, np.where(run == 1, 2, 1), 0)  # a run of L >= 2 equal ranks adds L
        run = np.where(rank == 0, run, np.where(same, run + 1, 1))
        previous = np.where(rank == 0, previous, rank)
    value += merges * merged

    # Pairs of 1 and 2, monotonicity, and the sum of ranks.
    left, right = np.zeros(65536), np.zeros(65536)
    for a, b in pairwise(ranks):
        value += one_two * (a * b == 2)
        rise = b.astype(float) ** monotone[0] - a.astype(float) ** monotone[0]
        left += np.where(a > b, -rise, 0)
        right += np.where(a > b, 0, rise)
    value -= monotone[1] * np.minimum(left, right)
    value -= total[1] * sum(rank.astype(float) ** total[0] for rank in ranks)
    return line_table(value, np.zeros(1, dtype=np.uint16), 0.0)


Factory = Callable[[Any], Evaluator]


def _score(name: str, value: Any, make: Callable[[], Any] = tuple) -> Factory:
    return lambda options: Evaluator(name, value, weights=make(), stage="draw", terminal="evaluate")


ROOM = Path(__file__).parent
LOST: Terminal = (0.0, 0.0, 0.0)
LOSING_LINES = make_line_siblings(ROOM, loses=True, twice=False)
LINES_AND_TWICE = make_line_siblings(ROOM, loses=False, twice=True)


def _lines(name: str, value: Any, make: Callable[[], LineTable], terminal: Terminal = "evaluate") -> Factory:
    """Returns a score that is the sum of its line table, with bounds (and 1 of margin for rounding)."""

    def factory(options: Options) -> Evaluator:
        table = make()
        low = 8 * float(table.value.min()) - 1
        high = 8 * float(table.value.max()) + 16 * table.twice_bonus + 1
        siblings = LOSING_LINES if terminal == LOST else LINES_AND_TWICE
        return Evaluator(
            name,
            value,
            table,
            stage="draw",
            terminal=terminal,
            low=low,
            high=high,
            scratch=("by_tile.worth",),
            speed=Speed(sibling_values=siblings),
        )

    return factory


SCORES: dict[str, Factory] = {
    "openness": _lines("openness", openness, lambda: openness_table(2, 1, -1, 1)),
    "openness_wegner": _score("openness_wegner", openness_wegner, lambda: openness_table(3, 2, -5, 2)),
    "rows": _lines(
        "rows",
        rows,
        lambda: rows_table(
            674.4283942265,
            253.7959629528,
            945.2717132825,
            (2.5603675951, 48.0754995342),
            (0.7000574088, 127.8762441482),
        ),
        LOST,
    ),
    "rows_cli": _lines("rows_cli", rows, lambda: rows_table(270, 700, 0, (4, 47), (3.5, 11)), LOST),
    "total_score": _score("total_score", total_score),
    "empty_spaces": _score("empty_spaces", empty_spaces),
}
