"""Networks of random weights, which have learned nothing."""

from typing import Any

import numpy as np

from leafwise.envs.core.contract.game import Game
from leafwise.models import NTupleNetwork, SparseNetwork
from leafwise.models.ntuple import Shape

SAID = {"steps": 3, "command": "none", "commit": "none"}
"""What a file has to say beside its network."""


def random_ntuples(game: Game, shape: Shape, seed: int = 1) -> NTupleNetwork:
    """Returns an n-tuple network whose entries are normal numbers."""
    blank = NTupleNetwork.create(game, shape)
    table = np.random.default_rng(seed).normal(size=blank.weights.table.shape).astype(np.float32)
    return NTupleNetwork.create(game, shape, table)


def random_network(
    game: Game, hidden: tuple[int, ...] = (8,), seed: int = 1, spread: float = 0.4, **shape: Any
) -> SparseNetwork:
    """Returns a sparse network whose weights are normal numbers; `shape` is what else it is created with."""
    rng, blank = np.random.default_rng(seed), SparseNetwork.create(game, hidden, **shape)
    drawn = {name: rng.normal(0, spread, t.shape).astype(np.float32) for name, t in blank.tensors.items()}
    return blank.with_tensors(drawn)


def random_sparse(game: Game, hidden: tuple[int, ...] = (16, 8), spread: float = 0.2, **options: Any) -> SparseNetwork:
    """Returns one of two layers, of smaller weights."""
    return random_network(game, hidden, spread=spread, **options)
