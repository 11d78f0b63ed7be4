"""What learners see of Trap: observations, the eight symmetries of the square, and the features `sparse` and `reach`."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from leafwise.envs.core.compile.jit import jit
from leafwise.envs.core.contract.bits import count_bits
from leafwise.envs.core.contract.features import SparseFeatures, looked_up_in
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
    has_trap,
    holds,
    phase_of,
    turn_of,
)
from leafwise.envs.trap.scores import grown
from leafwise.envs.trap.tables import Options, open_pairs

if TYPE_CHECKING:
    import gymnasium as gym

POSITIONS = ~((LOW7 << PLAYER) | (LOW7 << (PLAYER + CELL)) | (LOW7 << TARGET) | SECOND_TRAPS)
"""The bits of word 1 that no symmetry moves."""


def observation_space(options: Options) -> gym.spaces.Box:
    """Returns a Box float32 [4, size, size] of 0 and 1: own cell, the other's, traps, and all ones where a throw is due.

    With `observe_turn` a fifth plane holds the turns left everywhere.
    """
    import gymnasium as gym

    planes = (1.0, 1.0, 1.0, 1.0, float(options.last_turn))[: 4 + options.observe_turn]
    high = np.array([np.full((options.size, options.size), most) for most in planes], dtype=np.float32)
    return gym.spaces.Box(np.zeros_like(high), high, dtype=np.float32)


def labels(options: Options) -> dict[str, tuple[Labels, ...]]:
    """Returns the labels of the planes that `observe` writes."""
    turns = Labels(("turns left",), "everywhere the turns left until the draw, this one included")
    return {
        "": (
            Labels(("own cell", "opponent"), "1 at the cell of this player, 0 elsewhere"),
            Labels(("traps",), "1 at every trap"),
            Labels(("throw due",), "1 everywhere if the next action is a throw, 0 everywhere if it is a move"),
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
        O[e, 0, y, x] = np.float32(cell == me)
        O[e, 1, y, x] = np.float32(cell == opponent)
        O[e, 2, y, x] = np.float32(has_trap(S, i, cell, T))
        O[e, 3, y, x] = throwing
        if T.observe_turn:
            O[e, 4, y, x] = left


@jit(inline=True)
def observe(S, i, O, e, T):
    observe_as(S, i, np.int64(turn_of(S[i, 1]) & ONE), O, e, T)


@jit(inline=True)
def transform(S, i, k, j, T):
    """Writes row i transposed (bit 2 of k), then mirrored top-bottom (bit 1) and left-right (bit 0)."""
    low, word = S[i, 0], S[i, 1]
    moved = u64(T.image[k, cell_of(word, 0)]) << PLAYER
    moved |= u64(T.image[k, cell_of(word, 1)]) << (PLAYER + CELL)
    if phase_of(word) > ONE:
        moved |= u64(T.image[k, (word >> TARGET) & LOW7]) << TARGET
    S[j, 0] = u64(0)
    S[j, 1] = (word & POSITIONS) | moved
    for cell in range(T.cells):
        if holds(low, word & SECOND_TRAPS, cell, T):
            to = T.image[k, cell]
            S[j, 0] |= T.bit[to, 0]
            S[j, 1] |= T.bit[to, 1]


@jit(inline=True)
def transform_action(a, k, T):
    if a >= 8:
        return 8 + T.image[k, a - 8]
    return T.turned[k, a]


# The features `sparse` and `reach`.
#
# Both: the players' cells; the blocked cells around each player, in a window of five rows and columns; the traps of every row; the
# offset to the opponent; the numbers of moves of both players, and of open cells around these moves. Cells and numbers of moves
# have different features before a move and before a throw. "Own" is the player who acts.
#
# `sparse` describes the window row by row, `reach` by patterns of two rows at once, and of the eight cells next to the player.
# `reach` also describes how far both players get: the cells within two and within three king steps, and those that a player reaches
# before the other. Each pair of such numbers, own and the other's, is a feature.

WINDOW = 5
WINDOWS = 2 * WINDOW << WINDOW
MOVES, SUMS = 9 * 9, 8 * 8 + 1
"""Pairs of numbers of moves; values of a sum."""
STRIPS = (WINDOW - 1) << (2 * WINDOW)
AROUND = STRIPS + (1 << 9)
"""Patterns around one player: two rows of the window at a time, then the nine cells in its middle."""
TWO_STEPS, THREE_STEPS = 25, 49
"""Possible numbers of cells within two and within three steps, including none."""
REACHED = TWO_STEPS**2 + 2 * THREE_STEPS**2
ONE_WORD = 8
"""Boards up to this size have all cells in one word."""
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
def window(F, n, first, cell, low, high, strips, T):
    """Writes the features of the blocked cells around a cell from F[n] on; returns the number of moves from it, and of open
    cells around these.

    The window is described row by row, or with `strips` in strips of two rows.
    """
    size = u64(T.size)
    y, x = T.place[cell, 0], u64(T.place[cell, 1])
    before, ring, opened = ROW_MASK, ZERO, np.int64(0)
    for down in range(WINDOW):
        row = y + down - 2
        inside = (row >= 0) & (row < T.size)
        bits = row_of(low, high, u64(row if inside else 0) * size, size)
        pattern = (((bits << TWO) | WALL | (WALL << (size + TWO))) >> x) & ROW_MASK
        pattern = pattern if inside else ROW_MASK
        if not strips:
            F[n + down] = first + (down << WINDOW) + np.int64(pattern)
        if down > 0:
            strip = (u64(down - 1) << TWICE) + (before << u64(WINDOW)) + pattern
            opened += np.int64(T.around[strip])
            if strips:
                F[n + down - 1] = first + np.int64(strip)
        if down > 0 and down < WINDOW - 1:
            ring = (ring << THREE) | ((pattern >> ONE) & SEVEN)
        before = pattern
    if strips:
        F[n + WINDOW - 1] = first + STRIPS + np.int64(ring)
    return np.int64(NINE - count_bits(ring)), opened


@jit(inline=True)
def write(S, i, F, strips, T):
    """Writes the features that `sparse` and `reach` share, for row i.

    Returns how many they are, the number of the next feature, whether a throw is due, the cells of both players, and the
    blocked cells.
    """
    word, size = S[i, 1], u64(T.size)
    player = turn_of(word) & ONE
    throwing = np.int64(phase_of(word) != MOVE)
    own, other = np.int64(cell_of(word, player)), np.int64(cell_of(word, ONE - player))
    low, high = blocked(S, i, T)
    F[0] = throwing * T.cells + own
    F[1] = (2 + throwing) * T.cells + other
    # The windows around both players.
    n, first, patterns = 2, 4 * T.cells, AROUND if strips else WINDOW << WINDOW
    own_moves, own_open = window(F, n, first, own, low, high, strips, T)
    other_moves, other_open = window(F, n + WINDOW, first + patterns, other, low, high, strips, T)
    n, first = n + 2 * WINDOW, first + 2 * patterns
    # The traps of every row.
    for row in range(T.size):
        bits = row_of(S[i, 0], word & SECOND_TRAPS, u64(row) * size, size)
        F[n + row] = first + (row << T.size) + np.int64(bits)
    n, first = n + T.size, first + (T.size << T.size)
    # The offset to the opponent, and the numbers of moves and open cells.
    span = 2 * T.size - 1
    down, right = T.place[other, 0] - T.place[own, 0], T.place[other, 1] - T.place[own, 1]
    F[n] = first + (down + T.size - 1) * span + right + T.size - 1
    first += span * span
    F[n + 1] = first + throwing * MOVES + own_moves * 9 + other_moves
    first += 2 * MOVES
    F[n + 2] = first + own_open
    F[n + 3] = first + SUMS + other_open
    return n + 4, first + 2 * SUMS, throwing, own, other, low, high


@jit(inline=True)
def sparse_active(S, i, F, T):
    return write(S, i, F, False, T)[0]


@jit(inline=True)
def further(cells, low, high, T):
    """Returns a set of free cells with its free neighbours."""
    if T.size <= ONE_WORD:
        step, row = u64(T.size), cells[0]
        row = row | ((row & T.east[0]) << ONE) | ((row & T.west[0]) >> ONE)
        return (row | (row << step) | (row >> step)) & low, ZERO
    more_low, more_high = grown(cells[0], cells[1], T)
    return more_low & low, more_high & high


@jit(inline=True)
def steps_from(cell, low, high, T):
    """Returns the cells within one, two and three steps of a cell; `low` and `high` are the free cells."""
    one = (T.near[cell, 0] & low, T.near[cell, 1] & high)
    two = further(one, low, high, T)
    return one, two, further(two, low, high, T)


@jit(inline=True)
def sooner(mine, theirs):
    """Returns the number of cells within three steps that one player reaches before the other."""
    n = ZERO
    for word in range(2):
        one, two, three = mine[0][word], mine[1][word], mine[2][word]
        their_one, their_two, their_three = theirs[0][word], theirs[1][word], theirs[2][word]
        late = three & ~(their_three | two | their_two)
        n += count_bits((one & ~their_one) | (two & ~(their_two | one | their_one)) | late)
    return np.int64(n)


@jit(inline=True)
def counted(cells):
    """Returns the number of cells in a set."""
    return np.int64(count_bits(cells[0]) + count_bits(cells[1]))


@jit(inline=True)
def reach_active(S, i, F, T):
    n, first, throwing, own, other, low, high = write(S, i, F, True, T)
    low, high = T.board[0] & ~low, T.board[1] & ~high
    mine, theirs = steps_from(own, low, high, T), steps_from(other, low, high, T)
    first += throwing * REACHED
    F[n] = first + counted(mine[1]) * TWO_STEPS + counted(theirs[1])
    first += TWO_STEPS**2
    F[n + 1] = first + counted(mine[2]) * THREE_STEPS + counted(theirs[2])
    F[n + 2] = first + THREE_STEPS**2 + sooner(mine, theirs) * THREE_STEPS + sooner(theirs, mine)
    return n + 3


def observed(obs, options: Options, strips: bool):
    """Returns the features of observations [n, 4 * cells], as `sparse_active` writes them, or with `strips` as `reach_active`
    does.
    """
    size, cells = options.size, options.size**2
    indices = np.arange(cells)
    rows, columns = np.divmod(indices, size)
    down, right = rows - rows[:, None], columns - columns[:, None]  # [from, to]
    own, other, traps, throwing = (obs[:, k * cells : (k + 1) * cells] for k in range(4))
    throwing, free = throwing[:, :1], 1 - np.minimum(own + other + traps, 1)
    features = [own @ indices[:, None] + throwing * cells, other @ indices[:, None] + (throwing + 2) * cells]
    # The windows around both players, from pairs of the player's cell and a free cell.
    from_cells, to_cells = np.nonzero((abs(down) <= 2) & (abs(right) <= 2))
    bits = np.zeros((len(from_cells), WINDOW), dtype=np.int64)
    bits[np.arange(len(from_cells)), down[from_cells, to_cells] + 2] = 1 << right[from_cells, to_cells] + 2
    first, counts = 4 * cells, []
    for player in (own, other):
        patterns = 31 - (player[:, from_cells] * free[:, to_cells]) @ bits
        both = patterns[:, :4] * 32 + patterns[:, 1:5] + (np.arange(4) << 2 * WINDOW)
        ring = (patterns[:, 1:4] // 2 % 8) @ np.array([[64], [8], [1]])
        features += (
            [both + first, ring + (first + STRIPS)] if strips else [patterns + (first + (np.arange(5) << WINDOW))]
        )
        first += AROUND if strips else WINDOW << WINDOW
        counts.append(9 - looked_up_in(np.array([pattern.bit_count() for pattern in range(512)]), ring))
        counts.append(looked_up_in(np.array(open_pairs()), both).sum(axis=1)[:, None])
    # The traps of every row; the offset to the opponent, and the numbers of moves and open cells.
    features.append(
        traps @ ((rows[:, None] == np.arange(size)) << columns[:, None]) + (first + (np.arange(size) << size))
    )
    first, span = first + (size << size), 2 * size - 1
    along = (rows * span + columns)[:, None]
    features.append(other @ along - own @ along + (first + (size - 1) * (span + 1)))
    first += span * span
    features += [throwing * MOVES + counts[0] * 9 + counts[2] + first, counts[1] + (first + 2 * MOVES)]
    features.append(counts[3] + (first + 2 * MOVES + SUMS))
    if not strips:
        return features
    # How far both players get: cells within one, two and three steps, and those reached before the other.
    near, reached = (abs(down) <= 1) & (abs(right) <= 1), []
    for player in (own, other):
        steps = [player * 0]
        for _ in range(3):
            steps.append(np.minimum((steps[-1] + (player if len(steps) == 1 else 0)) @ near, 1) * free)
        reached.append(steps)
    sooner = [
        sum((mine[k] - mine[k - 1]) * (1 - theirs[k]) for k in (1, 2, 3)).sum(axis=1)
        for mine, theirs in (reached, reached[::-1])
    ]
    first += 2 * MOVES + 2 * SUMS
    for sizes, (mine, theirs) in (
        (TWO_STEPS, (steps[2].sum(axis=1) for steps in reached)),
        (THREE_STEPS, (steps[3].sum(axis=1) for steps in reached)),
        (THREE_STEPS, sooner),
    ):
        features.append((mine * sizes + theirs)[:, None] + throwing * REACHED + first)
        first += sizes**2
    return features


def feature_count(options: Options, patterns: int, more: int = 0) -> int:
    """Returns the number of features, with `patterns` around each player, and `more` others."""
    size = options.size
    return 4 * size**2 + 2 * patterns + (size << size) + (2 * size - 1) ** 2 + 2 * MOVES + 2 * SUMS + more


SPARSE = SparseFeatures(
    active=sparse_active,
    size=lambda options: feature_count(options, WINDOW << WINDOW),
    most=lambda options: 2 + 2 * WINDOW + options.size + 4,
    observed=partial(observed, strips=False),
)
REACH = SparseFeatures(
    active=reach_active,
    size=lambda options: feature_count(options, AROUND, 2 * REACHED),
    most=lambda options: 2 + 2 * WINDOW + options.size + 7,
    observed=partial(observed, strips=True),
)
