"""What each kind of network reads from a game: cells for n-tuples, active features for sparse first layers, grids for
convolutions.

Features come in named tables with versions, so that a room may add tables and old model files still load.
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
    """A group of features with weights. A room may add tables; a table that changes gets a new version."""

    size: int
    """Number of features in it."""
    version: int = 1
    """Raised whenever a feature in it changes its meaning."""
    grows: bool = False
    """Whether features may be added at its end: older files then have fewer of them."""

    def metadata(self) -> dict[str, int]:
        """Returns the entry of a model file for it."""
        return {"size": self.size, "version": self.version}


def check_tables(known: Mapping[str, FeatureTable], entries: Any) -> dict[str, FeatureTable]:
    """Returns the tables that a file names, in its order; `known` are those of the room.

    Raises ValueError in one line for something that is not a list of tables, and for a table that the room lacks or that has
    changed.
    """
    if not isinstance(entries, Mapping):
        raise UserError(f"expected tables by name, got {entries!r}")
    tables = {}
    for name, table in entries.items():
        if not isinstance(table, Mapping) or not all(type(table.get(key)) is int for key in ("size", "version")):
            raise UserError(f"expected table {name!r} with a size and a version, got {table!r}")
        need_among(name, known, "tables")
        current, stored = known[name], FeatureTable(table["size"], table["version"])
        fits = stored.size <= current.size if current.grows else stored.size == current.size
        if not fits or current.version != stored.version or stored.size < 1:
            expected = f"table {name!r} of version {current.version} and size {current.size}"
            raise UserError(f"expected {expected}, got version {stored.version} and size {stored.size}")
        tables[name] = stored
    return tables


# N-tuple networks: a board of cells under its symmetries, and small tables beside it.

Views = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class SmallTable(FeatureTable):
    """A table beside the n-tuples, of which each position uses one entry."""

    usual: bool = True
    """Whether a network has it by default."""
    stage: str = ""
    """The only stage at which it counts; "": all stages."""
    placed: bool = True
    """Whether its entry depends on where values are on the board; False: only on how many there are, and on what is beside the
    board."""


Observed = Callable[[Any, Any], Any]
"""(observations [n, *], options) -> what compiled code reads from a row, computed from observations, which are integers. It may
use operators, `minimum`, `maximum`, `sum(axis=1)`, `max(axis=1)`, `astype`, columns, `@` with a matrix of small numbers,
`looked_up_in` and `repeated`, nothing else. Exports to other languages are made of it. None: the observation does not contain
it.
"""


def looked_up_in(table: Array, index: Any) -> Any:
    """Returns entries of a table, by an index array or a symbol that stands for one."""
    return index.looked_up_in(table) if hasattr(index, "looked_up_in") else table[index]


def repeated(step: Callable[..., Any], *values: Any) -> Any:
    """Applies `step` to values again and again. It returns (goes on, *values); the loop ends when `goes on` [n, 1] is all False."""
    return values[0].repeated(step, *values[1:])


@dataclass(frozen=True, eq=False)
class CellFeatures:
    """A board of cells with `bits` bits each, packed into words of the row or read one by one.

    `boards` and `highest` only make things faster, for boards in one word; values are the same without them.

    Raises ValueError for sizes, views, bits or points that do not fit together.
    """

    cells: int = 16
    bits: int = 4
    """Bits of a cell: values are 0 to 2**bits - 1."""
    cell_bits: tuple[int, ...] = ()
    """Bits of each cell if they differ, at most `bits`; such cells are read by `cell`. (): all have `bits`."""
    words: tuple[int, ...] = (0,)
    """Words of the row that hold the cells, from the lowest bit on, 64 // bits in a word; unused if there is `cell`."""
    cell: Callable[..., Any] | None = None
    """Compiled `(S, i, k, T)` -> value of cell k of row i, if `words` do not hold the cells in this way."""
    views: Views = ()
    """The cells under each symmetry: `views[s][k]` is the cell that comes to place k. The identity first; (): the identity
    alone.
    """
    tables: Mapping[str, SmallTable] = field(default_factory=dict)
    """Small tables by name."""
    index: Callable[..., Any] | None = None
    """Compiled `(S, i, k, T)` -> uint64 index into the k-th table of `tables`."""
    points: tuple[float, ...] = ()
    """The points of a cell with each value in the game's score, 0 for value 0; (): the score is not a sum over cells."""
    names: tuple[str, ...] = ()
    """The symbol of each value (default: the values)."""
    stages: tuple[str, ...] = ("decision",)
    """The stages at which a learned value may be called, the usual one first."""
    stage_words: tuple[str, ...] = ()
    """What a learner's options call a state at each of these stages (default: the stages' names)."""
    boards: Callable[..., Any] | None = None
    """Compiled `(S, i, T)` -> the board's word of row i under each symmetry, a tuple of uint64 in the order of `views`."""
    highest: Callable[..., Any] | None = None
    """Compiled `(board)` -> its highest value."""
    version: int = 1
    """Raised whenever a cell changes its meaning; model files contain it."""
    observed: Observed | None = None
    """Returns the cells [n, cells], and the index into each small table [n] by name."""

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
        if bits_of_cells := self.cell_bits:
            fits = (
                len(bits_of_cells) == self.cells
                and all(1 <= b <= self.bits for b in bits_of_cells)
                and self.cell is not None
            )
            if not fits or any(
                bits_of_cells[view[k]] != bits_of_cells[k] for view in self.views for k in range(self.cells)
            ):
                expected = f"1 to {self.bits} bits for each of {self.cells} cells read by cell, alike under all views"
                raise UserError(f"cell features: expected {expected}, got {bits_of_cells!r}")
        if self.tables and self.index is None:
            raise UserError(f"cell features: expected an index into {', '.join(self.tables)}, got none")
        if (self.boards or self.highest) and (self.cell is not None or len(self.words) != 1):
            raise UserError("cell features: expected boards and highest only where one word holds all cells")

    @property
    def in_word(self) -> int:
        """Number of cells in a word."""
        return 64 // self.bits

    @property
    def values(self) -> int:
        """Number of values that a cell can have, at most."""
        return 1 << self.bits

    def sizes_of(self, cells: Sequence[int]) -> tuple[int, ...]:
        """Returns the number of values of each of these cells."""
        return tuple(1 << (self.cell_bits[k] if self.cell_bits else self.bits) for k in cells)


