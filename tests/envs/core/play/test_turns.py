"""Whole turns of several actions, as people see and type them: in the dice race a wild step goes on without a throw."""

from dataclasses import replace

import pytest

from games import dice
from games.walks import positions
from leafwise.analysis import Analyst, position_lines, turn_values
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.play.by_name import after_moves
from leafwise.envs.core.play.turns import played_in_order, turns_of
from leafwise.search import Search

GAME = replace(dice.GAME, text=replace(dice.GAME.text, whole_turns=True))


def ends_of(state: State, player: int) -> set[State]:
    """Returns where a player's turn may end, one action after the other."""
    if state.current_player != player:
        return {state}
    return set().union(*(ends_of(state.play(a), player) for a in state.legal_actions))


def decision(actions: int) -> State:
    """Returns a decision with turns of so many actions."""
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
