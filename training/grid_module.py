"""Convolutional networks over a grid as torch modules, for training: the same values as `leafwise.models.grid` computes."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from leafwise.models.grid import CELLS_SUMMED, TAPS, TENSORS, GridNetwork, features_of


class GridModule(nn.Module):
    """A network over a grid with trainable weights."""

    def __init__(self, network: GridNetwork) -> None:
        super().__init__()
        self.network = network
        for name, tensor in network.tensors.items():
            self.register_parameter(name, nn.Parameter(torch.tensor(tensor)))
        self.side, self.kinds = features_of(network.game).side(network.game.options), features_of(network.game).codes

    def reset(self, seed: int) -> GridModule:
        """Gives the weights random values; the output begins at almost 0."""
        generator = torch.Generator().manual_seed(seed)
        spread = {"embedding": 0.15, "maps": 0.5, "second": self.network.hidden[0] ** -0.5, "hidden": 0.15, "out": 0.02}
        with torch.no_grad():
            for name in TENSORS:
                parameter: Any = getattr(self, name)
                parameter.normal_(0.0, spread.get(name, 0.0), generator=generator)
        return self

    def forward(self, codes: Tensor, maps: Tensor, numbers: Tensor) -> Tensor:
        """Returns the outputs [n] for what `describe` gives: codes [n, (side + 2) ** 2], maps and numbers."""
        W: Any = self
        width = self.side + 2
        n, cell = torch.nonzero(codes, as_tuple=True)
        around = torch.tensor([dy * width + dx for dy in (-1, 0, 1) for dx in (-1, 0, 1)], device=codes.device)
        taps = self.kinds * torch.arange(TAPS, device=codes.device)
        found = codes[n[:, None], cell[:, None] + around].long() + taps
        inner = (cell // width - 1) * self.side + cell % width - 1
        first = nn.functional.embedding_bag(found, W.embedding, mode="sum") + maps[n, inner] @ W.maps + W.first_bias
        second = torch.relu(torch.relu(first) @ W.second + W.second_bias)
        summed = torch.zeros(len(codes), second.shape[1], device=codes.device).index_add(0, n, second) / CELLS_SUMMED
        hidden = torch.relu(torch.cat([summed, numbers], dim=1) @ W.hidden + W.hidden_bias)
        return hidden @ W.out + W.out_bias

    def export(self) -> GridNetwork:
        """Returns the network as it is now, for search and files."""
        tensors: dict[str, NDArray[np.float32]] = {
            name: getattr(self, name).detach().cpu().numpy().copy() for name in TENSORS
        }
        return GridNetwork.create(self.network.game, self.network.hidden, tensors=tensors)
