"""The torch side of PPO on a grid: a convolutional policy with one logit for each place, and a value head."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import torch
from sb3_contrib import MaskablePPO
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from stable_baselines3.common.vec_env import VecMonitor
from torch import Tensor, nn

from leafwise.envs.core.gym.vector import GameVectorEnv
from leafwise.training.ppo.network import LogCapture, ScaledRewards
from leafwise.training.sb3 import Sb3VecEnv, hyperparameters
from leafwise.training.starship.grid import device_to_learn

ROTATIONS, SPREAD = 4, 2


class GridExtractor(BaseFeaturesExtractor):
    """Two convolutions over `grid`. `vec` is added to every cell of the first; the mean of its output is added to the second."""

    def __init__(self, observation_space: gym.spaces.Dict, channels: int) -> None:
        maps, side, _ = observation_space["grid"].shape or (0, 0, 0)
        (numbers,) = observation_space["vec"].shape or (0,)
        super().__init__(observation_space, channels * side * side + numbers)
        self.side, self.channels = side, channels
        self.near = nn.Conv2d(maps, channels, 3, padding=1)
        self.said = nn.Linear(numbers, channels)
        self.wide = nn.Conv2d(channels, channels, 3, padding=SPREAD, dilation=SPREAD)
        self.whole = nn.Linear(channels, channels)

    def forward(self, observations: dict[str, Tensor]) -> Tensor:
        """Returns [n, channels * side * side + numbers]."""
        grid, vec = observations["grid"], observations["vec"]
        x = torch.relu(self.near(grid) + self.said(vec)[:, :, None, None])
        whole = self.whole(x.mean(dim=(2, 3)))
        y = torch.relu(self.wide(x) + whole[:, :, None, None])
        return torch.cat([y.flatten(1), vec], dim=1)


class PlacementLogits(nn.Module):
    """One logit for each rotation and cell: action `(rotation * side + y) * side + x`."""

    def __init__(self, extractor: GridExtractor) -> None:
        super().__init__()
        self.shape = (extractor.channels, extractor.side, extractor.side)
        self.places = nn.Conv2d(extractor.channels, ROTATIONS, 1)

    def forward(self, seen: Tensor) -> Tensor:
        """Returns the logits [n, 4 * side * side]."""
        cells = self.shape[0] * self.shape[1] * self.shape[2]
        logits: Tensor = self.places(seen[:, :cells].reshape(-1, *self.shape)).flatten(1)
        return logits


class PlacementValue(nn.Module):
    """Value head: its inputs are the means over the cells, and `vec`."""

    def __init__(self, extractor: GridExtractor, width: int = 64) -> None:
        super().__init__()
        self.shape = (extractor.channels, extractor.side * extractor.side)
        numbers = extractor.features_dim - self.shape[0] * self.shape[1]
        self.layers = nn.Sequential(nn.Linear(self.shape[0] + numbers, width), nn.ReLU(), nn.Linear(width, 1))

    def forward(self, seen: Tensor) -> Tensor:
        """Returns the values [n, 1]."""
        cells = self.shape[0] * self.shape[1]
        means = seen[:, :cells].reshape(-1, *self.shape).mean(dim=2)
        value: Tensor = self.layers(torch.cat([means, seen[:, cells:]], dim=1))
        return value


def make_model(envs: GameVectorEnv, config: Any) -> tuple[Any, LogCapture]:
    """Returns the MaskablePPO and the log of its figures."""
    model = MaskablePPO(
        "MultiInputPolicy",
        ScaledRewards(VecMonitor(Sb3VecEnv(envs)), config.scale),
        **hyperparameters(config),
        device=device_to_learn(),
        policy_kwargs={
            "features_extractor_class": GridExtractor,
            "features_extractor_kwargs": {"channels": config.channels},
            "net_arch": [],
        },
    )
    policy: Any = model.policy
    policy.action_net = PlacementLogits(policy.features_extractor).to(model.device)
    policy.value_net = PlacementValue(policy.features_extractor).to(model.device)
    policy.optimizer = torch.optim.Adam(policy.parameters(), lr=config.learning_rate, eps=1e-5)
    log = LogCapture()
    model.set_logger(Logger(None, [log]))
    return model, log


def make_policy(space: Any, channels: int) -> nn.ModuleDict:
    """Returns extractor and logits, which choose places, named as in the SB3 policy."""
    extractor = GridExtractor(space, channels)
    return nn.ModuleDict({"features_extractor": extractor, "action_net": PlacementLogits(extractor)})
