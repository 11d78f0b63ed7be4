"""Games of one player and a network in compiled code: returns, what the network said on the way."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.contract.evaluator import Evaluator
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.interrupts import stoppable
from leafwise.training.games.kernels import forget, kernels, new_table

ROOM = 1000
"""Decisions of a game for which there is room, on average."""
BATCH = 50
"""Games played before the clock is read, and as one piece of work."""


def seeds_from(first: int, games: int) -> list[range]:
    """Returns the seeds of games as pieces of work."""
    return [range(first + k, first + min(k + BATCH, games)) for k in range(0, games, BATCH)]


@dataclass(frozen=True)
class Played:
    """Games in the order of their seeds."""

    scores: NDArray[np.float64]
    """[games]: returns."""
    values: NDArray[np.float64]
    """[decisions]: what the leaf said of each, one game after another."""
    ends: NDArray[np.int64]
    """[games]: where a game's decisions end."""
    seconds: float
    """Processor time."""

    def outcomes(self) -> NDArray[np.float64]:
        """Returns the return of the game of every decision, [decisions]."""
        return np.repeat(self.scores, np.diff(self.ends, prepend=0))

    @classmethod
    def joined(cls, parts: Sequence[Played]) -> Played:
        """Returns the games of parts, one after another."""
        before = np.cumsum([0, *(len(part.values) for part in parts[:-1])])
        return cls(
            np.concatenate([part.scores for part in parts]),
            np.concatenate([part.values for part in parts]),
            np.concatenate([part.ends + n for part, n in zip(parts, before, strict=True)]),
            sum(part.seconds for part in parts),
        )


def play_solo(
    game: Game,
    evaluator: Evaluator,
    first_seed: int,
    games: int,
    *,
    depth: int = 1,
    nodes: int = 0,
    seconds: float = 0.0,
) -> Played:
    """Plays games of one player with seeds from `first_seed` on, for about so many `seconds` at most (0: all of them)."""
    table, T = new_table(game, depth, 0, evaluator, nodes=nodes), game.tables(evaluator)
    run = kernels(game, evaluator).play_alone
    scores, values, ends = np.zeros(games), np.zeros(games * ROOM), np.zeros(games, dtype=np.int64)
    forget(table)
    start, n, done = time.process_time(), 0, 0
    while done < games and (not seconds or time.process_time() - start < seconds):
        end = min(done + BATCH, games)
        keys = np.arange(first_seed + done, first_seed + end, dtype=np.uint64)
        stoppable(partial(run, table, keys, depth, scores[done:end], values[n:], ends[done:end], T), T.stop)
        ends[done:end] += n
        n, done = int(ends[end - 1]), end
    return Played(scores[:done], values[:n], ends[:done], time.process_time() - start)
