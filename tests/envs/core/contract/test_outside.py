"""States: rows from outside are refused in one line or played, and threads that ask at once get the same answers."""

from __future__ import annotations

import copy
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from random import Random
from typing import Any, NamedTuple

import numpy as np
import pytest

import leafwise
from games import coins, nim
from leafwise.envs.core.check.inspection import MOST_LINES
from leafwise.envs.core.compile.jit import jit
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.contract.stream import new_stream

# Rows from outside: what a user gives, a pickle or a text holds is refused in one line, or the rules can go on from it.


def refusal(game: Game, row: Any) -> str:
    with pytest.raises(ValueError, match=f"^{game.name}: expected ") as problem:
        State(game, row)
    assert "\n" not in str(problem.value)
    return str(problem.value).removeprefix(f"{game.name}: expected ")


TRAP_ROWS = {
    "a player off the board": [0, 127 << 17],
    "two players on one cell": [0, 3 << 17 | 3 << 24],
    "a trap beneath a player": [1 << 3, 3 << 17 | 45 << 24],
    "a trap off the board": [1 << 63, 3 << 17 | 45 << 24],
    "no phase": [0, 3 << 17 | 45 << 24 | 3 << 31],
    "a throw off the board": [0, 3 << 17 | 45 << 24 | 2 << 31 | 100 << 33],
    "a throw at a player": [0, 3 << 17 | 45 << 24 | 2 << 31 | 45 << 33],
    "a target before the throw": [0, 3 << 17 | 45 << 24 | 5 << 33],
    "a turn after the last": [0, 3 << 17 | 45 << 24 | 60_000 << 40],
    "an end that is none": [0, 3 << 17 | 45 << 24 | 1 << 56],
    "bits without meaning": [0, 3 << 17 | 45 << 24 | 1 << 60],
}


@pytest.mark.parametrize("row", TRAP_ROWS.values(), ids=TRAP_ROWS)
def test_a_row_of_trap_that_is_no_position(row: list[int]) -> None:
    game = leafwise.game("trap")
    assert State(game, np.array([0, 3 << 17 | 45 << 24], dtype=np.uint64)) == game.start()
    assert refusal(game, np.array(row, dtype=np.uint64)).startswith("a valid row, got [")


def test_a_row_of_another_size() -> None:
    large = leafwise.game("trap", size=9).new(seed=1)
    assert refusal(leafwise.game("trap", size=3), large.row).startswith("a valid row")


@pytest.mark.parametrize(
    "row", [[1.5, 2], [-1, 0], [1 << 64, 0], ["a", "b"], [None, 0], np.array([-1, 0]), [np.nan, 0]]
)
def test_what_are_no_words(row: Any) -> None:
    assert refusal(leafwise.game("cassis"), row).startswith("a row of words of type uint64, got ")


@pytest.mark.parametrize("thing", [None, 3, "row", []])
def test_what_is_no_leaf_and_no_position_of_the_game(thing: Any) -> None:
    start = coins.GAME.start()
    for call in (start.value, start.outcome_name, start.outcome_words):
        with pytest.raises(
            leafwise.UserError, match=f"^{coins.GAME.name}: expected an? (Evaluator|State, as .*), got "
        ):
            call(thing)


def test_what_has_another_shape() -> None:
    assert refusal(leafwise.game("cassis"), [1, 0, 0]) == "a row of 2 words, got shape (3,)"
    assert refusal(leafwise.game("cassis"), [[1, 0]]) == "a row of 2 words, got shape (1, 2)"


def test_a_pickle_with_another_row_is_refused() -> None:
    state = leafwise.game("cassis").start()
    make, (game, row) = state.__reduce__()
    row[0] = row[1] = 1  # an edge of both
    with pytest.raises(ValueError, match=r"^cassis: expected a valid row, got \[1, 1\]$"):
        make(game, row)
    assert copy.deepcopy(state) is copy.copy(state) is state  # nothing of it ever changes


@jit
def takes_any(S, i, A, T):
    for k in range(S[i, 0]):
        A[k] = k
    return S[i, 0]


@jit
def counts_down(S, i, T):
    left = S[i, 0]
    while left != 0:
        left -= 1
    return nim.current_player(S, i, T)


@jit
def looks_up(S, i, T):
    return 0.0 * T.stop[S[i, 1] - 1] + nim.returns(S, i, T)


def nim_with(**rules: Any) -> Game:
    return replace(nim.GAME, rules=replace(nim.GAME.rules, **rules))


