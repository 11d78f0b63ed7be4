"""The SB3 side of masked PPO: a model and the sparse network that says the same, rewards in units, figures without files."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import torch
from numpy.typing import NDArray
from sb3_contrib import MaskablePPO
from stable_baselines3.common.logger import KVWriter, Logger
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from stable_baselines3.common.vec_env import VecMonitor
from stable_baselines3.common.vec_env.base_vec_env import VecEnvStepReturn, VecEnvWrapper
from torch import Tensor, nn

from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.gym.vector import GameVectorEnv
from leafwise.models.seen import OBSERVATION
from leafwise.models.sparse import SparseNetwork
from leafwise.training.networks.sb3 import Sb3VecEnv, hyperparameters


class CellsExtractor(BaseFeaturesExtractor):
    """Turns an observation of whole numbers into one feature for each cell and value, and sums their embeddings."""

    def __init__(self, observation_space: gym.Space[Any], network: SparseNetwork) -> None:
        W = network.weights
        super().__init__(observation_space, W.embedding.shape[1])
        self.embedding = nn.EmbeddingBag(
            len(W.embedding), W.embedding.shape[1], mode="sum", padding_idx=len(W.embedding) - 1
        )
        self.bias = nn.Parameter(torch.zeros(W.embedding.shape[1]))
        self.register_buffer("first_of", torch.tensor(W.first_of), persistent=False)
        with torch.no_grad():
            self.embedding.weight[:-1].normal_(0.0, len(W.first_of) ** -0.5)
            self.bias.fill_(0.1)

    def forward(self, observations: Tensor) -> Tensor:
        """Returns the first layer after its ReLU, [n, first layer]."""
        first: Any = self.first_of
        return torch.relu(self.embedding(observations.flatten(1).long() + first) + self.bias)


class ScaledRewards(VecEnvWrapper):
    """Divides rewards by a constant."""

    def __init__(self, venv: Any, scale: float) -> None:
        super().__init__(venv)
        self.scale = scale

    def reset(self) -> Any:
        return self.venv.reset()

    def step_wait(self) -> VecEnvStepReturn:
        obs, rewards, dones, infos = self.venv.step_wait()
        return obs, rewards / np.float32(self.scale), dones, infos


class Told(KVWriter, dict[str, Any]):
    """Keeps the figures that SB3 logged last, by tag."""

    def write(self, key_values: dict[str, Any], key_excluded: dict[str, tuple[str, ...]], step: int = 0) -> None:
        self.update(key_values)

    def close(self) -> None:
        """Has nothing to close."""


def make_model(envs: GameVectorEnv, network: SparseNetwork, config: Any) -> tuple[Any, Told]:
    """Returns a MaskablePPO of the size of a network, one of `blank_network`, and where its figures appear."""
    two = network.game.players == 2
    monitored = VecMonitor(Sb3VecEnv(envs))
    env = monitored if two else ScaledRewards(monitored, config.scale)
    model = MaskablePPO(
        "MlpPolicy",
        env,
        **hyperparameters(config),
        device="cpu",
        policy_kwargs={
            "features_extractor_class": CellsExtractor,
            "features_extractor_kwargs": {"network": network},
            "net_arch": {"pi": [network.hidden[1] // 2], "vf": [network.hidden[1] // 2]},
            "activation_fn": nn.ReLU,
            "ortho_init": False,
        },
    )
    if two:
        policy: Any = model.policy
        policy.value_net = nn.Sequential(policy.value_net, nn.Tanh())
    told = Told()
    model.set_logger(Logger(None, [told]))
    return model, told


def blank_network(game: Game, hidden: tuple[int, int], scale: float) -> SparseNetwork:
    """Returns a network, all zero, that can say what such a model says: its value and its policy."""
    return SparseNetwork.create(game, (hidden[0], 2 * hidden[1]), head="policy", sees=OBSERVATION, scale=scale)


def exported(model: Any, blank: SparseNetwork) -> SparseNetwork:
    """Returns a model's value and policy as one network: the layers of both side by side, with zeros between them."""
    policy: Any = model.policy
    last: Any = policy.value_net[0] if isinstance(policy.value_net, nn.Sequential) else policy.value_net
    of_actions: Any = policy.action_net
    own, of_value = (
        next(layer for layer in part if isinstance(layer, nn.Linear))
        for part in (policy.mlp_extractor.policy_net, policy.mlp_extractor.value_net)
    )
    extractor, hidden = policy.features_extractor, own.out_features
    first, end = (np.zeros(w.shape, dtype=np.float32) for w, _ in blank.layers())
    first[:, :hidden], first[:, hidden:] = array(own.weight).T, array(of_value.weight).T
    end[hidden:, :1], end[:hidden, 1:] = array(last.weight).T, array(of_actions.weight).T
    biases = [array(layer.bias) for layer in (own, of_value, last, of_actions)]
    dense = [first.reshape(-1), *biases[:2], end.reshape(-1), *biases[2:]]
    embedding = array(extractor.embedding.weight)[:-1]
    return blank.with_tensors({"embedding": embedding, "bias": array(extractor.bias), "dense": np.concatenate(dense)})


def array(parameter: Tensor) -> NDArray[np.float32]:
    """Returns a copy of a parameter."""
    return np.array(parameter.detach().numpy())
