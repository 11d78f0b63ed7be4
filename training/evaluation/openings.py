"""Openings of matches: positions after a few random decisions, no two of them equal under the game's symmetries."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from leafwise.envs.core.compile.jit import bind
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.rules import Compiled, copy_row
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.contract.stream import GOLDEN, below, mix, new_stream, u64
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.ranges import Range, is_number_in

OPENING, CHANCE, PLAYER = 1, 2, 3
"""Uses of a seed; each has its own random stream."""
PLIES = 4
"""Default number of random decisions in openings of games without chance."""
MOST_PLIES = 1000
ATTEMPTS = 200
"""Number of tries to find one more opening that is unfinished and new."""


def derived(seed: int, what: int) -> int:
    """Returns a seed for one of several uses of `seed`."""
    with np.errstate(over="ignore"):
        return int(mix(u64(seed) ^ u64(what) * GOLDEN))


def plies_of(game: Game, plies: int | None) -> int:
    """Returns the number of random decisions in openings: the given one, else PLIES, or 0 in games of chance.

    Raises ValueError for a number that is not possible.
    """
    if plies is None:
        return 0 if game.max_stages else PLIES
    if not is_number_in(plies, Range(0, MOST_PLIES), int):
        raise UserError(f"expected openings of 0 to {MOST_PLIES} plies, got {plies!r}")
    return plies


def random_opening(game: Game, plies: int, stream: Any) -> State:
    """Returns the position after `plies` random decisions, or fewer if the game ends before."""
    state = game.start().settle(stream)
    for _ in range(plies):
        if state.is_terminal:
            break
        state = state.play(state.legal_actions[int(below(stream, len(state.legal_actions)))]).settle(stream)
    return state


def openings(game: Game, count: int, plies: int, seed: int) -> list[State]:
    """Returns unfinished positions after `plies` random decisions: at least one, and at most `count`.

    In a game without chance no two are the same under the game's symmetries; it has no others, or hardly any, where fewer
    than `count` are returned. In games of chance all `count` are independent draws. The first ones do not depend on `count`.

    Raises ValueError if every game is over by then.
    """
    positions: list[State] = []
    seen: set[bytes] = set()
    key = None if game.max_stages else least_row(game)
    while len(positions) < count:
        stream = new_stream(derived(seed + len(positions), OPENING))
        tries = (random_opening(game, plies, stream) for _ in range(ATTEMPTS if plies or game.max_stages else 1))
        state = next((s for s in tries if not s.is_terminal and (key is None or key(s) not in seen)), None)
        if state is None:
            break
        positions.append(state)
        if key is not None:
            seen.add(key(state))
    if not positions:
        raise UserError(f"{game.name}: expected openings that leave something to play, got {plies} plies")
    return positions


def least_row(game: Game) -> Callable[[State], bytes]:
    """Returns a function from positions to bytes, which are equal exactly for positions that are equal under a symmetry."""
    count, transform = game.symmetry_count, game.symmetries.transform
    if count == 1:
        return lambda state: bytes(state.row.tobytes())
    write = _make_least_row(transform, game.room)
    S, T = game.rows(3), game.tables()

    def key(state: State) -> bytes:
        S[0] = state.row
        write(S, count, T)
        return bytes(S[1].tobytes())

    return key


@cache
def _make_least_row(transform: Compiled, room: Path) -> Compiled:
    """Compiles `write_least_row`."""
    here, least, turned = np.uint64(0), np.uint64(1), np.uint64(2)

    @bind(room)
    def write_least_row(S, symmetries, T):
        """Writes the least of all rows symmetric to row 0 of S [3, width] to row 1."""
        copy_row(S, here, least)
        for k in range(1, symmetries):
            transform(S, here, k, turned, T)
            w = 0
            while w < S.shape[1] - 1 and S[turned, w] == S[least, w]:
                w += 1
            if S[turned, w] < S[least, w]:
                copy_row(S, turned, least)

    return write_least_row
