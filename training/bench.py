"""Measures how fast learning goes."""

from __future__ import annotations

from time import perf_counter

from leafwise.envs.core.game import Game
from leafwise.models.ntuple import NTupleNetwork, parse_tuples
from leafwise.training.td import Config
from leafwise.training.td_kernels import MOVES, kernels, new_trainer

CHUNK = 20_000
"""Moves per timed call."""
NETWORKS = {"default_tuples": Config.tuples, "four_6_tuples": "012345 456789 012456 45689a"}


def bench_training(game: Game, seconds: float = 1.0) -> dict[str, float]:
    """Returns moves per second of temporal-difference learning from zero weights, by network; {} if the game has no cells.

    The best of the repeats that fit into `seconds`, playing and learning included, on one core, after compilation.
    """
    if game.cells is None:
        return {}
    return {f"td_{name}": td_rate(game, tuples, seconds) for name, tuples in NETWORKS.items()}


def td_rate(game: Game, tuples: str, seconds: float) -> float:
    """Returns the most moves per second that repeats within `seconds` reach."""
    config = Config()
    network = NTupleNetwork.create(game, parse_tuples(tuples), config.power)
    T = game.tables(network.evaluator("bench"))
    trainer, games = new_trainer(game, 0), kernels(game, network.weights.pieces.shape[1]).td_games
    games(trainer, 1, 0.0, config.decay, config.restart, T)
    rate = config.rate / network.active
    best, end = 0.0, perf_counter() + seconds
    while best == 0.0 or perf_counter() < end:
        before, start = int(trainer.counts[MOVES]), perf_counter()
        games(trainer, CHUNK, rate, config.decay, config.restart, T)
        best = max(best, (int(trainer.counts[MOVES]) - before) / (perf_counter() - start))
    return best
