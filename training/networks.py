"""Networks as torch modules for training; their values equal those of `leafwise.models.sparse`, which needs no torch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from leafwise.envs.core.arrays import Array, Floats32, Ints
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.gym.vector import GameVectorEnv
from leafwise.models.modules import (
    ROUNDING,
    FirstOnly,
    TorchNetwork,
    bounds_of,
    checked_outputs,
    need_memory,
    reason_of,
    size_of,
    trial_inputs,
)
from leafwise.models.network import Module, Says, network_of, torch_network
from leafwise.models.seen import OBSERVATION, features_of
from leafwise.models.sparse import SparseNetwork, SparseWeights
from leafwise.training.execution.generations import key_of
from leafwise.training.types import Tensors

LARGEST_VALUE = 1 - 1e-6
"""Values of a module are clipped to this absolute value before the inverse of tanh or the logistic function."""
COPIES_TO_TRAIN = 5
"""Number of copies of a module's weights during training: the initial and current ones, gradients, and two of Adam."""


class SparseModule(nn.Module):
    """A sparse network with trainable weights; raises ValueError as `SparseNetwork.create`."""

    def __init__(self, network: SparseNetwork) -> None:
        super().__init__()
        self.network = network
        W = network.weights
        n, columns = W.embedding.shape
        self.embedding = nn.EmbeddingBag(n, columns, mode="sum", padding_idx=n - 1)
        self.embedding.weight.data.copy_(torch.from_numpy(W.embedding))
        self.bias = nn.Parameter(torch.tensor(W.bias))
        self.layers = nn.ModuleList()
        for weights, bias in network.layers():
            layer = nn.Linear(*weights.shape)
            layer.weight.data.copy_(torch.tensor(weights.T))
            layer.bias.data.copy_(torch.tensor(bias))
            self.layers.append(layer)

    @property
    def linear_layers(self) -> list[nn.Linear]:
        """The dense layers, from the sparse one on."""
        return [layer for layer in self.layers if isinstance(layer, nn.Linear)]

    def forward(self, features: Tensor) -> Tensor:
        """Returns the outputs [n, outputs] before tanh or scale, for int64 features [n, most] as `describe` gives them."""
        x = summed(self.embedding, features) + self.bias
        for layer in self.linear_layers[:-1]:
            x = layer(torch.relu(x))
        return self.head(torch.relu(x))

    def head(self, x: Tensor) -> Tensor:
        """Returns the outputs [n, outputs] of the last layer for its inputs [n, m]."""
        return self.linear_layers[-1](x)

    def last_layer(self) -> tuple[Tensor, Tensor]:
        """Returns weights [outputs, m] and biases [outputs] of the linear layer that equals `head`."""
        last = self.linear_layers[-1]
        return last.weight, last.bias

    def dense(self) -> Floats32:
        """Returns the dense layers as `SparseWeights.dense` has them."""
        layers = [(layer.weight, layer.bias) for layer in self.linear_layers[:-1]]
        parts = [p for weight, bias in (*layers, self.last_layer()) for p in (weight.T, bias)]
        return np.concatenate([p.detach().numpy().reshape(-1) for p in parts])

    def export(self) -> SparseNetwork:
        """Returns a copy of the current network, for search and files."""
        tensors: dict[str, Floats32] = {
            "embedding": self.embedding.weight.detach().numpy()[:-1].copy(),
            "bias": self.bias.detach().numpy().copy(),
            "dense": self.dense(),
        }
        return self.network.with_tensors(tensors)

    def write_to(self, weights: SparseWeights) -> None:
        """Writes the current weights to weights of the same shape, such as a `T.leaf`."""
        weights.embedding[:-1] = self.embedding.weight.detach().numpy()[:-1]
        weights.bias[:] = self.bias.detach().numpy()
        weights.dense[:] = self.dense()


def summed(embedding: nn.EmbeddingBag, features: Tensor) -> Tensor:
    """Returns the sums [n, columns] of the embeddings of int64 features [n, most]; the last embedding is padding."""
    present = features.ne(embedding.num_embeddings - 1)
    ends = torch.cumsum(present.sum(dim=1), dim=0)
    starts = torch.cat([ends.new_zeros(1), ends[:-1]])
    sums: Tensor = embedding(features[present], starts)  # without padding, which halves the time if there is much
    return sums


def begin(embedding: nn.EmbeddingBag, network: SparseNetwork, generator: torch.Generator | None = None) -> None:
    """Initializes embeddings at random, with small ones for a game's features, so that unseen features have no effect."""
    W, game = network.weights, network.game
    cells = 0 if network.sees == OBSERVATION else features_of(game, network.sees.partition("+")[0]).size(game.options)
    embedding.weight[:cells].normal_(0.0, 0.02, generator=generator)
    embedding.weight[cells:-1].normal_(0.0, max(W.seen.size, 1) ** -0.5, generator=generator)


