"""What learners see of Cassis: observations, the parts of a board, and renamings of the points."""

from __future__ import annotations

from math import factorial

import gymnasium as gym
import numpy as np

from leafwise.envs.cassis.rules import LOST, ONE, mover, spoiled
from leafwise.envs.cassis.tables import PART, Options, part_classes, part_count
from leafwise.envs.core.compile.jit import jit
from leafwise.envs.core.contract.bits import count_bits
from leafwise.envs.core.contract.features import SparseFeatures
from leafwise.envs.core.contract.game import Labels
from leafwise.envs.core.contract.stream import u64

FOUR, NIBBLE = u64(4), u64(15)
NAMES = u64(0x76543210)
"""The points, four bits each."""


def symmetries(options: Options) -> int:
    """Returns the number of renamings of the points, n!."""
    return factorial(options.n)


def observation_space(options: Options) -> gym.spaces.Box:
    """Returns a Box float32 [edges]: in order of their numbers, 1 own edge, -1 the other's, 0 uncoloured."""
    n = options.n
    return gym.spaces.Box(-1.0, 1.0, (n * (n - 1) // 2,), dtype=np.float32)


def labels(options: Options) -> dict[str, tuple[Labels, ...]]:
    """Returns what `observe` writes."""
    n = options.n
    edges = tuple(f"edge {a}-{b}" for a in range(n) for b in range(a + 1, n))
    return {"": (Labels(edges, "1 an own edge, -1 the other's, 0 uncoloured"),)}


@jit(inline=True)
def observe_as(S, i, player, O, e, T):
    own, other = S[i, player], S[i, 1 - player]
    for edge in range(T.edges):
        bit = u64(edge)
        O[e, edge] = np.float32(np.int64((own >> bit) & ONE) - np.int64((other >> bit) & ONE))


@jit(inline=True)
def observe(S, i, O, e, T):
    observe_as(S, i, mover(S, i), O, e, T)


@jit(inline=True)
def renaming(k, n):
    """Returns renaming k of n points, four bits for the new name of each; they are numbered as Lehmer codes, 0 renames none.

    Digit p of k in the factorial base (n for point 0, n - 1 for point 1, ...) says which of the names still left,
    in order, point p takes.
    """
    left, rest, result = NAMES, u64(k), u64(0)
    for p in range(n):
        choices = u64(n - p)
        place = FOUR * (rest % choices)
        rest //= choices
        result |= ((left >> place) & NIBBLE) << (FOUR * u64(p))
        below = (ONE << place) - ONE
        left = (left & below) | ((left >> FOUR) & ~below)
    return result


@jit(inline=True)
def edge_after(edge, names, T):
    """Returns the edge that an edge becomes when its ends take the names of a `renaming`."""
    a = (names >> (FOUR * u64(T.ends[edge, 0]))) & NIBBLE
    b = (names >> (FOUR * u64(T.ends[edge, 1]))) & NIBBLE
    return T.edge_of[a, b]


@jit(inline=True)
def transform(S, i, k, j, T):
    """Renames the points by `renaming` k."""
    names = renaming(k, T.n)
    first, second = S[i, 0], S[i, 1]
    one, other = first & LOST, second & LOST
    for edge in range(T.edges):
        bit = u64(edge)
        if ((first | second) >> bit) & ONE:
            to = u64(edge_after(edge, names, T))
            one |= ((first >> bit) & ONE) << to
            other |= ((second >> bit) & ONE) << to
    S[j, 0], S[j, 1] = one, other


@jit(inline=True)
def transform_action(a, k, T):
    return np.int64(edge_after(a, renaming(k, T.n), T))


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
        code = 0
        for place in range((T.edges + 3) // 4):
            four, shift = u64(place), u64(4 * place)
            code += T.part_codes[four, (own >> shift) & NIBBLE, k]
            code += 2 * T.part_codes[four, (other >> shift) & NIBBLE, k]
        F[k] = T.part_classes[u64(code)]
    free = T.all & ~(own | other)
    mine, theirs = free & ~spoiled(own, T), free & ~spoiled(other, T)
    first = T.part_kinds
    F[parts] = first + np.int64(count_bits(own | other))
    F[parts + 1] = first + (T.edges + 1) + np.int64(count_bits(mine))
    F[parts + 2] = first + 2 * (T.edges + 1) + np.int64(count_bits(theirs))
    F[parts + 3] = first + 3 * (T.edges + 1) + np.int64(count_bits(mine & theirs))
    return parts + COUNTS


def feature_count(options: Options) -> int:
    """Returns how many features there are."""
    n = options.n
    return int(part_classes(min(n, PART)).max()) + 1 + COUNTS * (n * (n - 1) // 2 + 1)


SPARSE = SparseFeatures(
    active=active,
    size=feature_count,
    most=lambda options: part_count(options.n) + COUNTS,
    invariant=True,
)
