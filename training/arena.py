"""Plays games between named players and says how sure the result is: paired seeds, 95 % bootstrap intervals."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import get_context

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.game import Game
from leafwise.envs.core.state import State
from leafwise.envs.core.stream import new_stream
from leafwise.models.files import leaf
from leafwise.search.players import player

FINAL_SEED = 1_000_000
"""First seed of games whose figures are reported; training and model selection stay below."""


@dataclass(frozen=True)
class Evaluation:
    """Games of one player alone, in the order of their seeds."""

    player: str
    first_seed: int
    scores: NDArray[np.float64]
    """Returns, [games]."""
    best_cells: NDArray[np.int64]
    """Highest rank on the final board of each game, [games]; 0 in games without ranks."""
    moves: int
    seconds_per_move: float
    """Time to choose, averaged over all moves."""

    @property
    def mean(self) -> float:
        """Mean return."""
        return float(self.scores.mean())

    def interval(self) -> tuple[float, float]:
        """Returns the 95 % percentile bootstrap interval of the mean."""
        return bootstrap_interval(self.scores)


def bootstrap_interval(values: NDArray[np.float64], seed: int = 0, resamples: int = 2000) -> tuple[float, float]:
    """Returns the 95 % percentile bootstrap interval of a mean; values of shape [n]."""
    rng = np.random.default_rng(seed)
    means = np.array([rng.choice(values, len(values)).mean() for _ in range(resamples)])
    return float(np.quantile(means, 0.025)), float(np.quantile(means, 0.975))


def solo_game(game: Game, text: str, seeds: Sequence[int]) -> list[tuple[float, int, int, float]]:
    """Plays one game per seed; returns (return, highest rank, moves, seconds to choose) of each."""
    chosen_by = player(text, game, seed=seeds[0], leaf=leaf)
    results = []
    for seed in seeds:
        stream = new_stream(seed)
        state = game.start().settle(stream)
        moves, spent = 0, 0.0
        while not state.is_terminal:
            start = time.perf_counter()
            action = chosen_by.choose(state)
            spent += time.perf_counter() - start
            state = state.play(action).settle(stream)
            moves += 1
        results.append((state.returns, highest_cell(state), moves, spent))
    return results


def highest_cell(state: State) -> int:
    """Returns the highest rank on a board of cells, 0 in a game without."""
    if state.game.cells is None:
        return 0
    board = int(state.row[0])
    return max(board >> (4 * k) & 15 for k in range(16))


def evaluate(
    game: Game,
    text: str,
    games: int,
    first_seed: int = FINAL_SEED,
    *,
    processes: int = 1,
    progress: Callable[[int], None] = lambda done: None,
) -> Evaluation:
    """Plays `games` games of a one-player game with seeds from `first_seed` on.

    The same seed starts the same game for every player. `progress` is told how many games are done. Raises ValueError for
    a player or a number of games that is none.
    """
    if game.players != 1:
        raise ValueError(f"evaluate: expected a game for one player, got {game.name!r}")
    if games < 1 or processes < 1:
        raise ValueError(f"evaluate: expected at least 1 game and 1 process, got {games!r} and {processes!r}")
    player(text, game, leaf=leaf)  # a wrong name fails here, in one line
    batch = max(1, min(10, games // processes))
    batches = [range(first_seed + k, first_seed + min(k + batch, games)) for k in range(0, games, batch)]
    results: dict[int, list[tuple[float, int, int, float]]] = {}
    if processes == 1:
        for k, seeds in enumerate(batches):
            results[k] = solo_game(game, text, seeds)
            progress(sum(len(r) for r in results.values()))
    else:
        with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
            waiting = {pool.submit(solo_game, game, text, seeds): k for k, seeds in enumerate(batches)}
            for done in as_completed(waiting):
                results[waiting[done]] = done.result()
                progress(sum(len(r) for r in results.values()))
    played = [result for k in range(len(batches)) for result in results[k]]
    moves = sum(r[2] for r in played)
    return Evaluation(
        player=text,
        first_seed=first_seed,
        scores=np.array([r[0] for r in played]),
        best_cells=np.array([r[1] for r in played]),
        moves=moves,
        seconds_per_move=sum(r[3] for r in played) / max(moves, 1),
    )
