"""Where a part may go, and how good each place is to the stage's strategy.

A place is legal if its footprint is on free floor, its lane is clear, a door can lead to the corridor, and the crew's ways stay
open. `find_anchors` decides the first three for a whole rotation at once, in bit planes. `contiguous` decides the last one for
one place; it costs most. A place is one number, `(rotation * grid + y) * grid + x`, of a footprint's top-left cell.

Strategies: `prepare` looks at the board once, `score` values one place. Scores are integers, and greater is better. They can be
compared within one placement only.
"""

import numpy as np

from leafwise.envs.core.compile.jit import jit
from leafwise.envs.starship import catalogue
from leafwise.envs.starship import tables as at
from leafwise.envs.starship.board import (
    ONE,
    ZERO,
    contiguous,
    copy_words,
    hull_extent,
    lowest,
    part_at,
    part_kind,
    parts_placed,
    step_x,
    step_y,
    write_bits,
)
from leafwise.envs.starship.catalogue import ARMOUR, CLEAR, CORRIDOR, ROTATIONS

u64 = np.uint64


@jit
def clear_lanes(T, facing, clear):
    """Sets plane OTHER to the cells whose next `clear` cells towards `facing` are SPACE or off the grid."""
    planes, down = T.planes, step_y(facing)
    for row in range(1, T.grid + 1):
        blocked = ZERO
        for k in range(1, min(clear + 1, T.grid)):  # a shift by 64 is not defined
            other = row + k * down
            if other < 1 or other > T.grid:
                break
            bits = planes[at.HULL, other]
            blocked |= bits >> u64(k) if facing == 1 else bits << u64(k) if facing == 3 else bits
        planes[at.OTHER, row] = ~blocked


@jit
def find_anchors(T, part, r):
    """Sets plane ANCHORS to the top-left cells at which footprint, lane and door are legal."""
    planes = T.planes
    w, h = T.size[part, r, 0], T.size[part, r, 1]
    clear = T.facts[part, CLEAR]
    # SPARE: cells from which `w` floor cells lie side by side
    for row in range(T.grid + 2):
        run = planes[at.FLOOR, row]
        for k in range(1, w):
            run &= planes[at.FLOOR, row] >> u64(k)
        planes[at.SPARE, row] = run
        planes[at.ANCHORS, row] = ZERO
    if clear > 0:
        clear_lanes(T, r, clear)
    # The anchors row by row: the footprint is floor, the lane clear, and a door leads to floor
    for row in range(1, T.grid + 2 - h):
        free = planes[at.SPARE, row]
        for k in range(1, h):
            free &= planes[at.SPARE, row + k]
        if free == ZERO:
            continue
        if clear > 0 and r % 2 == 0:  # all cells of the front have a clear lane
            for k in range(w):
                free &= planes[at.OTHER, row if r == 0 else row + h - 1] >> u64(k)
        elif clear > 0:
            for k in range(h):
                free &= planes[at.OTHER, row + k] >> u64(w - 1 if r == 1 else 0)
        door = ZERO
        for k in range(T.slots.shape[2]):
            d = T.slots[part, r, k, 2]
            if d < 0:
                break
            dx = T.slots[part, r, k, 0] + step_x(d)
            dy = T.slots[part, r, k, 1] + step_y(d)
            outside = planes[at.FLOOR, row + dy]
            door |= outside >> u64(dx) if dx >= 0 else outside << ONE
        planes[at.ANCHORS, row] = free & door


@jit(inline=True)
def place_at(T, place):
    """Returns the rotation, left column and top row of a place."""
    return place // (T.grid * T.grid), place % T.grid, (place // T.grid) % T.grid


@jit(inline=True)
def next_anchor(T, part, facing, r, y, left):
    """Returns the next anchor (r, x, y), at which footprint, lane and door are legal, and the anchors `left` in its row.

    The first call gets r = -1 and left = 0, the others what the last one returned; r is -1 after the last anchor. It is called
    for every place, so it is copied into its callers, and divides nothing.
    """
    while left == ZERO:
        y += 1
        if r < 0 or y == T.grid:
            if T.facts[part, CLEAR] > 0:  # directional: one rotation
                r = facing if r < 0 else -1
            else:
                r = r + 1 if r + 1 < T.facts[part, ROTATIONS] else -1
            y = 0
            if r < 0:
                return r, y, y, left
            find_anchors(T, part, r)
        left = T.planes[at.ANCHORS, y + 1]
    return r, lowest(left), y, left & (left - ONE)


