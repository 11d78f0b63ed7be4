"""N-tuple networks: sums of table entries, one for each tuple of cells and symmetry, as compiled leaf evaluators.

Source: Lucas, "Learning to play Othello with n-tuple systems", 2008; Szubert and Jaskowski, "Temporal difference
learning of n-tuple networks for the game 2048", CIG 2014.

A network learns what is still to come: of the potential, which is the sum over a board's cells of (points of the cell)**power, or
of moves. The evaluator's value is the potential so far plus the learned value; for a finished game the latter is 0.

A file stores a network as one tensor of float32, or packed: entries of 16 bits, and only those seen in training.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.arrays import Floats32
from leafwise.envs.core.contract.evaluator import Evaluator, Speed
from leafwise.envs.core.contract.features import FeatureTable, SmallTable
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.ranges import Range, need_among, need_in
from leafwise.models.files import load_network
from leafwise.models.network import Metadata, NetworkKind, Tensors, network_kind
from leafwise.models.ntuple_functions import (
    EXTRACTED,
    FAR,
    SCRATCH,
    Layout,
    NTupleFunctions,
    NTupleWeights,
    cell_lookups,
    compiled,
    extracted,
    features,
    pieces_of,
    points_table,
    spread,
    worth_of,
)
from leafwise.models.shared_tables import LARGE, Entries, MergedTables, PackedTables, concatenated, kept_tables, pack
from leafwise.models.tensors import checksum

MAX_INDEX_BITS = 28
"""Maximum number of bits of the index into a tuple's table."""
USUAL_POWER = 0.7
"""Default exponent of points in the potential."""
MAX_ENTRY = 32767
"""Largest entry of 16 bits."""
FORMAT = 1
"""Version of the tables that `merged_tables` makes: part of the name of their file."""
NEEDS: Mapping[str, type | tuple[type, ...]] = {
    "tuples": list, "power": (int, float), "stage": str, "small": list, "splits": list, "base": (int, float),
}  # fmt: skip
"""Entries of a file's metadata, and their types: the fields of a shape."""
DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
"""Cells 0 to 35 in the text of a tuple."""


@dataclass(frozen=True)
class NTupleShape:
    """A network without its weights: the tables that there are, and the meaning of their sum."""

    tuples: tuple[tuple[int, ...], ...]
    """Cells of each tuple, in the order of the features' cells."""
    power: float | None = None
    """Exponent of a cell's points in the potential. 0: no potential, every move counts 1. 1 in games whose cells have no points:
    the return so far. None: 0.7 if cells have points, else 1."""
    stage: str = ""
    """Stage of the game at which a state is valued ("": the default of the features)."""
    small: tuple[str, ...] | None = None
    """Small tables, by name (None: the default of the features)."""
    splits: tuple[int, ...] = ()
    """Values of the highest cell from which on the next copy of all tables is used, ascending."""
    base: float = 0.0
    """The initial value of every state."""

    def check(self, game: Game) -> NTupleShape:
        """Returns the shape with all defaults filled in; raises ValueError that says what does not fit."""
        cells = features(game)
        tuples, most = tuple(tuple(t) for t in self.tuples), MAX_INDEX_BITS // min(cells.cell_bits or (cells.bits,))
        for t in tuples:
            fits = 1 <= len(t) <= most and len(set(t)) == len(t) and all(0 <= c < cells.cells for c in t)
            if not fits or math.prod(cells.sizes_of(t)) > 1 << MAX_INDEX_BITS:
                expected = f"tuples of 1 to {most} different cells 0..{cells.cells - 1}"
                expected += f" with {MAX_INDEX_BITS} bits in all" if cells.cell_bits else ""
                raise UserError(f"n-tuple networks: expected {expected}, got {t!r}")
        small, stage = tuple(self.tables(game)), self.stage or cells.stages[0]
        power = (USUAL_POWER if cells.points else 1.0) if self.power is None else float(self.power)
        if not tuples or not 0 <= power <= 1:
            raise UserError(f"n-tuple networks: expected a tuple and a power in [0, 1], got {tuples!r}, {power!r}")
        if 0 < power < 1 and not cells.points:
            expected = "a power of 0 or 1 in a game whose score is not a sum over cells"
            raise UserError(f"n-tuple networks: expected {expected}, got {power!r}")
        if not set(self.small or ()) <= set(cells.tables):
            known, given = ", ".join(cells.tables) or "none", ", ".join(map(str, self.small or ()))
            raise UserError(f"n-tuple networks: expected small tables among {known}, got {given!r}")
        need_among(stage, cells.stages, "a stage", "n-tuple networks")
        if list(self.splits) != sorted(set(self.splits)) or not all(0 < s < cells.values for s in self.splits):
            expected = f"ascending ranks of 1 to {cells.values - 1} as splits"
            raise UserError(f"n-tuple networks: expected {expected}, got {self.splits!r}")
        if not np.isfinite(self.base):
            raise UserError(f"n-tuple networks: expected a finite base, got {self.base!r}")
        return NTupleShape(tuples, power, stage, small, tuple(self.splits), float(self.base))

    def tables(self, game: Game) -> dict[str, SmallTable]:
        """Returns the small tables, in the room's order."""
        known = features(game).tables
        return {k: table for k, table in known.items() if (table.usual if self.small is None else k in self.small)}

    def sizes(self, game: Game) -> list[int]:
        """Returns the size of each table of one stage: the tuples', then the small tables'."""
        cells = features(game)
        tuples = [math.prod(cells.sizes_of(t)) for t in self.tuples]
        return [*tuples, *(table.size for table in self.tables(game).values())]

    @property
    def copies(self) -> int:
        """Number of copies of all tables, one more than splits."""
        return len(self.splits) + 1


