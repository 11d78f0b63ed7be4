"""The variants of Trap, and the tables that compiled code reads."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any, NamedTuple

import numpy as np

from leafwise.envs.core.arrays import Bytes, Floats, Ints, Words
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.fields import RULE_ONLY, SHOWN_ONLY
from leafwise.envs.core.ranges import OneOf, Range, settle_fields

MIN_SIZE, MAX_SIZE, MOST_TURNS = 3, 9, 60_000
DIRECTIONS = {
    "N": (-1, 0),
    "NE": (-1, 1),
    "E": (0, 1),
    "SE": (1, 1),
    "S": (1, 0),
    "SW": (1, -1),
    "W": (0, -1),
    "NW": (-1, -1),
}

SELF_TRAPPED = {"immediate": "at once", "deferred": "when it is your turn to move"}


@dataclass(frozen=True)
class Options:
    """The options of a variant; raises ValueError for one that Trap does not have. `ABOUT` describes each option."""

    size: Annotated[int, Range(MIN_SIZE, MAX_SIZE)] = 7
    self_trap: Annotated[str, OneOf.described(SELF_TRAPPED)] = field(default="immediate", metadata=RULE_ONLY)
    max_turns: Annotated[int | None, Range(1, MOST_TURNS)] = field(default=None, metadata=RULE_ONLY)
    observe_turn: bool = field(default=False, metadata=SHOWN_ONLY)

    def __post_init__(self) -> None:
        settle_fields(self, "trap")

    @property
    def last_turn(self) -> int:
        """The turn after which the game is a draw."""
        return 4 * self.size**2 if self.max_turns is None else self.max_turns


class Tables(NamedTuple):
    """The tables that compiled code reads, for C cells."""

    size: int
    cells: int
    bit: Words
    """[C, 2]: one cell as a bitboard of two words."""
    near: Words
    """[C, 2]: the neighbours of a cell."""
    step: Ints
    """[C, 8]: the cell one step N, NE, E, SE, S, SW, W, NW; -1 off the board."""
    place: Ints
    """[C, 2]: row and column of a cell."""
    around: Bytes
    """[4 * 32 * 32]: open neighbours of open cells next to the middle of a window of 5 x 5, by the blocked cells in two rows of
    it, one below the other; to be summed over the four pairs of rows.
    """
    board: Words
    """[2]: all cells."""
    accuracy: Floats
    """[C, C]: from, target -> probability of a hit."""
    image: Ints
    """[8, C]: the cell to which each symmetry moves a cell."""
    turned: Ints
    """[8, 8]: the direction to which each symmetry turns a direction."""
    west: Words
    """[2]: all cells except the first column."""
    east: Words
    """[2]: all cells except the last column."""
    immediate: bool
    """Whether a thrower who traps himself loses at once."""
    max_turns: np.uint64
    observe_turn: bool
    """Whether the observation contains the turns left."""
    candidates: int
    """Index into `CANDIDATES` for a search."""
    stop: Bytes
    leaf: Any


def accuracy(distance: int) -> float:
    """Returns the probability that a throw over a Manhattan distance hits: 1 at distance 1, 0.05 less for each step more."""
    return max(0, 21 - distance) / 20


def action_names(options: Options) -> tuple[str, ...]:
    """Returns N, NE, E, ... for the moves and `row,column`, from 0 at the top left, for the throws."""
    size = options.size
    return (*DIRECTIONS, *(f"{row},{column}" for row in range(size) for column in range(size)))


def bitboard(cells: list[int]) -> list[int]:
    """Returns a set of cells as two words."""
    bits = sum(1 << cell for cell in set(cells))
    return [bits & (1 << 64) - 1, bits >> 64]


def images(size: int) -> Ints:
    """Returns the cell to which each of the 8 symmetries of the square, identity first, moves each cell; shape [8, cells]."""
    moved, cells = [], np.divmod(np.arange(size * size), size)
    for k in range(8):
        row, column = cells[::-1] if k & 4 else cells
        moved.append((size - 1 - row if k & 2 else row) * size + (size - 1 - column if k & 1 else column))
    return np.array(moved)


def steps(size: int) -> Ints:
    """Returns the cell one step in each direction from each cell, -1 off the board; shape [cells, 8]."""
    board = np.full((size + 2, size + 2), -1)
    board[1:-1, 1:-1] = np.arange(size * size).reshape(size, size)
    return np.stack([np.roll(board, (-y, -x), (0, 1))[1:-1, 1:-1].ravel() for y, x in DIRECTIONS.values()], axis=1)


def turned(image: Ints, step: Ints) -> list[int]:
    """Returns the direction that each direction becomes when cells move to `image`."""
    middle = next(cell for cell in range(len(step)) if (step[cell] >= 0).all())
    around = step[image[middle]].tolist()
    return [around.index(image[cell]) for cell in step[middle]]


def open_pairs() -> list[int]:
    """Returns a sum over open cells for each two neighbouring rows of a window of 5 x 5 and all combinations of blocked cells
    in them.

    Each open cell next to the middle adds its open neighbours. Pairs within a row count with the row above it.
    """
    inner = [(row, column) for row in (1, 2, 3) for column in (1, 2, 3) if (row, column) != (2, 2)]
    sums = []
    for row in range(4):
        for above in range(32):
            for below in range(32):
                blocked = {row: above, row + 1: below}
                open_cells = [(r, c) for r in blocked for c in range(5) if not blocked[r] >> c & 1]
                sums.append(
                    sum(
                        abs(a[1] - b[1]) <= 1 and (a[0] != b[0] or (a[0] == row + 1 and a[1] != b[1]))
                        for a in open_cells
                        if a in inner
                        for b in open_cells
                    )
                )
    return sums


def solver_mb(options: Options) -> float:
    """Returns 0, since the solver's table itself checks its size; raises ValueError for a board that is too large to solve."""
    if options.size not in (3, 4):
        raise UserError(f"trap: expected an exact solver for size 3 or 4, got {options.size}")
    return 0.0


def make_tables(options: Options) -> Tables:
    """Returns the tables of one variant."""
    size = options.size
    cells = size * size
    step, image = steps(size), images(size)
    rows, columns = np.divmod(np.arange(cells), size)
    distance = abs(rows[:, None] - rows) + abs(columns[:, None] - columns)
    return Tables(
        size=size,
        cells=cells,
        bit=np.array([bitboard([cell]) for cell in range(cells)], dtype=np.uint64),
        near=np.array([bitboard([c for c in to if c >= 0]) for to in step.tolist()], dtype=np.uint64),
        step=step,
        place=np.stack([rows, columns], axis=1),
        around=np.array(open_pairs(), dtype=np.uint8),
        board=np.array(bitboard(list(range(cells))), dtype=np.uint64),
        accuracy=np.array([[accuracy(max(1, int(d))) for d in line] for line in distance]),
        image=image,
        turned=np.array([turned(line, step) for line in image], dtype=np.int64),
        west=np.array(bitboard([c for c in range(cells) if c % size]), dtype=np.uint64),
        east=np.array(bitboard([c for c in range(cells) if (c + 1) % size]), dtype=np.uint64),
        immediate=options.self_trap == "immediate",
        max_turns=np.uint64(options.last_turn),
        observe_turn=options.observe_turn,
        candidates=0,
        stop=np.zeros(1, dtype=np.uint8),
        leaf=(),
    )
