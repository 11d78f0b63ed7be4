"""Games of one player and a network in compiled code: returns, what the network said on the way, and how right it was."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.contract.evaluator import Evaluator
from leafwise.envs.core.contract.game import Game
from leafwise.models.sparse import SparseNetwork
from leafwise.training.kernels.selfplay import forget, kernels, new_table

ROOM = 1000
"""Decisions of a game for which there is room, on average."""
BINS = 10
NEWTON_STEPS = 20
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


def scaling(values: NDArray[np.float64], outcomes: NDArray[np.float64]) -> tuple[float, float]:
    """Returns the slope and the offset of the log odds that make chances in (0, 1) fit outcomes of 0 and 1 best.

    That is Platt scaling by Newton's method (Platt, "Probabilistic outputs for support vector machines", 1999). Raises
    ValueError where all outcomes are the same.
    """
    if not 0 < outcomes.mean() < 1:
        raise ValueError(f"calibration: expected games won and games lost, got a share of {outcomes.mean():g} won")
    chances = np.clip(values, 1e-9, 1 - 1e-9)
    X, w = np.stack([np.log(chances / (1 - chances)), np.ones(len(values))], axis=1), np.array([1.0, 0.0])
    for _ in range(NEWTON_STEPS):
        p = 1 / (1 + np.exp(-(X @ w)))
        w += np.linalg.solve((X * (p * (1 - p))[:, None]).T @ X, X.T @ (outcomes - p))
    return float(w[0]), float(w[1])


def rescaled(network: SparseNetwork, slope: float, offset: float) -> SparseNetwork:
    """Returns a network whose chances have log odds times `slope` plus `offset`; its shape is the same."""
    dense, last = network.tensors["dense"].copy(), network.hidden[-1] + 1
    dense[-last:] *= np.float32(slope)
    dense[-1] += np.float32(offset)
    return network.with_tensors({**network.tensors, "dense": dense})
