"""The board in compiled code: cells, walls and doors of a state row, and the bit planes that hold the same.

A plane is one uint64 for each row of the grid. `EAST` and `SOUTH` say between which neighbours the crew can walk. A
breadth-first step over the whole board takes a few shifts a row.
"""

import numpy as np

from leafwise.envs.core.compile.jit import jit
from leafwise.envs.core.contract.bits import count_bits
from leafwise.envs.starship import tables as at
from leafwise.envs.starship.catalogue import ARMOUR, CORRIDOR, ROOM, SPACE

u64 = np.uint64
ZERO, ONE = u64(0), u64(1)


@jit(inline=True)
def popcount(b):
    """Returns the number of set bits of `b`, int64."""
    return np.int64(count_bits(b))


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
    """Returns the word with the `w` bits from `x` on set; `w` is below 64."""
    return ((ONE << u64(w)) - ONE) << u64(x)


@jit
def copy_words(source, target):
    """Copies the words of one array, a row or a plane, to another of the same length."""
    for k in range(target.shape[0]):
        target[k] = source[k]


@jit(inline=True)
def cell_value(S, i, T, x, y):
    """Returns SPACE, ARMOUR, CORRIDOR or ROOM + part of a cell; SPACE off the grid."""
    if x < 0 or y < 0 or x >= T.grid or y >= T.grid:
        return np.int64(SPACE)
    return np.int64(S[i, at.HEADER + y * T.grid + x]) & at.VALUE


@jit(inline=True)
def parts_placed(S, i):
    """Returns how many parts are placed, int64."""
    return np.int64(S[i, at.PARTS_PLACED])


@jit(inline=True)
def part_word(T, k):
    """Returns the index of the first word of part number `k` in a row."""
    return at.HEADER + T.grid * T.grid + 2 * k


@jit(inline=True)
def part_kind(S, i, T, k):
    """Returns the catalogue number of the part placed as number `k`."""
    return np.int64(S[i, part_word(T, k)]) & 15


@jit(inline=True)
def part_at(S, i, T, k):
    """Returns number `k` of the placed parts: catalogue number, rotation, left column, top row, width, height."""
    what, where = np.int64(S[i, part_word(T, k)]), np.int64(S[i, part_word(T, k) + 1])
    part, r = what & 15, (what >> 4) & 3
    return part, r, where & 255, where >> 8, T.size[part, r, 0], T.size[part, r, 1]


@jit(inline=True)
def step_x(d):
    """Returns the change of the column in one step in direction `d`."""
    return 1 if d == 1 else -1 if d == 3 else 0


@jit(inline=True)
def step_y(d):
    """Returns the change of the row in one step in direction `d`."""
    return 1 if d == 2 else -1 if d == 0 else 0


@jit
def load_planes(S, i, T):
    """Builds the planes HULL, FLOOR, EAST and SOUTH from row `i`, unless they already hold the same cells."""
    different = np.uint16(0)
    for cell in range(T.loaded.shape[0]):
        different |= T.loaded[cell] ^ S[i, at.HEADER + cell]
    if different == 0:
        return
    for cell in range(T.loaded.shape[0]):
        T.loaded[cell] = S[i, at.HEADER + cell]
    planes = T.planes
    for plane in (at.HULL, at.FLOOR, at.EAST, at.SOUTH):
        planes[plane, 0] = planes[plane, T.grid + 1] = ZERO
    for y in range(T.grid):
        hull, floor, east, south = ZERO, ZERO, ZERO, ZERO
        for x in range(T.grid):
            word = np.int64(S[i, at.HEADER + y * T.grid + x])
            if word == SPACE:  # space never has a door
                continue
            value = word & at.VALUE
            hull |= bit(x)
            if value == CORRIDOR:
                floor |= bit(x)
            if value >= CORRIDOR:
                if (word & at.DOOR_EAST) != 0 or cell_value(S, i, T, x + 1, y) == value:
                    east |= bit(x)
                if (word & at.DOOR_SOUTH) != 0 or cell_value(S, i, T, x, y + 1) == value:
                    south |= bit(x)
        planes[at.HULL, y + 1], planes[at.FLOOR, y + 1] = hull, floor
        planes[at.EAST, y + 1], planes[at.SOUTH, y + 1] = east, south


