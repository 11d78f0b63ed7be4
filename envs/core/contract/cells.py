"""What n-tuple networks need of a room: a board of cells seen through its symmetries, and small tables beside it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.contract.tables import FeatureTable

Views = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class SmallTable(FeatureTable):
    """A table beside the tuples: each position uses one entry of it."""

    usual: bool = True
    """Whether a network has it unless it says otherwise."""
    stage: str = ""
    """The stage at which it says something, where it does not at all of them."""
    placed: bool = True
    """Whether it depends on where values stand; False: on how many cells have them, and on what is beside the board, alone."""


@dataclass(frozen=True, eq=False)
class CellFeatures:
    """A board of cells of `bits` bits each, packed into words of the row or read one by one.

    `boards` and `highest` only make things faster, for boards in one word: without them the values are the same.
    """

    cells: int = 16
    bits: int = 4
    """Bits of a cell: values are 0 to 2**bits - 1."""
    words: tuple[int, ...] = (0,)
    """Words of the row that hold the cells, from the lowest bit on, 64 // bits in a word; not read where there is `cell`."""
    cell: Callable[..., Any] | None = None
    """Compiled `(S, i, k, T)` -> value of cell k of row i, where `words` do not hold the cells so."""
    views: Views = ()
    """The cells as each symmetry sees them: `views[s][k]` is the cell that comes to place k. Itself first; (): itself alone."""
    tables: Mapping[str, SmallTable] = field(default_factory=dict)
    """Small tables by name."""
    index: Callable[..., Any] | None = None
    """Compiled `(S, i, k, T)` -> uint64 index into the small table that is k-th in `tables`."""
    shipped: Mapping[str, int] = field(default_factory=dict)
    """Names and versions of the small tables on the day the first models shipped, in their order: those files list none."""
    points: tuple[float, ...] = ()
    """What a cell of each value is worth in the game's score, 0 for value 0; (): the score is not a sum over cells."""
    names: tuple[str, ...] = ()
    """What a cell of each value shows (default: the values)."""
    stages: tuple[str, ...] = ("decision",)
    """The stages at which a learned value may be asked, the usual one first."""
    stage_words: tuple[str, ...] = ()
    """What a learner's options call a state at each of these stages (default: the stages' names)."""
    boards: Callable[..., Any] | None = None
    """Compiled `(S, i, T)` -> the word of the board of row i under each symmetry, a tuple of uint64 in the order of `views`."""
    highest: Callable[..., Any] | None = None
    """Compiled `(board)` -> its highest value."""
    version: int = 1
    """Raised whenever a cell changes its meaning; model files name it."""

    def __post_init__(self) -> None:
        if not (self.cells >= 1 and 1 <= self.bits <= 16):
            raise ValueError(f"cell features: expected cells of 1 to 16 bits, got {self.cells!r} of {self.bits!r}")
        needed = -(-self.cells // self.in_word)
        if self.cell is None and len(self.words) != needed:
            raise ValueError(f"cell features: expected {needed} words for {self.cells} cells, got {self.words!r}")
        object.__setattr__(self, "views", tuple(map(tuple, self.views)) or (tuple(range(self.cells)),))
        object.__setattr__(self, "names", self.names or tuple(map(str, range(self.values))))
        if self.views[0] != tuple(range(self.cells)) or any(sorted(v) != [*self.views[0]] for v in self.views):
            raise ValueError(f"cell features: expected views that reorder {self.cells} cells, the board itself first")
        if self.points and (len(self.points) != self.values or self.points[0] != 0):
            raise ValueError(f"cell features: expected {self.values} points, 0 for value 0, got {self.points!r}")
        if self.tables and self.index is None:
            raise ValueError(f"cell features: expected an index into {', '.join(self.tables)}, got none")
        if (self.boards or self.highest) and (self.cell is not None or len(self.words) != 1):
            raise ValueError("cell features: expected boards and highest only where one word holds all cells")

    @property
    def in_word(self) -> int:
        """How many cells a word holds."""
        return 64 // self.bits

    @property
    def values(self) -> int:
        """How many values a cell can have."""
        return 1 << self.bits


def square_views(side: int) -> Views:
    """Returns the eight symmetries of a square board, row by row: view k mirrors left-right where k & 1, then top-bottom
    where k & 2, then swaps rows and columns where k & 4.
    """
    found = []
    for k in range(8):
        places = []
        for place in range(side * side):
            y, x = divmod(place, side)
            y, x = (x, y) if k & 4 else (y, x)
            y = side - 1 - y if k & 2 else y
            x = side - 1 - x if k & 1 else x
            places.append(side * y + x)
        found.append(tuple(places))
    return tuple(found)


def rectangle_views(rows: int, columns: int) -> Views:
    """Returns the four symmetries of a board, row by row: view k mirrors left-right where k & 1, top-bottom where k & 2."""
    places = [divmod(place, columns) for place in range(rows * columns)]
    return tuple(
        tuple(columns * (rows - 1 - y if k & 2 else y) + (columns - 1 - x if k & 1 else x) for y, x in places)
        for k in range(4)
    )


def cell_values(features: CellFeatures, row: NDArray[Any], T: Any) -> list[int]:
    """Returns the value of each cell of a row [width]."""
    if features.cell is not None:
        return [int(features.cell(row[None], np.uint64(0), k, T)) for k in range(features.cells)]
    at = [divmod(k, features.in_word) for k in range(features.cells)]
    return [int(row[features.words[word]]) >> features.bits * place & features.values - 1 for word, place in at]
