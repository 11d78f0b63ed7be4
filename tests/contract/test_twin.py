"""Legality, successors, chance and returns against a naive twin in plain Python."""

from __future__ import annotations

import pytest

from contract.cases import CASES, chance_of, decisions_of, positions, twin
from contract.comparing import compare_actions, compare_outcomes, compare_outlook
from leafwise.envs.core.contract.game import Game


@pytest.mark.parametrize("game", CASES, ids=repr)
def test_the_positions_cover_every_stage_and_finished_games(game: Game) -> None:
    assert {s.stage for s in positions(game) if not s.is_terminal} == set(game.stages)
    assert any(s.is_terminal for s in positions(game))
    assert {s.current_player for s in positions(game)} >= set(range(game.players))


@pytest.mark.parametrize("game", CASES, ids=repr)
def test_who_acts_and_returns(game: Game) -> None:
    for state in positions(game):
        compare_outlook(state, twin(game), twin(game).read(str(state)))


@pytest.mark.parametrize("game", CASES, ids=repr)
def test_legal_actions_and_successors(game: Game) -> None:
    for state in decisions_of(game):
        compare_actions(state, twin(game), twin(game).read(str(state)))


@pytest.mark.parametrize("game", CASES, ids=repr)
def test_chance_outcomes(game: Game) -> None:
    for state in chance_of(game):
        compare_outcomes(state, twin(game), twin(game).read(str(state)))
