"""The exact values of small boards."""

from collections.abc import Callable
from functools import cache
from random import Random

import numpy as np
import pytest
from numpy.typing import NDArray

from leafwise.envs.core.contract.state import State
from leafwise.envs.core.play.solver import exact_solver
from leafwise.envs.trap import GAME
from leafwise.envs.trap import solver as module
from leafwise.envs.trap.solver import TrapSolver
from twins.trap import crowded

RULES = ("immediate", "deferred")
THREE = {rule: GAME.variant(size=3, self_trap=rule) for rule in RULES}

# values of an independent program with exact fractions
KNOWN = {
    ".1./.../.2. turn=0": (0.901856, 0.901777),
    ".1./.../.2. turn=1": (0.901856, 0.901777),
    "1../.../..2 turn=0": (0.871758, 0.855083),
    "1.#/.../#.2 turn=0": (0.905, 0.905),
    "1../##./.#2 turn=0": (0.9, 0.9),
    ".1./#../.2. turn=0": (1.0, 1.0),
    "1#./.../.2. turn=0": (-0.713287, -0.713287),
    ".1./.2./... turn=0": (-0.138544, -0.129868),
}


@cache
def solver_of(rule: str) -> TrapSolver:
    return TrapSolver(THREE[rule])


@pytest.mark.parametrize("text", KNOWN)
@pytest.mark.parametrize("rule", RULES)
def test_21_to_24_exact_values(rule: str, text: str) -> None:
    solution = solver_of(rule).solve(THREE[rule].parse(text))
    assert solution.value == pytest.approx(KNOWN[text][RULES.index(rule)], abs=6e-7)
    assert solution.complete
    assert solution.value == max(solution.action_values.values())
    assert solution.line[0] == solution.best_actions[0]


Decide = Callable[[State], float]
"""What a decision is worth to player 1."""


def worth(state: State, decide: Decide) -> float:
    """Returns the value of a position for player 1, by the rules up to the next decision."""
    if state.is_terminal:
        return state.returns
    if state.is_chance:
        return sum(p * worth(after, decide) for p, after in state.outcomes())
    return decide(state)


def check(solver: TrapSolver, state: State, decide: Decide) -> None:
    """Checks the values of all actions at a decision."""
    sign = 1 - 2 * state.current_player
    for name, value in solver.solve(state).action_values.items():
        assert sign * worth(state.play(name), decide) == pytest.approx(value, abs=1e-9), f"{state} {name}"


@cache
def by_hand(state: State) -> float:
    """Decides by playing every game to its end."""
    best = max if state.current_player == 0 else min
    return best(worth(state.play(a), by_hand) for a in state.legal_actions)


@pytest.mark.parametrize("rule", RULES)
def test_values_are_the_best_of_what_the_rules_make_of_them(rule: str) -> None:
    game, solver, rng = THREE[rule], solver_of(rule), Random(3)

    def solved(state: State) -> float:
        return (solver.solve(state, "none").value or 0.0) * (1 - 2 * state.current_player)

    for seed in range(4):
        state = game.new(seed)
        for _ in range(10):
            if state.is_chance:
                state = rng.choice(state.outcomes())[1]
            elif not state.is_terminal:
                check(solver, state, solved)
                state = state.play(rng.choice(state.legal_names))


@pytest.mark.parametrize("max_turns", [1, 2, 5, None])
@pytest.mark.parametrize("rule", RULES)
def test_turns_are_counted_near_the_draw(rule: str, max_turns: int | None) -> None:
    game, rng = THREE[rule].variant(max_turns=max_turns), Random(1)
    solver, last = TrapSolver(game), game.options.last_turn
    for traps in (3, 4, 4, 5, 5, 5, 5):
        for left in range(1, min(last, 2 if traps == 3 else 4) + 1):  # to and fro between numbers of turns
            state = game.parse(f"{crowded(3, traps, rng)} turn={last - left}")
            if not state.is_terminal:
                check(solver, state, by_hand)


def test_who_cannot_win_any_more_has_a_draw() -> None:
    game = GAME.variant(size=3, max_turns=5)
    for text in (".1./.../.2. turn=4", ".1./.../.2. turn=4 throw"):
        solution = exact_solver(game).solve(game.parse(text))
        assert set(solution.action_values.values()) == {0.0}
        assert (solution.value, solution.note) == (0.0, "")
    away = exact_solver(THREE["immediate"]).solve(THREE["immediate"].start())
    assert away.note == "as without the draw, which is 36 turns away"


@pytest.mark.parametrize("table_mb", [1, 64])
def test_turns_may_be_asked_for_in_any_order(table_mb: float) -> None:
    """With memory for the changes of each turn, and without, where the table starts again."""
    game, rng = THREE["immediate"], Random(2)
    texts = ["1../.../..2", "1#./.../.2."]
    asked = [(text, turn) for text in texts for turn in (34, 20, 35, 5, 6, 4, 30, 0, 12)]
    rng.shuffle(asked)
    solver = TrapSolver(game, table_mb)
    if table_mb == 1:
        solver.table._room = 0
    for text, turn in asked:
        state = game.parse(f"{text} turn={turn}")
        assert solver.solve(state).action_values == pytest.approx(
            TrapSolver(game).solve(state).action_values, abs=1e-11
        )


@pytest.mark.long
def test_the_start_of_4x4() -> None:
    game = GAME.variant(size=4)
    solution = TrapSolver(game).solve(game.start())
    assert solution.value == pytest.approx(0.3165, abs=5e-5)


def test_finished_games_and_wrong_input() -> None:
    solver = solver_of("immediate")
    finished = solver.solve(solver.game.parse("2#./#1./... turn=0 throw"))
    assert (finished.value, finished.bounds) == (1, (1, 1))
    wrong = r"^trap: expected a position in which a player acts, got '1\.\./.* throw=1,1'$"
    with pytest.raises(ValueError, match=wrong):
        solver.solve(solver.game.parse("1../.../..2 turn=0 throw=1,1"))
    with pytest.raises(ValueError, match=r"^trap: expected an exact solver for size 3 or 4, got 7$"):
        exact_solver(GAME)
    with pytest.raises(ValueError, match=r"^trap: expected a table of at least [\d.]+ MB, got 4.0$"):
        exact_solver(GAME.variant(size=4), 4)


@pytest.mark.parametrize("turn", [0, 30])
def test_a_stopped_solver_says_so_and_goes_on(monkeypatch: pytest.MonkeyPatch, turn: int) -> None:
    """Far from the draw, and within a turn if turns are counted."""
    state = THREE["immediate"].parse(f".1./.../.2. turn={turn}")
    solver, layer = TrapSolver(state.game), module.layer

    def stopping(number: int, M: module.TrapMemory) -> NDArray[np.int64]:
        solver.stop[0] = number == 4
        return layer(number, M)

    monkeypatch.setattr(module, "layer", stopping)
    solution = solver.solve(state)
    assert (solution.value, solution.complete, solution.bounds) == (None, False, (-1, 1))
    assert solver.known()["nodes"] == solution.nodes > 0
    monkeypatch.undo()
    assert solver.solve(state).action_values == TrapSolver(state.game).solve(state).action_values
