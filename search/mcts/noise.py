"""Dirichlet noise on the prior of a root, so that games of learning try actions that a network thinks little of.

As in Silver et al., "A general reinforcement learning algorithm that masters chess, shogi, and Go through self-play" (Science,
2018). Gamma variables are drawn as in Marsaglia and Tsang, "A simple method for generating gamma variables" (2000).
"""

from __future__ import annotations

import numpy as np

from leafwise.envs.core.compile.jit import jit
from leafwise.envs.core.contract.stream import uniform

LEAST = 1e-300


@jit
def normal(R):
    """Returns a standard normal number drawn from stream R (Box and Muller, 1958)."""
    radius = np.sqrt(-2.0 * np.log(1.0 - uniform(R)))
    return radius * np.cos(2.0 * np.pi * uniform(R))


@jit
def gamma(R, shape):
    """Returns a gamma variable of a shape above 0 and scale 1, drawn from stream R."""
    boost = (1.0 - uniform(R)) ** (1.0 / shape) if shape < 1.0 else 1.0
    d = (shape + 1.0 if shape < 1.0 else shape) - 1.0 / 3.0
    while True:
        x = normal(R)
        v = (1.0 + x / np.sqrt(9.0 * d)) ** 3
        if v > 0.0 and np.log(1.0 - uniform(R)) < 0.5 * x * x + d - d * v + d * np.log(v):
            return max(boost * d * v, LEAST)


@jit
def add_noise(tree, node, share, concentration, kept):
    """Mixes a share of Dirichlet noise, whose parameters are equal and add up to `concentration`, into a node's prior; what that
    was goes to `kept` [at least the node's edges]."""
    first, n = tree.first[node], tree.end[node] - tree.first[node]
    total = 0.0
    for k in range(n):
        kept[k] = tree.prior[first + k]
        tree.prior[first + k] = gamma(tree.stream, concentration / n)
        total += tree.prior[first + k]
    for k in range(n):
        tree.prior[first + k] = (1.0 - share) * kept[k] + share * tree.prior[first + k] / total


@jit
def take_back(tree, node, kept):
    """Gives a node the prior back that it had before the noise."""
    for k in range(tree.end[node] - tree.first[node]):
        tree.prior[tree.first[node] + k] = kept[k]
