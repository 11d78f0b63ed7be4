"""Symmetries commute with the rules."""

from __future__ import annotations

import pytest

from contract.cases import CASES, positions
from leafwise.envs.core.game import Game


@pytest.mark.parametrize("game", CASES, ids=repr)
def test_symmetries_form_a_group_with_0_the_identity(game: Game) -> None:
    actions = range(len(game.actions))
    for state in positions(game):
        images = [state.transformed(k) for k in range(game.symmetries)]
        assert images[0] == state
        for image in images:
            assert {image.transformed(k) for k in range(game.symmetries)} == set(images), str(state)
    for k in range(game.symmetries):
        assert sorted(game.rules.transform_action(a, k, game.tables()) for a in actions) == list(actions)
    assert [game.rules.transform_action(a, 0, game.tables()) for a in actions] == list(actions)
    assert max(len({s.transformed(k) for k in range(game.symmetries)}) for s in positions(game)) == game.symmetries


@pytest.mark.parametrize("game", CASES, ids=repr)
def test_symmetries_commute_with_actions(game: Game) -> None:
    T = game.tables()
    for state in positions(game):
        for k in range(1, game.symmetries):
            image = state.transformed(k)
            assert image.current_player == state.current_player, str(state)
            assert image.returns == state.returns
            assert image.stage == state.stage
            matching = {a: int(game.rules.transform_action(a, k, T)) for a in state.legal_actions}
            assert sorted(matching.values()) == list(image.legal_actions), f"{state}: symmetry {k}"
            for a, b in matching.items():
                assert state.play(a).transformed(k) == image.play(b), f"{state}: {game.actions[a]}, symmetry {k}"


@pytest.mark.parametrize("game", CASES, ids=repr)
def test_symmetries_commute_with_chance(game: Game) -> None:
    for state in [s for s in positions(game) if s.is_chance][::2]:
        for k in range(1, game.symmetries):
            expected = {s.transformed(k): p for p, s in state.outcomes()}
            got = {s: p for p, s in state.transformed(k).outcomes()}
            assert got == pytest.approx(expected, rel=1e-12), f"{state}: symmetry {k}"
