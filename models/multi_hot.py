"""A game's sparse features as inputs of torch modules: a vector with a 1 for each active feature."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.arrays import Array
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.rules import DEFAULT_VIEW
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.gym.observation import ObservedRows, Observer
from leafwise.models.seen import FEATURES, features_of
from leafwise.models.sparse import BLOCK, SparseNetwork


def sets_of(game: Game) -> tuple[str, ...]:
    """Returns the names of a game's sets of sparse features: `features` and others."""
    features = game.features.items()
    return tuple(
        FEATURES if name == "sparse" else name for name, kind in features if name == "sparse" or hasattr(kind, "active")
    )


def space_of(game: Game, sees: str) -> Any:
    """Returns the input space of a module: that of a view of the game, or [features + 1] for a set of its sparse features.

    Raises ValueError for features of a stage of chance.
    """
    if sees in game.view_names or sees not in sets_of(game):
        return game.observation_space(sees)
    features = features_of(game, sees)
    if features.stage != "decision":
        raise UserError(f"expected features of decisions, got those of the stage {features.stage!r} in {game.name!r}")
    return gym.spaces.Box(0, 1, (features.size(game.options) + 1,), np.float32)


def observer_of(game: Game, sees: str, *, masked: bool) -> Observer | MultiHot:
    """Returns the function that makes a module's inputs of rows."""
    if sees in game.view_names or sees not in sets_of(game):
        return Observer(game, sees, masked=masked)
    return MultiHot(game, sees, masked=masked)


class MultiHot:
    """Turns rows into vectors of their features, as `Observer` turns them into observations.

    The last number is 1 if the features take the side of the player who does not act.
    """

    def __init__(self, game: Game, sees: str, *, masked: bool) -> None:
        self._sparse = SparseNetwork.create(game, (BLOCK,), sees=sees)
        self._observer = Observer(game, DEFAULT_VIEW, masked=masked)
        self._tables = game.tables()

    def __call__(self, rows: Array, T=None, viewers: NDArray[np.int8] | None = None) -> ObservedRows:
        """Returns the vectors of rows [n, width] in place of the observations of `Observer`."""
        seen, network_weights = self._observer(rows, T, viewers), self._sparse.weights
        weights = network_weights._replace(
            **{name: getattr(network_weights, name).copy() for name in ("seen", "features", "hidden", "legal")}
        )
        features, _, signs = self._sparse.describe(rows, (self._tables if T is None else T)._replace(leaf=weights))
        vectors = np.zeros((len(rows), len(network_weights.embedding)), np.float32)
        np.put_along_axis(vectors, features, 1.0, axis=1)
        vectors[:, -1] = signs < 0  # the column to which padding points
        return seen._replace(obs=vectors)