class DuelingModule(SparseModule):
    """A network of action values whose last layer has a value of the state and an advantage of each action.

    Wang et al., "Dueling network architectures for deep reinforcement learning" (2016), equation 9, with one stream up to the last
    layer. Q = value + advantage - mean advantage is linear there, so the exported network has a plain last layer.
    """

    def __init__(self, network: SparseNetwork) -> None:
        super().__init__(network)
        self.state = nn.Linear(self.linear_layers[-1].in_features, 1)
        nn.init.zeros_(self.state.weight)
        nn.init.zeros_(self.state.bias)

    def head(self, x: Tensor) -> Tensor:
        advantages = super().head(x)
        return self.state(x) + advantages - advantages.mean(dim=1, keepdim=True)

    def last_layer(self) -> tuple[Tensor, Tensor]:
        weight, bias = super().last_layer()
        weight = self.state.weight + weight - weight.mean(dim=0, keepdim=True)
        return weight, self.state.bias + bias - bias.mean()


class TorchModule(nn.Module):
    """A user's torch module with trainable weights, in eval mode until `train()` is called.

    Like a sparse network's, its outputs are before tanh in a two-player game, and before the logistic function with the head
    "chance".
    """

    def __init__(self, network: TorchNetwork) -> None:
        super().__init__()
        self.network, self.module = network, deepcopy(network.module)
        self.eval()
        self.leaf = replace(network, module=self.module).evaluator(network.name)
        """Leaf of the current network, for searches."""

    def forward(self, inputs: Tensor) -> Tensor:
        """Returns outputs [n, outputs] for float32 inputs [n, ...] as `describe` gives them; both are on the processor."""
        body, inputs = self.module, inputs.to(self.network.device)
        last = type(body[-1]) if isinstance(body, nn.Sequential) else None
        two, chance = self.network.game.players == 2, self.network.head == "chance"
        if (two and last in (nn.Tanh, FirstOnly)) or (chance and last is nn.Sigmoid):
            outputs: Tensor = body[:-1](inputs)  # type: ignore[index]
        else:
            outputs = body(inputs)
            outputs = outputs if outputs.ndim == 2 else outputs[:, None]
            if two or chance:
                first = 1 if self.network.head == "policy" else outputs.shape[1]
                values, rest = outputs[:, :first], outputs[:, first:]
                values = (
                    torch.atanh(values.clamp(-LARGEST_VALUE, LARGEST_VALUE))
                    if two
                    else torch.logit(values, 1 - LARGEST_VALUE)
                )
                outputs = torch.cat([values, rest], dim=1)
        return outputs.cpu()

    def export(self) -> TorchNetwork:
        """Returns a copy of the current network, for search and files."""
        return replace(self.network, module=deepcopy(self.module).eval())

    def write_to(self, weights: Any) -> None:
        """Does nothing: searches with such a network call the module instead of reading weights from `T`."""


def torch_module(game: Game, config: Any, *, says: Says = "value", scale: float = 0.0) -> TorchModule:
    """Creates the module of a method's options `--network` and `--sees`, with random weights from `--seed`.

    In a single-player game with a score an output of 1 means the return `scale`, by default the typical return of random games.
    Raises ValueError as `torch_network`, and before the first game for a module that does not fit.
    """
    name, arguments = network_of(config.network)
    scored = bounds_of(game) == (None, None)
    unit = (scale or typical_return(game, config.seed)) if scored else 1.0
    network: Any = torch_network(game, name, sees=config.sees, says=says, scale=unit, seed=config.seed, **arguments)
    need_memory(network.name, size_of(network.module), COPIES_TO_TRAIN)
    module = TorchModule(network.at(config.device))
    need_kept_range(module.network)
    need_gradients(module.network)
    return module


def need_kept_range(network: TorchNetwork) -> None:
    """Raises ValueError for a module whose outputs leave the range of its game if its weights are large, of either sign."""
    low, high = bounds_of(network.game)
    if low is None or high is None:
        return
    for factor in (1e6, -1e6):
        module = deepcopy(network.module).eval()
        with torch.no_grad():
            for weights in module.parameters():
                weights.mul_(factor).add_(factor)  # weights that training could reach; also changes those that are 0
            outputs = checked_outputs(network, module, trial_inputs(network)).cpu()
        outputs = outputs[:, :1] if network.says == "policy" else outputs
        if len(wrong := outputs[(outputs < low - ROUNDING) | (outputs > high + ROUNDING)]):  # nan passes here
            last, whose = ("tanh", "for the player who acts") if low < 0 else ("sigmoid", "as a chance to win")
            expected = f"a last layer, such as {last}, that keeps values from {low:g} to {high:g} {whose}"
            raise UserError(f"network {network.name!r}: expected {expected}, got {wrong[0]:g} with larger weights")


