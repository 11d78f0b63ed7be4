"""What networks need of a room, by their kind: a board of cells for n-tuples, the few features that are present for sparse first
layers, a grid for convolutions; and what model files say of features.

Those are named tables with versions, so that a room may add some and old models go on loading.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from leafwise.envs.core.arrays import Array
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.ranges import need_among


@dataclass(frozen=True)
class FeatureTable:
    """A group of features that a network learns weights for. Rooms add tables; one that changes gets a new version."""

    size: int
    """How many features there are in it."""
    version: int = 1
    """Raised whenever a feature in it changes its meaning."""
    grows: bool = False
    """Whether features may be added at its end: files then have fewer of them."""

    def told(self) -> dict[str, int]:
        """Returns what a model file says of it."""
        return {"size": self.size, "version": self.version}


def check_tables(known: Mapping[str, FeatureTable], told: Any) -> dict[str, FeatureTable]:
    """Returns the tables that a file names, in its order; `known` are those that the room has now.

    Raises ValueError in one line for what is no list of tables, and for a table that the room lacks or that has changed.
    """
    if not isinstance(told, Mapping):
        raise UserError(f"expected tables by name, got {told!r}")
    found = {}
    for name, table in told.items():
        if not isinstance(table, Mapping) or not all(type(table.get(key)) is int for key in ("size", "version")):
            raise UserError(f"expected table {name!r} with a size and a version, got {table!r}")
        need_among(name, known, "tables")
        now, then = known[name], FeatureTable(table["size"], table["version"])
        fits = then.size <= now.size if now.grows else then.size == now.size
        if not fits or now.version != then.version or then.size < 1:
            expected = f"table {name!r} of version {now.version} and size {now.size}"
            raise UserError(f"expected {expected}, got version {then.version} and size {then.size}")
        found[name] = then
    return found


# N-tuple networks: a board of cells seen through its symmetries, and small tables beside it.

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


Observed = Callable[[Any, Any], Any]
"""(observations [n, *], options) -> what compiled code reads off a row, told once more of observations, which are whole numbers: by
operators, `minimum`, `maximum`, `sum(axis=1)`, `max(axis=1)`, `astype`, columns, `@` with a matrix of small numbers, `looked_up_in`
and `repeated` alone. Files for programs in other languages are made of it. None: the observation does not tell."""


def looked_up_in(table: Array, index: Any) -> Any:
    """Returns entries of a table, by an array or by what stands for one."""
    return index.looked_up_in(table) if hasattr(index, "looked_up_in") else table[index]


def repeated(step: Callable[..., Any], *values: Any) -> Any:
    """Returns what comes of values when `step` makes new ones of them again and again: it returns (goes on, *values), and ends when
    it goes on [n, 1] for none."""
    return values[0].repeated(step, *values[1:])


@dataclass(frozen=True, eq=False)
class CellFeatures:
    """A board of cells of `bits` bits each, packed into words of the row or read one by one.

    `boards` and `highest` only make things faster, for boards in one word: without them the values are the same. Raises ValueError
    for sizes, views, bits or points that do not fit together.
    """

    cells: int = 16
    bits: int = 4
    """Bits of a cell: values are 0 to 2**bits - 1."""
    cell_bits: tuple[int, ...] = ()
    """Bits of each cell where they differ, none more than `bits`; such cells are read by `cell`. (): all have `bits`."""
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
    observed: Observed | None = None
    """Returns the cells [n, cells], and the index into each small table [n] by its name."""

    def __post_init__(self) -> None:
        if not (self.cells >= 1 and 1 <= self.bits <= 16):
            raise UserError(f"cell features: expected cells of 1 to 16 bits, got {self.cells!r} of {self.bits!r}")
        needed = -(-self.cells // self.in_word)
        if self.cell is None and len(self.words) != needed:
            raise UserError(f"cell features: expected {needed} words for {self.cells} cells, got {self.words!r}")
        object.__setattr__(self, "views", tuple(map(tuple, self.views)) or (tuple(range(self.cells)),))
        object.__setattr__(self, "names", self.names or tuple(map(str, range(self.values))))
        if self.views[0] != tuple(range(self.cells)) or any(sorted(v) != [*self.views[0]] for v in self.views):
            raise UserError(f"cell features: expected views that reorder {self.cells} cells, the board itself first")
        if self.points and (len(self.points) != self.values or self.points[0] != 0):
            raise UserError(f"cell features: expected {self.values} points, 0 for value 0, got {self.points!r}")
        if own := self.cell_bits:
            fits = len(own) == self.cells and all(1 <= b <= self.bits for b in own) and self.cell is not None
            if not fits or any(own[view[k]] != own[k] for view in self.views for k in range(self.cells)):
                expected = f"1 to {self.bits} bits for each of {self.cells} cells read by cell, alike under all views"
                raise UserError(f"cell features: expected {expected}, got {own!r}")
        if self.tables and self.index is None:
            raise UserError(f"cell features: expected an index into {', '.join(self.tables)}, got none")
        if (self.boards or self.highest) and (self.cell is not None or len(self.words) != 1):
            raise UserError("cell features: expected boards and highest only where one word holds all cells")

    @property
    def in_word(self) -> int:
        """How many cells a word holds."""
        return 64 // self.bits

    @property
    def values(self) -> int:
        """How many values a cell can have, at most."""
        return 1 << self.bits

    def sizes_of(self, places: Sequence[int]) -> tuple[int, ...]:
        """Returns how many values each of these cells can have."""
        return tuple(1 << (self.cell_bits[k] if self.cell_bits else self.bits) for k in places)


def rectangle_views(rows: int, columns: int) -> Views:
    """Returns the four symmetries of a board, row by row: view k mirrors left-right where k & 1, top-bottom where k & 2.

    A view is a tuple of rows * columns places: which cell comes to each place.
    """
    places = [divmod(place, columns) for place in range(rows * columns)]
    return tuple(
        tuple(columns * (rows - 1 - y if k & 2 else y) + (columns - 1 - x if k & 1 else x) for y, x in places)
        for k in range(4)
    )


def square_views(side: int) -> Views:
    """Returns the eight symmetries of a square board, row by row: view k mirrors left-right where k & 1, then top-bottom
    where k & 2, then swaps rows and columns where k & 4.

    A view is a tuple of side * side places: which cell comes to each place.
    """
    mirrored = rectangle_views(side, side)
    swapped = [side * (place % side) + place // side for place in range(side * side)]
    return (*mirrored, *(tuple(view[place] for place in swapped) for view in mirrored))


def cell_values(features: CellFeatures, row: Array, T: Any) -> list[int]:
    """Returns the value of each cell of a row [width]."""
    if features.cell is not None:
        return [int(features.cell(row[None], np.uint64(0), k, T)) for k in range(features.cells)]
    at = [divmod(k, features.in_word) for k in range(features.cells)]
    return [int(row[features.words[word]]) >> features.bits * place & features.values - 1 for word, place in at]


# Networks with a sparse first layer.

FEATURES = "features"
"""The table of all features, in rooms that name none."""


@dataclass(frozen=True, eq=False)
class SparseFeatures:
    """Features that are there or not, of which few are there at once; a feature may be there several times.

    What depends on the variant is a function of the game's options.
    """

    active: Callable[..., Any]
    """Compiled `(S, i, F, T)` -> n: writes the n features of row i to F (int64), each in 0..size - 1."""
    size: Callable[[Any], int]
    """options -> how many features there are."""
    most: Callable[[Any], int]
    """options -> how many can be active at once: the length of F."""
    view: Literal["acting", "first"] = "acting"
    """Whose side the features take: the player's who acts next, or always player 0's (where the seats differ)."""
    side: Callable[..., Any] | None = None
    """Compiled `(S, i, T)` -> 0 or 1: whose side they take where chance acts next; needed for a `stage` of chance
    of a two-player game with the view "acting"."""
    invariant: bool = False
    """Whether symmetric rows have the same features; if not, training shows rows under random symmetries."""
    stage: str | tuple[str, ...] = "decision"
    """The stage at which a learned value is asked, or several."""
    version: int = 1
    """Raised whenever a feature changes its meaning; model files name it."""
    observed: Observed | None = None
    """Returns the features as a list of arrays [n, k], `size` where there is none; with the view "first" the last one, [n, 1], is
    no feature but who acts."""
    tables: Callable[[Any], Mapping[str, FeatureTable]] | None = None
    """options -> tables of features by name, in the order of their numbers, of `size` features in all; models of fewer tables
    go on loading. None: one table, "features"."""

    def tables_of(self, options: Any) -> Mapping[str, FeatureTable]:
        """Returns the tables of a variant; raises ValueError if they are not of all features."""
        size = self.size(options)
        if self.tables is None:
            return {FEATURES: FeatureTable(size)}
        found = self.tables(options)
        if sum(table.size for table in found.values()) != size:
            raise UserError(f"sparse features: expected tables of {size} features in all, got {dict(found)!r}")
        return found


# Convolutional networks: what stands on each cell of a grid, maps over it, and numbers beside them.


@dataclass(frozen=True, eq=False)
class GridFeatures:
    """A position as a grid with a margin of one cell, of which only cells with a code above 0 take part."""

    see: Callable[..., Any]
    """Compiled `(S, i, codes, maps, numbers, T)` -> float: describes row i and returns what the value is counted from.

    `codes` (int64 [(side + 2) ** 2]) is written whole, the margin 0; `maps` (float32 [side ** 2, maps]) where the code is
    above 0; `numbers` (float32 [1, numbers]) whole. The value is the float plus the network's output.
    """
    side: Callable[[Any], int]
    """options -> side of the grid."""
    codes: int
    """What a cell can be: codes are 0 to codes - 1."""
    maps: int
    """Maps over the grid, numbers of about 0 to 1, never below 0; a multiple of 4."""
    numbers: int
    """Numbers beside the grid, of about -1 to 1."""
    stage: str | tuple[str, ...] = "decision"
    """The stage at which a learned value is asked, or several."""
    version: int = 1
    """Raised whenever a feature changes its meaning; model files name it."""

    @property
    def tables(self) -> Mapping[str, FeatureTable]:
        """The features by table; what is added comes last."""
        sizes = {"codes": self.codes, "maps": self.maps, "numbers": self.numbers}
        return {name: FeatureTable(size, grows=True) for name, size in sizes.items()}
