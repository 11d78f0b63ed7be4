"""Exact rules of Threes! (Asher Vollmer, Greg Wohlwend, 2014) as functions on rows.

`row.py` lays the rows out, `chance.py` holds the chance stages, this file what the player does.

A turn: the player slides (0 up, 1 down, 2 left, 3 right); chance lets the known tile enter (stage "enter": a cell
of a lane that moved, and which bonus it was); chance draws the next tile (stage "draw"). Nine "setup" stages, one card each,
make the start. A board without a legal slide is the end, found before a next tile is drawn.

Rulings. The deck is what has not been drawn; the tile shown has left it; an empty deck is refilled at once. A
finished board keeps no next tile. A typed board has no known start score, so its return counts from an empty board.
The slot21 schedule starts its cycle of 21 draws with the first draw at which a bonus is possible.
"""

from __future__ import annotations

import numpy as np

from leafwise.envs.core.compile.jit import jit
from leafwise.envs.core.contract.rules import CHANCE, TERMINAL
from leafwise.envs.core.contract.stream import u64
from leafwise.envs.threes import row as r
from leafwise.envs.threes.row import THREE, ZERO, lanes_that_moved, transpose


@jit(inline=True)
def initial_state(S, i, T):
    S[i, 0] = ZERO
    S[i, 1] = r.SETUP | (r.FULL_DECK << r.DECK)


@jit(inline=True)
def stage(S, i, T):
    return np.int64(S[i, 1] & THREE)


@jit(inline=True)
def current_player(S, i, T):
    phase = S[i, 1] & THREE
    if phase == r.DECISION:
        return 0
    if phase == r.SETUP:
        return CHANCE
    if T.top == r.END_AT_12288 and r.has_12288(S[i, 0]):
        return TERMINAL
    if phase == r.DRAW and r.is_dead(S[i, 0], T):
        return TERMINAL
    return CHANCE


@jit(inline=True)
def returns(S, i, T):
    if S[i, 1] & THREE == r.SETUP:
        return 0.0
    return np.float64(r.sum_of_rows(S[i, 0], T.points)) - 3.0 * np.float64((S[i, 1] >> r.START) & r.FIFTEEN)


@jit(inline=True)
def legal_actions(S, i, A, T):
    b = S[i, 0]
    columns = r.ways_of(transpose(b), T)
    rows = r.ways_of(b, T)
    n = 0
    if columns & 1:
        A[n] = 0
        n += 1
    if columns & 2:
        A[n] = 1
        n += 1
    if rows & 1:
        A[n] = 2
        n += 1
    if rows & 2:
        A[n] = 3
        n += 1
    return n


@jit(inline=True)
def apply_action(S, i, a, j, T):
    b = S[i, 0]
    word = S[i, 1]
    if a < 2:
        b = transpose(b)
    after = r.looked_up(b, T.slide_high) if a & 1 else r.looked_up(b, T.slide_low)
    lanes = lanes_that_moved(b, after) if T.entry == r.MOVED_LANE else r.empty_edges(after, a)
    S[j, 0] = transpose(after) if a < 2 else after
    S[j, 1] = (word | r.ENTER) | (lanes << r.LANES) | (u64(a) << r.DIRECTION)


@jit(inline=True)
def put_afterstate(S, j, n, before, after, a, T):
    """Writes the board after slide a (in lines) as the n-th from row j on, if anything moved; returns the new number."""
    if after == before:
        return n
    lanes = lanes_that_moved(before, after) if T.entry == r.MOVED_LANE else r.empty_edges(after, a)
    S[j + n, 0] = transpose(after) if a < 2 else after
    S[j + n, 1] = r.ENTER | (lanes << r.LANES) | (u64(a) << r.DIRECTION)
    return n + r.ONE


@jit(inline=True)
def afterstates(S, i, j, T):
    """Slides the board of row i once for all tiles that may be drawn there; not where a 12288 ends the game at once."""
    b = S[i, 0]
    t = transpose(b)
    if S[i, 1] & THREE != r.DRAW:
        return np.int64(0)
    up, down = r.looked_up(t, T.slide_low), r.looked_up(t, T.slide_high)
    left, right = r.looked_up(b, T.slide_low), r.looked_up(b, T.slide_high)
    if T.top == r.END_AT_12288 and (r.has_12288(up) or r.has_12288(down) or r.has_12288(left) or r.has_12288(right)):
        return np.int64(0)
    n = put_afterstate(S, j, ZERO, t, up, 0, T)
    n = put_afterstate(S, j, n, t, down, 1, T)
    n = put_afterstate(S, j, n, b, left, 2, T)
    return np.int64(put_afterstate(S, j, n, b, right, 3, T))


@jit(inline=True)
def apply_outcome(S, k, o, j, T):
    S[j, 0] = S[k, 0]
    S[j, 1] = S[o, 1] | S[k, 1]


@jit(inline=True)
def merge_points(S, i, j, k, T):
    """The reward "merges": the points made by merging, without those of entering tiles."""
    return np.float64(r.sum_of_rows(S[j, 0], T.points) - r.sum_of_rows(S[i, 0], T.points))


@jit(inline=True)
def survival(S, i, j, k, T):
    """The reward "survival": 1 for every legal slide."""
    return 1.0