@dataclass(frozen=True)
class NTupleNetwork:
    """The shape of a network, and its weights."""

    game: Game
    shape: NTupleShape
    weights: NTupleWeights

    @staticmethod
    def create(
        game: Game,
        shape: NTupleShape,
        table: Floats32 | NDArray[np.int16] | None = None,
        scales: Sequence[float] | None = None,
    ) -> NTupleNetwork:
        """Builds a network; without `table` all weights are 0.

        A table of int16 needs `scales`, the value of a unit of each tuple's and small table's entries. Raises ValueError for what
        does not fit.
        """
        shape = shape.check(game)
        cells, sizes = features(game), shape.sizes(game)
        total = sum(sizes) * shape.copies
        if table is None:
            table = np.zeros(total, dtype=np.float32)  # NumPy asks for large pages
        kind = np.float32 if scales is None else np.int16
        if table.shape != (total,) or table.dtype != kind:
            raise UserError(f"n-tuple networks: expected {np.dtype(kind)} [{total}], got {table.dtype} {table.shape}")
        if scales is not None and len(scales) != len(sizes):
            raise UserError(f"n-tuple networks: expected {len(sizes)} scales, got {len(scales)}")
        weights = NTupleWeights(
            table=table,
            scales=np.ones(len(sizes), dtype=np.float32) if scales is None else np.array(scales, dtype=np.float32),
            offsets=np.cumsum([0, *sizes]).astype(np.uint64),
            tuples=len(shape.tuples),
            pieces=pieces_of(cells, shape.tuples),
            splits=np.array(shape.splits, dtype=np.uint64),
            potential=points_table(cells, shape.power or 0.0),
            constants=np.array([shape.base, 0.0 if shape.power else 1.0]),
            lookups=cell_lookups(cells, shape.tuples, len(shape.small or ())),
        )
        return NTupleNetwork(game, shape, weights)

    @property
    def active(self) -> int:
        """Number of weights that add up to one value."""
        return len(features(self.game).views) * len(self.shape.tuples) + len(self.shape.small or ())

    @property
    def packed(self) -> bool:
        """Whether the tables are int16: smaller and faster, but not trainable."""
        return bool(self.weights.table.dtype == np.int16)

    @property
    def kind(self) -> NetworkKind:
        """Its kind: with tables of float32, or packed of int16."""
        return network_kind("ntuple-packed" if self.packed else "ntuple")

    @property
    def metadata(self) -> dict[str, Any]:
        """What a file stores of its shape."""
        shape = self.shape
        entries: dict[str, Any] = {
            "tuples": [list(t) for t in shape.tuples],
            "power": shape.power,
            "stage": shape.stage,
        }
        return entries | {"small": list(shape.small or ()), "splits": list(shape.splits), "base": shape.base}

    @property
    def tensors(self) -> Tensors:
        """What a file stores of its weights."""
        if not self.packed:
            return {"table": self.weights.table}
        return pack(self.weights.table, self.weights.scales, self.shape.sizes(self.game) * self.shape.copies)

    @property
    def layout(self) -> Layout:
        """The properties of the network that its compiled code depends on."""
        W, cells = self.weights, features(self.game)
        large = bool(max(math.prod(cells.sizes_of(t)) for t in self.shape.tuples) > FAR)
        worth = worth_of(cells, self.shape.power or 0.0)
        runs = EXTRACTED if extracted(cells, self.shape.tuples) else W.pieces.shape[1]
        return Layout(runs, self.shape.small or (), self.packed, len(W.splits) > 0, large, worth)

    def tables(self, stage: int) -> dict[tuple[int, ...] | str, Floats32 | NDArray[np.int16]]:
        """Returns a stage's tables, as views: by the cells of each tuple, and by the name of each small table."""
        sizes = self.shape.sizes(self.game)
        starts = np.cumsum([stage * sum(sizes), *sizes])
        names: list[tuple[int, ...] | str] = [*self.shape.tuples, *(self.shape.small or ())]
        return {
            name: self.weights.table[start : start + size]
            for name, start, size in zip(names, starts[:-1], sizes, strict=True)
        }

    @property
    def functions(self) -> NTupleFunctions:
        """The compiled functions for this network's layout."""
        return compiled(self.game, self.layout)

    def evaluator(self, name: str) -> Evaluator:
        """Returns the network as a leaf evaluator."""
        functions = self.functions
        return Evaluator(
            name,
            functions.ntuple_value,
            self.weights,
            self.shape.stage,
            terminal="evaluate",
            scratch=SCRATCH,
            speed=Speed(prefetch=functions.prefetch, sibling_values=functions.sibling_values.get(self.shape.stage)),
            game=self.game,
        )


