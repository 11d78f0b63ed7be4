"""What learners see of Trilobite: observations, the patterns on its lines, its threats, and the mirror image."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from leafwise.envs.core.compile.jit import jit
from leafwise.envs.core.contract.bits import count_bits
from leafwise.envs.core.contract.features import SparseFeatures
from leafwise.envs.core.contract.game import Labels
from leafwise.envs.core.contract.stream import u64
from leafwise.envs.trilobite.rules import ONE, THREE, ZERO, landing_cells, mover, threats
from leafwise.envs.trilobite.tables import Options, line_tables, lines, parity_tables, windows

if TYPE_CHECKING:
    import gymnasium as gym


def observation_space(options: Options) -> gym.spaces.Box:
    """Returns a Box float32 [width * height]: cells row by row from the top, 1 own chip, -1 the other's, 0 empty."""
    import gymnasium as gym

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


def planes_space(options: Options) -> gym.spaces.Box:
    """Returns a Box float32 [2, height, width] of 0 and 1: own chips, the other's."""
    import gymnasium as gym

    width, height = options.size
    return gym.spaces.Box(0.0, 1.0, (2, height, width), dtype=np.float32)


def planes_labels(options: Options) -> dict[str, tuple[Labels, ...]]:
    """Returns what `planes_as` writes."""
    return {"": (Labels(("own chips", "the other's chips"), "1 at each chip"),)}


@jit(inline=True)
def planes_as(S, i, player, O, e, T):
    for side in range(2):
        chips = S[i, player ^ side]
        for y in range(T.height):
            for x in range(T.width):
                O[e, side, y, x] = np.float32((chips >> (u64(x) * T.stride + u64(T.height - 1 - y))) & ONE)


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
def seen(S, i, T):
    """Returns the chips of both players on the lesser of a board and its mirror image, all chips, and the threats of either."""
    first, second = S[i, 0], S[i, 1]
    mirrored, mirrored_second = reversed_columns(first, T), reversed_columns(second, T)
    if mirrored < first or (mirrored == first and mirrored_second < second):
        first, second = mirrored, mirrored_second
    filled = first | second
    empty = T.board & ~filled
    return first, second, filled, threats(first, empty, T), threats(second, empty, T)


@jit(inline=True)
def column_of(filled, wins, losses, c, T):
    """Returns which bits are column c, how many of its cells are empty, and the number of the pattern of threats in them."""
    start = T.stride * u64(c)
    column = ((ONE << (T.stride - ONE)) - ONE) << start
    height = count_bits(filled & column)
    left, here = T.stride - ONE - height, start + height
    pattern = ((wins & column) >> here) | ((losses & column) >> here) << left
    return column, left, ((ONE << (left + left)) - ONE) // THREE + pattern


@jit(inline=True)
def sparse_active(S, i, F, T):
    """The pattern on every row and diagonal, in base 3 (1 player 0's chip, 2 player 1's); where, in the empty part of every
    column, a chip of either player would complete k in a row; the number of chips; the player to move.

    Such cells and their heights decide who is forced to play under one at the end (the odd and even threats of Connect Four).
    Of a board and its mirror image the lesser is seen, so both have the same features.
    """
    first, second, filled, wins, losses = seen(S, i, T)
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
    for c in range(T.width):
        F[n + c] = start + np.int64(column_of(filled, wins, losses, c, T)[2])
        start += T.column_features
    n += T.width
    number = np.int64(count_bits(filled))
    F[n] = start + number
    F[n + 1] = start + T.width * T.height + 1 + (number & 1)
    return n + 2


def sparse_count(options: Options) -> int:
    """Returns how many features there are."""
    width, height = options.size
    found = line_tables(width, height, options.k)
    return int(found["line_features"][-1]) + width * found["column_features"] + width * height + 3


SPARSE = SparseFeatures(
    active=sparse_active,
    size=sparse_count,
    most=lambda options: len(lines(options.size[0], options.size[1], options.k)) + options.size[0] + 2,
    view="first",  # who moves first owns the odd threats: the seats differ
    invariant=True,
    version=2,
)


# What networks that see `parity` see of Trilobite: patterns on its lines, threats in its columns, who has to move last.
#
# Smaller than `sparse` (12 thousand features on 7x6 instead of 56), so that all weights stay in a processor's cache, and with what
# players of Connect Four count: when only cells under a threat are left, the player who is to move there is in zugzwang.


DRAWN, FIRST, SECOND = 0, 1, 2
"""How a board ends that is filled up without new threats."""
WINS, LOST, FORCED, QUIET = 0, 1, 2, 3
"""What the next two moves decide: the mover wins at once; cannot hinder the other from it; has one move; has several."""
MOST = 3
"""Threatened columns are counted up to here, given-up threats one less far."""


@jit(inline=True)
def gathered(chips, line, k):
    """Returns the chips on a line as its lowest bits."""
    return (((chips >> line[k, 0]) & line[k, 1]) * line[k, 2] >> line[k, 3]) & line[k, 4]