@jit
def hull_extent(T, box):
    """Writes the left, top, right and bottom of the hull into `box`; left > right if there is no hull."""
    box[0], box[1], box[2], box[3] = T.grid, T.grid, -1, -1
    columns = ZERO
    for y in range(T.grid):
        if T.planes[at.HULL, y + 1] != ZERO:
            columns |= T.planes[at.HULL, y + 1]
            box[1], box[3] = min(box[1], y), y
    for x in range(T.grid):
        if columns & bit(x) != ZERO:
            box[0], box[2] = min(box[0], x), x


@jit
def hull_area(T):
    """Returns the number of hull cells."""
    area = 0
    for row in range(1, T.grid + 1):
        area += popcount(T.planes[at.HULL, row])
    return area


@jit
def open_hull(S, i, T):
    """Turns the cells of plane HULL into corridor in row `i` and all others into SPACE, and builds the planes.

    A ship without a hull gets the reason `shape_failed`.
    """
    for y in range(T.grid):
        for x in range(T.grid):
            inside = (T.planes[at.HULL, y + 1] >> u64(x)) & ONE
            S[i, at.HEADER + y * T.grid + x] = CORRIDOR if inside != ZERO else SPACE
    T.loaded[0] = at.NO_ROW
    load_planes(S, i, T)
    if hull_area(T) == 0:
        S[i, at.REASONS] |= np.uint16(1 << at.REASON_BIT[at.STAGE_SHAPE])


@jit
def wall_off(planes, x, y):
    """Takes the floor of one cell from the planes and closes its four edges."""
    here = bit(x)
    planes[at.FLOOR, y + 1] &= ~here
    planes[at.EAST, y + 1] &= ~(here | (here >> ONE))
    planes[at.SOUTH, y + 1] &= ~here
    planes[at.SOUTH, y] &= ~here


@jit(inline=True)
def write_cell(S, i, T, x, y, word):
    """Writes a cell to row `i`; its planes are loaded, and the caller changes them."""
    S[i, at.HEADER + y * T.grid + x] = T.loaded[y * T.grid + x] = word


@jit
def put_armour(S, i, T, x, y):
    """Turns the corridor cell (x, y) into armour."""
    write_cell(S, i, T, x, y, ARMOUR)
    wall_off(T.planes, x, y)


@jit
def put_door(S, i, T, x, y, d):
    """Puts a door on the edge of cell (x, y) in direction `d`."""
    if d == 0:
        y -= 1
    if d == 3:
        x -= 1
    east = d == 1 or d == 3
    write_cell(S, i, T, x, y, S[i, at.HEADER + y * T.grid + x] | (at.DOOR_EAST if east else at.DOOR_SOUTH))
    T.planes[at.EAST if east else at.SOUTH, y + 1] |= bit(x)


@jit
def put_part(S, i, T, part, r, x, y):
    """Places a part at a legal place: its cells, its walls, its initial door, and its entry in the list of parts."""
    number = parts_placed(S, i)
    w, h = T.size[part, r, 0], T.size[part, r, 1]
    # The initial door is at the first slot that leads to corridor
    for slot in range(T.slots.shape[2]):
        dx, dy, d = T.slots[part, r, slot, 0], T.slots[part, r, slot, 1], T.slots[part, r, slot, 2]
        ox, oy = x + dx + step_x(d), y + dy + step_y(d)
        if ox >= 0 and T.planes[at.FLOOR, oy + 1] & bit(ox) != ZERO:
            break
    # The cells become a room with walls all round, and open inside
    for yy in range(y, y + h):
        for xx in range(x, x + w):
            write_cell(S, i, T, xx, yy, ROOM + number)
            wall_off(T.planes, xx, yy)
    for yy in range(y, y + h):
        T.planes[at.EAST, yy + 1] |= span(x, w - 1)
        if yy + 1 < y + h:
            T.planes[at.SOUTH, yy + 1] |= span(x, w)
    # The door, and the entry in the list of parts
    put_door(S, i, T, x + dx, y + dy, d)
    first = part_word(T, number)
    S[i, first] = part | (r << 4) | (slot << 8)
    S[i, first + 1] = x | (y << 8)
    S[i, at.PARTS_PLACED] = number + 1


