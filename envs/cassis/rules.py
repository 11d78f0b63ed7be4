"""Exact rules of Cassis (the pencil game Sim) as functions on rows: who completes a triangle of their own colour loses.

Edges of n points are numbered in lexicographic order of their ends: (0,1) (0,2) ... (1,2) ... Word 0 holds the edges of player
0, word 1 those of player 1, edge e at bit e. Bit 63 (LOST) marks the word of a player who completed a triangle. Player 0 moves
when the number of coloured edges is even.

Source: the article "The best AI for cassis", which plays n = 6.
"""

from __future__ import annotations

import numpy as np

from leafwise.envs.core.compile.jit import jit
from leafwise.envs.core.contract.bits import count_bits
from leafwise.envs.core.contract.rules import TERMINAL
from leafwise.envs.core.contract.stream import u64

ZERO, ONE, FIFTEEN, BYTE = u64(0), u64(1), u64(15), u64(255)
LOST = u64(1 << 63)


@jit(inline=True)
def neighbours(own, T):
    """Returns the neighbours of each point along the edges `own`: bit 8 a + b for points a and b."""
    result = ZERO
    for group in range((T.edges + 3) // 4):
        result |= T.joined[u64(group), (own >> u64(4 * group)) & FIFTEEN]
    return result


@jit(inline=True)
def spoiled(own, T):
    """Returns the edges, coloured or not, that complete a triangle with two of `own`: those between two neighbours of a point."""
    joined, result = neighbours(own, T), ZERO
    for point in range(T.n):
        result |= T.between[(joined >> u64(8 * point)) & BYTE]
    return result


@jit(inline=True)
def has_triangle(own, T):
    """Whether the edges `own` contain a triangle."""
    return spoiled(own, T) & own != ZERO


@jit
def is_valid(S, i, T):
    """Whether a row is a position: each edge belongs to one player, colours alternate, and at most the last edge closes
    triangles.
    """
    first, second = S[i, 0] & ~LOST, S[i, 1] & ~LOST
    if (first | second) & ~T.all or S[i, 0] & S[i, 1]:
        return False
    ahead = np.int64(count_bits(first)) - np.int64(count_bits(second))
    if ahead < 0 or ahead > 1:
        return False
    last, own, other = (0, first, second) if ahead == 1 else (1, second, first)
    if has_triangle(other, T) or S[i, 1 - last] & LOST:
        return False
    if not has_triangle(own, T):
        return S[i, last] & LOST == ZERO
    for e in range(T.edges):
        edge = ONE << u64(e)
        if own & edge and not has_triangle(own & ~edge, T):
            return S[i, last] & LOST != ZERO
    return False


@jit(inline=True)
def initial_state(S, i, T):
    S[i, 0] = ZERO
    S[i, 1] = ZERO


@jit(inline=True)
def mover(S, i):
    """Returns the player to move, also for a finished board."""
    return np.int64(count_bits((S[i, 0] | S[i, 1]) & ~LOST) & ONE)


@jit(inline=True)
def current_player(S, i, T):
    coloured = S[i, 0] | S[i, 1]
    if coloured >= T.all:
        return TERMINAL
    return np.int64(count_bits(coloured) & ONE)


@jit(inline=True)
def legal_actions(S, i, A, T):
    coloured = S[i, 0] | S[i, 1]
    n = 0
    for e in range(T.edges):
        if (coloured >> u64(e)) & ONE == ZERO:
            A[n] = e
            n += 1
    return n


@jit(inline=True)
def apply_action(S, i, a, j, T):
    player = mover(S, i)
    own, other = S[i, player], S[i, 1 - player]
    after = own | (ONE << u64(a))
    joined = neighbours(own, T)
    if (joined >> u64(8 * T.ends[a, 0])) & (joined >> u64(8 * T.ends[a, 1])) & BYTE:
        after |= LOST
    S[j, player] = after
    S[j, 1 - player] = other


@jit(inline=True)
def returns(S, i, T):
    if S[i, 0] & LOST:
        return -1.0
    if S[i, 1] & LOST:
        return 1.0
    return 0.0
