"""The board in compiled code: cells, walls and doors of a state row, and the bit planes that mirror them.

A plane is one uint64 for each row of the grid. `EAST` and `SOUTH` say between which neighbours one may walk, so that
one breadth-first step over the whole board is a handful of shifts a row.
"""

from __future__ import annotations

import numpy as np

from leafwise.envs.core.compile.jit import jit
from leafwise.envs.starship.catalogue import ARMOUR, CORRIDOR, ROOM, SPACE
from leafwise.envs.starship.tables import (
    DOOR_EAST,
    DOOR_SOUTH,
    EAST,
    FLOOR,
    HEADER,
    HULL,
    MARGIN_ROWS,
    PARTS_PLACED,
    SEEN,
    SOUTH,
    VALUE,
)

u64 = np.uint64
ZERO, ONE = u64(0), u64(1)
M1, M2, M4, H01 = u64(0x5555555555555555), u64(0x3333333333333333), u64(0x0F0F0F0F0F0F0F0F), u64(0x0101010101010101)
S1, S2, S4, S56 = u64(1), u64(2), u64(4), u64(56)


@jit(inline=True)
def popcount(b):
    """Returns the number of set bits of `b`."""
    b = b - ((b >> S1) & M1)
    b = (b & M2) + ((b >> S2) & M2)
    b = (b + (b >> S4)) & M4
    return np.int64((b * H01) >> S56)


@jit(inline=True)
def lowest(b):
    """Returns the index of the lowest set bit of `b`, which must not be 0."""
    return popcount((b & (~b + ONE)) - ONE)


@jit(inline=True)
def bit(x):
    """Returns the word with only bit `x` set."""
    return ONE << u64(x)


@jit(inline=True)
def span(x, w):
    """Returns the word with the `w` bits from `x` on set; w < 64."""
    return ((ONE << u64(w)) - ONE) << u64(x)


@jit(inline=True)
def cell_value(S, i, T, x, y):
    """Returns SPACE, ARMOUR, CORRIDOR or ROOM + part of a cell; SPACE off the grid."""
    if x < 0 or y < 0 or x >= T.grid or y >= T.grid:
        return np.int64(SPACE)
    return np.int64(S[i, HEADER + y * T.grid + x]) & VALUE


@jit(inline=True)
def part_word(T, k):
    """Returns the index of the first word of part number `k` in a row."""
    return HEADER + T.grid * T.grid + 2 * k


@jit(inline=True)
def part_kind(S, i, T, k):
    """Returns the catalogue number of the part placed as number `k`."""
    return np.int64(S[i, part_word(T, k)]) & 15


@jit(inline=True)
def part_rotation(S, i, T, k):
    """Returns the rotation of part number `k`."""
    return (np.int64(S[i, part_word(T, k)]) >> 4) & 3


@jit(inline=True)
def part_x(S, i, T, k):
    """Returns the left column of part number `k`."""
    return np.int64(S[i, part_word(T, k) + 1]) & 255


@jit(inline=True)
def part_y(S, i, T, k):
    """Returns the top row of part number `k`."""
    return np.int64(S[i, part_word(T, k) + 1]) >> 8


@jit
def load_planes(S, i, T):
    """Builds the planes HULL, FLOOR, EAST and SOUTH from row `i`."""
    B = T.B
    for row in range(MARGIN_ROWS):
        if row == 0 or row > T.grid:
            B[HULL, row], B[FLOOR, row], B[EAST, row], B[SOUTH, row] = ZERO, ZERO, ZERO, ZERO
    for y in range(T.grid):
        hull, floor, east, south = ZERO, ZERO, ZERO, ZERO
        for x in range(T.grid):
            word = np.int64(S[i, HEADER + y * T.grid + x])
            if word == SPACE:  # it never has a door
                continue
            value = word & VALUE
            hull |= bit(x)
            if value == CORRIDOR:
                floor |= bit(x)
            if value >= CORRIDOR:
                if (word & DOOR_EAST) != 0 or cell_value(S, i, T, x + 1, y) == value:
                    east |= bit(x)
                if (word & DOOR_SOUTH) != 0 or cell_value(S, i, T, x, y + 1) == value:
                    south |= bit(x)
        B[HULL, y + 1] = hull
        B[FLOOR, y + 1] = floor
        B[EAST, y + 1] = east
        B[SOUTH, y + 1] = south


