"""Ships by hand: the first one is the generator's, others differ."""

from __future__ import annotations

import pytest

import leafwise
from leafwise.envs.starship import GAME, Generator
from leafwise.envs.starship.heuristic_builder import hand_made_ships


def test_the_first_hand_made_ship_is_the_generators() -> None:
    for seed in range(5):
        found, best = hand_made_ships(GAME, seed, 6)
        assert found[0] == pytest.approx(Generator("scout").attempt(seed, 0).stats["quality"], abs=1e-6)
        assert best.is_terminal
        assert best.returns == found.max()
        assert len(set(found)) > 1
    with pytest.raises(ValueError, match="expected nothing after hand, got 'x'"):
        leafwise.player("hand:x", GAME)
