"""Rates of this version on this machine, by part: environments, searches, shipped networks at leaves, training.

`leafwise bench GAME` prints `rates_of`: each rate is the best of repeats, after compilation, on one core unless stated otherwise.
`processes` measures starts, and `comparing` two versions.
"""

from __future__ import annotations

import importlib
import math
import os
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from itertools import islice
from statistics import median
from time import perf_counter, process_time
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode

from leafwise.benchmarks.probe import random_network
from leafwise.benchmarks.processes import start_seconds
from leafwise.envs.core.contract.evaluator import Evaluator
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.gym.env import GameEnv
from leafwise.envs.core.gym.vector import GameVectorEnv
from leafwise.models.files import load_evaluator, model_path, shipped_name
from leafwise.models.network import torch_network
from leafwise.models.ntuple import NTupleNetwork, NTupleShape, parse_tuples
from leafwise.search import Search
from leafwise.search.mcts import Mcts
from leafwise.training.batches import NOBODY, PlayOptions, SideBySide
from leafwise.training.evaluation.agreement import random_positions
from leafwise.training.ntuple_td import ntuple_td as td
from leafwise.training.ntuple_td.kernels import MOVES, Trainer, kernels, new_trainer
from leafwise.training.selfplay import selfplay
from leafwise.training.selfplay.games import SearchRecorder

ReferenceSearch = Callable[[State, int], tuple[dict[int, float], int]]


def rates_of(game: Game, part: str, seconds: float) -> dict[str, float]:
    """Returns rates of a part by name, each measured for about so many seconds; {} if there is nothing to measure."""
    if part == "start":
        return start_seconds(game)
    measure = {"envs": bench_envs, "search": bench_search, "models": bench_models, "training": bench_training}[part]
    return measure(game, seconds)


def least(measure: Callable[[], float], seconds: float) -> float:
    """Returns the minimum that repeated calls of `measure` return, at least one, for about `seconds`."""
    best, end = float("inf"), perf_counter() + seconds
    while True:
        best = min(best, measure())
        if perf_counter() > end:
            return best


def best_time(work: Callable[[], object], seconds: float) -> float:
    """Returns the minimum time in seconds of repeated calls of `work`, at least one, for about `seconds`."""

    def measure() -> float:
        start = perf_counter()
        work()
        return perf_counter() - start

    return least(measure, seconds)


SIZES = (1, 64, 1024)
"""Sizes of the batches of environments."""
ACTIONS = 1024
"""Steps of actions that are drawn in advance, so that drawing them is not measured."""


def bench_envs(game: Game, seconds: float = 1.0) -> dict[str, float]:
    """Returns actions per second by name: `single` (GameEnv) and `batch_1`, `batch_64`, `batch_1024` (GameVectorEnv).

    Batches reset in the same step. `batch_1024_next_step` resets in the next one, where an action does nothing and does not count.
    These two are measured in turns, so that the load of the machine affects both.
    """
    rates = dict(zip(["single"], bench_steps([GameEnv(game)], (), seconds), strict=True))
    for n in SIZES:
        envs = {f"batch_{n}": GameVectorEnv(n, game, autoreset_mode="SameStep")}
        if n == SIZES[-1]:
            envs[f"batch_{n}_next_step"] = GameVectorEnv(n, game)
        rates |= zip(envs, bench_steps(list(envs.values()), (n,), seconds), strict=True)
    return rates


def bench_steps(envs: list[Any], shape: tuple[int, ...], seconds: float) -> list[float]:
    """Returns actions per second of environments, single ones, (), or batches of n, (n,), each measured for about `seconds`.

    Infos, masks and resets are included, the choice of actions is not.
    """
    stepping = [steps_of(env, shape) for env in envs]
    for step in stepping:
        step()  # compiles, and lets episodes end at different times
    best, end = [float("inf")] * len(envs), perf_counter() + seconds * len(envs)
    while True:
        best = [min(time, step()) for time, step in zip(best, stepping, strict=True)]
        if perf_counter() > end:
            return [1 / time for time in best]