@pytest.mark.parametrize(
    ("game", "text", "said"),
    [
        (
            nim.GAME,
            "fffff 0",
            r"\[1048575, 0\]: observe: expected O\[e, 0\] in 0..7 \(observation space\), got 1.04858e\+06",
        ),
        (nim.GAME, "5 7", r"\[5, 7\]: current_player: expected 0, 1, CHANCE \(-1\) or TERMINAL \(-4\), got 7"),
        (nim.GAME, "-3 0", r"\[-3, 0\]: .*"),
        (
            nim_with(legal_actions=takes_any),
            "7 0",
            r"\[7, 0\]: legal_actions: expected index 0 to 2 of A to be written, got 3 in test_outside.py line \d+, .*",
        ),
        (
            nim_with(returns=looks_up),
            "7 0",
            r"\[7, 0\]: returns: expected index 0 to 0 of T.stop to be read, got -1 in test_outside.py .*",
        ),
        (
            nim_with(current_player=counts_down),
            "-1 0",
            rf"\[-1, 0\]: current_player: expected an answer within {MOST_LINES:,} lines, got none.*",
        ),
        (coins.GAME, "0 0 9 0", r"\[0, 0, 9, 0\]: observe: .*"),
        (coins.GAME, "9 9 1 0", r"\[9, 9, 1, 0\]: returns: expected a number within return_range 0 to 6, got 18.0"),
    ],
)
def test_a_game_that_does_not_say_what_is_valid(game: Game, text: str, said: str) -> None:
    """Compiled code would write beyond its arrays, read before them, run on and on, or answer nonsense."""
    with pytest.raises(ValueError, match=f"^{game.name}: expected a valid row, got {said}$"):
        game.parse(text)


RANDOM_ROWS = """
import sys
from random import Random
import numpy as np
import leafwise
from leafwise.envs.core.check.walk import altered_row
from leafwise.envs.core.check.inspection import RowReader
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.contract.stream import new_stream

game, rows, rng, seen = leafwise.game(sys.argv[1]), int(sys.argv[2]), Random(1), []
for seed in range(4):
    state, stream = game.start(), new_stream(seed)
    for _ in range(100):
        seen.append(state.row.tobytes())
        if state.is_terminal:
            break
        state = state.sample(stream) if state.is_chance else state.play(rng.choice(state.legal_actions))
reader, stream, taken = RowReader(game), new_stream(1), 0
for k in range(rows):
    row = np.frombuffer(rng.choice(seen), dtype=game.dtype)
    word = lambda: rng.getrandbits(8 * row.dtype.itemsize)
    row = np.array([word() for _ in row], dtype=row.dtype) if k % 2 else altered_row(row, seen, rng)
    try:
        state = State(game, row)
    except ValueError:
        continue
    taken += 1
    if taken > 300:
        continue
    if taken < 15:
        assert reader.fault(row) is None, (str(state), reader.fault(row))
    assert game.parse(str(state)) == state
    for _ in range(6):  # on to positions further on
        state.returns, state.stage, state.board()
        if state.is_terminal:
            break
        if state.is_chance:
            state.outcomes()
            state = state.sample(stream)
        else:
            state = state.play(rng.choice(state.legal_actions))
print("taken", taken)
"""


@pytest.mark.parametrize(
    ("name", "rows"),
    [
        ("cassis", 1_700),
        ("trilobite", 1_700),
        ("trap", 1_700),
        ("threes", 1_700),
        ("friday", 400),
        ("starship", 40),
    ],
)
def test_random_rows_are_refused_or_played(name: str, rows: int) -> None:
    """In a separate process, which a wrongly accepted row would end."""
    command = [sys.executable, "-c", RANDOM_ROWS, name, str(rows)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=900)
    assert run.returncode == 0, f"{run.returncode}: {run.stderr[-2000:]}"
    assert run.stdout.startswith("taken ")
    assert name == "starship" or int(run.stdout.split()[1]) > 10


# Positions of one game asked from several threads at once answer as from one: what rules scribble on is each thread's own.


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
    visited: list[State] = []
    while not state.is_terminal and len(visited) < 60:
        state = state.sample(stream) if state.is_chance else state.play(rng.choice(state.legal_actions))
        visited.append(state)
    return visited


@pytest.mark.parametrize("game", [SCRIBBLING, leafwise.game("starship")], ids=["plug-in", "starship"])
def test_threads_answer_alike(game: Game) -> None:
    visited = states(game)
    expected = [answers(state) for state in visited]
    again = (200 if game is SCRIBBLING else 6) * [State.unchecked(game, state.row) for state in visited]
    with ThreadPoolExecutor(THREADS) as pool:
        got = list(pool.map(lambda k: answers(State.unchecked(game, again[k].row)), range(len(again))))
    wrong = sum(answer != expected[k % len(visited)] for k, answer in enumerate(got))
    assert wrong == 0, f"{wrong} of {len(got)} answers are wrong"
    parsed = list(pool_map(game, [str(state) for state in visited]))
    assert parsed == visited


def pool_map(game: Game, texts: list[str]) -> list[State]:
    """Reads texts in several threads at once."""
    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(game.parse, texts))


def test_a_game_without_scratch_has_one_set_of_tables() -> None:
    with ThreadPoolExecutor(1) as pool:
        tables = pool.submit(lambda: nim.GAME.thread_tables).result()
        tables_of_thread = pool.submit(lambda: SCRIBBLING.thread_tables).result()
    assert tables is nim.GAME.thread_tables
    assert tables_of_thread.sums is not SCRIBBLING.thread_tables.sums


@pytest.mark.parametrize("seed", [-1, 2**64, 1.5, "x", None, True])
def test_a_game_starts_with_a_whole_number_of_64_bits(seed: object) -> None:
    with pytest.raises(leafwise.UserError, match=r"^expected a seed of 0 to 2\*\*64 - 1, got "):
        leafwise.game("cassis").new(seed)  # type: ignore[arg-type]
