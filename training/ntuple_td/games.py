"""Plays whole games of an n-tuple network in compiled code: what `arena` plays move by move, without Python in between.

The search is the same, so are the games (tested); there is no transposition table and no clock. Which entries its games look up
is told too: the others can be left out of its file.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np

from leafwise.envs.core import interrupts
from leafwise.envs.core.interrupts import stoppable
from leafwise.models.ntuple import NTupleNetwork
from leafwise.training.evaluation.statistics import bounds, mean_interval
from leafwise.training.execution import in_pieces, map_pieces
from leafwise.training.ntuple_td.kernels import MOVES, kernels, new_trainer
from leafwise.training.types import Bools, Floats, Ints, Json

BATCH = 5
"""Games per task of a thread."""
PIECE = 20
"""Games of a piece of work for another process."""
RESTART = 100
"""As in training: a trajectory longer than this is followed by one from its middle, so that late positions come often."""


@dataclass(frozen=True)
class Games:
    """Games of a network that searches to one depth, in the order of their seeds."""

    scores: Floats
    ranks: Ints
    """Highest value of a cell on each final board."""
    moves: int
    seconds: float
    """Time spent, added over the threads."""

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
    threads: int = 1,
    cluster: str = "",
    progress: Callable[[int], None] = lambda done: None,
) -> Games:
    """Plays games with seeds from `first_seed` on; `progress` is told how many are done.

    Decisions less probable than `cutoff` are leaves of the search (0: exact). `threads` share the network's tables; a `cluster`, as
    `leafwise.training.execution.executor_for` has it, has them once in each process.
    """
    if cluster:
        parts: list[Games] = []
        pieces = in_pieces(range(first_seed, first_seed + games), PIECE)
        for part in map_pieces(partial(_played, network, depth, cutoff), pieces, threads, cluster):
            parts.append(part)
            progress(sum(len(piece) for piece in pieces[: len(parts)]))
        scores, ranks = (np.concatenate([getattr(part, name) for part in parts]) for name in ("scores", "ranks"))
        return Games(scores, ranks, sum(part.moves for part in parts), sum(part.seconds for part in parts))
    run, T = kernels(network, depth).greedy_games, network.game.tables(network.evaluator("games"))
    scores, ranks = np.zeros(games), np.zeros(games, dtype=np.int64)
    run(new_trainer(network.game, 0, depth), np.zeros(0, dtype=np.uint64), scores[:0], ranks[:0], T)  # compiles

    def play(begin: int) -> tuple[int, float]:
        actor, end = new_trainer(network.game, 0, depth, cutoff=cutoff), min(begin + BATCH, games)
        keys = np.arange(first_seed + begin, first_seed + end, dtype=np.uint64)
        start = time.thread_time()
        run(actor, keys, scores[begin:end], ranks[begin:end], T)
        return int(actor.counts[MOVES]), time.thread_time() - start

    def play_all() -> list[tuple[int, float]]:
        found = []
        with ThreadPoolExecutor(threads) as pool:
            for k, one in enumerate(pool.map(play, range(0, games, BATCH))):
                found.append(one)
                progress(min((k + 1) * BATCH, games))
        return found

    done = stoppable(play_all, T.stop)
    interrupts.check()
    return Games(scores, ranks, sum(moves for moves, _ in done), sum(spent for _, spent in done))


def _played(network: NTupleNetwork, depth: int, cutoff: float, seeds: range) -> Games:
    """Plays a piece."""
    return play_games(network, depth, seeds[0], len(seeds), cutoff=cutoff)


def looked_up(network: NTupleNetwork, moves: int, seed: int = 0) -> Bools:
    """Returns which entries so many moves of the network's own games look up, [weights]; nothing is learned meanwhile."""
    errors, sizes = (np.zeros(len(network.weights.table), dtype=np.float32) for _ in range(2))
    actor = new_trainer(network.game, seed, coherence=(errors, sizes))
    T = network.game.tables(network.evaluator("games"))
    stoppable(lambda: kernels(network, coherent=True).td_games(actor, moves, 0.0, 0.0, RESTART, T), T.stop)
    return sizes > 0
