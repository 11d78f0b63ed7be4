"""What learners see of Trap: observations, the eight symmetries of the square, and what networks see, `sparse` and `reach`."""

from __future__ import annotations

import gymnasium as gym
import numpy as np

from leafwise.envs.core.compile.jit import jit
from leafwise.envs.core.contract.bits import count_bits
from leafwise.envs.core.contract.features import SparseFeatures
from leafwise.envs.core.contract.game import Labels
from leafwise.envs.core.contract.stream import u64
from leafwise.envs.trap.rules import (
    CELL,
    LOW7,
    MOVE,
    ONE,
    PLAYER,
    SECOND_TRAPS,
    TARGET,
    TWO,
    ZERO,
    blocked,
    cell_of,
    phase_of,
    turn_of,
)
from leafwise.envs.trap.scores import grown
from leafwise.envs.trap.tables import Options

POSITIONS = ~((LOW7 << PLAYER) | (LOW7 << (PLAYER + CELL)) | (LOW7 << TARGET) | SECOND_TRAPS)
"""Word 1 without what a symmetry moves."""


def observation_space(options: Options) -> gym.spaces.Box:
    """Returns a Box float32 [4, size, size] of 0 and 1: own cell, the other's, traps, and all ones where a throw is due.

    With `observe_turn` a fifth plane holds the turns left everywhere.
    """
    planes = (1.0, 1.0, 1.0, 1.0, float(options.last_turn))[: 4 + options.observe_turn]
    high = np.array([np.full((options.size, options.size), most) for most in planes], dtype=np.float32)
    return gym.spaces.Box(np.zeros_like(high), high, dtype=np.float32)


def labels(options: Options) -> dict[str, tuple[Labels, ...]]:
    """Returns what `observe` writes."""
    turns = Labels(("turns left",), "everywhere the turns left until the draw, this one included")
    return {
        "": (
            Labels(("own cell", "opponent"), "1 at the own cell, and at the other's"),
            Labels(("traps",), "1 at every trap"),
            Labels(("throw due",), "1 everywhere if a throw is due, 0 everywhere if a move is"),
            *([turns] if options.observe_turn else []),
        )
    }


@jit(inline=True)
def observe_as(S, i, player, O, e, T):
    word = S[i, 1]
    me, opponent = np.int64(cell_of(word, player)), np.int64(cell_of(word, 1 - player))
    throwing = np.float32(phase_of(word) != MOVE)
    left = np.float32(T.max_turns - turn_of(word))
    for cell in range(T.cells):
        y, x = cell // T.size, cell % T.size
        trap = (S[i, 0] & T.bit[cell, 0]) | (word & SECOND_TRAPS & T.bit[cell, 1])
        O[e, 0, y, x] = np.float32(cell == me)
        O[e, 1, y, x] = np.float32(cell == opponent)
        O[e, 2, y, x] = np.float32(trap != u64(0))
        O[e, 3, y, x] = throwing
        if T.observe_turn:
            O[e, 4, y, x] = left


@jit(inline=True)
def observe(S, i, O, e, T):
    observe_as(S, i, np.int64(turn_of(S[i, 1]) & ONE), O, e, T)


@jit(inline=True)
def transform(S, i, k, j, T):
    """Transposes (bit 2 of k), then mirrors top-bottom (bit 1) and left-right (bit 0)."""
    low, word = S[i, 0], S[i, 1]
    moved = u64(T.image[k, cell_of(word, 0)]) << PLAYER
    moved |= u64(T.image[k, cell_of(word, 1)]) << (PLAYER + CELL)
    if phase_of(word) > ONE:
        moved |= u64(T.image[k, (word >> TARGET) & LOW7]) << TARGET
    S[j, 0] = u64(0)
    S[j, 1] = (word & POSITIONS) | moved
    for cell in range(T.cells):
        if (low & T.bit[cell, 0]) | (word & SECOND_TRAPS & T.bit[cell, 1]):
            to = T.image[k, cell]
            S[j, 0] |= T.bit[to, 0]
            S[j, 1] |= T.bit[to, 1]


@jit(inline=True)
def transform_action(a, k, T):
    if a >= 8:
        return 8 + T.image[k, a - 8]
    return T.turned[k, a]


# What networks that see `sparse` see of Trap.
#
# Both cells; what is blocked in the five rows around each player, five cells each; the traps of every row; how far the
# opponent is and where; how many moves both have; how many open cells lie around the moves. The cells and the numbers of
# moves are told apart by what is due, a move or a throw. "Own" is the player who acts.


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
def sparse_active(S, i, F, T):
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


def sparse_count(options: Options) -> int:
    """Returns how many features there are."""
    size = options.size
    return 4 * size**2 + WINDOWS + (size << size) + (2 * size - 1) ** 2 + 2 * MOVES + 2 * SUMS


SPARSE = SparseFeatures(
    active=sparse_active,
    size=sparse_count,
    most=lambda options: 2 + 2 * WINDOW + options.size + 4,
)


# What networks that see `reach` see of Trap: how far both players get, and patterns of blocked cells around them.
#
# Beside `sparse`: of each player the cells within two and within three king steps, and those that he reaches before the other; each
# pair of such numbers, own and the other's, is a feature. What is blocked around a player are patterns of two rows at once, and of
# the eight cells next to him.


RING = 1 << 9
STRIPS = (WINDOW - 1) << (2 * WINDOW)
AROUND = STRIPS + RING
"""Patterns around one player: two rows of the window at a time, then the nine cells in its middle."""
TWO_STEPS, THREE_STEPS = 25, 49
"""Numbers of cells that there can be within two and within three steps, none included."""
REACHED = TWO_STEPS**2 + 2 * THREE_STEPS**2
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
def reach_active(S, i, F, T):
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
    write_reach(F, n, first + throwing * REACHED, own, other, low, high, T)
    return n + 3


def reach_count(options: Options) -> int:
    """Returns how many features there are."""
    size = options.size
    own = 4 * size**2 + 2 * AROUND
    return own + (size << size) + (2 * size - 1) ** 2 + 2 * MOVES + 2 * SUMS + 2 * REACHED


REACH = SparseFeatures(active=reach_active, size=reach_count, most=lambda options: 2 + 2 * WINDOW + options.size + 7)
