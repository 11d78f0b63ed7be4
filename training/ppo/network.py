"""The SB3 side of PPO: the model, its export as a sparse network, scaled rewards, and a logger without files."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from stable_baselines3.common.logger import KVWriter, Logger
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from stable_baselines3.common.vec_env import VecMonitor
from stable_baselines3.common.vec_env.base_vec_env import VecEnvStepReturn, VecEnvWrapper
from torch import Tensor, nn

from leafwise.envs.core.arrays import Array, Floats32, Ints
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.contract.stream import uniform
from leafwise.envs.core.gym.vector import GameVectorEnv
from leafwise.models.modules import TorchNetwork
from leafwise.models.sparse import SparseNetwork
from leafwise.training.networks import begin, summed
from leafwise.training.sb3 import Sb3VecEnv, hyperparameters
from leafwise.training.types import Json


class FeatureVecEnv(Sb3VecEnv):
    """A batch whose observations are inputs of a sparse network.

    They are the features [n, most] of `SparseNetwork.describe`, and a last column that is 1 where its value is for the other side.
    """

    def __init__(self, batch: GameVectorEnv, network: SparseNetwork) -> None:
        super().__init__(batch)
        self.network, self.T = network, batch.game.tables(network.evaluator("seen"))
        most, last = len(network.weights.features), len(network.weights.embedding) - 1
        self.observation_space = gym.spaces.Box(0, last, (most + 1,), np.int64)

    def reset(self) -> Ints:
        super().reset()
        return self.observations()

    def step_wait(self) -> VecEnvStepReturn:
        _, rewards, dones, infos = super().step_wait()
        for info in infos:
            info.pop("terminal_observation", None)  # needed for truncated episodes only, of which there are none
        return self.observations(), rewards, dones, infos

    def observations(self) -> Ints:
        features, _, signs = self.network.describe(self.batch.get_state()["rows"], self.T)
        return np.column_stack([features, signs < 0])


class FeaturesExtractor(BaseFeaturesExtractor):
    """First layer: sums the embeddings of the features."""

    def __init__(self, observation_space: gym.Space[Any], network: SparseNetwork) -> None:
        W = network.weights
        super().__init__(observation_space, W.embedding.shape[1])
        n, columns = W.embedding.shape
        self.embedding = nn.EmbeddingBag(n, columns, mode="sum", padding_idx=n - 1)
        self.bias = nn.Parameter(torch.full((W.embedding.shape[1],), 0.1))
        with torch.no_grad():
            begin(self.embedding, network)

    def forward(self, observations: Tensor) -> Tensor:
        """Returns the first layer after its ReLU, [n, first layer]."""
        return torch.relu(summed(self.embedding, observations[:, :-1].long()) + self.bias)


class SignedValuePolicy(MaskableActorCriticPolicy):
    """Policy and value for the player who acts, also where the features are for the other side."""

    def forward(self, obs: Any, deterministic: bool = False, action_masks: Any = None) -> tuple[Tensor, Tensor, Tensor]:
        actions, values, logits = super().forward(obs, deterministic, action_masks)
        return actions, values * signs(obs), logits

    def evaluate_actions(
        self, obs: Any, actions: Tensor, action_masks: Any = None
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        values, logits, entropy = super().evaluate_actions(obs, actions, action_masks)
        return values * signs(obs), logits, entropy

    def predict_values(self, obs: Any) -> Tensor:
        return super().predict_values(obs) * signs(obs)


def signs(observations: Tensor) -> Tensor:
    """Returns the signs that turn outputs for observations [n, most + 1] into values for the player who acts, [n, 1]."""
    return 1.0 - 2.0 * observations[:, -1:].float()


class ModuleExtractor(BaseFeaturesExtractor):
    """Features extractor: a module with value and logits."""

    def __init__(self, observation_space: gym.Space[Any], network: TorchNetwork) -> None:
        super().__init__(observation_space, 1 + len(network.game.actions))
        self.module = deepcopy(network.module)

    def forward(self, observations: Tensor) -> Tensor:
        """Returns the module's outputs [n, 1 + A]."""
        outputs: Tensor = self.module(observations)
        return outputs


class OutputSlice(nn.Module):
    """Selects some of the outputs of a module."""

    def __init__(self, which: slice) -> None:
        super().__init__()
        self.which = which

    def forward(self, x: Tensor) -> Tensor:
        return x[:, self.which]


class ModulePolicy(MaskableActorCriticPolicy):
    """A policy without layers after `ModuleExtractor`."""

    def _build(self, lr_schedule: Any) -> None:
        self._build_mlp_extractor()
        policy: Any = self
        policy.action_net, policy.value_net = OutputSlice(slice(1, None)), OutputSlice(slice(1))
        policy.optimizer = policy.optimizer_class(self.parameters(), lr=lr_schedule(1), **self.optimizer_kwargs)


