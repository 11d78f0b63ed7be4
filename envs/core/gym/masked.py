"""A wrapper that puts the mask into the observation, where some learners expect it."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np

from leafwise.envs.core.gym.observation import Info, Observation


class MaskedObservation(gym.Wrapper[dict[str, Any], int, Observation, int], gym.utils.RecordConstructorArgs):
    """Returns observations `{"observation": ..., "action_mask": int8 [A]}`, for learners that do not read info.

    The mask is that of `info`: 1 for each legal action, all ones at the end. `env` is an environment of Leafwise, possibly in
    other wrappers; `observation` and `mask` are the two keys.
    """

    def __init__(self, env: gym.Env[Any, int], observation: str = "observation", mask: str = "action_mask") -> None:
        gym.utils.RecordConstructorArgs.__init__(self, observation=observation, mask=mask)
        super().__init__(env)
        actions: Any = env.action_space
        self.names = observation, mask
        self.observation_space = gym.spaces.Dict(
            {observation: env.observation_space, mask: gym.spaces.Box(0, 1, (int(actions.n),), np.int8)}
        )

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[dict[str, Any], Info]:
        """Starts an episode."""
        obs, info = self.env.reset(seed=seed, options=options)
        return dict(zip(self.names, (obs, info["action_mask"]), strict=True)), info

    def step(self, action: int) -> tuple[dict[str, Any], Any, bool, bool, Info]:
        """Takes an action id."""
        obs, reward, terminated, truncated, info = self.env.step(action)
        return dict(zip(self.names, (obs, info["action_mask"]), strict=True)), reward, terminated, truncated, info
