"""Decisions of Q-learning's games: played step by step in the learner's process, or many steps of some games as a piece of work."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leafwise.models.sparse import SparseNetwork
from leafwise.training.execution.executor import Shared
from leafwise.training.kernels.selfplay import kernels, new_table

GROUP = 64
"""Games of a piece, at most."""


class Decisions(NamedTuple):
    """Decisions and what came of them, n of them."""

    before: NDArray[Any]
    """[n, width]"""
    after: NDArray[Any]
    """The next decisions, or ends, [n, width]."""
    actions: NDArray[np.int64]
    """[n]"""
    gains: NDArray[np.float32]
    """Reward, and the sign of what comes after it, [n, 2]."""


class Player:
    """Plays games side by side: at random, or the action that a network values most."""

    def __init__(self, network: SparseNetwork, plies: int) -> None:
        """The network is only known by its shape; `plies` is the most random actions at the beginning of a game."""
        self.game, self.plies, self._first = network.game, plies, network
        evaluator = network.evaluator("newest")
        self.kernels, self.T = kernels(self.game, evaluator), self.game.tables(evaluator)
        self.table = new_table(self.game, 1, 0)

    def __reduce__(self) -> Any:
        return Player, (self._first, self.plies)

    def warm(self) -> None:
        """Loads the code."""
        from leafwise.training.networks.sparse import SparseModule, one_thread

        one_thread()
        rows, streams = self.begun(np.zeros((1, 2), dtype=np.uint64))
        self.step(self._first, SparseModule(self._first), rows, streams, 0.5, np.random.default_rng(0))

    def begun(self, streams: NDArray[np.uint64]) -> tuple[NDArray[Any], NDArray[np.uint64]]:
        """Returns new games, [n, width], and their random streams, [n, 2]."""
        rows = self.game.rows(len(streams))
        self.kernels.start_games(self.table, rows, streams, self.plies, self.T)
        return rows, streams

    def step(
        self, network: SparseNetwork, module: Any, rows: NDArray[Any], streams: NDArray[np.uint64], exploration: float,
        rng: np.random.Generator,
    ) -> Decisions:  # fmt: skip
        """Plays one decision in every game, in place; `module` is the network's, `exploration` the share of random actions."""
        import torch

        n = len(rows)
        features, legal, _ = network.describe(rows, self.T)
        actions = (rng.random(legal.shape) * legal).argmax(axis=1)
        greedy = rng.random(n) >= exploration
        with torch.no_grad():
            values = module(torch.from_numpy(features[greedy])).numpy()
        actions[greedy] = np.where(legal[greedy], values, -np.inf).argmax(axis=1)
        before, after, rewards, signs = rows.copy(), np.zeros_like(rows), np.zeros(n), np.zeros(n)
        self.kernels.advance(self.table, rows, after, streams, actions, rewards, signs, self.plies, self.T)
        return Decisions(before, after, actions, np.stack([rewards, signs], axis=1).astype(np.float32))


class Played(NamedTuple):
    """What comes of a piece: its decisions, its games as they stand then, and the counts of the table."""

    decisions: list[Decisions]
    rows: NDArray[Any]
    streams: NDArray[np.uint64]
    counts: NDArray[np.int64]


@dataclass(frozen=True)
class Steps:
    """A piece of work: decisions of some games, `steps` in each."""

    player: Shared[Player]
    networks: Shared[Mapping[str, SparseNetwork]]
    rows: NDArray[Any]
    streams: NDArray[np.uint64]
    steps: int
    exploration: float
    key: int

    def __call__(self) -> Played:
        """Returns what came of it."""
        from leafwise.training.networks.sparse import SparseModule

        player, network = self.player.get(), self.networks.get()["newest"]
        module, rng = SparseModule(network), np.random.default_rng(self.key)
        rows, streams = self.rows.copy(), self.streams.copy()
        player.table.counts[:] = 0
        steps = range(self.steps)
        decisions = [player.step(network, module, rows, streams, self.exploration, rng) for _ in steps]
        return Played(decisions, rows, streams, player.table.counts.copy())
