"""Sums over the eight lines of a board, for all boards that one slide may lead to: two lines of each are looked up, not eight.

Seen in the frame in which the slide went along rows, a tile that enters changes its row and the column at the edge. Additions keep
the order in which a board alone adds up, so that values are the same to the last bit.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from leafwise.envs.core.compile.jit import bind, jit
from leafwise.envs.core.contract.bits import count_bits
from leafwise.envs.core.contract.evaluator import Siblings
from leafwise.envs.core.contract.stream import u64
from leafwise.envs.threes import row as r
from leafwise.envs.threes.chance import bonus_weight
from leafwise.envs.threes.row import FOUR, LINE, ONE, S12, S16, S32, S48, TWO, ZERO, occupied, transpose

FIRST_OF_LINES = u64(0x0001000100010001)
S24, S36 = u64(24), u64(36)
FULL_BUT_ONE = u64(15)


@jit(inline=True)
def in_column(mask):
    """Puts the cells of a line (bits 0, 4, 8, 12) below each other: into the first cells of four lines."""
    return (mask | (mask << S12) | (mask << S24) | (mask << S36)) & FIRST_OF_LINES


@jit(inline=True)
def with_line(mask, k, line):
    """Returns a board with another line k."""
    return (mask & ~(LINE << (S16 * k))) | (line << (S16 * k))


@jit(inline=True)
def shared_by_lines(S, j, T):
    """Returns what the boards have in common in which a tile enters board j.

    The board with the slide's lanes as rows, and as columns; the line at its edge, whether that is the first one; whether one
    cell alone is empty; the rows' shares of the value, added up to each, and alone; the columns' shares before the edge and after
    it; the lanes in which the tile may enter, how many, and the probability of each.
    """
    b, word = S[j, 0], S[j, 1]
    direction = (word >> r.DIRECTION) & r.THREE
    x, y = b, transpose(b)
    if direction < TWO:
        x, y = y, x
    v = T.leaf.value
    c0, c1, c2, c3 = v[y & LINE], v[(y >> S16) & LINE], v[(y >> S32) & LINE], v[y >> S48]
    r0, r1, r2, r3 = v[x & LINE], v[(x >> S16) & LINE], v[(x >> S32) & LINE], v[x >> S48]
    first = direction & ONE != ZERO
    tight = count_bits(occupied(b)) == FULL_BUT_ONE
    edge = y & LINE if first else y >> S48
    lanes = (word >> r.LANES) & r.FIFTEEN if word & r.THREE == r.ENTER else ZERO
    n = np.int64(count_bits(lanes))
    rows, columns = (r0, r0 + r1, r0 + r1 + r2), (c0 + c1 + c2, c1, c2, c3)
    return x, y, edge, first, tight, rows, (r1, r2, r3), columns, (lanes, n, 1.0 / np.float64(n))


@jit(inline=True)
def columns_with(shared, tile, k, T):
    """Returns the columns' share of the value once a tile has entered lane k."""
    (before, c1, c2, c3), edge, first = shared[7], shared[2], shared[3]
    found = T.leaf.value[edge | (tile << (FOUR * k))]
    return found + c1 + c2 + c3 if first else before + found


@jit(inline=True)
def twice_with(shared, tile, k, T):
    """Returns how many cells have a neighbour of twice their value once a tile has entered lane k."""
    x, y, edge, first = shared[0], shared[1], shared[2], shared[3]
    end = ZERO if first else S12
    line = ((x >> (S16 * k)) & LINE) | (tile << end)
    along = with_line(r.looked_up(x, T.leaf.twice), k, u64(T.leaf.twice[line]))
    across = with_line(
        r.looked_up(y, T.leaf.twice), ZERO if first else r.THREE, u64(T.leaf.twice[edge | (tile << (FOUR * k))])
    )
    return np.float64(count_bits(along | transpose(across)))


def make_line_siblings(name: str, room: Path, *, loses: bool, twice: bool) -> Siblings:
    """Returns how leaves that add up line tables are valued together; `loses`: a board without a slide is worth 0."""

    @bind(name, room, inline=True)
    def value_with(shared, tile, k, rows, T):
        """Returns the value of the board in which a tile has entered lane k, its rows worth `rows`."""
        worth = np.float64(rows) + np.float64(columns_with(shared, tile, k, T))
        if twice:
            worth += T.leaf.twice_bonus * twice_with(shared, tile, k, T)
        return worth

    @bind(name, room, inline=True)
    def add_lanes(shared, lanes, tile, share, total, T):
        """Adds the boards in which a tile enters one of the lanes, each times its probability."""
        x, (r0, r01, r012), (r1, r2, r3) = shared[0], shared[5], shared[6]
        v, end = T.leaf.value, ZERO if shared[3] else S12
        cell = tile << end
        if lanes & ONE:
            total += share * value_with(shared, tile, ZERO, v[(x & LINE) | cell] + r1 + r2 + r3, T)
        if lanes & TWO:
            total += share * value_with(shared, tile, ONE, r0 + v[((x >> S16) & LINE) | cell] + r2 + r3, T)
        if lanes & FOUR:
            total += share * value_with(shared, tile, TWO, r01 + v[((x >> S32) & LINE) | cell] + r3, T)
        if lanes & r.EIGHT:
            total += share * value_with(shared, tile, r.THREE, r012 + v[(x >> S48) | cell], T)
        return total

    @bind(name, room, inline=True)
    def mean_of_lines(S, j, shared, P, o, T):
        word = S[j, 1]
        shown = (word >> r.SHOWN) & r.SEVEN
        lanes, n, share = shared[8]
        if lanes == ZERO or shown == r.WHITE:
            return 0, 0.0
        may_die = loses and shared[4]  # a tile fills the board: there is one lane, and no other board can die
        cell = r.entry_shift(count_bits(lanes - ONE), (word >> r.DIRECTION) & r.THREE)
        low, high, weights, uniform = shown, shown, 1.0, True
        law = T.bonus_value if T.hint != r.HINT_WINDOW3 else r.UNIFORM
        if shown == r.PLUS:
            low, high = (word >> r.LOW) & r.FIFTEEN, (word >> r.HIGH) & r.FIFTEEN
            uniform = law == r.UNIFORM
            weights = np.float64(high - low + ONE)
            if not uniform:
                weights = 0.0
                for rank in range(low, high + ONE):
                    weights += bonus_weight(u64(rank), low, high, law)
        total, part = 0.0, share / weights
        for rank in range(low, high + ONE):
            if may_die and r.is_dead(S[j, 0] | (u64(rank) << cell), T):
                continue  # worth 0
            if not uniform:
                part = share * bonus_weight(u64(rank), low, high, law) / weights
            total = add_lanes(shared, lanes, u64(rank), part, total, T)
        return n * np.int64(high - low + ONE), total

    return Siblings(shared_by_lines, mean_of_lines)
