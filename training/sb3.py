"""Adapts the batch environment to Stable-Baselines3, which has no adapter for Gymnasium's vector environments."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from gymnasium.vector import AutoresetMode
from stable_baselines3.common.vec_env.base_vec_env import VecEnv, VecEnvIndices, VecEnvObs, VecEnvStepReturn

from leafwise.envs.core.arrays import Array, Bytes
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.gym.stepper import reset_options
from leafwise.envs.core.gym.vector import GameVectorEnv
from leafwise.training.networks import load_optimizer, load_parameters, optimizer_tensors, parameters
from leafwise.training.types import Json, Tensors, named, prefixed


class Sb3VecEnv(VecEnv):
    """A `GameVectorEnv` as an SB3 `VecEnv`.

    With `batch = GameVectorEnv(256, "threes", autoreset_mode="SameStep")`: `PPO("MlpPolicy", VecMonitor(Sb3VecEnv(batch)))`.
    sb3-contrib finds the masks by `env_method("action_masks")`. Raises ValueError unless the batch starts anew in the step in
    which an episode ends, as SB3 expects.
    """

    def __init__(self, batch: GameVectorEnv) -> None:
        if batch.autoreset_mode is not AutoresetMode.SAME_STEP:
            raise UserError(f"expected a batch with autoreset_mode='SameStep', got {batch.autoreset_mode.value!r}")
        self.batch = batch
        super().__init__(batch.num_envs, batch.single_observation_space, batch.single_action_space)

    def reset(self) -> VecEnvObs:
        """Starts an episode in every environment, with the seeds of `seed()` if it was called; returns observations [n, ...]."""
        obs, info = self.batch.reset(seed=self._seeds)
        self.reset_infos = [{"action_mask": mask} for mask in info["action_mask"]]
        self._reset_seeds()
        self._reset_options()
        return obs

    def set_options(self, options: list[Json] | Json | None = None) -> None:
        """Raises ValueError for any option: a batch knows none for single environments."""
        for one in options if isinstance(options, list) else [options]:
            reset_options(one, self.batch.game)
        super().set_options(options)

    def step_async(self, actions: Array) -> None:
        """Takes the actions [n] that `step_wait` plays."""
        self._actions = actions

    def step_wait(self) -> VecEnvStepReturn:
        """Steps; returns observations, rewards, dones and one info for each environment."""
        obs, reward, terminated, truncated, info = self.batch.step(self._actions)
        done = terminated | truncated
        infos: list[Json] = [{} for _ in range(self.num_envs)]
        for e in np.flatnonzero(done):
            infos[e]["terminal_observation"] = info["final_obs"][e]
            infos[e]["TimeLimit.truncated"] = bool(truncated[e] and not terminated[e])
        for step_info in (info, info.get("final_info", {})):
            for e in np.flatnonzero(step_info.get("_illegal", ())):
                infos[e]["illegal"] = step_info["illegal"][e]
        return obs, reward.astype(np.float32), done, infos

    def observations(self) -> VecEnvObs:
        """Returns what the agents see now, [n, ...]."""
        return self.batch.observations()

    def close(self) -> None:
        """Closes the batch."""
        self.batch.close()

    def get_images(self) -> Sequence[Bytes | None]:
        """Returns one picture for each environment."""
        frames = self.batch.render()
        return [None] * self.num_envs if frames is None else list(frames)

    def get_attr(self, attr_name: str, indices: VecEnvIndices = None) -> list[Any]:
        """Returns the batch's attribute, once for each requested environment."""
        return [getattr(self.batch, attr_name)] * len(list(self._get_indices(indices)))

    def set_attr(self, attr_name: str, value: Any, indices: VecEnvIndices = None) -> None:
        """Sets an attribute of the whole batch; raises ValueError for some environments only."""
        if indices is not None:
            raise UserError(f"expected indices=None (attributes belong to the whole batch), got {indices!r}")
        setattr(self.batch, attr_name, value)

    def env_method(
        self, method_name: str, *method_args: Any, indices: VecEnvIndices = None, **method_kwargs: Any
    ) -> list[Any]:
        """Calls `action_masks`, `render` or `state`; returns the result for each requested environment."""
        chosen = list(self._get_indices(indices))
        if method_name == "state":
            return [self.batch.state(e) for e in chosen]
        if method_name not in ("action_masks", "render"):
            raise AttributeError(f"expected a method among action_masks, render, state, got {method_name!r}")
        answers = getattr(self.batch, method_name)(*method_args, **method_kwargs)
        return [None if answers is None else answers[e] for e in chosen]

    def env_is_wrapped(
        self, wrapper_class: type[gym.Wrapper[Any, Any, Any, Any]], indices: VecEnvIndices = None
    ) -> list[bool]:
        """Returns False for each environment: nothing is wrapped inside a batch."""
        return [False] * len(list(self._get_indices(indices)))


