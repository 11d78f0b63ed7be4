"""What learners see of Cassis: observations, the parts of a board, and renamings of the points."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium as gym
import numpy as np

from leafwise.envs.cassis.rules import LOST, ONE, mover, spoiled
from leafwise.envs.cassis.tables import PART, part_classes, part_count
from leafwise.envs.core.bits import count_bits
from leafwise.envs.core.jit import jit
from leafwise.envs.core.sparse import SparseFeatures
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


COUNTS = 4
"""Numbers that stand beside the parts: coloured edges; free edges that are safe for the mover, the other, both."""


@jit(inline=True)
def active(S, i, F, T):
    """The class of every part of five points (1 own edge, 2 the other's), and four numbers of edges, one feature each.

    No renaming of the points changes any of them.
    """
    player = mover(S, i)
    own, other = S[i, player] & T.all, S[i, 1 - player] & T.all
    parts = np.int64(T.part_count)
    for k in range(parts):
        F[k] = 0
    for edge in range(T.edges):
        bit = u64(edge)
        colour = np.int64((own >> bit) & ONE) + 2 * np.int64((other >> bit) & ONE)
        if colour:
            for k in range(T.parts_on_edge):
                F[u64(T.parts_of[edge, k, 0])] += T.parts_of[edge, k, 1] * colour
    for k in range(parts):
        F[k] = T.part_classes[u64(F[k])]
    free = T.all & ~(own | other)
    mine, theirs = free & ~spoiled(own, T), free & ~spoiled(other, T)
    first = T.part_kinds
    F[parts] = first + np.int64(count_bits(own | other))
    F[parts + 1] = first + (T.edges + 1) + np.int64(count_bits(mine))
    F[parts + 2] = first + 2 * (T.edges + 1) + np.int64(count_bits(theirs))
    F[parts + 3] = first + 3 * (T.edges + 1) + np.int64(count_bits(mine & theirs))
    return parts + COUNTS


def feature_count(options: Mapping[str, Any]) -> int:
    """Returns how many features there are."""
    n = options["n"]
    return int(part_classes(min(n, PART)).max()) + 1 + COUNTS * (n * (n - 1) // 2 + 1)


SPARSE = SparseFeatures(
    active=active,
    size=feature_count,
    most=lambda options: part_count(options["n"]) + COUNTS,
    invariant=True,
)
