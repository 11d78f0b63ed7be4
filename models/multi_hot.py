"""A game's sparse features as torch modules see them: a vector with a 1 for each feature that is there."""

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
    """Returns the names of a game's sets of sparse features: `features`, and others."""
    found = game.features.items()
    return tuple(
        FEATURES if name == "sparse" else name for name, one in found if name == "sparse" or hasattr(one, "active")
    )


def space_of(game: Game, sees: str) -> Any:
    """Returns the space of what a module sees: a view of the game, or [features + 1] for a set of its sparse features.

    Raises ValueError for features that are asked for at a stage of chance.
    """
    if sees in game.view_names or sees not in sets_of(game):
        return game.observation_space(sees)
    features = features_of(game, sees)
    if features.stage != "decision":
        raise UserError(f"expected features of decisions, got those of the stage {features.stage!r} in {game.name!r}")
    return gym.spaces.Box(0, 1, (features.size(game.options) + 1,), np.float32)


def observer_of(game: Game, sees: str, *, masked: bool) -> Observer | MultiHot:
    """Returns what turns rows into what a module sees of them."""
    if sees in game.view_names or sees not in sets_of(game):
        return Observer(game, sees, masked=masked)
    return MultiHot(game, sees, masked=masked)


class MultiHot:
    """Turns rows into vectors of their features, as `Observer` into observations.

    The last number is 1 where the features take the side of the player who does not act.
    """

    def __init__(self, game: Game, sees: str, *, masked: bool) -> None:
        self._sparse = SparseNetwork.create(game, (BLOCK,), sees=sees)
        self._observer = Observer(game, DEFAULT_VIEW, masked=masked)
        self._tables = game.tables()

    def __call__(self, rows: Array, T=None, viewers: NDArray[np.int8] | None = None) -> ObservedRows:
        """Returns what there is to be seen of rows [n, width], as `Observer` does."""
        seen, W = self._observer(rows, T, viewers), self._sparse.weights
        own = W._replace(**{name: getattr(W, name).copy() for name in ("seen", "features", "hidden", "legal")})
        features, _, signs = self._sparse.describe(rows, (self._tables if T is None else T)._replace(leaf=own))
        found = np.zeros((len(rows), len(W.embedding)), np.float32)
        np.put_along_axis(found, features, 1.0, axis=1)
        found[:, -1] = signs < 0  # where features that fill up a list point
        return seen._replace(obs=found)