class PpoRun:
    """A MaskablePPO on a batch environment, rollout by rollout, and its state for checkpoints."""

    def __init__(
        self,
        model: Any,
        log: Json,
        envs: GameVectorEnv,
        config: Any,
        rate: Callable[[], float] | None = None,
    ) -> None:
        """`log` collects the model's figures; `config` has `envs`, `rollout` and `seed`.

        `rate` returns the current learning rate (default: that of `config`).
        """
        self.model, self.log, self.envs, self.seed, self.rate = model, log, envs, config.seed, rate
        self.updates, self.size = 0, config.envs * config.rollout

    @property
    def done(self) -> int:
        """Number of trained decisions."""
        return int(self.updates * self.size)

    def step(self) -> Json:
        """Plays one rollout and trains on it; returns the logged values."""
        start = time.perf_counter()
        torch.manual_seed(self.seed + 1_000_003 * self.updates)
        np.random.seed((self.seed + 1_000_003 * self.updates) % 2**32)  # SB3 shuffles batches with it
        if self.rate is not None:
            now = self.rate()
            self.model.lr_schedule = lambda _: now
        self.model.learn(self.size, reset_num_timesteps=self.updates == 0)
        self.updates += 1
        logged: Json = {"time/fps": self.size / (time.perf_counter() - start)}
        logged |= {tag: x for tag, x in self.log.items() if tag.startswith("train/") and isinstance(x, (int, float))}
        if finished := self.model.ep_info_buffer or ():
            logged["rollout/ep_rew_mean"] = float(np.mean([one["r"] for one in finished]))
            logged["rollout/ep_len_mean"] = float(np.mean([one["l"] for one in finished]))
        return logged

    def tensors(self) -> Tensors:
        """Returns the arrays for a checkpoint; `updates` is stored separately."""
        tensors = prefixed("policy", parameters(self.model.policy)) | prefixed("envs", self.envs.get_state())
        tensors |= prefixed("adam", optimizer_tensors(self.model.policy.optimizer))
        starts = self.model._last_episode_starts
        return tensors | {
            "starts": np.ones(self.envs.num_envs, np.uint8) if starts is None else starts.astype(np.uint8)
        }

    def restore(self, tensors: Tensors, updates: int) -> None:
        """Restores the state of a checkpoint."""
        load_parameters(self.model.policy, named(tensors, "policy"))
        load_optimizer(self.model.policy.optimizer, named(tensors, "adam"))
        self.updates = updates
        self.model.num_timesteps = self.done
        self.model._last_obs = self.model.env.reset()
        self.envs.set_state(named(tensors, "envs"))
        self.model._last_obs = self.model.env.observations()  # wrappers pass it on
        self.model._last_episode_starts = tensors["starts"].astype(bool)


def hyperparameters(config: Any) -> Json:
    """Returns PPO's options by their names in SB3."""
    return {
        "learning_rate": config.learning_rate,
        "n_steps": config.rollout,
        "batch_size": config.batch_size,
        "n_epochs": config.epochs,
        "gamma": config.gamma,
        "gae_lambda": config.gae_lambda,
        "ent_coef": config.entropy,
        "seed": config.seed,
    }
