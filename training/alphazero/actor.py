"""Games by tree search as pieces of work with random streams of their own, and matches of two networks by such searches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.interrupts import stoppable
from leafwise.models.network import Learned
from leafwise.training.alphazero.kernels import How, kernels, new_records, new_table, puct
from leafwise.training.execution.executor import Shared
from leafwise.training.runs.seeds import SELECTION_SEED, SELECTION_SEEDS
from leafwise.training.selfplay.actor import ROOM


class Recorded(NamedTuple):
    """Positions of some games."""

    rows: NDArray[Any]
    """[n, width]"""
    policies: NDArray[np.float32]
    """Shares of the simulations that took each action, [n, max_actions]."""
    targets: NDArray[np.float64]
    """What the position is worth to the player who acts, [n]."""
    counts: NDArray[np.int64]
    """As in `leafwise.training.alphazero.kernels.Table`, of the games that these are of."""


class Recorder:
    """Records games that a network plays by tree search, and has two networks play such games."""

    def __init__(self, first: Learned, how: How, plies: int, exploration: float, positions: int) -> None:
        """`first` is a network of the shape of all, `positions` how many are recorded at once."""
        self.first, self.how, self.plies, self.exploration, self.positions = first, how, plies, exploration, positions
        self.game: Game = first.game
        leaf = first.evaluator("newest")
        self.table = new_table(self.game, leaf, how.simulations)
        self.record, self.policies = new_records(self.game, positions + ROOM)
        self.kernels, self.options = kernels(self.game, leaf), puct(exploration)

    def __reduce__(self) -> Any:
        return Recorder, (self.first, self.how, self.plies, self.exploration, self.positions)

    def warm(self) -> None:
        """Loads the code: records a game and plays a match."""
        self.piece(self.first, 1, 0)
        self.match(self.first, self.first, np.zeros(1, dtype=np.uint64), 1)

    def tables(self, network: Learned) -> Any:
        """Returns `T` with a network's weights."""
        return self.game.tables(network.evaluator("newest"))

    def piece(self, network: Learned, count: int, key: int) -> Recorded:
        """Returns whole games of at least `count` positions, whose chance and choices come from a stream of this key alone."""
        table, T = self.table, self.tables(network)
        table.R[0], table.R[1], table.counts[:] = np.uint64(key), np.uint64(0), 0
        told = self.record, self.policies, count, self.plies, self.how, self.options
        n = stoppable(lambda: self.kernels.record_games(table, *told, T), T.stop)
        kept = self.record.rows[:n].copy(), self.policies[:n].copy(), self.record.targets[:n].copy()
        return Recorded(*kept, table.counts.copy())

    def match(self, newest: Learned, best: Learned, keys: NDArray[np.uint64], simulations: int) -> NDArray[np.float64]:
        """Returns the results of the first network from the openings of keys [n], [n, 2], first seat first."""
        results = np.zeros((len(keys), 2))
        new, old = self.tables(newest), self.tables(best)
        how = simulations, self.plies, self.options
        play = self.kernels.play_matches
        stoppable(lambda: play(self.table, keys, results, *how, new, old), new.stop, old.stop)
        return results


@dataclass(frozen=True)
class Games:
    """A piece of work: games of the newest network."""

    recorder: Shared[Recorder]
    networks: Shared[Mapping[str, Learned]]
    count: int
    """Positions to record, at least."""
    key: int

    def __call__(self) -> Recorded:
        """Returns the positions."""
        return self.recorder.get().piece(self.networks.get()["newest"], self.count, self.key)


@dataclass(frozen=True)
class Pairs:
    """A piece of work: games of two networks from openings, each from both seats."""

    recorder: Shared[Recorder]
    networks: Shared[tuple[Learned, Learned]]
    places: range
    """Which of the selection seeds the openings have."""
    simulations: int

    def __call__(self) -> NDArray[np.float64]:
        """Returns the results of the first network, [openings, 2], first seat first."""
        keys = (SELECTION_SEED + np.array(self.places) % SELECTION_SEEDS).astype(np.uint64)
        return self.recorder.get().match(*self.networks.get(), keys, self.simulations)
