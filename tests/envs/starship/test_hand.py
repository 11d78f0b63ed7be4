"""Ships by hand: the first one is the generator's, others differ, a roll-out is a function of the row."""

from __future__ import annotations

import subprocess
import sys

import pytest

import leafwise
from leafwise.envs.starship import GAME, Generator
from leafwise.envs.starship.heuristic_builder import hand_made_ships, hand_rollout


def test_the_first_hand_made_ship_is_the_generators() -> None:
    for seed in range(5):
        found, best = hand_made_ships(GAME, seed, 6)
        assert found[0] == pytest.approx(Generator("scout").attempt(seed, 0).stats["quality"], abs=1e-6)
        assert best.is_terminal
        assert best.returns == found.max()
        assert len(set(found)) > 1


def test_a_roll_out_is_a_function_of_the_row() -> None:
    state, evaluator = GAME.new(3), hand_rollout(GAME, 3)
    assert 0 < state.value(evaluator) < 1
    assert state.value(evaluator) == state.value(hand_rollout(GAME, 3))
    assert state.value(evaluator) != state.value(hand_rollout(GAME, 3, seed=1))
    with pytest.raises(ValueError, match="expected n of 1 to 1,000,000 ships, got 0"):
        hand_rollout(GAME, 0)
    with pytest.raises(ValueError, match="expected nothing after hand, got 'x'"):
        leafwise.player("hand:x", GAME)


def test_a_roll_out_that_is_loaded_is_the_one_that_was_compiled() -> None:
    """Its code may stand in the cache, and other rooms compile the hash of a row too."""
    script = (
        "from leafwise.envs.starship.heuristic_builder import hand_rollout\n"
        "import leafwise.search.frontier\n"
        "from leafwise.envs.starship import GAME\n"
        "print(GAME.new(3).value(hand_rollout(GAME, 3)))"
    )
    here = GAME.new(3).value(hand_rollout(GAME, 3))  # compiles it where the cache does not have it
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (found.returncode, float(found.stdout)) == (0, here)
