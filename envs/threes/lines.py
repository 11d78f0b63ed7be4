"""Sums over the eight lines of a board, for all boards after one slide: each board needs two lookups instead of eight.

In the frame whose rows are the lanes of the slide, an entering tile changes its row and the column at the edge. The values of
these lines are stored side by side for each tile, so that four tiles are valued at a time. Additions keep the order of a single
board, so that values are the same to the last bit.
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
"""All cells of a line except the first."""
COUNTS = CELLS_APART * FIFTEEN
FULL_BUT_ONE = u64(15)
NO_PLACE = u64(64)
NEGATIVE_ZERO = np.float32(-0.0)
"""The neutral element of addition: it also keeps the sign of a zero."""
NEGATIVE_ZEROS, ZEROS, ONES = (-0.0, -0.0, -0.0, -0.0), (0.0, 0.0, 0.0, 0.0), (1.0, 1.0, 1.0, 1.0)
SHARES = np.array([1.0 / max(1, n) for n in range(5)])
"""The probability of a lane among n lanes, by n."""
PARTS = np.array([(lanes >> lane & 1) / max(1, lanes.bit_count()) for lanes in range(16) for lane in range(4)])
"""The probability of each lane, for each set of lanes."""


class ByTile(NamedTuple):
    """Line tables arranged by the tile in one cell, side by side: ranks 1 to 4, then 4 to 15."""

    value: Floats32
    """Value of a line, at index cell << 16 | line, where the line is rotated until the cell comes first and holds the tile's
    slot.
    """
    twice: Words
    """The cells with a neighbour of twice their value, in groups of four tiles."""
    twice_worth: Floats
    """The value of n such cells, [17]."""
    worth: Floats
    """Scratch: values of boards after a tile has entered, times their probabilities; [4 * 16]."""


def by_tile(value: Floats32, twice: NDArray[np.uint16], twice_bonus: float) -> ByTile:
    """Returns the tables in this layout from tables by line, [65536]; `twice` with a single entry means none."""
    rotated = np.arange(65536)
    rotated += rotated & 15 < 4
    lines = np.concatenate([(rotated << 4 * cell | rotated >> (16 - 4 * cell)) & 0xFFFF for cell in range(4)])
    groups = twice[lines if len(twice) > 1 else np.zeros(4, dtype=np.int64)].astype(np.uint64).reshape(-1, 4)
    packed = np.bitwise_or.reduce(groups << np.arange(0, 64, 16, dtype=np.uint64), axis=1)
    return ByTile(value[lines], packed, twice_bonus * np.arange(17.0), np.zeros(64))


class Frame(NamedTuple):
    """A board after a slide, with the lanes of the slide as rows: what all boards after an entry have in common."""

    x: Any
    """Its rows."""
    turned: Any
    """Its rows without the cells in which a tile may enter, rotated until these come first."""
    edge: Any
    """The column of these cells."""
    cell: Any
    """Their place in a row, 0 or 3."""
    lanes: Any
    """The rows in which a tile may enter, a bit each."""
    rows: Any
    """The value of each row."""
    column: Any
    """The terms to add to the column at the edge."""
    twice: Any
    """The cells with a neighbour of twice their value: in row or column, without the cells at the edge; in their column,
    without those; and the cells at the edge, as a line, in their row.
    """


@jit(inline=True)
def twice_apart(x, y, cell, T):
    """Returns `Frame.twice`."""
    along, across = looked_up(x, T.leaf.twice), transpose(looked_up(y, T.leaf.twice))
    inner = ~((FIFTEEN * CELLS_APART) << (FOUR * cell))
    return (along | across) & inner, across & inner, (transpose(along) >> (S16 * cell)) & LINE


@jit(inline=True)
def twice_more(frame, lane, i, j, T):
    """Returns the values of cells with a neighbour of twice their value, for four tiles in a lane; i and j index its row and
    the column.
    """
    within, across, edge = frame.twice
    table, worth = T.leaf.by_tile.twice, T.leaf.by_tile.twice_worth
    row, column, k = table[i >> TWO], table[j >> TWO], S16 * lane
    beside = (row | (((across >> k) & LINE) * CELLS_APART)) + (
        column | ((edge & ~(ONE << (FOUR * lane))) * CELLS_APART)
    )
    beside += (beside >> FOUR) + (beside >> S8) + (beside >> S12)
    corner = (
        (row >> (FOUR * frame.cell)) & (column >> (FOUR * lane)) & CELLS_APART
    )  # counted in the row and in the column
    counts = (beside & COUNTS) - corner + count_bits(within & ~(LINE << k)) * CELLS_APART
    return (
        worth[counts & u64(31)],
        worth[(counts >> S16) & u64(31)],
        worth[(counts >> S32) & u64(31)],
        worth[counts >> S48],
    )


def make_line_siblings(room: Path, *, loses: bool, twice: bool) -> Compiled:
    """Compiles the sibling values of leaves that sum line tables; `loses`: a board without a slide is worth 0."""
    inlined = bind(room, inline=True)

    @inlined
    def frame_of(S, k, T):
        """Returns the frame of afterstate k."""
        b, word = S[k, 0], S[k, 1]
        t, direction = transpose(b), get(word, DIRECTION)
        x, y = (t, b) if direction < TWO else (b, t)
        v = T.leaf.value
        c0, c1, c2, c3 = v[y & LINE], v[(y >> S16) & LINE], v[(y >> S32) & LINE], v[y >> S48]
        rows = v[x & LINE], v[(x >> S16) & LINE], v[(x >> S32) & LINE], v[x >> S48]
        turned, edge, cell, column = (
            x << FOUR,
            y >> S48,
            THREE,
            (c0 + c1 + c2, NEGATIVE_ZERO, NEGATIVE_ZERO, NEGATIVE_ZERO),
        )
        if direction & ONE:
            turned, edge, cell, column = x, y & LINE, ZERO, (NEGATIVE_ZERO, c1, c2, c3)
        twice_cells = twice_apart(x, y, cell, T) if twice else (ZERO, ZERO, ZERO)
        return Frame(x, turned, edge, cell, get(word, LANES), rows, column, twice_cells)

    @inlined
    def entry_of(frame, lane, row):
        """Returns an entry into a lane: the lane, the table indices of its row and the column, and the terms to add to the row."""
        i = ((frame.turned >> (S16 * lane)) & BUT_FIRST) | (frame.cell << S16)
        j = (((frame.edge | (frame.edge << S16)) >> (FOUR * lane)) & BUT_FIRST) | (lane << S16)
        return lane, i, j, row

    @inlined
    def add_boards(total, parts, frame, entry, slot, T):
        """Adds four boards, times their parts, to four totals: those with the tile of a slot, or of the next three, in the lane."""
        lane, i, j, row = entry
        more = twice_more(frame, lane, i | slot, j | slot, T) if twice else NEGATIVE_ZEROS
        return add_runs(total, parts, T.leaf.by_tile.value, i | slot, row, j | slot, frame.column, more)

    @inlined
    def add_part(total, part, frame, entry, T):
        """Adds the boards with one of the first four tiles in the lane, all times one part."""
        return add_boards(total, (part, part, part, part), frame, entry, ZERO, T)

    @inlined
    def value_bonuses(frame, entry, low, high, entries, m, T):
        """Writes the values of boards with a bonus in a lane, the m-th of `entries`; returns m of the next lane."""
        if (frame.lanes >> entry[0]) & ONE == ZERO:
            return m
        worth = T.leaf.by_tile.worth
        for slot in range(low & ~THREE, high + ONE, FOUR):
            values = add_boards(NEGATIVE_ZEROS, ONES, frame, entry, slot, T)
            for k in range(4):
                worth[entries * (slot + u64(k)) + m] = values[k]
        return m + ONE

    @inlined
    def mean_of_bonuses(frame, lane_entries, place, word, T):
        """Returns the number of boards with an entered bonus, and their mean."""
        # The boards of each rank, one for each lane. A dead board is worth 0; only a single lane can leave one.
        low, high = get(word, LOW), get(word, HIGH)
        worth, entries, m = T.leaf.by_tile.worth, count_bits(frame.lanes), ZERO
        m = value_bonuses(frame, lane_entries[0], low, high, entries, m, T)
        m = value_bonuses(frame, lane_entries[1], low, high, entries, m, T)
        m = value_bonuses(frame, lane_entries[2], low, high, entries, m, T)
        m = value_bonuses(frame, lane_entries[3], low, high, entries, m, T)
        if place < NO_PLACE:
            for rank in range(low, high + ONE):
                if is_dead(frame.x | (u64(rank) << place), T.ways):
                    worth[rank] = 0.0
        # Their mean, with ranks equally likely or weighted by the variant.
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

    @inlined
    def means_of_lines(S, k, o, end, M, P, T):
        """Values the leaves after an afterstate for each outcome; see `Speed.sibling_values`."""
        # The means over the lanes, for each of the first four tiles.
        frame = frame_of(S, k, T)
        r0, r1, r2, r3 = frame.rows
        lane_entries = (
            entry_of(frame, ZERO, (NEGATIVE_ZERO, r1, r2, r3)),
            entry_of(frame, ONE, (r0, r2, r3, NEGATIVE_ZERO)),
            entry_of(frame, TWO, (r0 + r1, r3, NEGATIVE_ZERO, NEGATIVE_ZERO)),
            entry_of(frame, THREE, (r0 + r1 + r2, NEGATIVE_ZERO, NEGATIVE_ZERO, NEGATIVE_ZERO)),
        )
        lanes, worth, entries = FOUR * frame.lanes, T.leaf.by_tile.worth, count_bits(frame.lanes)
        total = add_part(ZEROS, PARTS[lanes], frame, lane_entries[0], T)
        total = add_part(total, PARTS[lanes + ONE], frame, lane_entries[1], T)
        total = add_part(total, PARTS[lanes + TWO], frame, lane_entries[2], T)
        worth[0], worth[1], worth[2], worth[3] = add_part(total, PARTS[lanes + THREE], frame, lane_entries[3], T)
        # The bit position of the tile, if it may leave a dead board.
        leaves, place = ZERO, NO_PLACE
        if loses and count_bits(occupied(frame.x)) == FULL_BUT_ONE:  # only such a board can die; it has one lane
            place = S16 * count_bits(frame.lanes - ONE) + FOUR * frame.cell
        # Each outcome, by the tile shown.
        for q in range(o, end):
            word = S[q, 1]
            tile, low, high = get(word, SHOWN), get(word, LOW), get(word, HIGH)
            if tile == WHITE:
                return 0
            n, mean = entries, 0.0
            if tile == PLUS and (low < high or high > FOUR):
                n, mean = mean_of_bonuses(frame, lane_entries, place, word, T)
            elif place == NO_PLACE or not is_dead(frame.x | (tile << place), T.ways):
                mean = worth[tile - ONE]  # PLUS is also the rank of the lowest bonus
            leaves += n
            M[q] = mean if mean > M[q] else M[q]
        return np.int64(leaves)

    return means_of_lines
