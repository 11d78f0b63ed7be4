"""Positions of one game asked from several threads at once answer as from one: what rules scribble on is each thread's own."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from random import Random
from typing import Any, NamedTuple

import numpy as np
import pytest

import leafwise
from games import nim
from leafwise.envs.core.compile.jit import jit
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.contract.stream import new_stream

THREADS, CELLS, ROUNDS = 4, 64, 2000


class Tables(NamedTuple):
    sums: Any
    stop: Any
    leaf: Any


@jit
def scribbled_returns(S, i, T):
    """Adds up the number of stones in memory that every call writes to, again and again."""
    total = 0
    for n in range(ROUNDS):
        for k in range(CELLS):
            T.sums[(n + k) % CELLS] = S[i, 0]
        for k in range(CELLS):
            total += T.sums[k]
    return total / (7.0 * CELLS * ROUNDS)


@jit
def any_row(S, i, T):
    return True


def make_tables(options: Any) -> Tables:
    return Tables(np.zeros(CELLS, dtype=np.int64), np.zeros(1, dtype=np.uint8), ())


SCRIBBLING = replace(
    nim.GAME,
    rules=replace(nim.GAME.rules, returns=scribbled_returns, is_valid=any_row),
    make_tables=make_tables,
    scratch=("sums",),
)


def answers(state: State) -> list[Any]:
    return [state.returns, state.legal_actions, state.current_player, str(state)]


def states(game: Game) -> list[State]:
    rng, state, stream = Random(2), game.start(), new_stream(5)
    found: list[State] = []
    while not state.is_terminal and len(found) < 60:
        state = state.sample(stream) if state.is_chance else state.play(rng.choice(state.legal_actions))
        found.append(state)
    return found


@pytest.mark.parametrize("game", [SCRIBBLING, leafwise.game("starship")], ids=["plug-in", "starship"])
def test_threads_answer_alike(game: Game) -> None:
    found = states(game)
    expected = [answers(state) for state in found]
    again = (200 if game is SCRIBBLING else 6) * [State.unchecked(game, state.row) for state in found]
    with ThreadPoolExecutor(THREADS) as pool:
        got = list(pool.map(lambda k: answers(State.unchecked(game, again[k].row)), range(len(again))))
    wrong = sum(answer != expected[k % len(found)] for k, answer in enumerate(got))
    assert wrong == 0, f"{wrong} of {len(got)} answers are wrong"
    parsed = list(pool_map(game, [str(state) for state in found]))
    assert parsed == found


def pool_map(game: Game, texts: list[str]) -> list[State]:
    """Reads texts in several threads at once."""
    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(game.parse, texts))


def test_a_game_without_scratch_has_one_set_of_tables() -> None:
    with ThreadPoolExecutor(1) as pool:
        tables = pool.submit(lambda: nim.GAME.thread_tables).result()
        own = pool.submit(lambda: SCRIBBLING.thread_tables).result()
    assert tables is nim.GAME.thread_tables
    assert own.sums is not SCRIBBLING.thread_tables.sums
