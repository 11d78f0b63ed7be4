"""Random numbers for every game: a splitmix64 stream, (key, counter) in an array of two uint64.

One integer code serves the single environment, the batch, training and plain Python, so that a seed always means the same.
Source: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
"""

from __future__ import annotations

import numpy as np

from leafwise.envs.core.arrays import Words
from leafwise.envs.core.compile.jit import jit
from leafwise.envs.core.ranges import Range, need_in

u64 = np.uint64
"""The type of a row's words in most games, and of random bits."""

GOLDEN = u64(0x9E3779B97F4A7C15)
MIX_A = u64(0xBF58476D1CE4E5B9)
MIX_B = u64(0x94D049BB133111EB)
S11, S27, S30, S31 = u64(11), u64(27), u64(30), u64(31)
ONE = u64(1)
STEP = 1.0 / 9007199254740992.0
"""2**-53, the distance between neighbouring values of `uniform`."""


SEEDS = Range(0, 2**64 - 1)


def new_stream(key: int) -> Words:
    """Returns a new stream for a seed (0 to 2**64 - 1), at counter 0; shape [2], uint64. Raises ValueError for another seed."""
    return np.array([need_in(key, SEEDS, "a seed", kind=int), 0], dtype=np.uint64)


def is_stream(thing: object) -> bool:
    """Whether an object has the type and the size of a stream, which compiled code accesses unchecked."""
    return isinstance(thing, np.ndarray) and thing.dtype == np.uint64 and thing.shape == (2,) and thing.flags.carray


@jit(inline=True)
def mix(x):
    """Scrambles a uint64 with the finaliser of splitmix64, a bijection."""
    x = (x ^ (x >> S30)) * MIX_A
    x = (x ^ (x >> S27)) * MIX_B
    return x ^ (x >> S31)


@jit(inline=True)
def next_u64(R):
    """Returns 64 random bits, a uint64, and advances stream `R` (uint64 [2]) by one."""
    R[1] += ONE
    return mix(R[0] + R[1] * GOLDEN)


@jit(inline=True)
def uniform(R):
    """Returns a random float in [0, 1), a multiple of 2**-53, from stream `R` (uint64 [2])."""
    return np.float64(next_u64(R) >> S11) * STEP


@jit(inline=True)
def below(R, n):
    """Returns a random uint64 in 0..n-1 from stream `R` (uint64 [2]), uniform up to an error below n * 2**-53."""
    R[1] += ONE
    return u64(np.float64(n) * (np.float64(mix(R[0] + R[1] * GOLDEN) >> S11) * STEP))