@jit(inline=True)
def step_into(planes, row, above):
    """Returns row `row` of plane SEEN after one crew step; `above` is the row before it, without that step."""
    old, east = planes[at.SEEN, row], planes[at.EAST, row]
    new = old | ((old & east) << ONE) | ((old >> ONE) & east)
    return new | (above & planes[at.SOUTH, row - 1]) | (planes[at.SEEN, row + 1] & planes[at.SOUTH, row])


@jit(inline=True)
def spread(planes, top, bottom):
    """Grows plane SEEN by one crew step in rows top..bottom of the grid; returns whether it grew."""
    above, grew = planes[at.SEEN, top], ZERO
    for row in range(top + 1, bottom + 2):
        old = planes[at.SEEN, row]
        new = step_into(planes, row, above)
        planes[at.SEEN, row] = new
        grew |= new ^ old
        above = old
    return grew != ZERO


@jit(inline=True)
def write_bits(bits, value, out, first, stride):
    """Writes `value` to `out[first + stride * x]` for each set bit x."""
    while bits != ZERO:
        out[np.int64(first) + stride * np.int64(lowest(bits))] = value
        bits &= bits - ONE


@jit(inline=True)
def write_steps(T, top, bottom, most, out, first, stride):
    """Writes the crew steps from plane SEEN to each cell as a share of `most`, where they are fewer than `most`.

    Rows top..bottom of the grid take part. Cell (x, y) stands at `out[first + stride * (y * grid + x)]`, float32.
    """
    planes = T.planes
    for row in range(top + 1, bottom + 2):
        write_bits(planes[at.SEEN, row], 0.0, out, first + stride * (row - 1) * T.grid, stride)
    for step in range(1, most):
        grew, above = ZERO, ZERO
        for row in range(top + 1, bottom + 2):
            old = planes[at.SEEN, row]
            new = step_into(planes, row, above)
            planes[at.SEEN, row] = new
            write_bits(new ^ old, step / most, out, first + stride * (row - 1) * T.grid, stride)
            grew |= new ^ old
            above = old
        if grew == ZERO:
            return


@jit(inline=True)
def start_walk(planes, grid, x, y, top, bottom):
    """Sets plane SEEN to cell (x, y) alone, in the rows of the planes from `top` to `bottom`."""
    for row in range(max(0, top), min(grid + 1, bottom) + 1):
        planes[at.SEEN, row] = ZERO
    planes[at.SEEN, y + 1] = bit(x)


@jit(inline=True)
def first_neighbour(planes, x, y, w, h):
    """Returns the first cell beside a block that the crew can step to from it; (-1, -1) if there is none.

    The order is that of the block's cells in raster order, then N, E, S, W.
    """
    for yy in range(y, y + h):
        for xx in range(x, x + w):
            here = bit(xx)
            if yy == y and planes[at.SOUTH, yy] & here != ZERO:
                return xx, yy - 1
            if xx == x + w - 1 and planes[at.EAST, yy + 1] & here != ZERO:
                return xx + 1, yy
            if yy == y + h - 1 and planes[at.SOUTH, yy + 1] & here != ZERO:
                return xx, yy + 1
            if xx == x and planes[at.EAST, yy + 1] & (here >> ONE) != ZERO:
                return xx - 1, yy
    return -1, -1


@jit(inline=True)
def contiguous(planes, grid, x, y, w, h, limit):
    """Returns whether the crew still has a way round the `w` by `h` block at (x, y) once it is closed.

    An open neighbour is a cell that the crew can step to from the block. All of them must lie within `limit + w + h - 2` steps
    of the first one without entering the block. A single open neighbour needs no way round unless it is a room: then the block
    holds the room's only door.
    """
    # With corridor all round the block, half-way round is w + h + 2 steps
    if limit >= 4 and x > 0:
        ring, missing = span(x - 1, w + 2), ZERO
        for row in range(y, y + h + 2):
            missing |= ring & ~planes[at.FLOOR, row]
        if missing == ZERO:
            return True
    return has_way_round(planes, grid, x, y, w, h, limit)


