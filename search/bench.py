"""Measures searches: leaves a second, and what each option does to time and nodes at equal value."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from time import perf_counter
from typing import Any

from leafwise.envs.core.game import Game
from leafwise.envs.core.state import State
from leafwise.envs.registry import game as find_game
from leafwise.search.engine import Search

POSITIONS = {
    "s18": "48 24 12 6/3 1 2 0/3 0 1 0/2 0 0 0 next=1 deck=0,2,1",
    "s19": "768 384 192 96/12 24 48 96/6 3 2 1/1 2 0 3 next=+ deck=0,1,2",
    "s20": "96 3 2 1/12 6 1 0/3 2 0 0/1 0 0 0 next=3 deck=2,2,2",
}
"""Three boards of Threes: early, crowded, and with a bonus to come."""


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


def bench_threes(depths: tuple[int, ...] = (2, 3, 4, 5), seconds: float = 0.2) -> dict[str, float]:
    """Returns leaves per second of the engine, and its time over that of the hand-written search for Threes.

    Keys are `LEAF/BOARD/depth=D` and the same with ` time ratio` after them. Both searches value the same leaves; a
    difference raises ArithmeticError.
    """
    from leafwise.search.scalar_threes import ScalarSearch

    game = find_game("threes")
    rates = {}
    for leaf in ("openness", "rows"):
        evaluator = game.score(leaf)
        scalar = ScalarSearch(game, evaluator)
        for board, text in POSITIONS.items():
            state = game.parse(text)
            for depth in depths:
                search = Search(game, evaluator, depth)
                found = search(state)
                values, leaves = scalar(state, depth)
                if leaves != found.leaves or any(abs(values[a] - v) > 1e-9 * abs(v) for a, v in found.values.items()):
                    raise ArithmeticError(f"expected equal trees and values, got {values} and {found.values}")
                own = best_time(partial(search, state), seconds)
                name = f"{leaf}/{board}/depth={depth}"
                rates[name] = leaves / own
                rates[f"{name} time ratio"] = own / best_time(partial(scalar, state, depth), seconds)
    return rates


OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {"pruning": False, "table_mb": 0},
    "table": {"pruning": False, "table_mb": 16},
    "cutoff": {"pruning": False, "table_mb": 0, "cutoff": 1e-3},
    "pruning": {"pruning": True, "table_mb": 0, "ordering": ()},
    "pruning + values": {"pruning": True, "table_mb": 0, "ordering": ("values",)},
    "pruning + killers": {"pruning": True, "table_mb": 0, "ordering": ("killers",)},
    "pruning + star2": {"pruning": True, "table_mb": 0, "ordering": (), "star2": True},
    "pruning + table": {"pruning": True, "table_mb": 16, "ordering": ()},
    "pruning + table, values, killers": {"pruning": True, "table_mb": 16},
    "one value": {"pruning": True, "table_mb": 16, "all_values": False},
    "width 3": {"pruning": True, "table_mb": 16, "width": 3},
}
"""Options of `Search` that are measured; all but the cutoff and the width are exact."""


def bench_options(game: Game, state: State, depth: int = 4, seconds: float = 0.5) -> dict[str, float]:
    """Returns rates of every option of `Search` at one position, with the game's default score.

    Keys are `OPTION nodes/s`, `OPTION leaves/s`, and against the plain search `OPTION time ratio`, `OPTION node ratio` and
    `OPTION error` (of the value, absolute).
    """
    rates: dict[str, float] = {}
    plain = Search(game, game.score(), depth, **OPTIONS["plain"])(state)
    time = 0.0
    for name, options in OPTIONS.items():
        search = Search(game, game.score(), depth, **options)
        found = search(state)
        best = best_time(partial(search, state), seconds)
        time = time or best
        rates[f"{name} nodes/s"] = found.nodes / best
        rates[f"{name} leaves/s"] = found.leaves / best
        rates[f"{name} time ratio"] = best / time
        rates[f"{name} node ratio"] = found.nodes / plain.nodes
        rates[f"{name} error"] = abs(found.value - plain.value)
    return rates


def bench_search(game: Game, seconds: float = 0.2) -> dict[str, float]:
    """Returns leaves per second by leaf, position and depth; for Threes as it is by default, `bench_threes`."""
    if game == find_game("threes"):
        return bench_threes(seconds=seconds)
    rates = {}
    state = game.new(0)
    for depth in (1, 2, 3):
        search = Search(game, game.score(), depth)
        leaves = search(state).leaves
        spent = best_time(lambda search=search: search(state), seconds)  # type: ignore[misc]
        rates[f"{game.default_score}/start/depth={depth}"] = leaves / spent
    if game.name == "friday":
        from leafwise.envs.friday.bench import bench_fridai

        rates |= bench_fridai(seconds)
    return rates
