# /// script
# requires-python = ">=3.11"
# dependencies = [
#   "leafwise",
#   "flax==0.12.8",
# ]
# ///
"""Trains a network of Flax on a data set and uses it as a leaf, by a function."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx

import leafwise

CASSIS = leafwise.game("cassis")
data = leafwise.collect_dataset(CASSIS, "search:safe_edges,depth=1", games=200)
observations, results = jnp.asarray(data.arrays["observations"]), jnp.asarray(data.arrays["results"], jnp.float32)


class Network(nnx.Module):
    def __init__(self, cells, rngs):
        self.first, self.last = nnx.Linear(cells, 64, rngs=rngs), nnx.Linear(64, 1, rngs=rngs)

    def __call__(self, x):
        return jnp.tanh(self.last(jax.nn.relu(self.first(x))))[:, 0]


network = Network(observations.shape[1], nnx.Rngs(1))
optimiser = nnx.Optimizer(network, optax.adam(0.003), wrt=nnx.Param)


@nnx.jit
def learn(network, optimiser, x, y):
    loss, gradient = nnx.value_and_grad(lambda one: jnp.mean((one(x) - y) ** 2))(network)
    optimiser.update(network, gradient)
    return loss


for _ in range(200):
    loss = learn(network, optimiser, observations, results)

value = nnx.jit(lambda network, x: network(x))


def values(obs):
    """Values a batch, padded to a power of two, since JAX compiles for each new shape."""
    padded = np.zeros((1 << (len(obs) - 1).bit_length(), *obs.shape[1:]), np.float32)
    padded[: len(obs)] = obs
    return np.asarray(value(network, padded))[: len(obs)]


leaf = leafwise.leaf(CASSIS, values, to_go=False)  # it learned results of whole games
print(f"loss {loss:.3f}", leafwise.Search(CASSIS, leaf, depth=2)(CASSIS.new(seed=1)).name)
