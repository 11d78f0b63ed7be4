"""Measures leaves made of shipped networks: how many of them searches value in a second."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from leafwise.envs.core.contract.game import Game
from leafwise.models.files import load_evaluator, model_path, shipped_name
from leafwise.search import Search
from leafwise.search.bench import bench_simulations, best_time, positions

AT_LEAST, DEEPEST = 5_000, 12
"""A position is searched at the first depth that has so many leaves."""


def bench_models(game: Game, seconds: float = 0.2) -> dict[str, float]:
    """Returns what searches with the shipped network make a second, leaves by position and depth, and simulations; {} for a game
    without one."""
    rates: dict[str, float] = {}
    name = shipped_name(game)
    if game.given_options or not model_path(name).exists():
        return rates
    evaluator = load_evaluator(game, name)
    for place, state in positions(game).items():
        for depth in range(1, DEEPEST + 1):
            search = Search(game, evaluator, depth, nodes=0)
            leaves = search(state).leaves
            if leaves >= AT_LEAST:
                break
        rates[f"load:{name}/{place}/depth={depth}"] = leaves / best_time(partial(search, state), seconds)
    return rates | bench_simulations(game, replace(evaluator, name=f"load:{name}"), seconds)
