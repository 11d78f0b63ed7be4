"""How fast games are learned from, and played by what was learned: moves a second on one core."""

from __future__ import annotations

import time
from functools import partial

from leafwise.envs.core.contract.game import Game
from leafwise.models.files import load_evaluator, model_path, shipped_name
from leafwise.models.ntuple import NTupleNetwork, Shape, parse_tuples
from leafwise.search import Search
from leafwise.search.bench import bench_clock, best_time, positions
from leafwise.training.kernels.td import MOVES, kernels, new_trainer
from leafwise.training.methods import td

SETS = {
    "five_4_tuples": "0123 4567 0145 1256 569a",
    "four_6_tuples": "012456 45689a 012345 456789",
    "shipped": "0123 4567 0145 1256 569a 012456 45689a 012345 456789",
}
STEP = 100_000
WARM_UP = 2_000_000
"""Moves before the clock starts: games of beginners are short and touch other weights than later ones."""


def bench_training(game: Game, seconds: float = 1.0) -> dict[str, float]:
    """Returns training moves a second by tuple set, measured for `seconds` each; {} for a game without cells."""
    rates: dict[str, float] = {}
    if game.search.candidates and model_path(shipped_name(game)).exists():
        rates |= bench_clock(game, {"learned": load_evaluator(game, shipped_name(game))})
    if "ntuple" not in game.features:
        return rates
    if not game.given_options and model_path(shipped_name(game)).exists():
        rates |= bench_learned(game, seconds)
    for name, text in SETS.items():
        network = NTupleNetwork.create(game, Shape(parse_tuples(text)))
        trainer, T = new_trainer(game, 1), game.tables(network.evaluator(name))
        run = kernels(network).td_games
        rate = td.Config.learning_rate / network.active
        run(trainer, WARM_UP, rate, td.Config.td_lambda, td.Config.restart, T)
        before, start = int(trainer.counts[MOVES]), time.perf_counter()
        while time.perf_counter() - start < seconds:
            run(trainer, STEP, rate, td.Config.td_lambda, td.Config.restart, T)
        rates[f"td_moves_{name}"] = float((trainer.counts[MOVES] - before) / (time.perf_counter() - start))
    return rates


def bench_learned(game: Game, seconds: float) -> dict[str, float]:
    """Returns moves a second of the search with the shipped leaf, by depth, over the positions of the search's benchmark."""
    evaluator, rates = load_evaluator(game, shipped_name(game)), {}
    states = list(positions(game).values())
    for depth in (1, 2, 3, 4):
        search = Search(game, evaluator, depth)
        spent = sum(best_time(partial(search, state), seconds / len(states)) for state in states)
        rates[f"learned_moves_depth={depth}"] = len(states) / spent
    return rates
