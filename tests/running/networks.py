"""Networks that have learned nothing."""

from typing import Any

import numpy as np

from leafwise.envs.core.contract.game import Game
from leafwise.models.sparse import SparseNetwork


def random_network(
    game: Game, hidden: tuple[int, ...] = (8,), seed: int = 1, spread: float = 0.4, **shape: Any
) -> SparseNetwork:
    """Returns a sparse network whose weights are drawn at random; `shape` is what else it is created with."""
    rng, blank = np.random.default_rng(seed), SparseNetwork.create(game, hidden, **shape)
    drawn = {name: rng.normal(0, spread, t.shape).astype(np.float32) for name, t in blank.tensors.items()}
    return blank.with_tensors(drawn)
