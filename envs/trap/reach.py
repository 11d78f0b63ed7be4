"""What networks that see `reach` see of Trap: how far both players get, and patterns of blocked cells around them.

Beside `sparse`: of each player the cells within two and within three king steps, and those that he reaches before the other; each
pair of such numbers, own and the other's, is a feature. What is blocked around a player are patterns of two rows at once, and of
the eight cells next to him.
"""

from __future__ import annotations

import numpy as np

from leafwise.envs.core.compile.jit import jit
from leafwise.envs.core.contract.bits import count_bits
from leafwise.envs.core.contract.features import SparseFeatures
from leafwise.envs.core.contract.stream import u64
from leafwise.envs.trap.options import Options
from leafwise.envs.trap.rules import MOVE, ONE, TWO, ZERO, blocked, cell_of, phase_of, turn_of
from leafwise.envs.trap.scores import grown
from leafwise.envs.trap.sparse import MOVES, NINE, ROW_MASK, SEVEN, SUMS, THREE, TWICE, WALL, WINDOW, row_of, write_rest

RING = 1 << 9
STRIPS = (WINDOW - 1) << (2 * WINDOW)
AROUND = STRIPS + RING
"""Patterns around one player: two rows of the window at a time, then the nine cells in its middle."""
TWO_STEPS, THREE_STEPS = 25, 49
"""Numbers of cells that there can be within two and within three steps, none included."""
REACH = TWO_STEPS**2 + 2 * THREE_STEPS**2
ONE_WORD = 8
"""Boards up to this size have all cells in one word."""


@jit(inline=True)
def around(F, n, first, cell, low, high, T):
    """Writes the patterns around a cell from F[n] on; returns the moves from it and their open cells."""
    size = u64(T.size)
    y, x = T.place[cell, 0], u64(T.place[cell, 1])
    before, ring, opened = ROW_MASK, ZERO, np.int64(0)
    for down in range(WINDOW):
        row = y + down - 2
        inside = (row >= 0) & (row < T.size)
        bits = row_of(low, high, u64(row if inside else 0) * size, size)
        pattern = (((bits << TWO) | WALL | (WALL << (size + TWO))) >> x) & ROW_MASK
        pattern = pattern if inside else ROW_MASK
        if down > 0:
            both = (u64(down - 1) << TWICE) + (before << u64(WINDOW)) + pattern
            F[n + down - 1] = first + np.int64(both)
            opened += np.int64(T.around[both])
        if down > 0 and down < WINDOW - 1:
            ring = (ring << THREE) | ((pattern >> ONE) & SEVEN)
        before = pattern
    F[n + WINDOW - 1] = first + STRIPS + np.int64(ring)
    return np.int64(NINE - count_bits(ring)), opened


@jit(inline=True)
def further(low, high, free_low, free_high, T):
    """Returns a set of free cells with its free neighbours."""
    if T.size <= ONE_WORD:
        step = u64(T.size)
        low = low | ((low & T.east[0]) << ONE) | ((low & T.west[0]) >> ONE)
        return (low | (low << step) | (low >> step)) & free_low, ZERO
    low, high = grown(low, high, T)
    return low & free_low, high & free_high


@jit(inline=True)
def sooner(mine, mine_2, mine_3, theirs, theirs_2, theirs_3):
    """Returns those cells of one word that one player reaches before the other, of those within one, two and three steps."""
    first = mine & ~theirs
    second = mine_2 & ~(theirs_2 | mine | theirs)
    return first | second | (mine_3 & ~(theirs_3 | mine_2 | theirs_2))


@jit(inline=True)
def counted(low, high):
    """Returns how many cells there are."""
    return np.int64(count_bits(low) + count_bits(high))


@jit(inline=True)
def write_reach(F, n, first, own, other, low, high, T):
    """Writes how far both players get, from F[n] on; `low` and `high` are what is blocked."""
    low, high = T.board[0] & ~low, T.board[1] & ~high
    own_1, own_1h = T.near[own, 0] & low, T.near[own, 1] & high
    own_2, own_2h = further(own_1, own_1h, low, high, T)
    own_3, own_3h = further(own_2, own_2h, low, high, T)
    other_1, other_1h = T.near[other, 0] & low, T.near[other, 1] & high
    other_2, other_2h = further(other_1, other_1h, low, high, T)
    other_3, other_3h = further(other_2, other_2h, low, high, T)
    F[n] = first + counted(own_2, own_2h) * TWO_STEPS + counted(other_2, other_2h)
    first += TWO_STEPS**2
    F[n + 1] = first + counted(own_3, own_3h) * THREE_STEPS + counted(other_3, other_3h)
    first += THREE_STEPS**2
    own_first = counted(
        sooner(own_1, own_2, own_3, other_1, other_2, other_3),
        sooner(own_1h, own_2h, own_3h, other_1h, other_2h, other_3h),
    )
    other_first = counted(
        sooner(other_1, other_2, other_3, own_1, own_2, own_3),
        sooner(other_1h, other_2h, other_3h, own_1h, own_2h, own_3h),
    )
    F[n + 2] = first + own_first * THREE_STEPS + other_first


@jit(inline=True)
def active(S, i, F, T):
    word = S[i, 1]
    player = turn_of(word) & ONE
    throwing = np.int64(phase_of(word) != MOVE)
    own, other = np.int64(cell_of(word, player)), np.int64(cell_of(word, ONE - player))
    low, high = blocked(S, i, T)
    F[0] = throwing * T.cells + own
    F[1] = (2 + throwing) * T.cells + other
    n, first = 2, 4 * T.cells
    own_moves, own_open = around(F, n, first, own, low, high, T)
    other_moves, other_open = around(F, n + WINDOW, first + AROUND, other, low, high, T)
    n += 2 * WINDOW
    first += 2 * AROUND
    first = write_rest(S, i, F, n, first, own, other, throwing, (own_moves, other_moves), (own_open, other_open), T)
    n += T.size + 4
    write_reach(F, n, first + throwing * REACH, own, other, low, high, T)
    return n + 3


def feature_count(options: Options) -> int:
    """Returns how many features there are."""
    size = options.size
    own = 4 * size**2 + 2 * AROUND
    return own + (size << size) + (2 * size - 1) ** 2 + 2 * MOVES + 2 * SUMS + 2 * REACH


REACHING = SparseFeatures(active=active, size=feature_count, most=lambda options: 2 + 2 * WINDOW + options.size + 7)
