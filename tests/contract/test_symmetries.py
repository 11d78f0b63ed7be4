"""Symmetries commute with the rules."""

from __future__ import annotations

import pytest

from contract.cases import CASES, MOST_SYMMETRIES, positions, some_symmetries
from leafwise.envs.core.contract.game import Game


@pytest.mark.parametrize("game", CASES, ids=repr)
def test_symmetries_permute_the_actions_and_0_leaves_all(game: Game) -> None:
    actions = range(len(game.actions))
    for k in some_symmetries(game):
        assert sorted(game.symmetries.transform_action(a, k, game.tables()) for a in actions) == list(actions)
    assert [game.symmetries.transform_action(a, 0, game.tables()) for a in actions] == list(actions)
    kinds = some_symmetries(game)
    assert max(len({s.transformed(k) for k in kinds}) for s in positions(game)) == len(kinds)
    assert all(state.transformed(0) == state for state in positions(game))


FEW = [game for game in CASES if game.symmetry_count <= MOST_SYMMETRIES]


@pytest.mark.parametrize("game", FEW, ids=repr)
def test_symmetries_form_a_group(game: Game) -> None:
    for state in positions(game):
        images = [state.transformed(k) for k in range(game.symmetry_count)]
        for image in images:
            assert {image.transformed(k) for k in range(game.symmetry_count)} == set(images), str(state)


@pytest.mark.parametrize("game", CASES, ids=repr)
def test_symmetries_commute_with_actions(game: Game) -> None:
    T = game.tables()
    for state in positions(game):
        for k in some_symmetries(game)[1:]:
            image = state.transformed(k)
            assert image.current_player == state.current_player, str(state)
            assert image.returns == state.returns
            assert image.stage == state.stage
            matching = {a: int(game.symmetries.transform_action(a, k, T)) for a in state.legal_actions}
            assert sorted(matching.values()) == list(image.legal_actions), f"{state}: symmetry {k}"
            for a, b in matching.items():
                assert state.play(a).transformed(k) == image.play(b), f"{state}: {game.actions[a]}, symmetry {k}"


@pytest.mark.parametrize("game", CASES, ids=repr)
def test_symmetries_commute_with_chance(game: Game) -> None:
    for state in [s for s in positions(game) if s.is_chance][::2]:
        for k in some_symmetries(game)[1:]:
            expected = {s.transformed(k): p for p, s in state.outcomes()}
            got = {s: p for p, s in state.transformed(k).outcomes()}
            assert got == pytest.approx(expected, rel=1e-12), f"{state}: symmetry {k}"
