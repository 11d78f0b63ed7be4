"""What is held against something of this version itself, in turns: searches written by hand, and one actor that learns.

`LEAF against the one by hand, PLACE, depth=D` is the engine's time over that of the same search written by hand (Threes), which no
version changes. `two actors` is the time of a move where two actors learn at once over the same tables, over that of one alone, by
the clock (two idle cores needed: 0.5 is perfect); `two actors, processor time` is the same in processor time of both: what they
cost each other (1: nothing), as far as they run at the same time.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from leafwise.benchmarks.judging import Compared, in_turns
from leafwise.benchmarks.measurements import SEARCH, TRAINING
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.errors import UserError
from leafwise.search import Search
from leafwise.search.bench import best_time, positions, room_bench

DEPTHS = (3, 4, 5)


def beside(game: Game, part: str, seconds: float, rounds: int) -> dict[str, Callable[[], Compared]]:
    """Returns what a part measures of this version alone, by name."""
    found: dict[str, Callable[[], Compared]] = {}
    room = room_bench(game)
    if part in ("", SEARCH) and hasattr(room, "yardsticks") and not game.given_options:
        for leaf, yardstick in room.yardsticks(game).items():
            for place, state in positions(game).items():
                for depth in DEPTHS:
                    name = f"{leaf} against the one by hand, {place}, depth={depth}"
                    found[name] = partial(by_hand, game, leaf, yardstick, state, depth, rounds)
    cells = "ntuple" in game.features and game.players == 1
    if part in ("", TRAINING) and cells and (os.cpu_count() or 1) > 1:
        found |= {
            "two actors": partial(two_actors, game, seconds, rounds, time.perf_counter),
            "two actors, processor time": partial(two_actors, game, seconds, rounds, time.process_time),
        }
    return found


def by_hand(game: Game, leaf: str, yardstick: Any, state: State, depth: int, rounds: int) -> Compared:
    """Compares a search of the engine with the one by hand; raises ValueError where they value other leaves."""
    search = Search(game, game.score(leaf), depth, nodes=0)
    leaves, own = yardstick(state, depth)[1], search(state).leaves
    if leaves != own:
        raise UserError(f"expected {leaves} leaves, got {own}")
    before, now = partial(yardstick, state, depth), partial(search, state)
    return in_turns(partial(best_time, before, 0.0), partial(best_time, now, 0.0), rounds)


def two_actors(game: Game, seconds: float, rounds: int, clock: Callable[[], float]) -> Compared:
    """Compares a move of two actors that learn over the same tables with a move of one alone."""
    from leafwise.training.bench import LARGEST, Actors

    actors = Actors(game, LARGEST, 2)
    return in_turns(
        partial(actors.seconds_a_move, 1, seconds, clock), partial(actors.seconds_a_move, 2, seconds, clock), rounds
    )