def parse_tuples(text: str) -> tuple[tuple[int, ...], ...]:
    """Parses tuples: words of cells 0-9, a-z (10 to 35) as in `0123 4567 569a`, or with commas as in `0,1,40`.

    Raises ValueError for other text.
    """
    try:
        return tuple(
            tuple(int(c) for c in word.split(",")) if "," in word else tuple(DIGITS.index(c) for c in word.lower())
            for word in text.split()
        )
    except ValueError:
        expected = "tuples as words of cells 0-9, a-z, like '0123 569a', or '0,1,40'"
        raise UserError(f"expected {expected}, got {text!r}") from None


def shape_of(metadata: Metadata) -> NTupleShape:
    """Returns the shape in a file's metadata."""
    return NTupleShape(**{name: metadata[name] for name in NEEDS})


class FiledTables(NamedTuple):
    """The tables in a file."""

    shape: NTupleShape
    sizes: list[int]
    """Sizes of all tables of a stage, in the file's order; 0 for a small table that the network does not use."""
    used: list[int]
    """Indices of the network's tables among them, in the order of its shape."""


def filed_tables(game: Game, metadata: Metadata, tables: Mapping[str, FeatureTable] | None) -> FiledTables:
    """Returns the tables in a file by its metadata; `tables` as in `NetworkKind.create`. Raises ValueError for what does not
    fit."""
    need_in(metadata["power"], Range(0, 1), "metadata 'power'")
    shape = shape_of(metadata).check(game)
    listed = shape.tables(game) if tables is None else tables
    missing = [name for name in shape.small or () if name not in listed]
    if missing:
        raise UserError(
            f"expected tensors of the small table {missing[0]!r}, got those of {', '.join(listed) or 'none'}"
        )
    sizes_by_name = {name: table.size if name in (shape.small or ()) else 0 for name, table in listed.items()}
    n, names = len(shape.tuples), [*sizes_by_name]
    sizes = [*shape.sizes(game)[:n], *sizes_by_name.values()]
    return FiledTables(shape, sizes, [*range(n), *(n + names.index(name) for name in shape.small or ())])


