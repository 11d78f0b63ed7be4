"""The exact values of small boards."""

from __future__ import annotations

from functools import cache
from random import Random

import numpy as np
import pytest
from numpy.typing import NDArray

import leafwise
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.play.solver import SolverPlayer, exact_solver
from leafwise.envs.trap import GAME, retrograde
from leafwise.envs.trap.solver import Solver

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
def solver_of(rule: str) -> Solver:
    return Solver(THREE[rule])


@pytest.mark.parametrize("text", KNOWN)
@pytest.mark.parametrize("rule", RULES)
def test_21_to_24_exact_values(rule: str, text: str) -> None:
    solution = solver_of(rule).solve(THREE[rule].parse(text))
    assert solution.value == pytest.approx(KNOWN[text][RULES.index(rule)], abs=6e-7)
    assert solution.complete
    assert solution.value == max(solution.action_values.values())
    assert solution.line[0] == solution.best_actions[0]


@pytest.mark.parametrize("rule", RULES)
def test_values_are_the_best_of_what_the_rules_make_of_them(rule: str) -> None:
    game, solver, rng = THREE[rule], solver_of(rule), Random(3)

    def worth(state: State, player: int) -> float:
        if state.is_terminal:
            return state.returns * (1 - 2 * player)
        if state.is_chance:
            return sum(p * worth(after, player) for p, after in state.outcomes())
        value = solver.solve(state, "none").value
        assert value is not None
        return value if state.current_player == player else -value

    for seed in range(12):
        state = game.new(seed)
        for _ in range(10):
            if state.is_terminal:
                break
            if state.is_chance:
                state = rng.choice(state.outcomes())[1]
                continue
            solution = solver.solve(state)
            for name, value in solution.action_values.items():
                assert worth(state.play(name), state.current_player) == pytest.approx(value, abs=1e-9), (
                    f"{state} {name}"
                )
            state = state.play(rng.choice(state.legal_names))


def test_symmetric_positions_have_equal_values() -> None:
    rng, solver = Random(5), solver_of("immediate")
    for _ in range(40):
        marks = ["1", "2", *rng.choices(".#", k=7)]
        rng.shuffle(marks)
        state = THREE["immediate"].parse("/".join("".join(marks[k : k + 3]) for k in (0, 3, 6)))
        values = [solver.solve(state.transformed(k), "none").value for k in range(8)]
        assert values == pytest.approx([values[0]] * 8, abs=1e-9)


@pytest.mark.long
def test_the_start_of_4x4() -> None:
    game = GAME.variant(size=4)
    solution = Solver(game).solve(game.start())
    assert solution.value == pytest.approx(0.3165, abs=5e-5)


def test_the_oracle_plays() -> None:
    game = THREE["immediate"]
    oracle = leafwise.player("solver", game)
    assert isinstance(oracle, SolverPlayer)
    state = game.parse("2#./#../.1.")
    state = state.play(oracle.choose(state))
    assert state.returns == 1  # beside player 2, on his last free cell


def test_finished_games_and_chance() -> None:
    game = THREE["immediate"]
    solver = Solver(game)
    finished = solver.solve(game.parse("2#./#1./... turn=0 throw"))
    assert (finished.value, finished.bounds) == (1, (1, 1))
    with pytest.raises(
        ValueError, match=r"^trap: expected a position in which a player acts, got '1\.\./.* throw=1,1'$"
    ):
        solver.solve(game.parse("1../.../..2 turn=0 throw=1,1"))


def test_wrong_input() -> None:
    with pytest.raises(ValueError, match=r"^trap: expected an exact solver for size 3 or 4, got 7$"):
        exact_solver(GAME)
    with pytest.raises(ValueError, match=r"^trap: expected a table of at least \d+ MB, got 4$"):
        exact_solver(GAME.variant(size=4), 4)


def test_a_stopped_solver_says_so_and_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    game = THREE["immediate"]
    solver, layer = Solver(game), retrograde.layer

    def stopping(number: int, M: retrograde.Memory) -> NDArray[np.int64]:
        solver.stop[0] = number == 4
        return layer(number, M)

    monkeypatch.setattr(retrograde, "layer", stopping)
    solution = solver.solve(game.start())
    assert (solution.value, solution.complete, solution.bounds) == (None, False, (-1, 1))
    assert solver.known()["nodes"] == solution.nodes > 0
    monkeypatch.undo()
    assert solver.solve(game.start()).value == pytest.approx(0.901856, abs=6e-7)