@jit(inline=True)
def leaves_ways(T, stage, part, r, x, y):
    """Returns whether a part at an anchor leaves the crew a way round within the longest detour of the stage."""
    return contiguous(T.planes, T.grid, x, y, T.size[part, r, 0], T.size[part, r, 1], T.stages[stage, at.LIMIT])


@jit(inline=True)
def next_place(T, stage, part, facing, r, y, left):
    """Returns the next legal place (r, x, y) of a request, and the anchors `left` in its row, as `next_anchor` does."""
    while True:
        r, x, y, left = next_anchor(T, part, facing, r, y, left)
        if r < 0 or leaves_ways(T, stage, part, r, x, y):
            return r, x, y, left


@jit
def has_place(T, stage, entry):
    """Returns whether a request has a legal place."""
    r, _, _, _ = next_place(T, stage, T.kinds[stage, entry // 4], entry % 4, -1, 0, ZERO)
    return r >= 0


@jit
def is_place(T, stage, entry, place):
    """Returns whether a place is legal for a request."""
    part = T.kinds[stage, entry // 4]
    r, x, y = place_at(T, place)
    find_anchors(T, part, r)
    return (T.planes[at.ANCHORS, y + 1] >> u64(x)) & ONE != ZERO and leaves_ways(T, stage, part, r, x, y)


TOTAL, MOMENT_X, MOMENT_Y, COUNT, FIRST_NOTE = 0, 1, 2, 3, 4


@jit
def measure_mass(S, i, T):
    """Writes the ship's mass and its moments into `T.notes`.

    The centre of mass is (MOMENT / TOTAL) / 2 cells from the left and the top.
    """
    total, moment_x, moment_y = 0, 0, 0
    for y in range(T.grid):
        for x in range(T.grid):
            value = np.int64(S[i, at.HEADER + y * T.grid + x]) & at.VALUE
            if value in (CORRIDOR, ARMOUR):
                mass = catalogue.CORRIDOR_MASS if value == CORRIDOR else catalogue.ARMOUR_MASS
                total += mass
                moment_x += mass * (2 * x + 1)
                moment_y += mass * (2 * y + 1)
    for k in range(parts_placed(S, i)):
        part, _, x, y, w, h = part_at(S, i, T, k)
        mass = T.facts[part, catalogue.MASS]
        total += mass
        moment_x += mass * (2 * x + w)
        moment_y += mass * (2 * y + h)
    T.notes[TOTAL], T.notes[MOMENT_X], T.notes[MOMENT_Y] = total, moment_x, moment_y


@jit
def measure_distance(T):
    """Writes to `T.depth` the steps from each cell to the nearest SPACE; cells off the grid count as SPACE."""
    planes, depth, steps = T.planes, T.depth, 0
    depth[:] = 0
    copy_words(planes[at.HULL], planes[at.SPARE])
    left = True
    while left:  # SPARE holds the cells more than `steps` away
        steps, left, above = steps + 1, False, ZERO
        for row in range(1, T.grid + 1):
            bits = planes[at.SPARE, row]
            write_bits(bits, steps, depth, (row - 1) * T.grid, 1)
            inner = bits & (bits << ONE) & (bits >> ONE) & above & planes[at.SPARE, row + 1]
            planes[at.SPARE, row], above = inner, bits
            left = left or inner != ZERO


@jit(inline=True)
def gap(S, i, T, k, x, y, w, h):
    """Returns the free columns plus free rows between part number `k` and the rectangle at (x, y); 0 if they touch."""
    _, _, kx, ky, kw, kh = part_at(S, i, T, k)
    return max(0, max(kx - (x + w), x - (kx + kw))) + max(0, max(ky - (y + h), y - (ky + kh)))


@jit(inline=True)
def is_thruster(part):
    """Returns whether a part is a thruster."""
    return catalogue.THRUSTER_SMALL <= part <= catalogue.THRUSTER_LARGE


@jit(inline=True)
def is_weapon(part):
    """Returns whether a part is a weapon."""
    return part == catalogue.CANNON_MED or part == catalogue.CANNON_LARGE


@jit(inline=True)
def consumes(part, supply):
    """Returns whether `part` consumes what `supply` stores."""
    if supply == catalogue.AMMO_SUPPLY:
        return is_weapon(part)
    return part == catalogue.AMMO_SUPPLY or is_thruster(part)


@jit(inline=True)
def is_supplied(S, i, T, near, supply, k):
    """Returns whether a source of what `supply` stores stands within `near` cells of part number `k`."""
    _, _, x, y, w, h = part_at(S, i, T, k)
    for other in range(parts_placed(S, i)):
        source = part_kind(S, i, T, other)
        stores = source == supply or (supply == catalogue.POWER_STORAGE and source == catalogue.REACTOR)
        if stores and gap(S, i, T, other, x, y, w, h) <= near:
            return True
    return False


@jit
def note_parts(S, i, T, stage, part):
    """Writes the parts that count for the stage's strategy into `T.notes`, and how many there are.

    For crew rooms these are the crew rooms that are placed; for a supply, the consumers that nothing nearby supplies yet.
    """
    near, count = T.stages[stage, at.REACH], 0
    for k in range(parts_placed(S, i)):
        kind = part_kind(S, i, T, k)
        if T.stages[stage, at.STRATEGY] == at.ALIGN:
            noted = kind == catalogue.QUARTERS or kind == catalogue.BUNK
        else:
            noted = consumes(kind, part) and not is_supplied(S, i, T, near, part, k)
        if noted:
            T.notes[FIRST_NOTE + count] = k
            count += 1
    T.notes[COUNT] = count


@jit
def prepare(S, i, T, stage, part):
    """Measures what the stage's strategy needs of the board before it scores places for `part`."""
    strategy = T.stages[stage, at.STRATEGY]
    if strategy in (at.PROTECTED, at.PROTECTED_AMIDSHIPS):
        measure_distance(T)
    elif strategy in (at.CENTRALIZED, at.CENTRALIZED_AMIDSHIPS):
        measure_mass(S, i, T)
    elif strategy in (at.NEAR, at.ALIGN):
        note_parts(S, i, T, stage, part)
    if strategy >= at.PROTECTED_AMIDSHIPS:
        hull_extent(T, T.box)
        T.notes[COUNT] = T.box[0] + T.box[2] + 1


@jit(inline=True)
def alignment(S, i, T, k, x, y, w, h):
    """Returns how well the rectangle lines up with part `k`: 0 unless they touch along an edge.

    A touch counts 1, and each border line of the two that continues counts 1 more.
    """
    _, _, kx, ky, kw, kh = part_at(S, i, T, k)
    if (kx + kw == x or x + w == kx) and y < ky + kh and ky < y + h:
        return 1 + (1 if y == ky else 0) + (1 if y + h == ky + kh else 0)
    if (ky + kh == y or y + h == ky) and x < kx + kw and kx < x + w:
        return 1 + (1 if x == kx else 0) + (1 if x + w == kx + kw else 0)
    return 0


@jit(inline=True)
def protection(T, x, y, w, h):
    """Returns how deep inside a footprint lies: its least steps to SPACE count most, then their sum."""
    least, total = T.depth[y * T.grid + x], 0
    for yy in range(y, y + h):
        for xx in range(x, x + w):
            least = min(least, T.depth[yy * T.grid + xx])
            total += T.depth[yy * T.grid + xx]
    return least * 65536 + total


@jit(inline=True)
def score(S, i, T, stage, r, x, y, w, h):
    """Returns how good a `w` by `h` footprint at (x, y), turned by `r`, is to the stage's strategy."""
    strategy, notes = T.stages[stage, at.STRATEGY], T.notes
    if strategy == at.PROTECTED:
        return protection(T, x, y, w, h)
    if strategy == at.CENTRALIZED:
        off_x = (2 * x + w) * notes[TOTAL] - notes[MOMENT_X]
        off_y = (2 * y + h) * notes[TOTAL] - notes[MOMENT_Y]
        return -(off_x * off_x + off_y * off_y)
    if strategy == at.FARTHEST:
        return -(2 * y + h) if r == 0 else 2 * x + w if r == 1 else 2 * y + h if r == 2 else -(2 * x + w)
    best = 0
    if strategy == at.NEAR:
        for k in range(notes[COUNT]):
            distance = gap(S, i, T, notes[FIRST_NOTE + k], x, y, w, h)
            if distance <= T.stages[stage, at.REACH]:
                best += 1000 - distance
    elif strategy == at.ALIGN:
        for k in range(notes[COUNT]):
            best = max(best, alignment(S, i, T, notes[FIRST_NOTE + k], x, y, w, h))
    elif strategy >= at.PROTECTED_AMIDSHIPS:  # notes[COUNT] is twice the hull's middle column
        best = -abs(2 * x + w - notes[COUNT]) << 32
        if strategy == at.PROTECTED_AMIDSHIPS:
            best += protection(T, x, y, w, h)
        else:
            best -= abs((2 * y + h) * notes[TOTAL] - notes[MOMENT_Y])
    return best
