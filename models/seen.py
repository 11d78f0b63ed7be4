"""What networks with a sparse first layer see of a position: a few features that are there.

They see the room's own features (`game.features["sparse"]`, or others that it has under a name of theirs), or the observation, one
feature for each cell and value of it, or both: where symmetric positions have the same features, these alone cannot tell what each
action is worth.
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
MOST_VALUES = 255
"""Values that a cell of an observation may have, less one."""


@functools.cache
def make_observed(rules: Rules, active: Compiled | None, room: Path) -> Compiled:
    """Compiles the `active` of networks that see the observation: a feature for every cell of it, beside a room's features if
    `active` tells of those."""
    observe, current_player, beside = rules.observe, rules.current_player, active is not None

    @bind(room, inline=True)
    def observed(S, i, F, T):
        """Writes the features of row i of S [rows, width] to F, those of the cells last; returns how many."""
        W = T.leaf
        n, first = 0, 0
        if beside:
            n = active(S, i, F, T)  # type: ignore[misc]
        observe(S, i, W.seen, 0, T)
        seen = W.seen.reshape(W.seen.size)
        cells = seen.shape[0]
        if beside and current_player(S, i, T) == 1:
            first = cells
        for k in range(cells):
            F[n + k] = W.first_of[first + k] + np.int64(seen[k])
        return n + cells

    return observed


def features_of(game: Game, sees: str = FEATURES) -> SparseFeatures:
    """Returns the features that a network sees.

    Raises ValueError for a game without features of its own, or whose observation is not made of whole numbers.
    """
    if sees == BOTH:
        own, (cells, more) = features_of(game), cells_of(game)
        active = make_observed(game.rules, own.active, game.room)
        return replace(
            own,
            active=active,
            size=lambda options: own.size(options) + 2 * more,
            most=lambda options: own.most(options) + len(cells),
            invariant=False,
            stage="decision",
            observed=None,  # whose features of cells these are, an observation does not tell
            tables=None,
        )
    if sees == OBSERVATION:
        first, size = cells_of(game)
        active = make_observed(game.rules, None, game.room)
        return SparseFeatures(active, lambda options: size, lambda options: len(first))
    if sees == FEATURES and "sparse" not in game.features:
        raise UserError(f"sparse networks: expected a game with sparse features, got {game.name!r}")
    found: SparseFeatures = game.features["sparse" if sees == FEATURES else sees]
    return found


def default_seen(game: Game, *, actions: bool) -> str:
    """Returns what a network sees unless it is told: the game's features, where it has some, else the observation.

    One that says something of `actions` needs features of decisions, and both where symmetric positions share the features.
    """
    found = game.features.get("sparse")
    if found is None or (actions and found.stage != "decision"):
        return OBSERVATION
    return BOTH if actions and found.invariant else FEATURES


def seen_by(game: Game) -> tuple[str, ...]:
    """Returns what networks can see of a game: its sparse features, others of that kind by their names, the observation, both."""
    own = [name for name, found in game.features.items() if isinstance(found, SparseFeatures) and name != "sparse"]
    return FEATURES, *own, OBSERVATION, BOTH


def cells_of(game: Game) -> tuple[Ints, int]:
    """Returns the feature of value 0 of each cell of the observation, and the number of features in all."""
    space: Any = game.observation_space()
    if isinstance(space, Mapping):
        wanted = "expected an observation that is one array (a torch module as --network may see planes)"
        raise UserError(f"sparse networks: {wanted}, got {', '.join(space)} in {game.name!r}")
    low, high = space.low.reshape(-1).astype(np.float64), space.high.reshape(-1).astype(np.float64)
    if not (np.isfinite([low, high]).all() and (high - low <= MOST_VALUES).all() and (low % 1 == 0).all()):
        raise UserError(
            f"sparse networks: expected an observation of small whole numbers, got {space} in {game.name!r}"
        )
    starts = np.cumsum([0, *(high - low + 1)]).astype(np.int64)
    return starts[:-1] - low.astype(np.int64), int(starts[-1])


def cells_seen(game: Game, sees: str) -> tuple[Ints, Array]:
    """Returns the feature of value 0 of each cell that a network sees, beside features once for each player who may act, and room
    for an observation, [1, ...] of cells; both empty where it sees none."""
    if sees not in (OBSERVATION, BOTH):
        return np.zeros(0, dtype=np.int64), np.zeros((1, 0), dtype=np.float32)
    cells, size = cells_of(game)
    space = game.observation_space()
    seen = np.zeros((1, *(space.shape or ())), dtype=space.dtype)
    if sees == OBSERVATION:
        return cells, seen
    begin = features_of(game).size(game.options)
    return np.concatenate([begin + cells, begin + size + cells]), seen