@jit
def open_hull(S, i, T):
    """Turns every cell of the plane HULL into corridor in row `i`, all else into SPACE, and builds the planes."""
    for y in range(T.grid):
        for x in range(T.grid):
            inside = (T.B[HULL, y + 1] >> u64(x)) & ONE
            S[i, HEADER + y * T.grid + x] = CORRIDOR if inside != ZERO else SPACE
    load_planes(S, i, T)


@jit
def wall_off(B, x, y):
    """Clears the floor of one cell in the planes and closes its four edges."""
    here = bit(x)
    B[FLOOR, y + 1] &= ~here
    B[EAST, y + 1] &= ~(here | (here >> ONE))
    B[SOUTH, y + 1] &= ~here
    B[SOUTH, y] &= ~here


@jit
def put_armour(S, i, T, x, y):
    """Turns the corridor cell (x, y) into armour."""
    S[i, HEADER + y * T.grid + x] = ARMOUR
    wall_off(T.B, x, y)


@jit
def put_door(S, i, T, x, y, d):
    """Puts a door on the edge of cell (x, y) in direction `d`."""
    if d == 0:
        y -= 1
    if d == 3:
        x -= 1
    if d == 1 or d == 3:
        S[i, HEADER + y * T.grid + x] |= np.uint16(DOOR_EAST)
        T.B[EAST, y + 1] |= bit(x)
    else:
        S[i, HEADER + y * T.grid + x] |= np.uint16(DOOR_SOUTH)
        T.B[SOUTH, y + 1] |= bit(x)


@jit
def first_door(T, part, r, x, y):
    """Returns the first door slot whose outside cell is corridor, or -1."""
    for k in range(T.slots.shape[2]):
        d = T.slots[part, r, k, 2]
        if d < 0:
            break
        ox = x + T.slots[part, r, k, 0] + (1 if d == 1 else -1 if d == 3 else 0)
        oy = y + T.slots[part, r, k, 1] + (1 if d == 2 else -1 if d == 0 else 0)
        if ox >= 0 and (T.B[FLOOR, oy + 1] >> u64(ox)) & ONE != ZERO:
            return k
    return -1


@jit
def put_part(S, i, T, part, r, x, y):
    """Places a part whose placement is legal: its cells, its walls, its initial door, its entry in the list."""
    number = np.int64(S[i, PARTS_PLACED])
    w, h = T.size[part, r, 0], T.size[part, r, 1]
    slot = first_door(T, part, r, x, y)
    for yy in range(y, y + h):
        for xx in range(x, x + w):
            S[i, HEADER + yy * T.grid + xx] = ROOM + number
            wall_off(T.B, xx, yy)
    for yy in range(y, y + h):
        T.B[EAST, yy + 1] |= span(x, w - 1)
        if yy + 1 < y + h:
            T.B[SOUTH, yy + 1] |= span(x, w)
    put_door(S, i, T, x + T.slots[part, r, slot, 0], y + T.slots[part, r, slot, 1], T.slots[part, r, slot, 2])
    first = part_word(T, number)
    S[i, first] = part | (r << 4) | (slot << 8)
    S[i, first + 1] = x | (y << 8)
    S[i, PARTS_PLACED] = number + 1


@jit(inline=True)
def spread(B, top, bottom):
    """Lets the plane SEEN grow by one crew step, rows top..bottom of the grid; returns whether it grew."""
    above, grew = B[SEEN, top], ZERO
    for row in range(top + 1, bottom + 2):
        old = B[SEEN, row]
        east = B[EAST, row]
        new = old | ((old & east) << ONE) | ((old >> ONE) & east)
        new |= (above & B[SOUTH, row - 1]) | (B[SEEN, row + 1] & B[SOUTH, row])
        B[SEEN, row] = new
        grew |= new ^ old
        above = old
    return grew != ZERO