def create(
    game: Game, metadata: Metadata, tensors: Tensors | None = None, tables: Mapping[str, FeatureTable] | None = None
) -> NTupleNetwork:
    """Returns a network as `NetworkKind.create` does."""
    shape, sizes, used = filed_tables(game, metadata, tables)
    if tensors is None:
        return NTupleNetwork.create(game, shape)
    if "scales" in tensors:
        packed = PackedTables(tensors, sizes, shape.copies)
        each = (packed.read(copy, k) for copy in range(shape.copies) for k in used)
        table = concatenated(each, sum(sizes) * shape.copies)
        return NTupleNetwork.create(game, shape, table, [float(packed.scales[k]) for k in used])
    if set(tensors) != {"table"}:
        raise UserError(f"expected tensors ['table'], got {sorted(tensors)}")
    table = tensors["table"]
    if table.shape == (sum(sizes) * shape.copies,) and used != [k for k, size in enumerate(sizes) if size]:
        starts, of_stages = np.cumsum([0, *sizes]), table.reshape(shape.copies, -1)
        table = np.concatenate([of_stages[:, starts[k] : starts[k + 1]] for k in used], axis=1).reshape(-1)
    return NTupleNetwork.create(game, shape, table)


def create_to_play(
    game: Game, metadata: Metadata, tensors: Tensors, tables: Mapping[str, FeatureTable] | None = None
) -> NTupleNetwork:
    """Returns a network as `NetworkKind.create_to_play` does: `merged`, with large tables in memory shared by all processes."""
    if "scales" not in tensors:
        return create(game, metadata, tensors, tables)
    shape, sizes, used = filed_tables(game, metadata, tables)
    packed = PackedTables(tensors, sizes, shape.copies)

    def read(copy: int, k: int) -> Entries:
        return packed.read(copy, used[k])

    units = [float(packed.scales[k]) for k in used]
    make = partial(merged_tables, game, shape, units, read)
    name = checksum(json.dumps([FORMAT, sizes, used, MAX_ENTRY]), tensors)
    large = 2 * sum(sizes) * shape.copies >= LARGE
    kept = kept_tables(name, make) if large else None
    if kept is None:
        which, entries, each = make()
        kept = which, concatenated(each, entries)
    return of_tables(game, shape, units, *kept)


def create_to_train(
    game: Game, metadata: Metadata, tensors: Tensors, tables: Mapping[str, FeatureTable] | None = None
) -> NTupleNetwork:
    """Returns a network as `NetworkKind.create` does, with tables of float32 also from a file with int16."""
    if "scales" not in tensors:
        return create(game, metadata, tensors, tables)
    shape, sizes, used = filed_tables(game, metadata, tables)
    packed, network = PackedTables(tensors, sizes, shape.copies), NTupleNetwork.create(game, shape)
    for copy in range(shape.copies):
        for k, table in zip(used, network.tables(copy).values(), strict=True):
            np.multiply(packed.read(copy, k), packed.scales[k], out=table)
    return network


def quantised(network: NTupleNetwork, step: float) -> NTupleNetwork:
    """Rounds the entries of a network of float32 to int16 multiples of `step`, in the unit of the values.

    A table with entries beyond 32,767 steps gets a larger step. Raises ValueError for a step of 0.
    """
    if not step > 0 or network.packed:
        raise UserError(f"quantised: expected a network of float32 and a step above 0, got step {step!r}")
    shape, sizes = network.shape, network.shape.sizes(network.game)
    starts = np.cumsum([0, *sizes])
    table = np.zeros(network.weights.table.shape, dtype=np.int16)
    scales = []
    for t, start in enumerate(starts[:-1]):
        parts = [slice(start + k * starts[-1], starts[t + 1] + k * starts[-1]) for k in range(shape.copies)]
        largest = max(float(np.abs(network.weights.table[p]).max(initial=0.0)) for p in parts)
        scales.append(float(np.float32(max(step, largest / MAX_ENTRY))))
        for part in parts:
            table[part] = np.clip(np.rint(network.weights.table[part] / scales[-1]), -MAX_ENTRY, MAX_ENTRY)
    return NTupleNetwork.create(network.game, shape, table, scales)


