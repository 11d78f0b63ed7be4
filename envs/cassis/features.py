"""What learners see of Cassis: observations, and renamings of the points."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium as gym
import numpy as np

from leafwise.envs.cassis.rules import LOST, ONE, mover
from leafwise.envs.core.jit import jit
from leafwise.envs.core.stream import u64

RENAMINGS = 24
"""Symmetries of the room: the renamings of the first four points. (All n! are symmetries; `canon` uses them.)"""


def observation_space(options: Mapping[str, Any]) -> gym.spaces.Box:
    """Returns a Box float32 [edges]: in order of their numbers, 1 own edge, -1 the other's, 0 uncoloured."""
    n = options["n"]
    return gym.spaces.Box(-1.0, 1.0, (n * (n - 1) // 2,), dtype=np.float32)


@jit(inline=True)
def observe(S, i, O, e, T):
    player = mover(S, i)
    own, other = S[i, player], S[i, 1 - player]
    for edge in range(T.edges):
        bit = u64(edge)
        O[e, edge] = np.float32(np.int64((own >> bit) & ONE) - np.int64((other >> bit) & ONE))


@jit(inline=True)
def transform(S, i, k, j, T):
    """Renames the points: renaming k of `T.renamed`."""
    for player in range(2):
        edges = S[i, player]
        result = edges & LOST
        for edge in range(T.edges):
            result |= ((edges >> u64(edge)) & ONE) << u64(T.renamed[k, edge])
        S[j, player] = result


@jit(inline=True)
def transform_action(a, k, T):
    return np.int64(T.renamed[k, a])