class SampledOpponent:
    """A player that samples its actions from the policy of a module."""

    name = "self"

    def __init__(self, network: TorchNetwork) -> None:
        self.network = replace(network, module=deepcopy(network.module).eval())
        self.T, self.stream = network.game.tables(), np.zeros(2, np.uint64)
        self.policies_ahead: dict[bytes, Tensor] = {}

    def take(self, network: TorchNetwork) -> None:
        """Takes the weights of a network."""
        self.network.module.load_state_dict(network.module.state_dict())
        self.policies_ahead = {}

    def precompute(self, envs: GameVectorEnv, actions: Ints) -> None:
        """Computes in one call the policies of all positions that actions [n] of a step lead to, after chance."""
        now, game = envs.get_state(), self.network.game
        each = zip(now["rows"], now["streams"], now["seats"], actions, strict=True)
        after = [(State.unchecked(game, row).play(int(a)).settle(R), seat) for row, R, seat, a in each]
        rows = [state.row for state, seat in after if state.current_player == 1 - seat]
        self.policies_ahead = {row.tobytes(): shares for row, shares in zip(rows, self.policies(rows), strict=True)}

    def policies(self, rows: list[Array]) -> Tensor | list[Tensor]:
        """Returns the cumulative probabilities of actions [n, A] at decisions."""
        if not rows:
            return []
        inputs, legal, _ = self.network.describe(np.array(rows), self.T)
        with torch.inference_mode():
            logits = self.network.module(torch.from_numpy(inputs).to(self.network.device))[:, 1:].cpu().double()
        return torch.softmax(logits.masked_fill(torch.from_numpy(legal == 0), -torch.inf), dim=1).cumsum(dim=1)

    def choose(self, state: Any) -> int:
        """Returns an action of a decision."""
        shares_ahead = self.policies_ahead.get(state.row.tobytes())
        shares = self.policies([state.row])[0] if shares_ahead is None else shares_ahead
        return int(torch.searchsorted(shares, uniform(self.stream) * shares[-1], right=True))


class OpponentVecEnv(Sb3VecEnv):
    """A batch against a network, whose policies are computed in one call per step."""

    def __init__(self, batch: GameVectorEnv, opponent: SampledOpponent) -> None:
        super().__init__(batch)
        self.opponent = opponent

    def step_async(self, actions: Ints) -> None:
        super().step_async(actions)
        self.opponent.precompute(self.batch, actions)


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


class LogCapture(KVWriter, dict[str, Any]):
    """Keeps the values that SB3 logged last, by tag."""

    def write(self, key_values: Json, key_excluded: dict[str, tuple[str, ...]], step: int = 0) -> None:
        self.update(key_values)

    def close(self) -> None:
        """Does nothing."""


def wrapped(
    envs: GameVectorEnv, network: SparseNetwork | TorchNetwork, opponent: SampledOpponent | None = None
) -> VecEnvWrapper:
    """Wraps environments for a model of the network's kind; `opponent` is the module they evaluate, if any."""
    plain = Sb3VecEnv(envs) if opponent is None else OpponentVecEnv(envs, opponent)
    monitored = VecMonitor(plain if isinstance(network, TorchNetwork) else FeatureVecEnv(envs, network))
    return ScaledRewards(monitored, network.unit)


def make_model(
    envs: GameVectorEnv, network: SparseNetwork | TorchNetwork, config: Any, opponent: SampledOpponent | None = None
) -> tuple[Any, LogCapture]:
    """Returns a MaskablePPO of a module, or of the size of a network of `blank_network`, and the log of its figures.

    `opponent` is the module that plays against the agent in the environments, if any.
    """
    two, is_module = network.game.players == 2, isinstance(network, TorchNetwork)
    layers = [] if is_module else [network.hidden[1] // 2]
    model = MaskablePPO(
        ModulePolicy if is_module else SignedValuePolicy,
        wrapped(envs, network, opponent),
        **hyperparameters(config),
        device=network.device if isinstance(network, TorchNetwork) else "cpu",
        policy_kwargs={
            "features_extractor_class": ModuleExtractor if is_module else FeaturesExtractor,
            "features_extractor_kwargs": {"network": network},
            "net_arch": {"pi": layers, "vf": layers},
            "activation_fn": nn.ReLU,
            "ortho_init": False,
            "optimizer_kwargs": {"eps": 1e-5, "fused": True},
        },
    )
    if two and not is_module:
        policy: Any = model.policy
        policy.value_net = nn.Sequential(policy.value_net, nn.Tanh())
    log = LogCapture()
    model.set_logger(Logger(None, [log]))
    return model, log


def blank_network(game: Game, hidden: tuple[int, int], sees: str, scale: float | None) -> SparseNetwork:
    """Returns a network of zeros in the shape of such a model's value and policy."""
    return SparseNetwork.create(game, (hidden[0], 2 * hidden[1]), head="policy", sees=sees, scale=scale)


def exported(model: Any, blank: Any) -> Any:
    """Returns a model's value and policy as one network like `blank`.

    It is a module, or a sparse network with the layers of both side by side and zeros between them.
    """
    policy: Any = model.policy
    if isinstance(blank, TorchNetwork):
        return replace(blank, module=deepcopy(policy.features_extractor.module).eval())
    last: Any = policy.value_net[0] if isinstance(policy.value_net, nn.Sequential) else policy.value_net
    of_actions: Any = policy.action_net
    of_policy, of_value = (
        next(layer for layer in part if isinstance(layer, nn.Linear))
        for part in (policy.mlp_extractor.policy_net, policy.mlp_extractor.value_net)
    )
    extractor, hidden = policy.features_extractor, of_policy.out_features
    first, end = (np.zeros(w.shape, np.float32) for w, _ in blank.layers())
    first[:, :hidden], first[:, hidden:] = array(of_policy.weight).T, array(of_value.weight).T
    end[hidden:, :1], end[:hidden, 1:] = array(last.weight).T, array(of_actions.weight).T
    biases = [array(layer.bias) for layer in (of_policy, of_value, last, of_actions)]
    dense = [first.reshape(-1), *biases[:2], end.reshape(-1), *biases[2:]]
    embedding = array(extractor.embedding.weight)[:-1]
    return blank.with_tensors({"embedding": embedding, "bias": array(extractor.bias), "dense": np.concatenate(dense)})


def array(parameter: Tensor) -> Floats32:
    """Returns a copy of a parameter."""
    return np.array(parameter.detach().numpy())
