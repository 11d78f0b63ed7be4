"""Rows turned into observations are what `step` shows, in every game."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import leafwise
from games import dice
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.rules import CHANCE, TERMINAL
from leafwise.envs.core.gym.observation import Observer
from leafwise.envs.core.gym.vector import GameVectorEnv

STEPS = 40


def equal(a: Any, b: Any) -> bool:
    """Whether two observations are equal in values and types."""
    if isinstance(a, dict):
        return set(a) == set(b) and all(equal(a[name], b[name]) for name in a)
    return bool(a.dtype == b.dtype and np.array_equal(a, b))


QUICK = ("trilobite", "threes", "dice")


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=() if n in QUICK else pytest.mark.long) for n in (*leafwise.games(), "dice")],
)
def test_rows_are_seen_as_step_shows_them(name: str) -> None:
    game: Game = dice.GAME if name == "dice" else leafwise.game(name)
    seat = "random" if game.players == 2 else "first"
    envs = GameVectorEnv(4, game, autoreset_mode="SameStep", seat=seat)
    observer, random, ends = Observer(game), np.random.default_rng(0), 0
    obs, info = envs.reset(seed=3)
    for _ in range(STEPS):
        seen = observer(np.array([envs.state(e).row for e in range(4)]))
        assert equal(seen.obs, obs)
        assert np.array_equal(seen.mask, info["action_mask"])
        assert list(seen.player) == [envs.state(e).current_player for e in range(4)]
        assert list(seen.returns) == [envs.state(e).returns for e in range(4)]
        actions = np.array([random.choice(np.flatnonzero(mask)) for mask in info["action_mask"]])
        befores, seats = [envs.state(e) for e in range(4)], envs.get_state()["seats"]
        obs, _, over, _, info = envs.step(actions)
        for e in np.flatnonzero(over):
            after = befores[e].play(int(actions[e]))
            if after.is_terminal:  # neither chance nor the opponent moved
                last = observer(after.row[None], viewers=seats[e : e + 1].astype(np.int8))
                one = {key: a[0] for key, a in last.obs.items()} if isinstance(last.obs, dict) else last.obs[0]
                assert equal(one, info["final_obs"][e])
                assert last.player[0] == TERMINAL
                assert last.mask.all()
                ends += 1
    assert ends or name not in ("trilobite", "cassis")


def test_a_chance_stage_shows_nothing_but_itself() -> None:
    state = dice.GAME.new(0)
    after = state.play(state.legal_actions[0])
    assert after.is_chance
    seen = Observer(dice.GAME)(after.row[None])
    assert seen.player[0] == CHANCE
    assert isinstance(seen.obs, np.ndarray)
    assert not seen.obs.any()
