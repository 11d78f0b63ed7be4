"""N-tuple networks in files: as one tensor of float32, or packed into those entries that training has seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.contract.features import FeatureTable
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.ranges import Range, need_in
from leafwise.models.files import load_network
from leafwise.models.network import NetworkKind, Tensors, Told
from leafwise.models.ntuple import NTupleNetwork, Shape
from leafwise.models.ntuple_functions import features
from leafwise.models.packed_tables import unpack
from leafwise.models.packing import merged

NEEDS: Mapping[str, type | tuple[type, ...]] = {
    "tuples": list, "power": (int, float), "stage": str, "small": list, "splits": list, "base": (int, float),
}  # fmt: skip
"""Entries of a file's metadata, and their types: the fields of a shape."""


def load_ntuples(path: Path, game: Game) -> NTupleNetwork:
    """Reads an n-tuple network for a game; raises ValueError that names what does not fit."""
    network: NTupleNetwork = load_network(path, game, (PLAIN.name, PACKED.name))
    return network


def shape_of(told: Told) -> Shape:
    """Returns the shape that a file's metadata tells."""
    return Shape(**{name: told[name] for name in NEEDS})


def create(
    game: Game, told: Told, tensors: Tensors | None = None, tables: Mapping[str, FeatureTable] | None = None
) -> NTupleNetwork:
    """Returns a network as `NetworkKind.create` does."""
    need_in(told["power"], Range(0, 1), "metadata 'power'")
    shape = shape_of(told).check(game)
    if tensors is None:
        return NTupleNetwork.create(game, shape)
    listed = shape.tables(game) if tables is None else tables
    missing = [name for name in shape.small or () if name not in listed]
    if missing:
        raise UserError(
            f"expected tensors of the small table {missing[0]!r}, got those of {', '.join(listed) or 'none'}"
        )
    held = {name: table.size if name in (shape.small or ()) else 0 for name, table in listed.items()}
    sizes = [features(game).values ** len(t) for t in shape.tuples] + [*held.values()]
    if "scales" in tensors:
        table, scales = unpack(tensors, sizes, shape.copies)
    elif set(tensors) == {"table"}:
        table, scales = tensors["table"], None
    else:
        raise UserError(f"expected tensors ['table'], got {sorted(tensors)}")
    return in_order(game, shape, held, sizes, table, scales)


def in_order(
    game: Game, shape: Shape, held: Mapping[str, int], sizes: Sequence[int], table: NDArray[Any], scales: Any
) -> NTupleNetwork:
    """Returns a network of tables that stand in a file in another order than in the room, or are empty there.

    `held` are the sizes of the file's small tables, `sizes` those of all its tables in a stage.
    """
    n, names = len(shape.tuples), [*held]
    own = [*range(n), *(n + names.index(name) for name in shape.small or ())]
    if table.shape == (sum(sizes) * shape.copies,) and own != [k for k, size in enumerate(sizes) if size]:
        starts, of_stages = np.cumsum([0, *sizes]), table.reshape(shape.copies, -1)
        table = np.concatenate([of_stages[:, starts[k] : starts[k + 1]] for k in own], axis=1).reshape(-1)
    return NTupleNetwork.create(game, shape, table, None if scales is None else [float(scales[k]) for k in own])


def room_tables(game: Game, told: Told) -> Mapping[str, FeatureTable]:
    """Returns the small tables that the room has now."""
    return features(game).tables


def used_tables(network: NTupleNetwork) -> Mapping[str, FeatureTable]:
    """Returns the small tables that a network has."""
    return network.shape.tables(network.game)


def cells_version(game: Game, told: Told) -> int:
    """Returns the version of the room's cells."""
    return features(game).version


def kind_of(name: str) -> NetworkKind:
    """Returns a kind of n-tuple networks under a name."""
    return NetworkKind(
        name,
        create,
        needs=NEEDS,
        tables=room_tables,
        used=used_tables,
        version=cells_version,
        to_play=partial(merged, in_place=True),
    )


PLAIN, PACKED = kind_of("ntuple"), kind_of("ntuple-packed")
"""Tables of float32 as they are trained, and of int16 that hold only what training has seen."""
