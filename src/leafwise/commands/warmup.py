"""Compiles what games, searches and training use, and prints the time of each part."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import tyro

from leafwise.cli import Report, command
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.ranges import need_among
from leafwise.envs.registry import game as find_game
from leafwise.envs.registry import games

if TYPE_CHECKING:
    from leafwise.envs.core.contract.evaluator import Evaluator
    from leafwise.envs.core.contract.game import Game

Item = tuple[str, Callable[[], object]]


@dataclass(frozen=True)
class Config:
    """Compiles everything that games, searches, environments and training use, once per version; all games on all cores.

    Prints the processor seconds of each part. Later processes find the machine code in the cache folder; LEAFWISE_CACHE_DIR sets
    that folder.

    Examples:
      leafwise warmup threes
    """

    game: tyro.conf.Positional[str] = ""
    """One game only (default: all)."""
    hooks: bool = True
    """Compile the optional rules and hooks that value siblings together; --no-hooks shows the time without them."""
    json: bool = False
    """Print one JSON object: processor seconds by item, the total, the cache folder."""


def step(env: Any) -> None:
    """Steps an environment, or a batch."""
    _, info = env.reset(seed=0)
    env.step(info["action_mask"].argmax(axis=-1))


def learn(game: Game) -> None:
    """Trains a small n-tuple network for a few moves, and searches with it."""
    from leafwise.models.ntuple import NTupleNetwork
    from leafwise.search import Search
    from leafwise.training.ntuple_td.kernels import kernels, new_trainer, play_games
    from leafwise.training.ntuple_td.ntuple_td import Config as TdConfig
    from leafwise.training.ntuple_td.ntuple_td import shape_of

    config = TdConfig(game=game.name)
    network = NTupleNetwork.create(game, shape_of(config, game))
    evaluator = network.evaluator("warmup")
    compiled, trainer = kernels(network), new_trainer(game, 0)
    T = game.tables(evaluator)
    compiled.td_games(trainer, 1, 0.0, config.td_lambda, config.restart, T)
    play_games(network, 1, 0, 1)
    Search(game, evaluator, 1)(game.new(0))


def infer(game: Game) -> None:
    """Searches with a small network with a sparse first layer, inline and in batches."""
    from leafwise.models.sparse import SparseNetwork
    from leafwise.search import Search

    evaluator = SparseNetwork.create(game, (8,)).evaluator("warmup")
    for batched in (False, True):
        Search(game, evaluator, 1, batched=batched)(game.new(0))


def without_hooks(game: Game) -> Game:
    """Returns a game without the optional rules and hooks that value siblings together."""
    chance = replace(game.rules.chance, afterstates=None, apply_outcome=None)

    def alone(score: Callable[[Any], Evaluator]) -> Callable[[Any], Evaluator]:
        def factory(options: Any) -> Evaluator:
            leaf = score(options)
            return replace(leaf, speed=replace(leaf.speed, sibling_values=None))

        return factory

    scores = {name: alone(score) for name, score in game.scores.items()}
    return replace(game, rules=replace(game.rules, chance=chance), scores=scores)


def items(game: Game) -> Iterator[Item]:
    """Yields the work that compiles a game's code, by name."""
    from leafwise.analysis import solver_of
    from leafwise.envs.core.contract.game import OwnSearch
    from leafwise.envs.core.gym.env import GameEnv
    from leafwise.envs.core.gym.vector import GameVectorEnv
    from leafwise.search import Search
    from leafwise.search.players import hand_made, player

    def search(leaf: str, **options: Any) -> Callable[[], object]:
        return lambda: Search(game, hand_made(game, leaf), 1, **options)(game.new(0))

    def turn(text: str) -> Callable[[], object]:
        return lambda: player(text, game).choose(game.new(0))

    yield f"{game.name} rules", lambda: game.new(0).legal_names
    for score in game.scores:
        yield f"{game.name} search, {score}", search(score)
    other = game.players == 1
    template = "alpha-beta" if other else "depth-first"
    yield f"{game.name} {template} search, {game.default_score}", search(game.default_score, pruning=other)
    yield f"{game.name} batched search, {game.default_score}", search(game.default_score, batched=True)
    yield f"{game.name} search, rollout", search("rollout:n=1")
    for name, own in game.ais.items():
        if isinstance(own, OwnSearch) and own.compiled:
            yield f"{game.name} {name} search, {game.default_score}", turn(f"{name}:depth=2")
    yield f"{game.name} environment", lambda: step(GameEnv(game))
    yield f"{game.name} batch", lambda: step(GameVectorEnv(2, game, autoreset_mode="SameStep"))
    if "solver" in game.ais:
        yield f"{game.name} solver", lambda: [solver_of(game.variant(**options)) for options in game.ids.values()]
    if "sparse" in game.features:
        yield f"{game.name} sparse network", lambda: infer(game)
    if "ntuple" in game.features:
        yield f"{game.name} n-tuple network, td", lambda: learn(game)


def compile_game(name: str, hooks: bool) -> Iterator[tuple[str, float]]:
    """Compiles the code of a game; yields the processor seconds of each item."""
    game = find_game(name)
    for item, work in items(game if hooks else without_hooks(game)):
        start = time.process_time()
        work()
        yield item, time.process_time() - start


def compile_all(hooks: bool) -> Iterator[tuple[str, float]]:
    """Compiles all games, one process a core; yields the items of each finished game."""
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor, as_completed

    from leafwise.envs.core.waiting import speak

    workers = min(os.cpu_count() or 1, len(games()))
    with ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), initializer=speak) as pool:
        for done in as_completed([pool.submit(compiled_items, name, hooks) for name in games()]):
            yield from done.result()


def compiled_items(name: str, hooks: bool) -> list[tuple[str, float]]:
    """Returns the items of `compile_game` as a list."""
    return list(compile_game(name, hooks))


@command(Config)
def main(config: Config) -> Iterator[Report]:
    """Runs the command."""
    if config.game:
        need_among(config.game, games(), "a game")
    from leafwise.envs.core.compile.cache import cache_root
    from leafwise.envs.core.compile.jit import DISABLED

    if DISABLED:
        raise UserError("expected compilation to be on, got NUMBA_DISABLE_JIT=1: nothing is compiled")
    try:
        cache = str(cache_root())
    except OSError:
        cache = ""
    spent: dict[str, float] = {}
    for item, seconds in compile_game(config.game, config.hooks) if config.game else compile_all(config.hooks):
        spent[item] = seconds
        yield f"{seconds:8.2f} s  {item}"
    total = sum(spent.values())
    where = f"kept in {cache}" if cache else "not kept"
    yield (
        {"items": spent, "seconds": total, "cache": cache or None},
        [f"{total:8.2f} s  in all; machine code is {where}"],
    )
