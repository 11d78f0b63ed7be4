"""Sums over the eight lines of a board, for all boards that one slide may lead to: two lines of each are looked up, not eight.

Seen in the frame in which the slide went along rows, a tile that enters changes its row and the column at the edge. What these are
worth with each tile stands side by side in a table, so that four tiles are valued at a time. Additions keep the order in which a
board alone adds up, so that values are the same to the last bit.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.arrays import Floats, Floats32, Words
from leafwise.envs.core.compile.intrinsics import add_runs
from leafwise.envs.core.compile.jit import bind, jit
from leafwise.envs.core.contract.bits import (
    FOUR,
    LINE,
    ONE,
    S8,
    S12,
    S16,
    S32,
    S48,
    THREE,
    TWO,
    ZERO,
    count_bits,
    looked_up,
    occupied,
    transpose,
)
from leafwise.envs.core.contract.rules import Compiled
from leafwise.envs.core.contract.stream import u64
from leafwise.envs.threes.rules import (
    DIRECTION,
    FIFTEEN,
    HIGH,
    LANES,
    LOW,
    PLUS,
    SHOWN,
    UNIFORM,
    WHITE,
    bonus_weight,
    entering_law,
    get,
    is_dead,
    sum_of_weights,
)

CELLS_APART = u64(0x0001000100010001)
"""The first cells of four lines."""
BUT_FIRST = u64(0xFFF0)
"""All cells of a line but the first."""
COUNTS = CELLS_APART * FIFTEEN
FULL_BUT_ONE = u64(15)
NO_PLACE = u64(64)
NOTHING = np.float32(-0.0)
"""Added to a number, it leaves it as it is, a zero too."""
NOTHINGS, ZEROS, ONES = (-0.0, -0.0, -0.0, -0.0), (0.0, 0.0, 0.0, 0.0), (1.0, 1.0, 1.0, 1.0)
SHARES = np.array([1.0 / max(1, n) for n in range(5)])
"""The probability of one of so many lanes."""
PARTS = np.array([(lanes >> lane & 1) / max(1, lanes.bit_count()) for lanes in range(16) for lane in range(4)])
"""The probability of each lane, for each set of lanes."""


class ByTile(NamedTuple):
    """What line tables say of a line with each tile in one of its cells, side by side: of ranks 1 to 4, then of 4 to 15."""

    value: Floats32
    """Value of the line; at cell << 16 | the line turned until the cell comes first, with the place among these ranks there."""
    twice: Words
    """Which cells have a neighbour of twice their value, in groups of four tiles."""
    twice_worth: Floats
    """What so many such cells are worth, [17]."""
    worth: Floats
    """Scratch: what boards are worth in which a tile has entered, each times its probability; [4 * 16]."""


def by_tile(value: Floats32, twice: NDArray[np.uint16], twice_bonus: float) -> ByTile:
    """Returns what is looked up of tables by line, [65536]; `twice` may be of one entry, for none."""
    turned = np.arange(65536)
    turned += turned & 15 < 4
    lines = np.concatenate([(turned << 4 * cell | turned >> (16 - 4 * cell)) & 0xFFFF for cell in range(4)])
    groups = twice[lines if len(twice) > 1 else np.zeros(4, dtype=np.int64)].astype(np.uint64).reshape(-1, 4)
    packed = np.bitwise_or.reduce(groups << np.arange(0, 64, 16, dtype=np.uint64), axis=1)
    return ByTile(value[lines], packed, twice_bonus * np.arange(17.0), np.zeros(64))


class Frame(NamedTuple):
    """A board after a slide, the lanes of the slide as its rows: what all boards have in common in which a tile enters."""

    x: Any
    """Its rows."""
    turned: Any
    """Its rows without the cells in which a tile may enter, turned until these come first."""
    edge: Any
    """The column of these cells."""
    cell: Any
    """Where they are in a row, 0 or 3."""
    lanes: Any
    """The rows in which a tile may enter, a bit each."""
    rows: Any
    """What each row is worth."""
    column: Any
    """What is added to the column at the edge."""
    twice: Any
    """Which cells have a neighbour of twice their value: in row or column, but for the cells at the edge; in their column, but for
    those; and of those at the edge, as a line, in their row."""


@jit(inline=True)
def twice_apart(x, y, cell, T):
    """Returns `Frame.twice`."""
    along, across = looked_up(x, T.leaf.twice), transpose(looked_up(y, T.leaf.twice))
    inner = ~((FIFTEEN * CELLS_APART) << (FOUR * cell))
    return (along | across) & inner, across & inner, (transpose(along) >> (S16 * cell)) & LINE


@jit(inline=True)
def twice_more(frame, lane, i, j, T):
    """Returns what cells with a neighbour of twice their value are worth with each of four tiles in a lane; i and j: where tables
    have its row and the column."""
    within, across, edge = frame.twice
    table, worth = T.leaf.by_tile.twice, T.leaf.by_tile.twice_worth
    row, column, k = table[i >> TWO], table[j >> TWO], S16 * lane
    beside = (row | (((across >> k) & LINE) * CELLS_APART)) + (
        column | ((edge & ~(ONE << (FOUR * lane))) * CELLS_APART)
    )
    beside += (beside >> FOUR) + (beside >> S8) + (beside >> S12)
    corner = (row >> (FOUR * frame.cell)) & (column >> (FOUR * lane)) & CELLS_APART  # counted in both
    counts = (beside & COUNTS) - corner + count_bits(within & ~(LINE << k)) * CELLS_APART
    return (
        worth[counts & u64(31)],
        worth[(counts >> S16) & u64(31)],
        worth[(counts >> S32) & u64(31)],
        worth[counts >> S48],
    )


def make_line_siblings(room: Path, *, loses: bool, twice: bool) -> Compiled:
    """Returns how leaves that add up line tables are valued together; `loses`: a board without a slide is worth 0."""
    own = bind(room, inline=True)

    @own
    def frame_of(S, k, T):
        """Returns the frame of afterstate k."""
        b, word = S[k, 0], S[k, 1]
        t, direction = transpose(b), get(word, DIRECTION)
        x, y = (t, b) if direction < TWO else (b, t)
        v = T.leaf.value
        c0, c1, c2, c3 = v[y & LINE], v[(y >> S16) & LINE], v[(y >> S32) & LINE], v[y >> S48]
        rows = v[x & LINE], v[(x >> S16) & LINE], v[(x >> S32) & LINE], v[x >> S48]
        turned, edge, cell, column = x << FOUR, y >> S48, THREE, (c0 + c1 + c2, NOTHING, NOTHING, NOTHING)
        if direction & ONE:
            turned, edge, cell, column = x, y & LINE, ZERO, (NOTHING, c1, c2, c3)
        seen = twice_apart(x, y, cell, T) if twice else (ZERO, ZERO, ZERO)
        return Frame(x, turned, edge, cell, get(word, LANES), rows, column, seen)

    @own
    def way_of(frame, lane, row):
        """Returns how a tile enters a lane: the lane, where tables have its row and the column, and what is added to the row."""
        i = ((frame.turned >> (S16 * lane)) & BUT_FIRST) | (frame.cell << S16)
        j = (((frame.edge | (frame.edge << S16)) >> (FOUR * lane)) & BUT_FIRST) | (lane << S16)
        return lane, i, j, row

    @own
    def add_boards(total, parts, frame, way, slot, T):
        """Adds to four totals the boards, each times its part, in which the tile at a slot or at the three after it has entered."""
        lane, i, j, row = way
        more = twice_more(frame, lane, i | slot, j | slot, T) if twice else NOTHINGS
        return add_runs(total, parts, T.leaf.by_tile.value, i | slot, row, j | slot, frame.column, more)

    @own
    def add_part(total, part, frame, way, T):
        """Adds the boards, all times one part, in which one of the first four tiles has entered."""
        return add_boards(total, (part, part, part, part), frame, way, ZERO, T)

    @own
    def value_bonuses(frame, way, low, high, entries, m, T):
        """Writes what the boards are worth in which a bonus has entered the m-th of so many lanes; returns m for the next."""
        if (frame.lanes >> way[0]) & ONE == ZERO:
            return m
        worth = T.leaf.by_tile.worth
        for slot in range(low & ~THREE, high + ONE, FOUR):
            found = add_boards(NOTHINGS, ONES, frame, way, slot, T)
            for k in range(4):
                worth[entries * (slot + u64(k)) + m] = found[k]
        return m + ONE

    @own
    def mean_of_bonuses(frame, ways, place, word, T):
        """Returns how many boards there are in which a bonus has entered, and their mean."""
        # Each rank's boards, a lane each; a dead one, where there is a single lane, is worth 0
        low, high = get(word, LOW), get(word, HIGH)
        worth, entries, m = T.leaf.by_tile.worth, count_bits(frame.lanes), ZERO
        m = value_bonuses(frame, ways[0], low, high, entries, m, T)
        m = value_bonuses(frame, ways[1], low, high, entries, m, T)
        m = value_bonuses(frame, ways[2], low, high, entries, m, T)
        m = value_bonuses(frame, ways[3], low, high, entries, m, T)
        if place < NO_PLACE:
            for rank in range(low, high + ONE):
                if is_dead(frame.x | (u64(rank) << place), T.ways):
                    worth[rank] = 0.0
        # Their mean, the ranks equally likely or weighted as the variant says
        law = entering_law(T)
        share, total = SHARES[entries], 0.0
        if law == UNIFORM:
            part = share / np.float64(high - low + ONE)
            for at in range(entries * low, entries * (high + ONE)):
                total += part * worth[at]
        else:
            weights = sum_of_weights(low, high, law)
            for at in range(entries * low, entries * (high + ONE)):
                total += share * bonus_weight(u64(at) // entries, low, high, law) / weights * worth[at]
        return entries * (high - low + ONE), total

    @own
    def means_of_lines(S, k, o, end, M, P, T):
        # The means over the lanes, for each of the first four tiles
        frame = frame_of(S, k, T)
        r0, r1, r2, r3 = frame.rows
        ways = (
            way_of(frame, ZERO, (NOTHING, r1, r2, r3)),
            way_of(frame, ONE, (r0, r2, r3, NOTHING)),
            way_of(frame, TWO, (r0 + r1, r3, NOTHING, NOTHING)),
            way_of(frame, THREE, (r0 + r1 + r2, NOTHING, NOTHING, NOTHING)),
        )
        lanes, worth, entries = FOUR * frame.lanes, T.leaf.by_tile.worth, count_bits(frame.lanes)
        total = add_part(ZEROS, PARTS[lanes], frame, ways[0], T)
        total = add_part(total, PARTS[lanes + ONE], frame, ways[1], T)
        total = add_part(total, PARTS[lanes + TWO], frame, ways[2], T)
        worth[0], worth[1], worth[2], worth[3] = add_part(total, PARTS[lanes + THREE], frame, ways[3], T)
        # The place of the tile where it may leave a dead board
        leaves, place = ZERO, NO_PLACE
        if loses and count_bits(occupied(frame.x)) == FULL_BUT_ONE:  # no other board can die; there is one lane
            place = S16 * count_bits(frame.lanes - ONE) + FOUR * frame.cell
        # Each outcome, by the tile that it shows
        for q in range(o, end):
            word = S[q, 1]
            tile, low, high = get(word, SHOWN), get(word, LOW), get(word, HIGH)
            if tile == WHITE:
                return 0
            n, mean = entries, 0.0
            if tile == PLUS and (low < high or high > FOUR):
                n, mean = mean_of_bonuses(frame, ways, place, word, T)
            elif place == NO_PLACE or not is_dead(frame.x | (tile << place), T.ways):
                mean = worth[tile - ONE]  # PLUS is also the rank of the least bonus
            leaves += n
            M[q] = mean if mean > M[q] else M[q]
        return np.int64(leaves)

    return means_of_lines
