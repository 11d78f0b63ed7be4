"""What networks with a sparse first layer see of Trap.

Both cells; what is blocked in the five rows around each player, five cells each; the traps of every row; how far the
opponent is and where; how many moves both have; how many open cells lie around the moves. The cells and the numbers of
moves are told apart by what is due, a move or a throw. "Own" is the player who acts.
"""

from __future__ import annotations

import numpy as np

from leafwise.envs.core.compile.jit import jit
from leafwise.envs.core.contract.bits import count_bits
from leafwise.envs.core.contract.features import SparseFeatures
from leafwise.envs.core.contract.stream import u64
from leafwise.envs.trap.options import Options
from leafwise.envs.trap.rules import MOVE, ONE, SECOND_TRAPS, TWO, ZERO, blocked, cell_of, phase_of, turn_of

WINDOW = 5
WINDOWS = 2 * WINDOW << WINDOW
MOVES, SUMS = 9 * 9, 8 * 8 + 1
"""Pairs of numbers of moves; values of a sum."""
WALL, ROW_MASK, TWICE = u64(3), u64(31), u64(2 * WINDOW)
THREE, SEVEN, NINE = u64(3), u64(7), u64(9)
SIXTY_FOUR = u64(64)


@jit(inline=True)
def row_of(low, high, start, size):
    """Returns the cells of the board's row that begins with cell `start`."""
    if start >= SIXTY_FOUR:
        bits = high >> (start - SIXTY_FOUR)
    else:
        bits = low >> start
        if start + size > SIXTY_FOUR:
            bits |= high << (SIXTY_FOUR - start)
    return bits & ((ONE << size) - ONE)


@jit(inline=True)
def window(F, n, first, cell, low, high, T):
    """Writes what is blocked in the five rows around a cell, from F[n] on; returns the moves from it and their open cells."""
    size = u64(T.size)
    y, x = T.place[cell, 0], u64(T.place[cell, 1])
    before, ring, opened = ZERO, ZERO, np.int64(0)
    for down in range(WINDOW):
        row = y + down - 2
        inside = (row >= 0) & (row < T.size)
        bits = row_of(low, high, u64(row if inside else 0) * size, size)
        pattern = (((bits << TWO) | WALL | (WALL << (size + TWO))) >> x) & ROW_MASK
        pattern = pattern if inside else ROW_MASK
        F[n + down] = first + (down << WINDOW) + np.int64(pattern)
        if down > 0:
            opened += np.int64(T.around[(u64(down - 1) << TWICE) + (before << u64(WINDOW)) + pattern])
        if down > 0 and down < WINDOW - 1:
            ring = (ring << THREE) | ((pattern >> ONE) & SEVEN)
        before = pattern
    return np.int64(NINE - count_bits(ring)), opened


@jit(inline=True)
def write_rest(S, i, F, n, first, own, other, throwing, moves, opened, T):
    """Writes what does not depend on how the cells around a player are shown, from F[n] on: the traps of every row, where the
    opponent is, how many moves both have and how many open cells lie around them, as pairs, own first; returns the next feature."""
    word, size = S[i, 1], u64(T.size)
    for row in range(T.size):
        bits = row_of(S[i, 0], word & SECOND_TRAPS, u64(row) * size, size)
        F[n + row] = first + (row << T.size) + np.int64(bits)
    n, first = n + T.size, first + (T.size << T.size)
    span = 2 * T.size - 1
    down, right = T.place[other, 0] - T.place[own, 0], T.place[other, 1] - T.place[own, 1]
    F[n] = first + (down + T.size - 1) * span + right + T.size - 1
    first += span * span
    F[n + 1] = first + throwing * MOVES + moves[0] * 9 + moves[1]
    first += 2 * MOVES
    F[n + 2] = first + opened[0]
    F[n + 3] = first + SUMS + opened[1]
    return first + 2 * SUMS


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
    own_moves, own_open = window(F, n, first, own, low, high, T)
    other_moves, other_open = window(F, n + WINDOW, first + (WINDOW << WINDOW), other, low, high, T)
    n += 2 * WINDOW
    first += WINDOWS
    write_rest(S, i, F, n, first, own, other, throwing, (own_moves, other_moves), (own_open, other_open), T)
    return n + T.size + 4


def feature_count(options: Options) -> int:
    """Returns how many features there are."""
    size = options.size
    return 4 * size**2 + WINDOWS + (size << size) + (2 * size - 1) ** 2 + 2 * MOVES + 2 * SUMS


SPARSE = SparseFeatures(
    active=active,
    size=feature_count,
    most=lambda options: 2 + 2 * WINDOW + options.size + 4,
)
