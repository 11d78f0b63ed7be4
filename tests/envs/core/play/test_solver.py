"""The player made of an exact solver, and how solvers are found."""

from __future__ import annotations

import dataclasses

import pytest

import leafwise
from leafwise.authoring import ExactSolver
from leafwise.envs.core.play.solver import LEVELS, Solution, SolverPlayer, exact_solver


def test_the_solver_s_player_holds_the_value() -> None:
    game = leafwise.game("cassis")
    player = SolverPlayer(game)
    rival = leafwise.player("random", game)
    state = game.start()
    while not state.is_terminal:  # the second player wins
        state = state.play((player if state.current_player else rival).choose(state))
    assert state.returns == -1


@pytest.mark.parametrize(("level", "share"), [("easy", 0.4), ("medium", 0.15), ("hard", 0.05), ("best", 0.0)])
def test_levels_draw_a_share_of_the_moves(level: str, share: float) -> None:
    assert LEVELS[level] == share
    state = leafwise.game("trilobite").start().play("1")  # one best move of three
    player = SolverPlayer(state.game, level, seed=3)
    others = sum(player.choose(state) != 2 for _ in range(400)) / 400
    assert others == pytest.approx(share * 2 / 3, abs=0.06 if share else 0)


def test_a_solution_is_the_same_however_it_is_made() -> None:
    made = Solution(1, 3, ("1",), {"1": 1.0}, {"1": 3}, ("1", "2"), 5, 2, 0.5, (3, 3))
    fields = {field.name: getattr(made, field.name) for field in dataclasses.fields(Solution)}
    quick = Solution.of(**fields)
    assert quick == made
    assert repr(quick) == repr(made)
    with pytest.raises(dataclasses.FrozenInstanceError):
        quick.nodes = 1  # type: ignore[misc]


def test_memory_is_asked_before_a_solver_begins() -> None:
    solver = ExactSolver("nowhere:Solver", lambda options: 1655.0)  # which is not imported then
    game = dataclasses.replace(leafwise.game("threes"), ais={"solver": solver})
    with pytest.raises(ValueError, match=r"^threes: expected a table of at least 1,655 MB, got 64$"):
        exact_solver(game)
    assert exact_solver(dataclasses.replace(game, ais={"solver": ExactSolver(lambda game, table_mb: table_mb)}), 7) == 7


def test_wrong_input() -> None:
    with pytest.raises(ValueError, match=r"^solver: expected level among easy, medium, hard, best, got 'x'$"):
        SolverPlayer(leafwise.game("trilobite"), "x")
    with pytest.raises(ValueError, match=r"^expected a game with an exact solver, got 'threes'$"):
        exact_solver(leafwise.game("threes"))