def merged(network: NTupleNetwork) -> NTupleNetwork:
    """Returns a network of equal values in which tables of tuples are added to those of tuples with all their cells.

    It needs fewer look-ups, but its tables are full of entries not seen in training: it is for playing, not for training or
    packing. Tables are not merged if their units differ or their sums might overflow. A network of float32, whose sums would be
    rounded differently, is returned as it is.
    """
    if not network.packed:
        return network
    stages: list[list[Any]] = [[*network.tables(copy).values()] for copy in range(network.shape.copies)]
    units = [float(scale) for scale in network.weights.scales]
    which, entries, each = merged_tables(network.game, network.shape, units, lambda copy, k: stages[copy][k])
    return of_tables(network.game, network.shape, units, which, concatenated(each, entries))


def of_tables(
    game: Game, shape: NTupleShape, units: Sequence[float], which: Sequence[int], table: Entries
) -> NTupleNetwork:
    """Returns a network with some of the tables of a shape."""
    tuples = tuple(t for k, t in enumerate(shape.tuples) if k in which)
    return NTupleNetwork.create(game, replace(shape, tuples=tuples), table, [units[k] for k in which])


def merged_tables(
    game: Game, shape: NTupleShape, units: Sequence[float], read: Callable[[int, int], Entries]
) -> MergedTables:
    """Merges tables as `merged` does; `read(copy, k)` returns table k of a stage."""
    tuples, sizes_of = shape.tuples, features(game).sizes_of

    @cache
    def largest(k: int) -> int:
        return max(max(int(table.max()), -int(table.min())) for table in (read(c, k) for c in range(shape.copies)))

    merged_into: dict[int, int] = {}
    largest_entries: dict[int, int] = {}
    """Bound of the entries of a table with those added to it."""
    if len(set(tuples)) == len(tuples):
        for k in sorted(range(len(tuples)), key=lambda k: len(tuples[k])):
            for other, cells in enumerate(tuples):
                if other in merged_into or not set(tuples[k]) < set(cells) or units[k] != units[other]:
                    continue
                most = sum(largest_entries.get(one) or largest(one) for one in (k, other))
                if most <= MAX_ENTRY:
                    merged_into[k], largest_entries[other] = other, most
                    break

    def whole(copy: int, k: int) -> Entries:
        entries = read(copy, k)
        for part in [part for part, other in merged_into.items() if other == k]:
            wide = entries.reshape(sizes_of(tuples[k])[::-1])
            entries = (wide + spread(whole(copy, part), tuples[part], tuples[k], sizes_of)).reshape(-1)
        return entries

    which = [k for k in range(len(units)) if k not in merged_into]
    sizes = shape.sizes(game)
    each = (whole(copy, k) for copy in range(shape.copies) for k in which)
    return MergedTables(which, sum(sizes[k] for k in which) * shape.copies, each)


PLAIN, PACKED = (
    NetworkKind(
        name,
        create,
        needs=NEEDS,
        tables=lambda game, metadata: features(game).tables,
        used=lambda network: network.shape.tables(network.game),
        version=lambda game, metadata: features(game).version,
        create_to_play=create_to_play,
    )
    for name in ("ntuple", "ntuple-packed")
)
"""Kinds with tables of float32, for training, and with packed tables of int16."""

load_ntuples: Callable[[Path, Game], NTupleNetwork] = partial(load_network, kinds=(PLAIN.name, PACKED.name))
"""Reads such a network for a game; raises ValueError that names what does not fit."""
load_to_train = partial(load_network, kinds=(PLAIN.name, PACKED.name), make=lambda kind: create_to_train)
"""Reads one with tables of float32, whichever the file has."""
