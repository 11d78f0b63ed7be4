"""The inputs of networks with a sparse first layer: the active features of a position.

A network sees sparse features of the game (`game.features["sparse"]`, or another set by its name), the observation as one feature
for each cell and value, or both. Both are needed for action values where symmetric positions share their features.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from leafwise.envs.core.arrays import Array, Ints
from leafwise.envs.core.compile.jit import bind
from leafwise.envs.core.contract.features import SparseFeatures
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.rules import Compiled, Rules
from leafwise.envs.core.errors import UserError

FEATURES, OBSERVATION = "features", "observation"
BOTH = f"{FEATURES}+{OBSERVATION}"
MAX_VALUES = 255
"""Maximum difference between the values of a cell of an observation."""


@functools.cache
def make_observed(rules: Rules, active: Compiled | None, room: Path) -> Compiled:
    """Compiles the `active` of networks that see the observation: one feature for each cell, after those of `active` if given."""
    observe, current_player, has_features = rules.observe, rules.current_player, active is not None

    @bind(room, inline=True)
    def observed(S, i, F, T):
        """Writes the active features of row i of S [rows, width] to F, those of cells last; returns how many there are."""
        W = T.leaf
        n, first = 0, 0
        if has_features:
            n = active(S, i, F, T)  # type: ignore[misc]
        observe(S, i, W.seen, 0, T)
        seen = W.seen.reshape(W.seen.size)
        cells = seen.shape[0]
        if has_features and current_player(S, i, T) == 1:
            first = cells
        for k in range(cells):
            F[n + k] = W.first_of[first + k] + np.int64(seen[k])
        return n + cells

    return observed


def features_of(game: Game, sees: str = FEATURES) -> SparseFeatures:
    """Returns the features that a network sees, by a name of `seen_by`.

    Raises ValueError for a game without such features, or whose observation is not of small whole numbers.
    """
    if sees == BOTH:
        sparse, (cells, n_cell_features) = features_of(game), cells_of(game)
        active = make_observed(game.rules, sparse.active, game.room)
        return replace(
            sparse,
            active=active,
            size=lambda options: sparse.size(options) + 2 * n_cell_features,
            most=lambda options: sparse.most(options) + len(cells),
            invariant=False,
            stage="decision",
            observed=None,  # an observation does not say which player's features of cells apply
            tables=None,
        )
    if sees == OBSERVATION:
        first, size = cells_of(game)
        active = make_observed(game.rules, None, game.room)
        return SparseFeatures(active, lambda options: size, lambda options: len(first))
    if sees == FEATURES and "sparse" not in game.features:
        raise UserError(f"sparse networks: expected a game with sparse features, got {game.name!r}")
    features: SparseFeatures = game.features["sparse" if sees == FEATURES else sees]
    return features


def default_seen(game: Game, *, actions: bool) -> str:
    """Returns what a network sees by default: the game's sparse features if it has any, else the observation.

    A network with outputs for `actions` needs features of decisions, and both if symmetric positions share the features.
    """
    sparse = game.features.get("sparse")
    if sparse is None or (actions and sparse.stage != "decision"):
        return OBSERVATION
    return BOTH if actions and sparse.invariant else FEATURES


def seen_by(game: Game) -> tuple[str, ...]:
    """Returns what networks can see of a game: its sparse features, other sets by name, the observation, or both."""
    others = [
        name for name, features in game.features.items() if isinstance(features, SparseFeatures) and name != "sparse"
    ]
    return FEATURES, *others, OBSERVATION, BOTH


def cells_of(game: Game) -> tuple[Ints, int]:
    """Returns the feature of value 0 of each cell of the observation, and the number of all features of cells.

    Raises ValueError for an observation that is not one array of small whole numbers.
    """
    space: Any = game.observation_space()
    if isinstance(space, Mapping):
        wanted = "expected an observation that is one array (a torch module as --network may see planes)"
        raise UserError(f"sparse networks: {wanted}, got {', '.join(space)} in {game.name!r}")
    low, high = space.low.reshape(-1).astype(np.float64), space.high.reshape(-1).astype(np.float64)
    if not (np.isfinite([low, high]).all() and (high - low <= MAX_VALUES).all() and (low % 1 == 0).all()):
        raise UserError(
            f"sparse networks: expected an observation of small whole numbers, got {space} in {game.name!r}"
        )
    starts = np.cumsum([0, *(high - low + 1)]).astype(np.int64)
    return starts[:-1] - low.astype(np.int64), int(starts[-1])


def cells_seen(game: Game, sees: str) -> tuple[Ints, Array]:
    """Returns the feature of value 0 of each cell that a network sees, and an array for an observation, [1, ...].

    With both features and observation there is a set for each player who may act. Both arrays are empty for networks that do not
    see the observation.
    """
    if sees not in (OBSERVATION, BOTH):
        return np.zeros(0, dtype=np.int64), np.zeros((1, 0), dtype=np.float32)
    cells, size = cells_of(game)
    space = game.observation_space()
    seen = np.zeros((1, *(space.shape or ())), dtype=space.dtype)
    if sees == OBSERVATION:
        return cells, seen
    begin = features_of(game).size(game.options)
    return np.concatenate([begin + cells, begin + size + cells]), seen