def need_gradients(network: TorchNetwork) -> None:
    """Raises ValueError for a module that fails on a batch in train mode or has no gradients."""
    module, reason = deepcopy(network.module).train(), "none"
    with seeded(0, 0):
        outputs = checked_outputs(network, module, trial_inputs(network))
    if outputs.requires_grad:
        try:
            outputs.sum().backward()
            return
        except RuntimeError as problem:
            reason = reason_of(problem)
    raise UserError(f"network {network.name!r}: expected numbers with gradients of its parameters, got {reason}")


def typical_return(game: Game, seed: int, games: int = 64) -> float:
    """Returns the mean absolute return of random games, or 1 if it is 0."""
    envs = GameVectorEnv(games, game, autoreset_mode="SameStep")
    rng, returns, going = np.random.default_rng((seed, 2)), np.zeros(games), np.ones(games, dtype=bool)
    _, info = envs.reset(seed=seed)
    while going.any():
        mask = info["action_mask"]
        actions = (rng.random(mask.shape) * mask).argmax(axis=1)
        _, rewards, ended, cut, info = envs.step(actions)
        returns[going] += rewards[going]
        going &= ~(ended | cut)
    return float(np.abs(returns).mean()) or 1.0


def fresh_module(
    game: Game,
    hidden: tuple[int, ...],
    seed: int,
    *,
    head: str = "value",
    sees: str = "features",
    scale: float | None = None,
    dueling: bool = False,
) -> SparseModule:
    """Returns a module with random weights."""
    module = (DuelingModule if dueling else SparseModule)(
        SparseNetwork.create(game, hidden, head=head, sees=sees, scale=scale)
    )
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        begin(module.embedding, module.network, generator)
        module.bias.uniform_(0.0, 0.2, generator=generator)
        for layer in module.linear_layers:
            layer.weight.normal_(0.0, (2.0 / layer.in_features) ** 0.5, generator=generator)
        module.linear_layers[-1].weight.mul_(0.1)
    return module


def widened(network: SparseNetwork, hidden: tuple[int, ...], seed: int, *, head: str) -> SparseModule:
    """Returns a module with at least as wide layers whose initial outputs nearly equal those of a network.

    New units start with weights as in `fresh_module`, but their effect on old units has a tenth of that size. A network with one
    value that gets the head `wdl` starts with the outputs value, 0 and -value, so that the order of positions stays.

    Raises ValueError for fewer or narrower layers, and for a head that cannot be made from the network's.
    """
    old, widths = network.hidden, " ".join(map(str, network.hidden))
    if len(hidden) != len(old) or any(new < given for new, given in zip(hidden, old, strict=True)):
        raise UserError(f"expected --hidden {widths} as in --init-from, or wider, got {' '.join(map(str, hidden))}")
    if head != network.head and (network.head, head) != ("value", "wdl"):
        raise UserError(f"expected --init-from with the head {head}, got {network.head}")
    if (hidden, head) == (old, network.head):
        return SparseModule(network)
    module = fresh_module(network.game, hidden, seed, head=head, sees=network.sees, scale=network.weights.scale)
    with torch.no_grad():
        W = network.weights
        module.embedding.weight[:, : old[0]] = torch.from_numpy(W.embedding)
        module.bias[: old[0]] = torch.from_numpy(W.bias)
        for layer, (weights, bias) in zip(module.linear_layers, network.layers(), strict=True):
            inputs, outputs = weights.shape
            given = torch.tensor(weights.T), torch.tensor(bias)
            if layer is module.linear_layers[-1] and head != network.head:
                spread = torch.tensor([1.0, 0.0, -1.0])
                given, outputs = (spread[:, None] * given[0], spread * given[1]), 3
            layer.weight[:outputs] *= 0.1
            layer.weight[:outputs, :inputs] = given[0]
            layer.bias[:outputs] = given[1]
    return module


def one_thread() -> None:
    """Sets torch to one thread, so that runs are reproducible."""
    torch.set_num_threads(1)


