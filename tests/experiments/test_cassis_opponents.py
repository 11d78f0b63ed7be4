"""Whom PPO meets in Sim: what is asked of its value head is right, and the page tells it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from leafwise.envs.core.contract.state import State
from leafwise.envs.core.play.solver import exact_solver
from leafwise.envs.registry import game
from leafwise.experiments.cassis import opponents
from leafwise.experiments.cassis.opponents import Agent, Config, asked, learned, lines, solved, told
from leafwise.models.files import load_evaluator, model_path

SIM = game("cassis")


@pytest.fixture(scope="module")
def states() -> dict[str, list[State]]:
    return solved(SIM, 12)


def test_positions_are_what_they_are_called(states: dict[str, list[State]]) -> None:
    solver = exact_solver(SIM)
    assert {solver.solve(state).value for state in states["lost"]} == {-1}
    assert {solver.solve(state).value for state in states["won"]} == {1}
    assert {state.current_player for state in states["lost"] + states["won"]} == {0, 1}


def test_a_good_value_head_tells_them_apart(states: dict[str, list[State]]) -> None:
    leaf = load_evaluator(SIM, model_path("cassis"))
    assert told(leaf, states["lost"]) < 0.45
    assert told(leaf, states["won"]) > 0.55


class Perfect:
    """A player who knows the solver's answer."""

    def __init__(self, search: object, name: str) -> None:
        self.solver = exact_solver(SIM)

    def choose(self, state: State) -> int:
        found = self.solver.solve(state).action_values
        return SIM.actions.index(max(found, key=found.__getitem__))


def test_wins_are_those_of_who_moves(states: dict[str, list[State]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opponents, "MctsPlayer", Perfect)
    monkeypatch.setattr(opponents, "Mcts", lambda *given, **options: None)
    agent = Agent(SIM, SIM.score())
    assert agent.wins(states["won"]) == 1.0
    assert 0.0 <= agent.wins(states["lost"]) < 1.0
    met, ends = agent.own(10)
    assert [state.current_player for state in met] == [0, 1] * 5
    solver = exact_solver(SIM)
    assert all(won for state, won in zip(met, ends, strict=True) if solver.solve(state).value == 1)
    found = asked(SIM, load_evaluator(SIM, model_path("cassis")), states)
    assert found["won told"] > found["lost told"] + 0.1
    assert found["own won games"] + found["own lost games"] == 24


@pytest.mark.long
def test_a_short_run_is_told(tmp_path: Path) -> None:
    config = Config(out=tmp_path, total_steps=40_000, points=2, positions=4, judged=20)
    found = {name: learned(config, name) for name in opponents.RUNS}
    for points in found.values():
        assert [point["steps"] for point in points] == sorted(point["steps"] for point in points)
        assert all(0 <= point[name] <= 1 for point in points for name in ("kept", "won told", "lost wins"))
    page = "\n".join(lines(found, config))
    assert page.count("%") + page.count("nan") >= 9 * 4
    assert np.isclose(found["self"][-1]["steps"], 40_000, rtol=0.5)
