"""Legality, successors, chance and returns against a naive twin in plain Python."""

from __future__ import annotations

from collections import defaultdict

import pytest

from contract.cases import CASES, chance_of, decisions_of, positions, some, twin
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.rules import CHANCE, TERMINAL

PLAYERS = {0: "first", 1: "second", CHANCE: "chance", TERMINAL: "nobody"}


@pytest.mark.parametrize("game", CASES, ids=repr)
def test_the_positions_cover_every_stage_and_finished_games(game: Game) -> None:
    assert {s.stage for s in positions(game) if not s.is_terminal} == set(game.stages)
    assert any(s.is_terminal for s in positions(game))
    assert {s.current_player for s in positions(game)} >= set(range(game.players))


@pytest.mark.parametrize("game", CASES, ids=repr)
def test_who_acts_and_returns(game: Game) -> None:
    naive = twin(game)
    for state in positions(game):
        position = naive.read(str(state))
        assert PLAYERS[state.current_player] == naive.player(position), str(state)
        assert state.returns == pytest.approx(naive.returns(position), rel=0, abs=1e-12), str(state)
        assert game.return_range[0] <= state.returns <= game.return_range[1]


@pytest.mark.parametrize("game", CASES, ids=repr)
def test_legal_actions_and_successors(game: Game) -> None:
    naive = twin(game)
    for state in decisions_of(game):
        position = naive.read(str(state))
        assert sorted(state.legal_names) == sorted(naive.legal(position)), str(state)
        for name in some(state.legal_names):
            assert str(state.play(name)) == naive.write(naive.play(position, name)), f"{state}: {name}"


@pytest.mark.parametrize("game", CASES, ids=repr)
def test_chance_outcomes(game: Game) -> None:
    naive = twin(game)
    for state in chance_of(game):
        expected: dict[str, float] = defaultdict(float)
        for p, position in naive.outcomes(naive.read(str(state))):
            expected[naive.write(position)] += p
        got: dict[str, float] = defaultdict(float)
        for p, successor in state.outcomes():
            got[str(successor)] += p
        assert got == pytest.approx(expected, rel=1e-12), str(state)
