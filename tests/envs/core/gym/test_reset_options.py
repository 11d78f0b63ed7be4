"""Options of `reset` that an environment does not know are refused, and change nothing."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.wrappers.vector import RecordEpisodeStatistics
from stable_baselines3.common.vec_env import VecMonitor

import leafwise
from games import dice
from leafwise.envs.core.gym.env import GameEnv
from leafwise.envs.core.gym.vector import GameVectorEnv
from leafwise.training.sb3 import Sb3VecEnv

MASK = np.array([True, False])
UNKNOWN: list[tuple[Any, str]] = [
    ({"position": "x"}, "'position'"),
    ({"mask": MASK}, "'mask'"),
    ({"seed": 1}, "'seed'"),
    ({1: 2}, "1"),
]
NO_DICT = [[], "x", 3, MASK, True]


def batch(**keywords: Any) -> GameVectorEnv:
    return GameVectorEnv(2, dice.GAME, autoreset_mode="Disabled", **keywords)


def sb3(**keywords: Any) -> Any:
    return VecMonitor(Sb3VecEnv(GameVectorEnv(2, dice.GAME, autoreset_mode="SameStep", **keywords)))


def reset_sb3(env: Any, options: Any) -> None:
    env.set_options(options)
    env.reset()


ENVIRONMENTS: dict[str, tuple[Callable[[], Any], str]] = {
    "single": (lambda: GameEnv(dice.GAME), "no options of reset()"),
    "made": (lambda: gym.make("leafwise/Trilobite-v0"), "no options of reset()"),
    "batch": (batch, "options of reset() among reset_mask"),
    "made batch": (lambda: gym.make_vec("leafwise/Trilobite-v0", num_envs=2), "options of reset() among reset_mask"),
    "recorded batch": (lambda: RecordEpisodeStatistics(batch()), "options of reset() among reset_mask"),
    "one by one": (
        lambda: gym.make_vec("leafwise/Trilobite-v0", num_envs=2, vectorization_mode="sync"),
        "no options of reset()",
    ),
    "PettingZoo": (lambda: leafwise.aec(dice.GAME), "options of reset() among options"),
    "SB3": (sb3, "no options of reset()"),
}


@pytest.mark.parametrize("which", ENVIRONMENTS)
def test_unknown_options_are_refused(which: str) -> None:
    make, expected = ENVIRONMENTS[which]
    env: Any = make()
    env.reset()
    reset = (lambda options: reset_sb3(env, options)) if which == "SB3" else lambda options: env.reset(options=options)
    for options, got in UNKNOWN:
        game = "trilobite" if which in ("made", "made batch", "one by one") else "dice"
        with pytest.raises(ValueError, match=re.escape(f"{game}: expected {expected}, got {got}")):
            reset(options)
    reset({})
    reset(None)


@pytest.mark.parametrize("options", NO_DICT, ids=repr)
def test_options_that_are_no_dict_are_refused(options: Any) -> None:
    for env in (GameEnv(dice.GAME), batch(), leafwise.aec(dice.GAME)):
        with pytest.raises(ValueError, match=r"^dice: expected options of reset\(\) as a dict or None, got "):
            env.reset(options=options)


def test_a_refused_reset_changes_nothing() -> None:
    env = batch()
    env.reset(seed=1)
    env.step(env.action_masks().argmax(axis=1))
    before = env.get_state()
    with pytest.raises(ValueError, match="got 'mask'"):
        env.reset(seed=2, options={"mask": MASK})
    with pytest.raises(ValueError, match="got 'position'"):
        env.reset(seed=2, options={"reset_mask": MASK, "position": "x"})
    assert all((env.get_state()[name] == array).all() for name, array in before.items())
    env.reset(options={"reset_mask": MASK})
    rows = env.get_state()["rows"]
    assert (rows[1] == before["rows"][1]).all()
    assert not (rows[0] == before["rows"][0]).all()
    one = GameEnv(dice.GAME)
    one.reset(seed=1)
    state = one.np_random.bit_generator.state
    with pytest.raises(ValueError, match="got 'reset_mask'"):
        one.reset(seed=2, options={"reset_mask": MASK})
    assert one.np_random.bit_generator.state == state
