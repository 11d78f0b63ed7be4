"""Games of one player and a network in compiled code: returns, what the network said on the way, and how right it was."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.evaluator import Evaluator
from leafwise.envs.core.game import Game
from leafwise.training.selfplay_kernels import forget, kernels, new_table

ROOM = 1000
"""Decisions of a game for which there is room, on average."""
BINS = 10
BATCH = 50
"""Games played before the clock is read."""


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
        run(table, keys, depth, scores[done:end], values[n:], ends[done:end], T)
        ends[done:end] += n
        n, done = int(ends[end - 1]), end
    return Played(scores[:done], values[:n], ends[:done], time.process_time() - start)


def calibration(values: NDArray[np.float64], outcomes: NDArray[np.float64]) -> tuple[float, list[dict[str, Any]]]:
    """Returns the calibration error of chances and what happened, and for each tenth how many, the mean chance, the share won.

    The error is the expected calibration error: the mean over all, of the distance between chance and share in their tenth (Naeini,
    Cooper and Hauskrecht, "Obtaining well calibrated probabilities using Bayesian binning", AAAI 2015).
    """
    tenths = np.minimum((values * BINS).astype(np.int64), BINS - 1)
    error, told = 0.0, []
    for tenth in range(BINS):
        here = tenths == tenth
        if here.any():
            chance, share = float(values[here].mean()), float(outcomes[here].mean())
            error += float(here.mean()) * abs(chance - share)
            told.append({"decisions": int(here.sum()), "chance": chance, "won": share})
    return error, told