@jit(inline=True)
def open_all_round(B, x, y, w, h):
    """Returns whether the block and the ring of cells round it are all corridor: half-way round is w + h + 2 steps."""
    ring = span(x - 1, w + 2)
    missing = ZERO
    for row in range(y, y + h + 2):
        missing |= ring & ~B[FLOOR, row]
    return missing == ZERO


@jit
def contiguous(B, grid, x, y, w, h, limit):
    """Returns whether closing the `w` by `h` block at (x, y) leaves the crew a way round of at most the limit.

    All open neighbours of the block must lie within `limit + w + h - 2` steps of the first of them (by cell in raster
    order, then N, E, S, W) without entering the block. A single open neighbour needs no way round, unless it is a
    room: then the block holds the room's only door.
    """
    if limit >= 4 and x > 0 and open_all_round(B, x, y, w, h):
        return True
    block = span(x, w)
    left, right = ZERO if x == 0 else bit(x - 1), bit(x + w - 1)
    # the first open neighbour
    sx, sy = -1, -1
    for yy in range(y, y + h):
        for xx in range(x, x + w):
            here = bit(xx)
            if yy == y and B[SOUTH, yy] & here != ZERO:
                sx, sy = xx, yy - 1
            elif xx == x + w - 1 and B[EAST, yy + 1] & here != ZERO:
                sx, sy = xx + 1, yy
            elif yy == y + h - 1 and B[SOUTH, yy + 1] & here != ZERO:
                sx, sy = xx, yy + 1
            elif xx == x and B[EAST, yy + 1] & left != ZERO:
                sx, sy = xx - 1, yy
            if sx >= 0:
                break
        if sx >= 0:
            break
    if sx < 0:
        return True
    above, below = B[SOUTH, y] & block, B[SOUTH, y + h] & block
    count = popcount(above) + popcount(below)
    for row in range(y + 1, y + h + 1):
        count += popcount(B[EAST, row] & left) + popcount(B[EAST, row] & right)
    if count <= 1:
        return B[FLOOR, sy + 1] & bit(sx) != ZERO
    reach = limit + w + h - 2
    for row in range(max(0, min(sy - reach, y)), min(grid + 1, max(sy + reach + 2, y + h + 1)) + 1):
        B[SEEN, row] = ZERO
    B[SEEN, sy + 1] = bit(sx)
    top, bottom = sy, sy
    for _ in range(reach):
        top, bottom = max(0, top - 1), min(grid - 1, bottom + 1)
        grew = spread(B, top, bottom)
        missing = ZERO
        for row in range(y + 1, y + h + 1):
            B[SEEN, row] &= ~block
            missing |= (B[EAST, row] & left) & ~B[SEEN, row]
            missing |= ((B[EAST, row] & right) << ONE) & ~B[SEEN, row]
        missing |= (above & ~B[SEEN, y]) | (below & ~B[SEEN, y + h + 1])
        if missing == ZERO:
            return True
        if not grew:
            return False
    return False


@jit
def walk_is_longer(B, grid, x, y, ox, oy, steps):
    """Returns whether the crew needs more than `steps` steps from cell (x, y) to cell (ox, oy)."""
    for row in range(max(0, y - steps), min(grid + 1, y + steps + 2) + 1):
        B[SEEN, row] = ZERO
    B[SEEN, y + 1] = bit(x)
    top, bottom = y, y
    for _ in range(steps):
        top, bottom = max(0, top - 1), min(grid - 1, bottom + 1)
        grew = spread(B, top, bottom)
        if B[SEEN, oy + 1] & bit(ox) != ZERO:
            return False
        if not grew:
            return True
    return True