@jit(inline=True)
def ring_of(floor, x, y, w, h):
    """Returns which cells next to a block are floor, corners included; 0 < x and x + w < 64.

    The bits go clockwise from the top left corner.
    """
    left, right = u64(x - 1), u64(x + w)
    ring = (floor[y] >> left) & span(0, w + 2)
    for k in range(h):
        ring |= ((floor[y + 1 + k] >> right) & ONE) << u64(w + 2 + k)
        ring |= ((floor[y + h - k] >> left) & ONE) << u64(2 * w + 4 + h + k)
    for k in range(w + 2):
        ring |= ((floor[y + h + 1] >> (right - u64(k))) & ONE) << u64(w + 2 + h + k)
    return ring


@jit(inline=True)
def is_one_way(ring, w, h, reach):
    """Returns whether the floor along the block's sides is one connected way of at most `reach` steps.

    A corner belongs to the way if it joins two sides.
    """
    last = u64(2 * (w + h) + 3)
    sides = ring & ~(ONE | bit(w + 1) | bit(w + 2 + h) | bit(2 * w + 3 + h))
    way = sides | (ring & ((sides << ONE) | (sides >> last)) & ((sides >> ONE) | ((sides & ONE) << last)))
    starts = way & ~((way << ONE) | (way >> last))
    return starts & (starts - ONE) == ZERO and popcount(way) <= reach + 1


@jit
def has_way_round(planes, grid, x, y, w, h, limit):
    """Returns what `contiguous` does, by a walk round the block."""
    sx, sy = first_neighbour(planes, x, y, w, h)
    if sx < 0:
        return True
    # The open edges of the block, how many there are, and which of them are doors
    block = span(x, w)
    left, right = ZERO if x == 0 else bit(x - 1), bit(x + w - 1)
    above, below = planes[at.SOUTH, y] & block, planes[at.SOUTH, y + h] & block
    count = popcount(above) + popcount(below)
    doors = (above & ~planes[at.FLOOR, y]) | (below & ~planes[at.FLOOR, y + h + 1])
    for row in range(y + 1, y + h + 1):
        count += popcount(planes[at.EAST, row] & left) + popcount(planes[at.EAST, row] & right)
        doors |= planes[at.EAST, row] & ((left & ~planes[at.FLOOR, row]) | (right & ~(planes[at.FLOOR, row] >> ONE)))
    if count <= 1:
        return planes[at.FLOOR, sy + 1] & bit(sx) != ZERO
    # Without doors, a connected way along the block's sides is enough
    reach = limit + w + h - 2
    if doors == ZERO and x > 0 and x + w < 64 and is_one_way(ring_of(planes[at.FLOOR], x, y, w, h), w, h, reach):
        return True
    # A walk from the first neighbour, one step at a time, in the rows from which it can come back
    first, last = max(0, y - 1 - reach // 2), min(grid - 1, y + h + reach // 2)
    start_walk(planes, grid, sx, sy, first, last + 2)
    top, bottom = sy, sy
    for _ in range(reach):
        top, bottom = max(first, top - 1), min(last, bottom + 1)
        grew = spread(planes, top, bottom)
        missing = ZERO
        for row in range(y + 1, y + h + 1):
            planes[at.SEEN, row] &= ~block
            missing |= (planes[at.EAST, row] & left) & ~planes[at.SEEN, row]
            missing |= ((planes[at.EAST, row] & right) << ONE) & ~planes[at.SEEN, row]
        missing |= (above & ~planes[at.SEEN, y]) | (below & ~planes[at.SEEN, y + h + 1])
        if missing == ZERO:
            return True
        if not grew:
            return False
    return False


@jit
def walk_is_longer(planes, grid, x, y, ox, oy, steps):
    """Returns whether the crew's shortest walk from cell (x, y) to cell (ox, oy) has more than `steps` steps."""
    start_walk(planes, grid, x, y, y - steps, y + steps + 2)
    top, bottom = y, y
    for _ in range(steps):
        top, bottom = max(0, top - 1), min(grid - 1, bottom + 1)
        grew = spread(planes, top, bottom)
        if planes[at.SEEN, oy + 1] & bit(ox) != ZERO:
            return False
        if not grew:
            return True
    return True
