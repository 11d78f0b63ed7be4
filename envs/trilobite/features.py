"""What learners see of Trilobite: observations, the patterns on its lines, its threats, and the mirror image."""

from __future__ import annotations

import gymnasium as gym
import numpy as np

from leafwise.envs.core.compile.jit import jit
from leafwise.envs.core.contract.bits import count_bits
from leafwise.envs.core.contract.features import SparseFeatures
from leafwise.envs.core.contract.game import Labels
from leafwise.envs.core.contract.stream import u64
from leafwise.envs.trilobite.options import Options
from leafwise.envs.trilobite.rules import ONE, THREE, ZERO, mover, threats
from leafwise.envs.trilobite.tables import feature_tables


def observation_space(options: Options) -> gym.spaces.Box:
    """Returns a Box float32 [width * height]: cells row by row from the top, 1 own chip, -1 the other's, 0 empty."""
    width, height = options.size
    return gym.spaces.Box(-1.0, 1.0, (width * height,), dtype=np.float32)


def labels(options: Options) -> dict[str, tuple[Labels, ...]]:
    """Returns what `observe` writes."""
    width, height = options.size
    cells = tuple(f"row {y + 1}, column {x + 1}" for y in range(height) for x in range(width))
    return {"": (Labels(cells, "rows from the top: 1 an own chip, -1 the other's, 0 empty"),)}


@jit(inline=True)
def observe_as(S, i, player, O, e, T):
    own, other = S[i, player], S[i, 1 - player]
    for y in range(T.height):
        for x in range(T.width):
            bit = u64(x) * T.stride + u64(T.height - 1 - y)
            O[e, y * T.width + x] = np.float32(np.int64((own >> bit) & ONE) - np.int64((other >> bit) & ONE))


@jit(inline=True)
def observe(S, i, O, e, T):
    observe_as(S, i, mover(S, i), O, e, T)


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


@jit(inline=True)
def active(S, i, F, T):
    """The pattern on every row and diagonal, in base 3 (1 player 0's chip, 2 player 1's); where, in the empty part of every
    column, a chip of either player would complete k in a row; the number of chips; the player to move.

    Such cells and their heights decide who is forced to play under one at the end (the odd and even threats of Connect Four).
    Of a board and its mirror image the lesser is seen, so both have the same features.
    """
    first, second = S[i, 0], S[i, 1]
    mirrored, mirrored_second = reversed_columns(first, T), reversed_columns(second, T)
    if mirrored < first or (mirrored == first and mirrored_second < second):
        first, second = mirrored, mirrored_second
    n = T.line_features.shape[0] - 1
    for k in range(n):
        F[k] = T.line_features[k]
    for player in range(2):
        chips = second if player else first
        while chips:
            bit = count_bits((chips - ONE) & ~chips)
            chips &= chips - ONE
            for k in range(3):
                F[u64(T.lines_on[bit, k, 0])] += T.lines_on[bit, k, 1] << player
    start = T.line_features[n]
    filled = first | second
    empty = T.board & ~filled
    wins, losses = threats(first, empty, T), threats(second, empty, T)
    column = (ONE << (T.stride - ONE)) - ONE
    for c in range(T.width):
        height = count_bits(filled & column)
        left = T.stride - ONE - height
        pattern = ((wins & column) >> height) | ((losses & column) >> height) << left
        F[n + c] = start + np.int64(((ONE << (left + left)) - ONE) // THREE + pattern)
        start += T.column_features
        filled, wins, losses = filled >> T.stride, wins >> T.stride, losses >> T.stride
    n += T.width
    number = np.int64(count_bits(first | second))
    F[n] = start + number
    F[n + 1] = start + T.width * T.height + 1 + (number & 1)
    return n + 2


def feature_count(options: Options) -> int:
    """Returns how many features there are."""
    width, height = options.size
    found = feature_tables(width, height, options.k)
    return int(found["line_features"][-1]) + width * found["column_features"] + width * height + 3


def most_features(options: Options) -> int:
    """Returns how many features a position has."""
    width, height = options.size
    return len(feature_tables(width, height, options.k)["line_features"]) - 1 + width + 2


SPARSE = SparseFeatures(
    active=active,
    size=feature_count,
    most=most_features,
    view="first",  # who moves first owns the odd threats: the seats differ
    invariant=True,
    version=2,
)
