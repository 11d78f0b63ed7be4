"""What learners see of Cassis: observations, the parts of a board, and renamings of the points."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from leafwise.envs.cassis.rules import LOST, ONE, mover, spoiled
from leafwise.envs.cassis.tables import Options, action_names, edges, part_classes, part_count, part_powers
from leafwise.envs.core.compile.jit import jit
from leafwise.envs.core.contract.bits import count_bits
from leafwise.envs.core.contract.features import SparseFeatures, looked_up_in
from leafwise.envs.core.contract.game import Labels
from leafwise.envs.core.contract.stream import u64

if TYPE_CHECKING:
    import gymnasium as gym

FOUR, NIBBLE = u64(4), u64(15)
NAMES = u64(0x76543210)
"""The points 0 to 7, four bits each."""


def observation_space(options: Options) -> gym.spaces.Box:
    """Returns a Box float32 [edges]: in order of their numbers, 1 own edge, -1 the other's, 0 uncoloured."""
    import gymnasium as gym

    return gym.spaces.Box(-1.0, 1.0, (len(edges(options.n)),), dtype=np.float32)


EDGES = "edges, in the order of the actions"


def labels(options: Options) -> dict[str, tuple[Labels, ...]]:
    """Returns the labels of the numbers that `observe` writes."""
    names = tuple(f"edge {name}" for name in action_names(options))
    return {"": (Labels(names, "1: own edge; -1: the opponent's edge; 0: no colour yet", EDGES),)}


@jit(inline=True)
def observe_as(S, i, player, O, e, T):
    own, other = S[i, player], S[i, 1 - player]
    for edge in range(T.edges):
        bit = u64(edge)
        O[e, edge] = np.float32(np.int64((own >> bit) & ONE) - np.int64((other >> bit) & ONE))


@jit(inline=True)
def observe(S, i, O, e, T):
    observe_as(S, i, mover(S, i), O, e, T)


def onehot_space(options: Options) -> gym.spaces.Box:
    """Returns a Box float32 [2 * edges] of 0 and 1: own edges, then the other's."""
    import gymnasium as gym

    return gym.spaces.Box(0.0, 1.0, (2 * len(edges(options.n)),), dtype=np.float32)


def onehot_labels(options: Options) -> dict[str, tuple[Labels, ...]]:
    """Returns the labels of the numbers that `onehot_as` writes."""
    names = action_names(options)
    return {
        "": (
            Labels(tuple(f"own {edge}" for edge in names), "1 at each own edge", EDGES),
            Labels(tuple(f"other's {edge}" for edge in names), "1 at each edge of the opponent", EDGES),
        )
    }


@jit(inline=True)
def onehot_as(S, i, player, O, e, T):
    for edge in range(T.edges):
        O[e, edge] = np.float32((S[i, player] >> u64(edge)) & ONE)
        O[e, T.edges + edge] = np.float32((S[i, 1 - player] >> u64(edge)) & ONE)


@jit(inline=True)
def renaming(k, n):
    """Returns renaming k of n points, four bits for the new name of each; k is a Lehmer code, and 0 is the identity.

    Digit p of k in the factorial base (n for point 0, n - 1 for point 1, ...) is the index of the name that point p takes among
    the remaining names, in order.
    """
    names, rest, result = NAMES, u64(k), u64(0)
    for p in range(n):
        choices = u64(n - p)
        shift = FOUR * (rest % choices)
        rest //= choices
        result |= ((names >> shift) & NIBBLE) << (FOUR * u64(p))
        below = (ONE << shift) - ONE
        names = (names & below) | ((names >> FOUR) & ~below)
    return result


@jit(inline=True)
def edge_after(edge, names, T):
    """Returns the edge whose ends are the new names, in a `renaming`, of the ends of `edge`."""
    a = (names >> (FOUR * u64(T.ends[edge, 0]))) & NIBBLE
    b = (names >> (FOUR * u64(T.ends[edge, 1]))) & NIBBLE
    return T.edge_of[a, b]


@jit(inline=True)
def transform(S, i, k, j, T):
    """Renames the points by `renaming` k."""
    names = renaming(k, T.n)
    for player in range(2):
        edges_of_player = S[i, player]
        after = edges_of_player & LOST
        for edge in range(T.edges):
            if (edges_of_player >> u64(edge)) & ONE:
                after |= ONE << u64(edge_after(edge, names, T))
        S[j, player] = after


@jit(inline=True)
def transform_action(a, k, T):
    return np.int64(edge_after(a, renaming(k, T.n), T))


COUNTS = 4
"""Numbers besides the parts: coloured edges; free edges that are safe for the mover, the other player, both."""


@jit(inline=True)
def active(S, i, F, T):
    """Writes the features of row i and returns their number: the class of every part of five points, and four numbers of edges.

    In a part, 1 is an edge of the mover and 2 one of the other player. Renaming the points changes no feature.
    """
    player = mover(S, i)
    own, other = S[i, player] & T.all, S[i, 1 - player] & T.all
    parts = np.int64(T.part_count)
    for k in range(parts):
        code = 0
        for group in range((T.edges + 3) // 4):
            four, shift = u64(group), u64(4 * group)
            code += T.part_codes[four, (own >> shift) & NIBBLE, k]
            code += 2 * T.part_codes[four, (other >> shift) & NIBBLE, k]
        F[k] = T.part_classes[u64(code)]
    free = T.all & ~(own | other)
    mine, theirs = free & ~spoiled(own, T), free & ~spoiled(other, T)
    for k, counted in enumerate((own | other, mine, theirs, mine & theirs)):
        F[parts + k] = T.part_kinds + k * (T.edges + 1) + np.int64(count_bits(counted))
    return parts + COUNTS


def feature_count(options: Options) -> int:
    """Returns the number of features."""
    return int(part_classes(options.n).max()) + 1 + COUNTS * (len(edges(options.n)) + 1)


def observed(obs, options: Options):
    """Returns the features of observations [n, edges], as `active` writes them."""
    n, pairs = options.n, edges(options.n)
    triangles = [[pairs.index(pair) for pair in combinations(points, 2)] for points in combinations(range(n), 3)]
    ends = [
        (a, b, c)
        for triangle in triangles
        for a, b, c in (triangle, triangle[1:] + triangle[:1], triangle[2:] + triangle[:2])
    ]
    completes = np.zeros((len(ends), len(pairs)), dtype=np.int64)
    completes[np.arange(len(ends)), [c for _, _, c in ends]] = 1

    def safe(edges_of_player):
        """Returns the edges that complete no triangle with two edges of a player."""
        return (
            edges_of_player[:, [a for a, _, _ in ends]] * edges_of_player[:, [b for _, b, _ in ends]]
        ) @ completes == 0

    own, other = obs == 1, obs == -1
    free, mine, theirs = obs == 0, safe(own), safe(other)
    kinds, classes = int(part_classes(n).max()) + 1, part_classes(n)
    codes = (own + 2 * other) @ part_powers(n)
    features = [looked_up_in(classes, codes)]
    for k, counted in enumerate((own + other, free * mine, free * theirs, free * mine * theirs)):
        features.append(counted.sum(axis=1)[:, None] + (kinds + k * (len(pairs) + 1)))
    return features


SPARSE = SparseFeatures(
    active=active,
    size=feature_count,
    most=lambda options: part_count(options.n) + COUNTS,
    invariant=True,
    observed=observed,
)
