"""Plays whole games of an n-tuple network in compiled code: what `arena` plays move by move, without Python in between.

The search is the same, so are the games (tested); there is no transposition table and no clock. Which entries its games look up
is told too: the others can be left out of its file.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from leafwise.envs.core import interrupts
from leafwise.envs.core.interrupts import stoppable
from leafwise.models.ntuple import NTupleNetwork
from leafwise.training.evaluation.statistics import bounds, mean_interval
from leafwise.training.execution import in_pieces, map_pieces
from leafwise.training.ntuple_td.kernels import MOVES, kernels, new_trainer
from leafwise.training.types import Bools, Floats, Ints, Json

PIECE = 5
"""Games of a piece of work."""
RESTART = 100
"""As in training: a trajectory longer than this is followed by one from its middle, so that late positions come often."""


class Games(NamedTuple):
    """Games of a network that searches to one depth, in the order of their seeds."""

    scores: Floats
    ranks: Ints
    """Highest value of a cell on each final board."""
    moves: int
    seconds: float
    """Processor time, added over the processes."""

    def interval(self) -> tuple[float, float]:
        """Returns the 95 % t interval of the mean score."""
        return mean_interval(self.scores)

    def figures(self) -> Json:
        """Returns what a table needs, by name."""
        return {
            "games": len(self.scores),
            "mean": float(self.scores.mean()),
            **bounds(self.interval()),
            "median": float(np.median(self.scores)),
            "seconds_per_move": self.seconds / max(self.moves, 1),
        }


def play_games(
    network: NTupleNetwork,
    depth: int,
    first_seed: int,
    games: int,
    *,
    cutoff: float = 0.0,
    processes: int = 1,
    cluster: str = "",
    progress: Callable[[int], None] = lambda done: None,
) -> Games:
    """Plays games with seeds from `first_seed` on; `progress` is told how many are done.

    Decisions less probable than `cutoff` are leaves of the search (0: exact). `processes` and `cluster` say where they are
    played, as `leafwise.training.execution.executor_for` has it; each process has the network's tables once.
    """
    parts: list[Games] = []
    pieces = in_pieces(range(first_seed, first_seed + games), PIECE)
    for part in map_pieces(partial(_played, network, depth, cutoff), pieces, processes, cluster):
        parts.append(part)
        progress(min(len(parts) * PIECE, games))
    scores, ranks, moves, seconds = zip(*parts, strict=True)
    return Games(np.concatenate(scores), np.concatenate(ranks), sum(moves), sum(seconds))


def _played(network: NTupleNetwork, depth: int, cutoff: float, seeds: range) -> Games:
    """Plays a piece."""
    run, T = kernels(network, depth).greedy_games, network.game.tables(network.evaluator("games"))
    actor, keys = new_trainer(network.game, 0, depth, cutoff=cutoff), np.array(seeds, dtype=np.uint64)
    scores, ranks = np.zeros(len(keys)), np.zeros(len(keys), dtype=np.int64)
    run(actor, keys[:0], scores, ranks, T)  # compiles
    start = time.thread_time()
    stoppable(lambda: run(actor, keys, scores, ranks, T), T.stop)
    interrupts.check()
    return Games(scores, ranks, int(actor.counts[MOVES]), time.thread_time() - start)


def looked_up(network: NTupleNetwork, moves: int, seed: int = 0) -> Bools:
    """Returns which entries so many moves of the network's own games look up, [weights]; nothing is learned meanwhile."""
    errors, sizes = (np.zeros(len(network.weights.table), dtype=np.float32) for _ in range(2))
    actor = new_trainer(network.game, seed, coherence=(errors, sizes))
    T = network.game.tables(network.evaluator("games"))
    stoppable(lambda: kernels(network, coherent=True).td_games(actor, moves, 0.0, 0.0, RESTART, T), T.stop)
    return sizes > 0
