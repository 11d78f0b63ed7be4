"""Networks as torch modules, for training: the same values as `leafwise.models.sparse` computes without torch."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from leafwise.envs.core.game import Game
from leafwise.models.sparse import SparseNetwork


class SparseModule(nn.Module):
    """A sparse network with trainable weights; raises ValueError as `SparseNetwork.create`."""

    def __init__(self, network: SparseNetwork) -> None:
        super().__init__()
        self.game: Game = network.game
        self.head = network.head
        self.scale = network.weights.scale
        W = network.weights
        self.embedding = nn.EmbeddingBag(
            len(W.embedding), W.embedding.shape[1], mode="sum", padding_idx=len(W.embedding) - 1
        )
        self.embedding.weight.data.copy_(torch.from_numpy(W.embedding))
        self.bias = nn.Parameter(torch.tensor(W.bias))
        self.layers = nn.ModuleList()
        for weights, bias in network.layers():
            layer = nn.Linear(*weights.shape)
            layer.weight.data.copy_(torch.tensor(weights.T))
            layer.bias.data.copy_(torch.tensor(bias))
            self.layers.append(layer)

    def forward(self, features: Tensor) -> Tensor:
        """Returns the outputs [n, outputs] before tanh or scale, for int64 features [n, most] as `describe` gives them."""
        x = self.embedding(features) + self.bias
        for layer in self.layers:
            x = layer(torch.relu(x))
        return x

    def export(self) -> SparseNetwork:
        """Returns the network as it is now, for search and files."""
        dense = [p.detach().numpy() for layer in self.layers for p in (layer.weight.T, layer.bias)]  # type: ignore[union-attr]
        tensors: dict[str, NDArray[np.float32]] = {
            "embedding": self.embedding.weight.detach().numpy()[:-1].copy(),
            "bias": self.bias.detach().numpy().copy(),
            "dense": np.concatenate([p.reshape(-1) for p in dense]),
        }
        hidden = [self.bias.shape[0], *(layer.out_features for layer in list(self.layers)[:-1])]
        return SparseNetwork.create(self.game, hidden, head=self.head, scale=self.scale, tensors=tensors)


def fresh_module(
    game: Game, hidden: tuple[int, ...], seed: int, *, head: str = "value", scale: float = 1.0
) -> SparseModule:
    """Returns a module with random weights: small embeddings, so that features never seen say nothing."""
    module = SparseModule(SparseNetwork.create(game, hidden, head=head, scale=scale))
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        module.embedding.weight[:-1].normal_(0.0, 0.02, generator=generator)
        module.bias.uniform_(0.0, 0.2, generator=generator)
        for layer in module.layers:
            fan_in: Any = layer.weight.shape[1]  # type: ignore[union-attr]
            layer.weight.normal_(0.0, (2.0 / fan_in) ** 0.5, generator=generator)  # type: ignore[union-attr,operator]
        module.layers[-1].weight.mul_(0.1)  # type: ignore[union-attr,operator]
    return module
