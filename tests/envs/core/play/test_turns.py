"""Turns of several actions, as people see and type them: in the dice race a wild step continues without a throw."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from unittest.mock import Mock

import pytest

from games import dice
from games.walks import positions
from leafwise.analysis import Analyst, Hints, exact_turns, position_lines, turn_values
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.play.by_name import after_moves
from leafwise.envs.core.play.solver import Solution
from leafwise.envs.core.play.turns import played_in_order, turns_of
from leafwise.search import Search
from leafwise.web import analysis
from leafwise.web.requests import AnalyseRequest, SolveRequest
from leafwise.web.workers import JobContext

GAME = replace(dice.GAME, text=replace(dice.GAME.text, whole_turns=True))


def ends_of(state: State, player: int) -> set[State]:
    """Returns where a player's turn may end, one action after the other."""
    if state.current_player != player:
        return {state}
    return set().union(*(ends_of(state.play(a), player) for a in state.legal_actions))


def decision(actions: int) -> State:
    """Returns a decision with turns of this many actions."""
    states = (State(GAME, state.row) for state in positions(GAME, 200))
    return next(state for state in states if max((len(turn.actions) for turn in turns_of(state)), default=0) == actions)


def test_turns_are_all_that_a_player_can_come_to_each_once() -> None:
    state = decision(2)
    turns = turns_of(state)
    assert {turn.after for turn in turns} == ends_of(state, state.current_player)
    assert len({turn.after for turn in turns}) == len(turns)
    assert all(after_moves(state, turn.actions, turn.name) == turn.after for turn in turns)
    assert not turns_of(State(dice.GAME, state.row))


def test_a_turn_is_typed_in_any_order_and_told_whole() -> None:
    state = decision(2)
    turn = next(turn for turn in turns_of(state) if len(turn.actions) == 2)
    assert played_in_order(state, turn.actions[::-1]) == turn.actions
    assert after_moves(state, turn.actions[::-1], "") == turn.after
    assert played_in_order(state, ["nowhere", "at all"]) == ()
    analyst = Analyst(Search(GAME, GAME.score(), 2, nodes=0), "")
    result = analyst(state)
    values = turn_values(result, analyst)
    assert list(values) == sorted(values, key=values.__getitem__, reverse=True)
    assert max(values.values()) == pytest.approx(result.value)
    assert any(line.startswith(f"  {turn.name} ") for line in position_lines(result, analyst, values))


def worth(after: State, player: int) -> float:
    """Returns a planted value of a position for a player whose turn may continue there."""
    if after.current_player == player:
        return max(worth(after.play(a), player) for a in after.legal_actions)
    return int(after.row[0]) % 101 / 101


class Planted:
    """A solver with planted values; `lost` is a position for which it takes too long."""

    game = GAME
    lost: State | None = None

    def __init__(self) -> None:
        self.stop = [0]

    def solve(self, state: State, actions: str = "all") -> Solution:
        values = {name: worth(state.play(name), state.current_player) for name in state.legal_names}
        best = max(values.values())
        kept = tuple(name for name in values if values[name] == best)
        return Solution(best, None, kept, values, complete=state != self.lost)


def test_a_solver_tells_whole_turns_or_what_it_knows_of_single_actions() -> None:
    solver: Any = Planted()
    state = decision(2)
    solution, turns = solver.solve(state), turns_of(state)
    exact = exact_turns(solution, state, solver, 60)
    assert exact.action_values == {turn.name: worth(turn.after, state.current_player) for turn in turns}
    assert max(exact.action_values.values()) == exact.value == exact.action_values[exact.best_actions[0]]
    best, *_ = Hints(Mock(), exact=True, solver=solver)(state)
    assert best.split("  ")[1] in exact.best_actions
    middle = next(turn for turn in turns if len(turn.actions) == 2)
    solver.lost = state.play(middle.actions[0])
    assert exact_turns(solution, state, solver, 60) is solution
    single = State(dice.GAME, state.row)
    assert exact_turns(solution, single, solver, 60) is solution


def test_the_page_hears_of_whole_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    state = decision(2)
    analyst = Analyst(Search(GAME, GAME.score(), 2, seconds=60), "")
    made: dict[str, Any] = {
        "need_game": lambda *_: GAME,
        "analyst_for": lambda *_: analyst,
        "exact_solver": lambda _: Planted(),
    }
    for name, value in made.items():
        monkeypatch.setattr(analysis, name, value)
    asked: dict[str, Any] = {"game": "race", "text": str(state)}

    def last(answers: Iterator[dict[str, Any]]) -> dict[str, Any]:
        return list(answers)[-1]

    for answer in (
        last(analysis.analyse(AnalyseRequest(**asked, seconds=60), JobContext(Mock()))),
        last(analysis.solve(SolveRequest(**asked), JobContext(Mock()))),
    ):
        turns = answer["turns"]
        assert {name: one["actions"] for name, one in turns.items()} == {
            turn.name: turn.actions for turn in turns_of(state)
        }
        assert max(one["value"] for one in turns.values()) == pytest.approx(answer["value"])
        assert all(one["worth"] for one in turns.values())
