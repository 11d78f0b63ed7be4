"""Compiles what play, search and training use, and says how long each part took."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import tyro

from leafwise.cli import fail, parse, patiently, print_json, say
from leafwise.envs.core.env import GameEnv
from leafwise.envs.core.game import Game
from leafwise.envs.core.jit import DISABLED, cache_root
from leafwise.envs.core.vector import GameVectorEnv
from leafwise.envs.registry import game as find_game
from leafwise.envs.registry import games
from leafwise.hints import solver_of
from leafwise.models.ntuple import NTupleNetwork
from leafwise.search import Search

Item = tuple[str, Callable[[], object]]


@dataclass(frozen=True)
class Config:
    """Compiles everything that games, searches, environments and training use, once per version.

    Later processes find the machine code in the cache folder; LEAFWISE_CACHE_DIR moves it.
    """

    game: tyro.conf.Positional[str] = ""
    """One game only (default: all)."""
    json: bool = False
    """Print one JSON object: seconds by item, the total, the cache folder."""


def step_batch(game: Game) -> None:
    """Steps a batch of two environments."""
    batch = GameVectorEnv(2, game)
    _, info = batch.reset(seed=0)
    batch.step(info["action_mask"].argmax(axis=1))


def step_single(game: Game) -> None:
    """Steps one environment."""
    env = GameEnv(game)
    _, info = env.reset(seed=0)
    env.step(int(info["action_mask"].argmax()))


def learn(game: Game) -> None:
    """Trains a small n-tuple network for a few moves, and searches with it."""
    from leafwise.training.td import Config as TdConfig
    from leafwise.training.td import parse_tuples
    from leafwise.training.td_kernels import kernels, new_trainer

    config = TdConfig()
    network = NTupleNetwork.create(game, parse_tuples(config.tuples), config.power)
    evaluator = network.evaluator("warmup")
    compiled, trainer = kernels(game, network.weights.pieces.shape[1]), new_trainer(game, 0)
    T = game.tables(evaluator)
    compiled.td_games(trainer, 1, 0.0, config.decay, config.restart, T)
    compiled.greedy_games(trainer, np.zeros(1, dtype=np.uint64), np.zeros(1), T)
    Search(game, evaluator, 1)(game.new(0))


def items(game: Game) -> Iterator[Item]:
    """Yields what is to compile for a game, by name."""
    yield f"{game.name} rules", lambda: game.new(0).legal_names
    for score in game.scores:
        yield f"{game.name} search, {score}", lambda score=score: Search(game, game.score(score), 1)(game.new(0))  # type: ignore[misc]
    yield f"{game.name} environment", lambda: step_single(game)
    yield f"{game.name} batch", lambda: step_batch(game)
    if "solver" in game.ais:
        yield f"{game.name} solver", lambda: [solver_of(game.variant(**options)) for options in game.ids.values()]
    if game.cells is not None:
        yield f"{game.name} n-tuple network, td", lambda: learn(game)


def main(arguments: list[str]) -> int:
    """Runs the command."""
    config = parse(Config, arguments, "leafwise warmup")
    if config.game and config.game not in games():
        fail(f"expected a game among {', '.join(games())}, got {config.game!r}")
    if DISABLED:
        fail("expected compilation to be on, got NUMBA_DISABLE_JIT=1: nothing is compiled")
    spent: dict[str, float] = {}
    for name in [config.game] if config.game else games():
        for item, work in items(find_game(name)):
            start = time.perf_counter()
            patiently(work)
            spent[item] = time.perf_counter() - start
            if not config.json:
                say(f"{spent[item]:8.2f} s  {item}")
    total = sum(spent.values())
    if config.json:
        print_json({"items": spent, "seconds": total, "cache": str(cache_root())})
    else:
        say(f"{total:8.2f} s  in all; machine code is kept in {cache_root()}")
    return 0
