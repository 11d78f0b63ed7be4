"""Stable-Baselines3 and sb3-contrib train unmodified, on single environments and on our batches."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported
from stable_baselines3 import DQN, PPO
from stable_baselines3.common.callbacks import EvalCallback
from stable_baselines3.common.env_checker import check_env
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import VecMonitor

import leafwise
from games import dice
from leafwise.envs.core.gym.env import GameEnv
from leafwise.envs.core.gym.vector import GameVectorEnv
from leafwise.training.sb3 import Sb3VecEnv

SMALL: dict[str, Any] = {
    "n_steps": 32, "batch_size": 32, "n_epochs": 1, "policy_kwargs": {"net_arch": [8]}, "seed": 0, "device": "cpu",
}  # fmt: skip
IDS = [name for name in gym.registry if name.startswith("leafwise/")]
LARGE = ("leafwise/StarshipPlaceClassic-v0", "leafwise/StarshipPlaceCruiser-v0")


# maps over a grid look like images to SB3, which wants those as bytes
@pytest.mark.filterwarnings(
    "ignore:It seems that your observation", "ignore:The minimal resolution for an image", "ignore:Treating image space"
)
@pytest.mark.parametrize("env_id", IDS)
def test_every_id_passes_sb3s_check(env_id: str) -> None:
    check_env(gym.make(env_id))


def test_a_game_for_two_passes_sb3s_check() -> None:
    check_env(GameEnv(dice.GAME))


@pytest.mark.parametrize(
    "env_id", [pytest.param(name, marks=pytest.mark.long) if name in LARGE else name for name in IDS]
)
def test_learners_run_on_every_id(env_id: str) -> None:
    env = gym.make(env_id)
    policy = "MultiInputPolicy" if isinstance(env.observation_space, gym.spaces.Dict) else "MlpPolicy"
    PPO(policy, gym.make(env_id), **SMALL).learn(64)
    DQN(
        policy, gym.make(env_id), learning_starts=16, buffer_size=200, policy_kwargs={"net_arch": [8]}, device="cpu"
    ).learn(64)
    MaskablePPO(policy, env, **SMALL).learn(64)


def test_masked_learners_never_act_illegally() -> None:
    env = GameEnv(dice.GAME, illegal="raise", seat="random")
    MaskablePPO("MlpPolicy", env, **SMALL).learn(200)


def test_learners_run_on_a_batch() -> None:
    vec = VecMonitor(Sb3VecEnv(GameVectorEnv(16, dice.GAME, illegal="raise", autoreset_mode="SameStep")))
    assert is_masking_supported(vec)
    learner = MaskablePPO("MlpPolicy", vec, **SMALL).learn(1024)
    assert learner.num_timesteps == 1024
    assert learner.ep_info_buffer  # episodes were told from one another
    PPO("MlpPolicy", leafwise.sb3_vec_env("threes", 4), **SMALL).learn(256)


def test_the_adapter_tells_what_the_batch_does() -> None:
    batch, inner = (GameVectorEnv(6, dice.GAME, autoreset_mode="SameStep") for _ in range(2))
    vec = Sb3VecEnv(inner)
    vec.seed(3)
    np.testing.assert_array_equal(vec.reset(), batch.reset(seed=3)[0])
    random, ends, losses = np.random.default_rng(0), 0, 0
    for _ in range(60):
        masks = get_action_masks(vec)
        assert masks.dtype == np.bool_
        assert (masks == batch.action_masks()).all()
        np.testing.assert_array_equal(vec.env_method("action_masks", indices=[4, 1]), masks[[4, 1]])
        actions = random.integers(4, size=6)
        obs, reward, done, infos = vec.step(actions)
        their_obs, their_reward, terminated, _, info = batch.step(actions)
        np.testing.assert_array_equal(obs, their_obs)
        assert reward.dtype == np.float32
        assert (reward == their_reward).all()
        assert (done == terminated).all()
        for e in range(6):
            assert ("terminal_observation" in infos[e]) == done[e]
            if done[e]:
                assert (infos[e]["terminal_observation"] == info["final_obs"][e]).all()
                ends += 1
            losses += "illegal" in infos[e]
    assert ends > losses > 0
    assert [state.game for state in vec.env_method("state")] == [dice.GAME] * 6
    assert vec.get_attr("num_envs", indices=2) == [6]
    assert vec.env_is_wrapped(gym.Wrapper) == [False] * 6
    vec.close()


def test_the_adapter_tells_what_was_truncated() -> None:
    batch = GameVectorEnv(2, "threes", autoreset_mode="SameStep", max_episode_steps=3)
    vec = Sb3VecEnv(batch)
    vec.reset()
    for step in range(1, 7):
        _, _, done, infos = vec.step(batch.action_masks().argmax(axis=1))
        assert done.tolist() == [step % 3 == 0] * 2
        assert [info.get("TimeLimit.truncated") for info in infos] == [True if step % 3 == 0 else None] * 2


def test_an_evaluation_of_a_policy_without_masks_ends() -> None:
    """As SB3's EvalCallback makes it in the midst of learning."""
    learner = PPO("MlpPolicy", gym.make("leafwise/Threes-v0"), **SMALL)
    callback = EvalCallback(Monitor(gym.make("leafwise/Threes-v0")), n_eval_episodes=3, eval_freq=32, verbose=0)
    learner.learn(64, callback=callback)
    assert callback.last_mean_reward > 0
    policy: Any = AlwaysUp()
    lengths: Any = evaluate_policy(policy, Monitor(gym.make("leafwise/Threes-v0")), 4, return_episode_rewards=True)[1]
    assert len(lengths) == 4
    assert all(
        100 < length < 200 for length in lengths
    )  # a few moves until all stands at the top, then 100 illegal ones


class AlwaysUp:
    """A deterministic policy without masks."""

    def predict(self, obs: Any, state: Any = None, **keywords: Any) -> tuple[Any, Any]:
        return np.zeros(len(obs), dtype=np.int64), state


def test_the_adapter_refuses_what_a_batch_cannot_do() -> None:
    with pytest.raises(ValueError, match=r"^expected a batch with autoreset_mode='SameStep', got 'NextStep'$"):
        Sb3VecEnv(GameVectorEnv(2, "threes"))
    vec = Sb3VecEnv(GameVectorEnv(2, "threes", render_mode="rgb_array", autoreset_mode="SameStep"))
    with pytest.raises(AttributeError, match="expected a method among action_masks, render, state, got 'solve'"):
        vec.env_method("solve")
    with pytest.raises(ValueError, match="expected indices=None"):
        vec.set_attr("closed", True, indices=[0])
    vec.reset()
    picture = vec.render()
    assert picture is not None
    assert picture.dtype == np.uint8
