"""How fast games are learned from, and played by what was learned: moves and positions a second, on one core if nothing is said."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np

from leafwise.envs.core.contract.game import Game
from leafwise.models.files import load_evaluator, model_path, shipped_name
from leafwise.models.ntuple import NTupleNetwork, Shape, parse_tuples
from leafwise.models.sparse import SparseNetwork
from leafwise.search import Search
from leafwise.search.bench import bench_clock, best_time, positions
from leafwise.training.ntuple_td import ntuple_td as td
from leafwise.training.ntuple_td.kernels import MOVES, Trainer, kernels, new_trainer
from leafwise.training.selfplay import selfplay
from leafwise.training.selfplay.games import Recorder

SETS = {
    "five_4_tuples": "0123 4567 0145 1256 569a",
    "four_6_tuples": "012456 45689a 012345 456789",
    "shipped": "0123 4567 0145 1256 569a 012456 45689a 012345 456789",
}
LARGEST = "shipped"
STEP = 20_000
PIECE = 500
"""Positions of self-play recorded at a time."""
WARM_UP = 2_000_000
"""Moves before the clock starts: games of beginners are short and touch other weights than later ones."""


def bench_training(game: Game, seconds: float = 1.0) -> dict[str, float]:
    """Returns training moves a second by tuple set and actors, positions a second of self-play, and moves a second of what was
    learned, measured for `seconds` each; {} for a game without any of these."""
    rates: dict[str, float] = {}
    if game.search.candidates and model_path(shipped_name(game)).exists():
        rates |= bench_clock(game, {"learned": load_evaluator(game, shipped_name(game))})
    rates |= bench_selfplay(game, seconds)
    if "ntuple" not in game.features:
        return rates
    if not game.given_options and model_path(shipped_name(game)).exists():
        rates |= bench_learned(game, seconds)
    for name in SETS:
        rates |= bench_td(game, name, seconds)
    return rates


class Actors:
    """Actors that play and learn at once over the same tables, a thread each, with a set of tuples."""

    def __init__(self, game: Game, name: str, n: int) -> None:
        network = NTupleNetwork.create(game, Shape(parse_tuples(SETS[name])))
        self.T, self.run = game.tables(network.evaluator(name)), kernels(network).td_games
        self.options = td.Config.learning_rate / network.active, td.Config.td_lambda, td.Config.restart, self.T
        self.trainers = [new_trainer(game, key) for key in range(1, n + 1)]
        self.run(self.trainers[0], WARM_UP, *self.options)

    def seconds_a_move(self, n: int, seconds: float, clock: Callable[[], float] = time.perf_counter) -> float:
        """Returns the seconds of a clock that passed in about `seconds`, over the moves of the first n actors meanwhile."""
        actors = self.trainers[:n]
        before, start, end = self.moves(), clock(), time.perf_counter() + seconds

        def play(actor: Trainer) -> None:
            self.run(actor, STEP, *self.options)
            while time.perf_counter() < end:
                self.run(actor, STEP, *self.options)

        with ThreadPoolExecutor(n) as pool:
            list(pool.map(play, actors))
        return (clock() - start) / (self.moves() - before)

    def moves(self) -> int:
        """Returns the moves of all actors so far."""
        return sum(int(actor.counts[MOVES]) for actor in self.trainers)


def bench_td(game: Game, name: str, seconds: float) -> dict[str, float]:
    """Returns moves a second of one actor with a set of tuples, and of two with the largest, where there are cores for them."""
    two = name == LARGEST and (os.cpu_count() or 1) >= 2
    actors = Actors(game, name, 2 if two else 1)
    rates = {f"td_moves_{name}": 1 / actors.seconds_a_move(1, seconds)}
    if two:
        rates[f"td_moves_{name}_actors=2"] = 1 / actors.seconds_a_move(2, seconds)
    return rates


def bench_selfplay(game: Game, seconds: float) -> dict[str, float]:
    """Returns positions recorded by self-play a second of processor time, by what limits its searches; {} where none is played."""
    if "sparse" not in game.features or (game.players == 1 and game.return_range != (0.0, 1.0)):
        return {}
    rates: dict[str, float] = {}
    for depth, nodes in ((1, 0), (2, 0)) if game.players == 2 else ((1, 30),):
        config = selfplay.Config(game=game.name, plies=12 if game.players == 2 else 0, depth=depth, nodes=nodes)
        network = SparseNetwork.create(game, config.hidden, head="value" if game.players == 2 else "chance")
        rng = np.random.default_rng(1)
        tensors = {name: rng.normal(0.0, 0.1, t.shape).astype(np.float32) for name, t in network.tensors.items()}
        network = network.with_tensors(tensors)
        recorder = Recorder([game], network, config, positions=PIECE)
        recorder.warm()
        recorded, key, start = 0, 0, time.process_time()
        while not key or time.process_time() - start < seconds:
            recorded += len(recorder.piece(game, PIECE, network, network, key).rows)
            key += 1
        limit = f"nodes={nodes}" if nodes else f"depth={depth}"
        rates[f"selfplay_positions_{limit}"] = recorded / (time.process_time() - start)
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