@jit(inline=True)
def tactics(own, other, landing):
    """Returns what the next two moves decide, from the threats of the mover and of the other."""
    hostile = other & landing
    if own & landing:
        return WINS
    if hostile & (hostile - ONE) or (hostile << ONE) & other or landing & ~(other >> ONE) == ZERO:
        return LOST
    return FORCED if hostile else QUIET


@jit(inline=True)
def column_below(cell, T):
    """Returns all cells under a cell."""
    return cell - (ONE << (count_bits(cell - ONE) // T.stride * T.stride))


@jit(inline=True)
def counted(cells, most):
    """Returns how many cells there are, at most `most`."""
    n = np.int64(count_bits(cells))
    return n if n < most else np.int64(most)


@jit(inline=True)
def filled_up(filled, wins, losses, T):
    """Fills the board up with safe moves; returns how it ends, threats given up, who is in zugzwang first, columns that the first
    and the second player block.

    A column is safe up to the cell under its lowest threat. When no safe cell is left, the player to move goes under a threat of
    his own, which the other stops, or, without one, under the other's, and loses. New threats are not seen.
    """
    lowest_wins, lowest_losses, last = np.int64(0), np.int64(0), np.int64(0)
    given_up = np.int64(0)
    while True:
        landing = landing_cells(filled, T)
        dangers = (wins | losses) & ~filled & ~landing
        safe = landing
        for _ in range(T.height - 1):
            safe |= (safe << ONE) & T.board & ~dangers
        lowest = (safe << ONE) & dangers
        left = count_bits(filled) + count_bits(safe) - count_bits(lowest)
        mover = np.int64(left & ONE)
        if given_up == 0:
            last = mover
            lowest_wins, lowest_losses = counted(lowest & wins, MOST), counted(lowest & losses, MOST)
        own, other = (wins, losses) if mover == 0 else (losses, wins)
        mine = lowest & own & ~other
        end = np.int64(-1)
        if lowest == ZERO:
            end = np.int64(DRAWN)
        elif mine == ZERO:
            end = SECOND - mover
        else:
            cell = mine & (~mine + ONE)
            filled |= cell | column_below(cell, T)
            given_up += 1
            if (cell << ONE) & own & T.board:
                end = FIRST + mover
        if end >= 0:
            return end, given_up if given_up < MOST else np.int64(MOST - 1), last, lowest_wins, lowest_losses


@jit(inline=True)
def parity_active(S, i, F, T):
    """The pattern in every window of `tables.windows`, in base 3 (1 player 0's chip, 2 player 1's); the two lowest threats in the
    empty part of every column and what lies under it; how the board ends when it is filled up, after how many chips; what the
    next moves decide.

    Of a board and its mirror image the lesser is seen, so both have the same features.
    """
    first, second, filled, wins, losses = seen(S, i, T)
    n = T.windows.shape[0]
    for k in range(n):
        pattern = T.base3[gathered(first, T.windows, k)] + 2 * T.base3[gathered(second, T.windows, k)]
        F[k] = np.int64(T.windows[k, 5]) + pattern
    start = T.parity_features[0]
    landing = landing_cells(filled, T)
    top = (landing | ((filled & T.top) << ONE)) >> ONE
    twos, other_twos = first & (first << ONE) & top, second & (second << ONE) & top
    for c in range(T.width):
        column, left, pattern = column_of(filled, wins, losses, c, T)
        run = 1 if twos & column else 2 if other_twos & column else 0
        F[n + c] = start + T.threat_starts[left, 0] + run * T.threat_starts[left, 1] + T.threat_ranks[pattern]
        start += T.parity_features[1]
    n += T.width
    chips = np.int64(count_bits(filled))
    mover = chips & 1
    end, given_up, last, blocked, other_blocked = filled_up(filled, wins, losses, T)
    own, other = (wins, losses) if mover == 0 else (losses, wins)
    F[n] = start + (end * MOST + given_up) * (T.width * T.height + 1) + chips
    start += 3 * MOST * (T.width * T.height + 1)
    counts = (last * (MOST + 1) + blocked) * (MOST + 1) + other_blocked
    F[n + 1] = start + (counts * 4 + tactics(own, other, landing)) * 2 + mover
    return n + 2


def parity_count(options: Options) -> int:
    """Returns how many features there are."""
    width, height = options.size
    after, size = parity_tables(width, height, options.k)["parity_features"].tolist()
    return int(after + width * size + 3 * MOST * (width * height + 1) + 2 * (MOST + 1) ** 2 * 4 * 2)


PARITY = SparseFeatures(
    active=parity_active,
    size=parity_count,
    most=lambda options: len(windows(options.size[0], options.size[1], options.k)[0]) + options.size[0] + 2,
    view="first",  # who moves first owns the odd threats: the seats differ
    invariant=True,
)
