"""Compares one position with the naive twin's answer."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pytest

from contract.cases import some, twin
from leafwise.envs.core.contract.rules import CHANCE, TERMINAL
from leafwise.envs.core.contract.state import State

PLAYERS = {0: "first", 1: "second", CHANCE: "chance", TERMINAL: "nobody"}


def compare(state: State) -> None:
    """Compares all that the rules say of a position."""
    naive = twin(state.game)
    position = naive.read(str(state))
    compare_outlook(state, naive, position)
    if state.legal_actions:
        compare_actions(state, naive, position)
    if state.is_chance:
        compare_outcomes(state, naive, position)


def compare_outlook(state: State, naive: Any, position: Any) -> None:
    assert PLAYERS[state.current_player] == naive.player(position), str(state)
    assert state.returns == pytest.approx(naive.returns(position), rel=0, abs=1e-12), str(state)
    assert state.game.return_range[0] <= state.returns <= state.game.return_range[1]


def compare_actions(state: State, naive: Any, position: Any) -> None:
    assert sorted(state.legal_names) == sorted(naive.legal(position)), str(state)
    for name in some(state.legal_names):
        assert str(state.play(name)) == naive.write(naive.play(position, name)), f"{state}: {name}"


def compare_outcomes(state: State, naive: Any, position: Any) -> None:
    expected: dict[str, float] = defaultdict(float)
    for p, after in naive.outcomes(position):
        expected[naive.write(after)] += p
    got: dict[str, float] = defaultdict(float)
    for p, successor in state.outcomes():
        got[str(successor)] += p
    assert got == pytest.approx(expected, rel=1e-12), str(state)
