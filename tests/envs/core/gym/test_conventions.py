"""What wrappers and learners of others rely on: unknown keywords, seeds, Gymnasium's wrappers of batches."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.wrappers import vector as wrappers

import leafwise
from games import dice
from leafwise.envs.core.gym.env import GameEnv
from leafwise.envs.core.gym.vector import GameVectorEnv


@pytest.mark.parametrize(
    ("make", "known"),
    [
        (lambda **keywords: GameEnv("threes", **keywords), "render_mode, .*, max_episode_steps, .*, hint"),
        (lambda **keywords: GameVectorEnv(2, "threes", **keywords), "num_envs, .*, autoreset_mode, .*, hint"),
        (lambda **keywords: gym.make("leafwise/Threes-v0", **keywords), "render_mode, .*, hint"),
        (lambda **keywords: gym.make_vec("leafwise/Threes-v0", num_envs=2, **keywords), "num_envs, .*, hint"),
        (lambda **keywords: leafwise.aec("threes", **keywords), "render_mode, illegal, .*, hint"),
    ],
    ids=["env", "batch", "make", "make_vec", "aec"],
)
def test_unknown_keywords_are_type_errors(make: Callable[..., Any], known: str) -> None:
    message = f"^threes: got an unexpected keyword argument 'frameskip', expected some of {known}"
    with pytest.raises(TypeError, match=message):
        make(frameskip=1)


def test_a_wrapper_that_tries_a_keyword_out_gets_its_environment() -> None:
    """As TorchRL's GymEnv does: it goes on without `frameskip` if a TypeError says that this is the unknown one."""
    keywords: dict[str, Any] = {"frameskip": 4, "hint": "exact"}
    with pytest.raises(TypeError) as refusal:
        gym.make("leafwise/Threes-v0", **keywords)
    tried = [name for name in keywords if f"unexpected keyword argument {name!r}" in str(refusal.value)]
    assert tried == ["frameskip"]
    env = gym.make("leafwise/Threes-v0", hint="exact")
    assert env.unwrapped.game == leafwise.game("threes", hint="exact")  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", [*leafwise.games(), "dice"])
def test_a_seed_is_the_same_game_everywhere(name: str) -> None:
    game = dice.GAME if name == "dice" else leafwise.game(name)
    env, table = GameEnv(game), leafwise.aec(game)
    batch = GameVectorEnv(2, game)
    batch.reset(seed=6)
    for seed in (0, 7, 2**64 - 1):
        env.reset(seed=seed)
        table.reset(seed=seed)
        assert env.state == table.position == game.new(seed)
    assert batch.state(1) == game.new(7)


WRAPPERS: dict[str, Callable[[Any], Any]] = {
    "RecordEpisodeStatistics": wrappers.RecordEpisodeStatistics,
    "DictInfoToList": wrappers.DictInfoToList,
    "NormalizeObservation": wrappers.NormalizeObservation,
    "NormalizeReward": wrappers.NormalizeReward,
    "ClipReward": lambda batch: wrappers.ClipReward(batch, -1.0, 1.0),
    "TransformObservation": lambda batch: wrappers.TransformObservation(batch, lambda obs: obs),
    "VectorizeTransformObservation": lambda batch: wrappers.VectorizeTransformObservation(
        batch, gym.wrappers.TransformObservation, func=lambda obs: obs, observation_space=None
    ),
    "FlattenObservation": wrappers.FlattenObservation,
    "RescaleObservation": lambda batch: wrappers.RescaleObservation(batch, 0.0, 1.0),
    "DtypeObservation": lambda batch: wrappers.DtypeObservation(batch, np.float64),
}


@pytest.mark.parametrize("name", WRAPPERS)
def test_gymnasiums_wrappers_take_a_batch(name: str) -> None:
    batch = gym.make_vec("leafwise/Trap-v0", num_envs=3, opponent="random", max_episode_steps=12)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of casts, which are Gymnasium's own
        wrapped = WRAPPERS[name](batch)
        obs, _ = wrapped.reset(seed=0)
        for _ in range(30):
            obs, _, terminated, truncated, infos = wrapped.step(batch.action_masks().argmax(axis=1))  # type: ignore[attr-defined]
            assert len(obs) == 3
            if name == "RecordEpisodeStatistics" and (terminated | truncated).any():
                assert (infos["episode"]["l"][terminated | truncated] <= 12).all()
                break
        else:
            assert name != "RecordEpisodeStatistics"
    wrapped.close()
