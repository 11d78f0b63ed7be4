"""What learners see of Trilobite: observations and the mirror image."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium as gym
import numpy as np

from leafwise.envs.core.jit import jit
from leafwise.envs.core.stream import u64
from leafwise.envs.trilobite.rules import ONE, ZERO, mover
from leafwise.envs.trilobite.tables import board_size


def observation_space(options: Mapping[str, Any]) -> gym.spaces.Box:
    """Returns a Box float32 [width * height]: cells row by row from the top, 1 own chip, -1 the other's, 0 empty."""
    width, height = board_size(options["board"])
    return gym.spaces.Box(-1.0, 1.0, (width * height,), dtype=np.float32)


@jit(inline=True)
def observe(S, i, O, e, T):
    player = mover(S, i)
    own, other = S[i, player], S[i, 1 - player]
    for y in range(T.height):
        for x in range(T.width):
            bit = u64(x) * T.stride + u64(T.height - 1 - y)
            O[e, y * T.width + x] = np.float32(np.int64((own >> bit) & ONE) - np.int64((other >> bit) & ONE))


@jit(inline=True)
def reversed_columns(chips, T):
    """Returns a bitboard with its columns in reverse order."""
    column = (ONE << T.stride) - ONE
    result = ZERO
    for _ in range(T.width):
        result = (result << T.stride) | (chips & column)
        chips >>= T.stride
    return result


@jit(inline=True)
def transform(S, i, k, j, T):
    """Mirrors left-right (k = 1)."""
    for player in range(2):
        S[j, player] = reversed_columns(S[i, player], T) if k else S[i, player]


@jit(inline=True)
def transform_action(a, k, T):
    return T.width - 1 - a if k else a
