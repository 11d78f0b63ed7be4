"""What compiled games of learning share is made once for a game, and anew for a game of its name with other rules."""

from dataclasses import replace

import pytest

import leafwise
from leafwise.envs.core.compile.jit import DISABLED
from leafwise.training.games import make_open_game, make_settle


@pytest.mark.skipif(DISABLED, reason="nothing is compiled")
@pytest.mark.parametrize("make", [make_settle, make_open_game])
def test_games_of_one_name_with_other_rules_never_meet(make) -> None:
    game, other = leafwise.game("threes"), leafwise.game("friday")
    chance = replace(game.rules.chance, sample=other.rules.sample_outcome)
    changed = replace(game, rules=replace(game.rules, chance=chance))
    one = make(game)
    assert make(changed) is not one
    assert make(game) is one
    assert make(game.variant(top="continue")) is one