def rectangle_views(rows: int, columns: int) -> Views:
    """Returns the four symmetries of a board, row by row: view k mirrors left-right where k & 1, top-bottom where k & 2.

    A view [rows * columns] says which cell comes to each place.
    """
    cells = [divmod(place, columns) for place in range(rows * columns)]
    return tuple(
        tuple(columns * (rows - 1 - y if k & 2 else y) + (columns - 1 - x if k & 1 else x) for y, x in cells)
        for k in range(4)
    )


def square_views(side: int) -> Views:
    """Returns the eight symmetries of a square board, row by row.

    View k mirrors left-right where k & 1, then top-bottom where k & 2, then swaps rows and columns where k & 4. A view
    [side * side] says which cell comes to each place.
    """
    mirrored = rectangle_views(side, side)
    swapped = [side * (cell % side) + cell // side for cell in range(side * side)]
    return (*mirrored, *(tuple(view[cell] for cell in swapped) for view in mirrored))


def cell_values(features: CellFeatures, row: Array, T: Any) -> list[int]:
    """Returns the value of each cell of a row [width]."""
    if features.cell is not None:
        return [int(features.cell(row[None], np.uint64(0), k, T)) for k in range(features.cells)]
    slots = [divmod(k, features.in_word) for k in range(features.cells)]
    return [int(row[features.words[word]]) >> features.bits * slot & features.values - 1 for word, slot in slots]


# Networks with a sparse first layer.

FEATURES = "features"
"""The name of the table in rooms that name none."""


@dataclass(frozen=True, eq=False)
class SparseFeatures:
    """Features that are present or absent, with few present at once; a feature may be present several times.

    Sizes that depend on the variant are functions of the game's options.
    """

    active: Callable[..., Any]
    """Compiled `(S, i, F, T)` -> n: writes the n features of row i to F (int64), each in 0..size - 1."""
    size: Callable[[Any], int]
    """options -> number of features."""
    most: Callable[[Any], int]
    """options -> maximum number of features that are active at once: the length of F."""
    view: Literal["acting", "first"] = "acting"
    """From whose side the features describe a row: "acting", the player who acts next, or "first", always player 0 (for games
    whose seats differ)."""
    side: Callable[..., Any] | None = None
    """Compiled `(S, i, T)` -> 0 or 1: from whose side they describe a row at which chance acts next. Needed for a chance `stage`
    of a two-player game with the view "acting".
    """
    invariant: bool = False
    """Whether symmetric rows have the same features; if not, training applies random symmetries."""
    stage: str | tuple[str, ...] = "decision"
    """The stage, or stages, at which a learned value is called."""
    version: int = 1
    """Raised whenever a feature changes its meaning; model files contain it."""
    observed: Observed | None = None
    """(observations [n, ...], options) -> the features as a list of arrays [n, k], with `size` for an absent feature. With the
    view "first" the last array, [n, 1], is not a feature but the player who acts.
    """
    tables: Callable[[Any], Mapping[str, FeatureTable]] | None = None
    """options -> tables of features by name, in the order of their numbers, with `size` features in all; models with fewer
    tables still load. None: one table, "features".
    """

    def tables_of(self, options: Any) -> Mapping[str, FeatureTable]:
        """Returns the tables of a variant; raises ValueError if they do not contain all features."""
        size = self.size(options)
        if self.tables is None:
            return {FEATURES: FeatureTable(size)}
        tables = self.tables(options)
        if sum(table.size for table in tables.values()) != size:
            raise UserError(f"sparse features: expected tables of {size} features in all, got {dict(tables)!r}")
        return tables


# Convolutional networks: a code for each cell of a grid, maps over it, and numbers beside them.


@dataclass(frozen=True, eq=False)
class GridFeatures:
    """A position as a grid with a margin of one cell; only cells with a code above 0 count."""

    see: Callable[..., Any]
    """Compiled `(S, i, codes, maps, numbers, T)` -> float: describes row i and returns a base value.

    `codes` (int64 [(side + 2) ** 2]) is written whole, the margin 0. `maps` (float32 [side ** 2, maps]) is written where the
    code is above 0, `numbers` (float32 [1, numbers]) whole. The value is the base value plus the network's output.
    """
    side: Callable[[Any], int]
    """options -> side of the grid."""
    codes: int
    """Number of codes: they are 0 to codes - 1."""
    maps: int
    """Number of maps over the grid, a multiple of 4; their numbers are about 0 to 1, never below 0."""
    numbers: int
    """Number of numbers beside the grid, which are about -1 to 1."""
    stage: str | tuple[str, ...] = "decision"
    """The stage, or stages, at which a learned value is called."""
    version: int = 1
    """Raised whenever a feature changes its meaning; model files contain it."""

    @property
    def tables(self) -> Mapping[str, FeatureTable]:
        """The features by table; new ones are added at the end."""
        sizes = {"codes": self.codes, "maps": self.maps, "numbers": self.numbers}
        return {name: FeatureTable(size, grows=True) for name, size in sizes.items()}
