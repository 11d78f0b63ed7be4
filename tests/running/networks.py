"""Untrained networks with random weights."""

from typing import Any

import numpy as np

from leafwise.envs.core.contract.evaluator import Evaluator
from leafwise.envs.core.contract.game import Game
from leafwise.models import NTupleNetwork, SparseNetwork
from leafwise.models.ntuple import NTupleShape

METADATA = {"steps": 3, "command": "none", "commit": "none"}
"""Required metadata of a file with a network."""


def random_ntuples(game: Game, shape: NTupleShape, seed: int = 1) -> NTupleNetwork:
    """Returns an n-tuple network with normally distributed entries."""
    blank = NTupleNetwork.create(game, shape)
    table = np.random.default_rng(seed).normal(size=blank.weights.table.shape).astype(np.float32)
    return NTupleNetwork.create(game, shape, table)


def random_network(
    game: Game, hidden: tuple[int, ...] = (8,), seed: int = 1, spread: float = 0.4, **shape: Any
) -> SparseNetwork:
    """Returns a sparse network with normally distributed weights; `shape` has more options of `SparseNetwork.create`."""
    rng, blank = np.random.default_rng(seed), SparseNetwork.create(game, hidden, **shape)
    drawn = {name: rng.normal(0, spread, t.shape).astype(np.float32) for name, t in blank.tensors.items()}
    return blank.with_tensors(drawn)


def random_sparse(game: Game, hidden: tuple[int, ...] = (16, 8), spread: float = 0.2, **options: Any) -> SparseNetwork:
    """Returns a sparse network with two layers and smaller weights."""
    return random_network(game, hidden, spread=spread, **options)


def planted_leaf(game: Game, to_go: bool = False) -> Evaluator:
    """Returns a leaf whose values and logits depend only on the row."""

    def answers(rows: Any, T: Any) -> Any:
        words = rows.view(np.uint8).reshape(len(rows), -1).astype(np.float64)
        numbers = np.sin(words @ np.arange(1, words.shape[1] + 1)[:, None] * np.arange(1, game.max_actions + 2))
        return numbers[:, 0] * 0.9, 2 * numbers[:, 1:]

    low, high = (None, None) if to_go else (-1.0, 1.0)
    return Evaluator(
        "planted", None, low=low, high=high, batch=lambda rows, T: answers(rows, T)[0], batch_policy=answers, to_go=to_go
    )  # fmt: skip
