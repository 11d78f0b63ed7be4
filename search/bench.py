"""Measures searches: leaves a second, and what each option does to time and nodes at equal value."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from functools import partial
from statistics import median
from time import perf_counter
from typing import Any

from leafwise.envs.core.contract.evaluator import Evaluator
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.contract.stream import new_stream
from leafwise.search.engine import Search
from leafwise.search.mcts import Mcts

Yardstick = Callable[[State, int], tuple[dict[int, float], int]]


def best_time(work: Callable[[], object], seconds: float) -> float:
    """Returns the least time in seconds of repeated calls of `work`, at least one, for about `seconds`."""
    best, end = float("inf"), perf_counter() + seconds
    while True:
        start = perf_counter()
        work()
        now = perf_counter()
        best = min(best, now - start)
        if now > end:
            return best


def room_bench(game: Game) -> Any:
    """Returns the module `bench` of a game's room, None where there is none.

    What it may have for benchmarks of searches:
    - `POSITIONS`, name -> text: where the game as it is by default is searched instead of at its start; on the last of them
      options are measured.
    - `yardsticks(game)`, leaf's name -> (state, depth) -> (value by action, leaves): searches written by hand, to hold the
      engine against.
    - `bench_baselines(seconds)` -> rates by name: other people's programs.
    """
    return importlib.import_module(f"{game.module}.bench") if (game.room / "bench.py").exists() else None


def positions(game: Game) -> dict[str, State]:
    """Returns the positions at which searches of a game are measured, by name."""
    texts = {} if game.given_options else getattr(room_bench(game), "POSITIONS", {})
    return {name: game.parse(text) for name, text in texts.items()} or {"start": game.new(0)}


def bench_yardsticks(
    game: Game, yardsticks: Mapping[str, Yardstick], seconds: float = 0.2, depths: tuple[int, ...] = (2, 3, 4, 5)
) -> dict[str, float]:
    """Returns leaves per second of the engine, and its time over that of searches written by hand.

    Keys are `LEAF/POSITION/depth=D` and the same with ` time ratio` after them. Both searches value the same leaves; a
    difference raises ArithmeticError.
    """
    rates = {}
    for leaf, yardstick in yardsticks.items():
        for place, state in positions(game).items():
            for depth in depths:
                search = Search(game, game.score(leaf), depth)
                found = search(state)
                values, leaves = yardstick(state, depth)
                if leaves != found.leaves or any(abs(values[a] - v) > 1e-9 * abs(v) for a, v in found.values.items()):
                    raise ArithmeticError(f"expected equal trees and values, got {values} and {found.values}")
                own = best_time(partial(search, state), seconds)
                name = f"{leaf}/{place}/depth={depth}"
                rates[name] = leaves / own
                rates[f"{name} time ratio"] = own / best_time(partial(yardstick, state, depth), seconds)
    return rates


SIMULATIONS = 1000
"""Simulations of a tree search that is measured."""
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
"""Options of `Search` that are measured; all but the cutoff and the width are exact."""
APPROXIMATE = ("cutoff 0.001", "the same, one value, width 3")

MOST_LEAVES = 200_000
"""Options are measured at the greatest depth whose plain search values fewer leaves."""


def bench_options(game: Game, state: State, depth: int, seconds: float = 0.5) -> dict[str, float]:
    """Returns rates of every option of `Search` at one position, with the game's default score.

    Keys are `OPTION nodes/s`, `OPTION leaves/s`, and against the plain search `OPTION time ratio`, `OPTION node ratio`,
    `OPTION leaf ratio` and `OPTION error` (of the value, absolute). An exact option that changes the value raises
    ArithmeticError.
    """
    rates: dict[str, float] = {}
    plain = Search(game, game.score(), depth, nodes=0, **OPTIONS["plain"])(state)
    time = 0.0
    for name, options in OPTIONS.items():
        search = Search(game, game.score(), depth, nodes=0, **options)
        found = search(state)
        error = abs(found.value - plain.value)
        if name not in APPROXIMATE and error > 1e-9 * max(1.0, abs(plain.value)):
            raise ArithmeticError(f"{name}: expected the value {plain.value!r}, got {found.value!r}")
        best = best_time(partial(search, state), seconds)
        time = time or best
        rates[f"{name} nodes/s"] = found.nodes / best
        rates[f"{name} leaves/s"] = found.leaves / best
        rates[f"{name} time ratio"] = best / time
        rates[f"{name} node ratio"] = found.nodes / plain.nodes
        rates[f"{name} leaf ratio"] = found.leaves / plain.leaves
        rates[f"{name} error"] = error
    return rates


def measured_depth(game: Game, state: State) -> int:
    """Returns the greatest depth, at most 12, whose plain search values at most MOST_LEAVES leaves."""
    depth, leaves = 1, [1]
    while depth < 12:
        leaves.append(Search(game, game.score(), depth, nodes=0, **OPTIONS["plain"])(state).leaves)
        if leaves[-1] * leaves[-1] / leaves[-2] > MOST_LEAVES:
            break
        depth += 1
    return depth


CLOCK = 0.2
"""Seconds in which the depth reached is measured."""


RARE = 0.25
"""Outcomes of chance less probable than this are then valued at once, in games for two."""


def bench_clock(game: Game, leaves: Mapping[str, Evaluator]) -> dict[str, float]:
    """Returns nodes per second and the median depth reached in `CLOCK` seconds of it, by leaf.

    The search considers the fewest actions that the game can name; positions are the start and three some turns later.
    """
    rates: dict[str, float] = {}
    positions = early_positions(game, 4)
    for name, leaf in leaves.items():
        rare = RARE if game.players == 2 else 0.0
        options: dict[str, Any] = {
            "candidates": game.search.candidates[1],
            "rare": rare,
            "all_values": False,
            "nodes": 0,
        }
        search = Search(game, leaf, seconds=CLOCK, clock="cpu", **options)
        found = [search(state) for state in positions]
        rates[f"{name}/nodes/s"] = sum(r.nodes for r in found) / sum(r.seconds for r in found)
        rates[f"{name}/median depth in {CLOCK:g} s"] = median(r.depth for r in found)
    return rates


def early_positions(game: Game, n: int) -> list[State]:
    """Returns the start, and the first decisions after 6, 12, ... of a game between greedy searches."""
    stream, state = new_stream(1), game.new(1)
    greedy = Search(game, game.score(), 1, candidates=game.search.candidates[1])
    found = [state]
    while len(found) < n:
        for _ in range(6):
            if not state.is_terminal:
                state = state.play(greedy(state).action).settle(stream)  # type: ignore[arg-type]
        if state.is_terminal:
            state = game.new(1)
        else:
            found.append(state)
    return found


def bench_threads(game: Game, seconds: float = 0.5, at_least: float = 0.05, threads: int = 2) -> dict[str, float]:
    """Returns how many times as fast as one thread several threads search the start.

    The depth is the first at which one thread takes `at_least` seconds; nothing is told of a game that takes less at depth 12.
    Both are timed in turns, the best of repeats each, so that the load of the machine meets both.
    """
    state, depth = game.new(0), 1
    Search(game, game.score(), depth, nodes=0)(state)  # loads the compiled code
    while Search(game, game.score(), depth, nodes=0)(state).seconds < at_least:
        depth += 1
        if depth > 12:
            return {}
    searches = [Search(game, game.score(), depth, nodes=0, threads=n) for n in (1, threads)]
    searches[1](state)  # loads what only threads call
    best = [float("inf")] * 2
    end = perf_counter() + seconds
    while perf_counter() < end or float("inf") in best:
        best = [min(time, best_time(partial(search, state), 0.0)) for time, search in zip(best, searches, strict=True)]
    return {f"{game.default_score}/start/depth={depth} speed-up of {threads} threads": best[0] / best[1]}


def bench_search(game: Game, seconds: float = 0.2) -> dict[str, float]:
    """Returns rates of searches: by leaf, position and depth, by option (`bench_options`), and against the clock.

    A room that brings searches written by hand has the engine held against them instead of the first.
    """
    room = room_bench(game)
    yardsticks = room.yardsticks(game) if hasattr(room, "yardsticks") and not game.given_options else {}
    state = list(positions(game).values())[-1]
    depth = measured_depth(game, state)
    if yardsticks:
        rates = bench_yardsticks(game, yardsticks, seconds)
    else:
        rates = bench_depths(game, seconds, min(depth, 3))
    found = bench_options(game, state, depth, seconds)
    rates |= {f"depth={depth}/{name}": rate for name, rate in found.items()}
    rates |= bench_threads(game, seconds)
    rates |= bench_simulations(game, game.score(), seconds)
    if game.search.candidates:
        rates |= bench_clock(game, {name: game.score(name) for name in game.scores})
    if hasattr(room, "bench_baselines"):
        rates |= room.bench_baselines(seconds)
    return rates


def bench_simulations(game: Game, leaf: Evaluator, seconds: float = 0.2) -> dict[str, float]:
    """Returns what Monte Carlo tree search makes a second at each position with a new tree, simulations and the values of leaves
    that its new nodes take."""
    rates = {}
    for place, state in positions(game).items():
        search = Mcts(game, leaf, simulations=SIMULATIONS, reuse=False, proofs=False)  # which might end it sooner
        leaves = search(state).leaves
        each = best_time(partial(search, state), seconds)
        rates[f"{leaf.name}/{place}/simulations/s"] = SIMULATIONS / each
        rates[f"{leaf.name}/{place}/leaves/s by simulations"] = leaves / each
    return rates


def bench_depths(game: Game, seconds: float, deepest: int) -> dict[str, float]:
    """Returns leaves per second at each position, at depth 1 and deeper."""
    rates = {}
    for place, state in positions(game).items():
        for depth in range(1, deepest + 1):
            search = Search(game, game.score(), depth, nodes=0)
            leaves = search(state).leaves
            rates[f"{game.default_score}/{place}/depth={depth}"] = leaves / best_time(partial(search, state), seconds)
    return rates
