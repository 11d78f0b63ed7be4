"""Convolutional networks over a grid as torch modules for training; their values equal those of `leafwise.models.grid`.

The convolutions over a batch and their gradients are compiled, which is about five times as fast as torch on a CPU. Arrays: codes
uint8 [n, (side + 2) ** 2], maps float32 [n, side ** 2, maps], weights as in `GridWeights`; `pooled` and its gradient [n, b]. `x`
[a] and `y` [b] are scratch.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from leafwise.envs.core.compile.jit import jit
from leafwise.models.grid import CELLS_SUMMED, TAPS, TENSORS, GridNetwork

ZERO, SHARE = np.float32(0.0), np.float32(1.0 / CELLS_SUMMED)


@jit(inline=True)
def convolve(codes, maps, i, row, column, side, embedding, weights, bias, second, second_bias, x, y):
    """Writes the outputs of both convolutions at a cell, before their ReLU, to `x` and `y`."""
    kinds, corner = embedding.shape[0] // 9, row * (side + 2) + column
    for c in range(x.shape[0]):
        x[c] = bias[c]
    for tap in range(9):
        e = embedding[tap * kinds + np.int64(codes[i, corner + (tap // 3) * (side + 2) + tap % 3])]
        for c in range(x.shape[0]):
            x[c] += e[c]
    for m in range(weights.shape[0]):
        w, here = weights[m], maps[i, row * side + column, m]
        for c in range(x.shape[0]):
            x[c] += here * w[c]
    for c in range(y.shape[0]):
        y[c] = second_bias[c]
    for k in range(x.shape[0]):
        if x[k] > ZERO:
            w, here = second[k], x[k]
            for c in range(y.shape[0]):
                y[c] += here * w[c]


@jit
def pool(codes, maps, embedding, weights, bias, second, second_bias, x, y, side, pooled):
    """Writes the sums over the cells of every row of the batch to `pooled`."""
    for i in range(codes.shape[0]):
        for c in range(y.shape[0]):
            pooled[i, c] = ZERO
        for row in range(side):
            for column in range(side):
                if codes[i, (row + 1) * (side + 2) + column + 1] != 0:
                    convolve(codes, maps, i, row, column, side, embedding, weights, bias, second, second_bias, x, y)
                    for c in range(y.shape[0]):
                        pooled[i, c] += max(y[c], ZERO) * SHARE


@jit
def pool_gradients(
    codes, maps, embedding, weights, bias, second, second_bias, x, y, side, grad,
    d_embedding, d_weights, d_bias, d_second, d_second_bias,
):  # fmt: skip
    """Adds the gradients by the weights to the last five arrays, given those by `pooled`."""
    kinds = embedding.shape[0] // 9
    for i in range(codes.shape[0]):
        for row in range(side):
            for column in range(side):
                corner = row * (side + 2) + column
                if codes[i, corner + side + 3] == 0:
                    continue
                convolve(codes, maps, i, row, column, side, embedding, weights, bias, second, second_bias, x, y)
                for c in range(y.shape[0]):
                    y[c] = grad[i, c] * SHARE if y[c] > ZERO else ZERO
                    d_second_bias[c] += y[c]
                for k in range(x.shape[0]):
                    if x[k] <= ZERO:
                        x[k] = ZERO
                        continue
                    w, d, here, total = second[k], d_second[k], x[k], ZERO
                    for c in range(y.shape[0]):
                        d[c] += here * y[c]
                        total += w[c] * y[c]
                    x[k] = total
                    d_bias[k] += total
                for tap in range(9):
                    e = d_embedding[tap * kinds + np.int64(codes[i, corner + (tap // 3) * (side + 2) + tap % 3])]
                    for c in range(x.shape[0]):
                        e[c] += x[c]
                for m in range(weights.shape[0]):
                    d, here = d_weights[m], maps[i, row * side + column, m]
                    for c in range(x.shape[0]):
                        d[c] += here * x[c]


def device_to_learn() -> str:
    """Returns the device for training networks over a grid: a GPU if torch finds one, else the CPU.

    On a GPU torch uses deterministic algorithms, so that a run can be repeated; it warns where it has none.
    """
    if not torch.cuda.is_available():
        return "cpu"
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    torch.use_deterministic_algorithms(True, warn_only=True)
    return "cuda"


class GridModule(nn.Module):
    """A network over a grid with trainable weights."""

    def __init__(self, network: GridNetwork) -> None:
        super().__init__()
        self.network = network
        for name, tensor in network.tensors.items():
            self.register_parameter(name, nn.Parameter(torch.tensor(tensor)))

    def reset(self, seed: int) -> GridModule:
        """Initializes the weights at random; the initial output is almost 0."""
        generator = torch.Generator().manual_seed(seed)
        spread = {"embedding": 0.15, "maps": 0.5, "second": self.network.hidden[0] ** -0.5, "hidden": 0.15, "out": 0.02}
        with torch.no_grad():
            for name in TENSORS:
                parameter: Any = getattr(self, name)
                parameter.normal_(0.0, spread.get(name, 0.0), generator=generator)
        return self

    def forward(self, codes: Tensor, maps: Tensor, numbers: Tensor) -> Tensor:
        """Returns the outputs [n] for inputs of `describe`: codes [n, (side + 2) ** 2], maps and numbers."""
        W: Any = self
        cells = (W.embedding, W.maps, W.first_bias, W.second, W.second_bias)
        summed: Any = pooled_by_torch(codes, maps, *cells) if codes.is_cuda else Pooled.apply(codes, maps, *cells)
        hidden = torch.relu(torch.cat([summed, numbers], dim=1) @ W.hidden + W.hidden_bias)
        return hidden @ W.out + W.out_bias

    def export(self) -> GridNetwork:
        """Returns the current network, for search and files."""
        tensors = {name: getattr(self, name).detach().cpu().numpy().copy() for name in TENSORS}
        return GridNetwork.create(self.network.game, self.network.hidden, tensors=tensors)


class Pooled(torch.autograd.Function):
    """The two convolutions summed over the cells [n, b], by compiled loops."""

    @staticmethod
    def forward(ctx: Any, *given: Tensor) -> Tensor:
        ctx.save_for_backward(*given)
        pooled = np.zeros((len(given[0]), len(given[-1])), np.float32)
        arguments = (*arrays(given), pooled)
        pool(*arguments)
        return torch.from_numpy(pooled)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        gradients = [np.zeros(w.shape, np.float32) for w in ctx.saved_tensors[2:]]
        arguments = (*arrays(ctx.saved_tensors), grads[0].contiguous().numpy(), *gradients)
        pool_gradients(*arguments)
        return None, None, *map(torch.from_numpy, gradients)


def arrays(given: Sequence[Tensor]) -> tuple[Any, ...]:
    """Returns the arguments of the compiled loops: codes, maps, weights, scratch for a cell's outputs, and the side."""
    codes, maps, *weights = (tensor.detach().numpy() for tensor in given)
    return codes, maps, *weights, np.zeros_like(weights[2]), np.zeros_like(weights[4]), side_of(maps)


def side_of(maps: Any) -> int:
    """Returns the side of the grid of maps [n, side ** 2, maps]."""
    return math.isqrt(maps.shape[1])


def pooled_by_torch(
    codes: Tensor, maps: Tensor, embedding: Tensor, weights: Tensor, bias: Tensor, second: Tensor, second_bias: Tensor
) -> Tensor:
    """Computes `Pooled` with torch only, for a GPU and for tests."""
    side = side_of(maps)
    width = side + 2
    n, cell = torch.nonzero(codes, as_tuple=True)
    around = torch.tensor([dy * width + dx for dy in (-1, 0, 1) for dx in (-1, 0, 1)], device=codes.device)
    taps = len(embedding) // TAPS * torch.arange(TAPS, device=codes.device)
    indices = codes[n[:, None], cell[:, None] + around].long() + taps
    inner = (cell // width - 1) * side + cell % width - 1
    first = nn.functional.embedding_bag(indices, embedding, mode="sum") + maps[n, inner] @ weights + bias
    outputs = torch.relu(torch.relu(first) @ second + second_bias)
    return torch.zeros(len(codes), outputs.shape[1], device=codes.device).index_add(0, n, outputs) / CELLS_SUMMED