def steps_of(env: Any, shape: tuple[int, ...]) -> Callable[[], float]:
    """Returns a function that steps an environment many times and returns the seconds per action."""
    _, info = env.reset(seed=0)
    n = math.prod(shape)
    calls = min(ACTIONS, max(16, 65536 // n))
    weights = np.random.default_rng(0).random((calls, *info["action_mask"].shape), dtype=np.float32)
    starts_apart = getattr(env, "autoreset_mode", None) == AutoresetMode.NEXT_STEP

    def stepping() -> float:
        nonlocal info
        spent, acted = 0.0, calls * n
        for weight in weights:
            actions = (weight * info["action_mask"]).argmax(axis=-1)
            start = perf_counter()
            _, _, over, _, info = env.step(actions)
            if not shape and over:
                _, info = env.reset()
            spent += perf_counter() - start
            if starts_apart:
                acted -= int(over.sum())
        return spent / acted

    return stepping


def room_bench(game: Game) -> Any:
    """Returns the module `bench` of a game's package, None if there is none.

    It may define these for benchmarks of searches:
    - `POSITIONS`, name -> text: positions at which the default variant is searched instead of its start; options are measured
      at the last one.
    - `reference_searches(game)`, leaf's name -> (state, depth) -> (value by action, leaves): searches written by
      hand, for comparison.
    - `bench_baselines(seconds)` -> rates by name: rates of other people's programs.
    """
    return importlib.import_module(f"{game.module}.bench") if (game.room / "bench.py").exists() else None


def positions(game: Game) -> dict[str, State]:
    """Returns the positions at which searches of a game are measured, by name."""
    texts = {} if game.given_options else getattr(room_bench(game), "POSITIONS", {})
    return {name: game.parse(text) for name, text in texts.items()} or {"start": game.new(0)}


def bench_reference_searches(
    game: Game, searches: Mapping[str, ReferenceSearch], seconds: float = 0.2, depths: tuple[int, ...] = (2, 3, 4, 5)
) -> dict[str, float]:
    """Returns leaves per second of the engine, and its time over that of searches written by hand.

    Keys are `LEAF/POSITION/depth=D` and the same with ` time ratio` after them. Both searches value the same leaves; a
    difference raises ArithmeticError.
    """
    rates = {}
    for leaf, reference in searches.items():
        for position, state in positions(game).items():
            for depth in depths:
                search = Search(game, game.score(leaf), depth)
                result = search(state)
                values, leaves = reference(state, depth)
                if leaves != result.leaves or any(abs(values[a] - v) > 1e-9 * abs(v) for a, v in result.values.items()):
                    raise ArithmeticError(f"expected equal trees and values, got {values} and {result.values}")
                time = best_time(partial(search, state), seconds)
                name = f"{leaf}/{position}/depth={depth}"
                rates[name] = leaves / time
                rates[f"{name} time ratio"] = time / best_time(partial(reference, state, depth), seconds)
    return rates


SIMULATIONS = 1000
"""Simulations of each measured tree search."""
BARE: dict[str, Any] = {"pruning": True, "table_mb": 0, "ordering": ()}
OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {"pruning": False, "table_mb": 0},
    "table": {"pruning": False, "table_mb": 16},
    "cutoff 0.001": {"pruning": False, "table_mb": 0, "cutoff": 1e-3},
    "pruning": BARE,
    "pruning, star2": {**BARE, "star2": True},
    "pruning, values": {**BARE, "ordering": ("values",)},
    "pruning, killers": {**BARE, "ordering": ("killers",)},
    "pruning, table": {**BARE, "table_mb": 16},
    "pruning, table and its move": {**BARE, "table_mb": 16, "ordering": ("table",)},
    "pruning, all orderings": {"pruning": True, "table_mb": 0},
    "pruning, table, all orderings": {"pruning": True, "table_mb": 16},
    "the same, one value": {"pruning": True, "table_mb": 16, "all_values": False},
    "the same, one value, width 3": {"pruning": True, "table_mb": 16, "all_values": False, "width": 3},
}
"""Options of `Search` to measure; all are exact but the cutoff and the width."""
APPROXIMATE = ("cutoff 0.001", "the same, one value, width 3")

MOST_LEAVES = 200_000
"""Options are measured at the maximum depth whose plain search values fewer leaves."""


def bench_options(game: Game, state: State, depth: int, seconds: float = 0.5) -> dict[str, float]:
    """Returns rates of every option of `Search` at one position, with the game's default score.

    Keys are `OPTION nodes/s`, `OPTION leaves/s`, and against the plain search `OPTION time ratio`, `OPTION node ratio`,
    `OPTION leaf ratio` and `OPTION error` (of the value, absolute). An exact option that changes the value raises
    ArithmeticError.
    """
    rates: dict[str, float] = {}
    plain = Search(game, game.score(), depth, nodes=0, **OPTIONS["plain"])(state)
    of_plain = 0.0
    for name, options in OPTIONS.items():
        search = Search(game, game.score(), depth, nodes=0, **options)
        result = search(state)
        error = abs(result.value - plain.value)
        if name not in APPROXIMATE and error > 1e-9 * max(1.0, abs(plain.value)):
            raise ArithmeticError(f"{name}: expected the value {plain.value!r}, got {result.value!r}")
        best = best_time(partial(search, state), seconds)
        of_plain = of_plain or best
        rates[f"{name} nodes/s"] = result.nodes / best
        rates[f"{name} leaves/s"] = result.leaves / best
        rates[f"{name} time ratio"] = best / of_plain
        rates[f"{name} node ratio"] = result.nodes / plain.nodes
        rates[f"{name} leaf ratio"] = result.leaves / plain.leaves
        rates[f"{name} error"] = error
    return rates


def measured_depth(game: Game, state: State) -> int:
    """Returns the maximum depth, up to 12, at which a plain search values at most MOST_LEAVES leaves."""
    depth, leaves = 1, [1]
    while depth < 12:
        leaves.append(Search(game, game.score(), depth, nodes=0, **OPTIONS["plain"])(state).leaves)
        if leaves[-1] * leaves[-1] / leaves[-2] > MOST_LEAVES:
            break
        depth += 1
    return depth


CLOCK = 0.2
"""Time limit in seconds when the depth is measured."""


RARE = 0.25
"""In two-player games less probable outcomes are then valued at once."""


def bench_clock(game: Game, leaves: Mapping[str, Evaluator]) -> dict[str, float]:
    """Returns nodes per second and the median depth within `CLOCK` seconds, by leaf.

    The search considers the game's smallest set of candidates. Positions are the start and three from random games.
    """
    rates: dict[str, float] = {}
    positions = [game.new(1), *islice(random_positions(game, 1, (6, 18)), 3)]
    for name, leaf in leaves.items():
        rare = RARE if game.players == 2 else 0.0
        fewest = game.search.candidates[1]
        search = Search(
            game, leaf, None, seconds=CLOCK, clock="cpu", candidates=fewest, rare=rare, all_values=False, nodes=0
        )
        results = [search(state) for state in positions]
        rates[f"{name}/nodes/s"] = sum(r.nodes for r in results) / sum(r.seconds for r in results)
        rates[f"{name}/median depth in {CLOCK:g} s"] = median(r.depth for r in results)
    return rates


def bench_threads(game: Game, seconds: float, at_least: float = 0.05) -> dict[str, float]:
    """Returns the speed-up of two threads over one in a search of the start.

    The depth is the first at which one thread takes `at_least` seconds; {} if depth 12 takes less. Both are timed in turns, the
    best of repeats each, so that the load of the machine affects both.
    """
    state, depth = game.new(0), 1
    Search(game, game.score(), depth, nodes=0)(state)  # loads the compiled code
    while Search(game, game.score(), depth, nodes=0)(state).seconds < at_least:
        depth += 1
        if depth > 12:
            return {}
    searches = [Search(game, game.score(), depth, nodes=0, threads=n) for n in (1, 2)]
    searches[1](state)  # loads what only threads call
    best = [float("inf")] * 2
    end = perf_counter() + seconds
    while perf_counter() < end or float("inf") in best:
        best = [min(time, best_time(partial(search, state), 0.0)) for time, search in zip(best, searches, strict=True)]
    return {f"{game.default_score}/start/depth={depth} speed-up of 2 threads": best[0] / best[1]}


def bench_search(game: Game, seconds: float = 0.2) -> dict[str, float]:
    """Returns rates of searches: by leaf, position and depth, by option (`bench_options`), and against the clock.

    If the game's package has reference searches, they replace the first kind.
    """
    room = room_bench(game)
    reference_searches = (
        room.reference_searches(game) if hasattr(room, "reference_searches") and not game.given_options else {}
    )
    state = list(positions(game).values())[-1]
    depth = measured_depth(game, state)
    if reference_searches:
        rates = bench_reference_searches(game, reference_searches, seconds)
    else:
        rates = bench_leaves(game, game.score(), seconds, min(depth, 3))
    by_option = bench_options(game, state, depth, seconds)
    rates |= {f"depth={depth}/{name}": rate for name, rate in by_option.items()}
    rates |= bench_threads(game, seconds)
    rates |= bench_simulations(game, game.score(), seconds)
    if game.search.candidates:
        rates |= bench_clock(game, {name: game.score(name) for name in game.scores})
    if hasattr(room, "bench_baselines"):
        rates |= room.bench_baselines(seconds)
    return rates


def bench_simulations(game: Game, leaf: Evaluator, seconds: float = 0.2) -> dict[str, float]:
    """Returns rates of Monte Carlo tree search at each position with a new tree: simulations, and leaves valued."""
    rates = {}
    for position, state in positions(game).items():
        search = Mcts(game, leaf, simulations=SIMULATIONS, reuse=False, proofs=False)  # which might end it sooner
        leaves = search(state).leaves
        each = best_time(partial(search, state), seconds)
        rates[f"{leaf.name}/{position}/simulations/s"] = SIMULATIONS / each
        rates[f"{leaf.name}/{position}/leaves/s by simulations"] = leaves / each
    return rates


def bench_leaves(game: Game, leaf: Evaluator, seconds: float, deepest: int, at_least: int = 0) -> dict[str, float]:
    """Returns leaves per second at each position and depth; with `at_least` at the first depth that has so many."""
    rates = {}
    for position, state in positions(game).items():
        for depth in range(1, deepest + 1):
            search = Search(game, leaf, depth, nodes=0)
            leaves = search(state).leaves
            if leaves >= at_least or depth == deepest:
                rates[f"{leaf.name}/{position}/depth={depth}"] = leaves / best_time(partial(search, state), seconds)
                if at_least:
                    break
    return rates


AT_LEAST, DEEPEST = 5_000, 12
"""A position is searched with a network at the first depth that has so many leaves."""


def shipped(game: Game) -> Evaluator | None:
    """Returns the leaf of the shipped network, None where there is none."""
    name = shipped_name(game)
    return load_evaluator(game, name) if model_path(name).exists() else None


def bench_models(game: Game, seconds: float = 0.2) -> dict[str, float]:
    """Returns rates of searches with the shipped network: leaves by position and depth, and simulations; {} without a network."""
    evaluator = None if game.given_options else shipped(game)
    if evaluator is None:
        return {}
    leaf = replace(evaluator, name=f"load:{shipped_name(game)}")
    return bench_leaves(game, leaf, seconds, DEEPEST, AT_LEAST) | bench_simulations(game, leaf, seconds)


SETS = {
    "five_4_tuples": "0123 4567 0145 1256 569a",
    "four_6_tuples": "012456 45689a 012345 456789",
    "shipped": "0123 4567 0145 1256 569a 012456 45689a 012345 456789",
}
LARGEST = "shipped"
STEP = 20_000
PIECE = 500
"""Positions of self-play in one piece."""
WARM_UP_MOVES = 2_000_000
"""Moves before the clock starts: early games are short and use other weights than later ones."""


def bench_training(game: Game, seconds: float = 1.0) -> dict[str, float]:
    """Returns rates of training: moves a second by tuple set and actors, positions a second of self-play; {} without these."""
    rates: dict[str, float] = {}
    evaluator = shipped(game)
    if game.search.candidates and evaluator:
        rates |= bench_clock(game, {"learned": evaluator})
    rates |= bench_selfplay(game, seconds) | bench_modules(game, seconds)
    if "ntuple" not in game.features:
        return rates
    for name in SETS:
        rates |= bench_td(game, name, seconds)
    return rates


BATCH, WHOLE = 256, 1024
"""Batch size of a module alone, and games of a piece of self-play."""


def bench_modules(game: Game, seconds: float) -> dict[str, float]:
    """Returns leaves that torch modules value per processor second, by module; {} without a torch method or torch.

    There are three figures: in self-play at depth 1, alone in batches, and their ratio. Self-play runs whole pieces of games, which
    takes longer than `seconds`.
    """
    if not (find_spec("torch") and game.players == 2 and "planes" in game.view_names):
        return {}
    import torch

    torch.set_num_threads(1)
    rates: dict[str, float] = {}
    for name in ("mlp", "resnet"):
        network: Any = torch_network(game, name)
        module, rows = (
            network.module.eval(),
            np.array([s.row for s in islice(random_positions(game, 0, (0, 8)), BATCH)]),
        )
        inputs = torch.from_numpy(network.describe(rows, game.tables())[0])
        games = SideBySide(game, [network.evaluator(name)], 1)
        how = PlayOptions(np.full(WHOLE, 12)), np.full(WHOLE, NOBODY)
        games.play(np.arange(1, dtype=np.uint64), how[1], how[0])
        games.searches[0].asked, calls = 0, 0
        with torch.inference_mode():
            start = process_time()
            while process_time() < start + seconds:
                module(inputs)
                calls += 1
            alone = calls * BATCH / (process_time() - start)
        start = process_time()
        games.play(np.arange(WHOLE, dtype=np.uint64), how[1], how[0])
        played = games.asked / (process_time() - start)
        rates |= {f"selfplay_leaves_{name}": played, f"leaves_{name}_alone": alone, f"share_{name}": played / alone}
    return rates


def bench_td(game: Game, name: str, seconds: float) -> dict[str, float]:
    """Returns moves a second of one actor with a set of tuples; for the largest set also of two, if there are two cores.

    Actors share the tables, and each plays and learns in its own thread.
    """
    network = NTupleNetwork.create(game, NTupleShape(parse_tuples(SETS[name])))
    T, run = game.tables(network.evaluator(name)), kernels(network).td_games
    options = td.Config.learning_rate / network.active, td.Config.td_lambda, td.Config.restart, T
    trainers = [new_trainer(game, key) for key in (1, 2)]
    run(trainers[0], WARM_UP_MOVES, *options)

    def moves(actors: list[Trainer]) -> float:
        before, start = sum(int(actor.counts[MOVES]) for actor in actors), perf_counter()

        def play(actor: Trainer) -> None:
            run(actor, STEP, *options)
            while perf_counter() < start + seconds:
                run(actor, STEP, *options)

        with ThreadPoolExecutor(len(actors)) as pool:
            list(pool.map(play, actors))
        return (sum(int(actor.counts[MOVES]) for actor in actors) - before) / (perf_counter() - start)

    rates = {f"td_moves_{name}": moves(trainers[:1])}
    if name == LARGEST and (os.cpu_count() or 1) >= 2:
        rates[f"td_moves_{name}_actors=2"] = moves(trainers)
    return rates


def learns_by_selfplay(game: Game) -> bool:
    """Whether a game can be learned by self-play."""
    return "sparse" in game.features and (game.players == 2 or game.return_range == (0.0, 1.0))


def bench_selfplay(game: Game, seconds: float) -> dict[str, float]:
    """Returns positions that self-play records per processor second, by the limit of its searches; {} without self-play."""
    if not learns_by_selfplay(game):
        return {}
    rates: dict[str, float] = {}
    for depth, nodes in ((1, 0), (2, 0)) if game.players == 2 else ((1, 30),):
        config = selfplay.Config(game=game.name, plies=12 if game.players == 2 else 0, depth=depth, nodes=nodes)
        network = random_network(game, config.hidden)
        recorder = SearchRecorder([game], network, config, positions=PIECE)
        recorder.warm()
        recorded, key, start = 0, 0, process_time()
        while not key or process_time() - start < seconds:
            recorded += len(recorder.piece(game, PIECE, network, network, key).rows)
            key += 1
        limit = f"nodes={nodes}" if nodes else f"depth={depth}"
        rates[f"selfplay_positions_{limit}"] = recorded / (process_time() - start)
    return rates
