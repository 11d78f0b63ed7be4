"""Networks with a sparse first layer in files, whose features a room may have more of by now."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.contract.features import FeatureTable, SparseFeatures
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.ranges import need_among
from leafwise.models.files import load_network
from leafwise.models.network import NetworkKind, Tensors, Told
from leafwise.models.seen import BOTH, OBSERVATION, cells_of, features_of, seen_by
from leafwise.models.sparse import SparseNetwork


def load_sparse(path: Path, game: Game) -> SparseNetwork:
    """Reads a sparse network for a game; raises ValueError that names what does not fit."""
    network: SparseNetwork = load_network(path, game, (KIND.name,))
    return network


def create(
    game: Game, told: Told, tensors: Tensors | None = None, tables: Mapping[str, FeatureTable] | None = None
) -> SparseNetwork:
    """Returns a network as `NetworkKind.create` does; features that its file does not know say nothing."""
    shape = {name: told[name] for name in ("head", "sees", "scale")}
    if tensors is None:
        return SparseNetwork.create(game, told["hidden"], **shape)
    known, given = room_tables(game, told), dict(tensors)
    if tables is not None and list(tables) != list(known) and "embedding" in given:
        given["embedding"] = placed(given["embedding"], tables, known)
    return SparseNetwork.create(game, told["hidden"], **shape, tensors=given)


def placed(
    embedding: NDArray[Any], tables: Mapping[str, FeatureTable], known: Mapping[str, FeatureTable]
) -> NDArray[Any]:
    """Returns the rows of a file's tables where the room has them now, zeros for tables that the file lacks."""
    sizes = [table.size for table in tables.values()]
    if embedding.ndim != 2 or len(embedding) != sum(sizes):
        raise UserError(f"expected embeddings of {sum(sizes)} features, got {list(embedding.shape)}")
    own = dict(zip(tables, np.split(embedding, np.cumsum(sizes)[:-1]), strict=True))
    blank = {name: np.zeros((table.size, embedding.shape[1]), embedding.dtype) for name, table in known.items()}
    return np.concatenate([own.get(name, blank[name]) for name in known])


def seen(game: Game, told: Told) -> SparseFeatures:
    """Returns what a network of a file sees; raises ValueError for what the game does not show."""
    need_among(told["sees"], seen_by(game), "sees")
    return features_of(game, told["sees"])


def room_tables(game: Game, told: Told) -> Mapping[str, FeatureTable]:
    """Returns the tables of features that a room has now for such networks."""
    found = seen(game, told)
    if told["sees"] == OBSERVATION:
        return {OBSERVATION: FeatureTable(cells_of(game)[1])}
    if told["sees"] == BOTH:
        return {**features_of(game).tables_of(game.options), "cells": FeatureTable(2 * cells_of(game)[1])}
    return found.tables_of(game.options)


def version_of(game: Game, told: Told) -> int:
    """Returns the version of what a network sees."""
    return seen(game, told).version


KIND = NetworkKind(
    "sparse",
    create,
    needs={"hidden": list, "head": str, "sees": str, "scale": (int, float)},
    tables=room_tables,
    version=version_of,
    module="leafwise.training.networks:SparseModule",
)