@contextmanager
def seeded(seed: int, step: int) -> Iterator[None]:
    """Seeds the random numbers of modules, for example of dropout, by a run's seed and the number of its step."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(key_of(seed, step, 0) >> 1)
        yield


def fit(
    module: Module,
    sample: Callable[[], tuple[Ints, *tuple[Array, ...]]],
    steps: int,
    rate: float,
    loss_by: Callable[..., Tensor] | None = None,
) -> float:
    """Trains a module by Adam over one cycle of the learning rate; returns the mean loss.

    `sample` returns features [n, most] and the further arguments of `loss_by`, which come after the outputs [n, outputs]. Without
    `loss_by` these are targets [n], in (-1, 1) for a two-player game and in [0, 1] for the head "chance". The loss is then the
    cross-entropy between the target and the first output's tanh or logistic function, both read as win probabilities. With the
    head "wdl" it is the cross-entropy between the softmax of the outputs and `outcome_chances`.
    """
    loss_by = loss_by or {"chance": chance_values, "wdl": wdl_values}.get(module.network.head, values_for_two)
    optimizer = torch.optim.Adam(module.parameters(), lr=rate)
    length = max(steps, 6)  # torch divides by zero if a fifth of the cycle is one step
    cycle = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=rate, total_steps=length, pct_start=0.2)
    total = 0.0
    for _ in range(steps):
        features, *targets = sample()
        loss = loss_by(module(torch.from_numpy(features)), *(torch.from_numpy(part) for part in targets))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        cycle.step()
        total += float(loss.detach())
    return total / steps


def chance_values(outputs: Tensor, targets: Tensor) -> Tensor:
    """Returns the loss of outputs [n, 1] of a network with the head "chance"."""
    return chance_losses(outputs[:, 0], targets).mean()


def outcome_chances(targets: Tensor) -> Tensor:
    """Returns probabilities of win, draw and loss [n, 3] for targets [n] in [-1, 1]: |target| for a win of one side, else draw."""
    return torch.stack([targets.clamp(min=0), 1 - targets.abs(), (-targets).clamp(min=0)], dim=1)


def wdl_values(outputs: Tensor, targets: Tensor) -> Tensor:
    """Returns the loss of outputs [n, 3] of a network with the head "wdl"."""
    chances = outcome_chances(targets.clamp(-1, 1))
    return -(chances * torch.log_softmax(outputs, dim=1)).sum(dim=1).mean()


def values_for_two(outputs: Tensor, targets: Tensor) -> Tensor:
    """Returns the loss of the first of outputs [n, outputs] in a two-player game."""
    return losses_of(outputs[:, 0], targets, solo=False).mean()


def returns_to_come(outputs: Tensor, targets: Tensor) -> Tensor:
    """Returns the loss of outputs [n, 1] that are returns in a single-player game with a score."""
    return losses_of(outputs[:, 0], targets, solo=True).mean()


def policy_loss(outputs: Tensor, policies: Tensor, legal: Tensor) -> Tensor:
    """Returns the mean cross-entropy between policies [n, A] and the policies of outputs [n, 1 + A], under the mask `legal`."""
    logits = outputs[:, 1:].masked_fill(legal == 0, -1e9)  # -inf times 0 would be nan
    return -(policies * torch.log_softmax(logits, dim=1)).sum(dim=1).mean()


def value_of(outputs: Tensor, solo: bool) -> Tensor:
    """Returns the values of outputs: unchanged in single-player games, through tanh in two-player games."""
    return outputs if solo else torch.tanh(outputs)


def losses_of(outputs: Tensor, targets: Tensor, solo: bool) -> Tensor:
    """Returns the losses of outputs against targets, in their shape: Huber, or cross-entropy as in `fit`."""
    if solo:
        return nn.functional.smooth_l1_loss(outputs, targets, reduction="none")
    probabilities = targets.clamp(-1, 1) * 0.5 + 0.5
    return nn.functional.binary_cross_entropy_with_logits(2 * outputs, probabilities, reduction="none")


def chance_losses(outputs: Tensor, targets: Tensor) -> Tensor:
    """Returns the cross-entropies between chances in [0, 1] and the logistic function of outputs, in their shape."""
    return nn.functional.binary_cross_entropy_with_logits(outputs, targets, reduction="none")


def parameters(module: nn.Module) -> Tensors:
    """Returns copies of a module's parameters, by name."""
    return {name: p.detach().cpu().numpy().copy() for name, p in module.state_dict().items()}


def load_parameters(module: nn.Module, tensors: Tensors) -> None:
    """Loads parameters of `parameters` into a module."""
    module.load_state_dict({name: torch.tensor(t) for name, t in tensors.items()})


def optimizer_tensors(optimizer: torch.optim.Optimizer) -> Tensors:
    """Returns Adam's state of each parameter; {} before the first step."""
    state = optimizer.state_dict()["state"]
    return {f"{k}.{name}": t.cpu().numpy().copy() for k, kept in state.items() for name, t in kept.items()}


def load_optimizer(optimizer: torch.optim.Optimizer, tensors: Tensors) -> None:
    """Loads a state of `optimizer_tensors` into Adam."""
    state: dict[int, dict[str, Tensor]] = {}
    for name, t in tensors.items():
        number, _, kept = name.partition(".")
        state.setdefault(int(number), {})[kept] = torch.tensor(t)
    optimizer.load_state_dict({**optimizer.state_dict(), "state": state})
