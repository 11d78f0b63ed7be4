"""Where a part may go: its footprint on free floor, its lane clear, a door to the corridor, the crew's ways kept open.

`find_anchors` decides the first three for a whole rotation at once, in bit planes; the last one, `contiguous`, costs most and
is asked place by place. A place is one number, `(rotation * grid + y) * grid + x`, of a footprint's top-left cell.
"""

from __future__ import annotations

import numpy as np

from leafwise.envs.core.compile.jit import jit
from leafwise.envs.starship import tables as at
from leafwise.envs.starship.board import ONE, ZERO, contiguous, lowest, step_x, step_y
from leafwise.envs.starship.catalogue import CLEAR, ROTATIONS

u64 = np.uint64


@jit
def clear_lanes(T, facing, clear):
    """Sets plane OTHER to the cells from which the next `clear` cells towards `facing` are SPACE or off the grid."""
    planes = T.planes
    for row in range(1, T.grid + 1):
        blocked = ZERO
        if facing == 0:
            for k in range(max(1, row - clear), row):
                blocked |= planes[at.HULL, k]
        elif facing == 2:
            for k in range(row + 1, min(T.grid, row + clear) + 1):
                blocked |= planes[at.HULL, k]
        elif facing == 1:
            for k in range(1, min(clear, T.grid) + 1):
                blocked |= planes[at.HULL, row] >> u64(k)
        else:
            for k in range(1, min(clear, T.grid) + 1):
                blocked |= planes[at.HULL, row] << u64(k)
        planes[at.OTHER, row] = ~blocked


@jit
def find_anchors(T, part, r):
    """Sets plane ANCHORS to the top-left cells at which footprint, lane and door are in order."""
    planes = T.planes
    w, h = T.size[part, r, 0], T.size[part, r, 1]
    clear = T.facts[part, CLEAR]
    for row in range(T.grid + 2):  # SPARE: w free floor cells side by side
        run = planes[at.FLOOR, row]
        for k in range(1, w):
            run &= planes[at.FLOOR, row] >> u64(k)
        planes[at.SPARE, row] = run
        planes[at.ANCHORS, row] = ZERO
    if clear > 0:
        clear_lanes(T, r, clear)
    for row in range(1, T.grid + 2 - h):
        free = planes[at.SPARE, row]
        for k in range(1, h):
            free &= planes[at.SPARE, row + k]
        if free == ZERO:
            continue
        if clear > 0:
            free &= lane_of_anchor(T, r, row, w, h)
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


@jit
def lane_of_anchor(T, facing, row, w, h):
    """Returns the anchors of one row whose front cells all have a clear lane (plane OTHER)."""
    planes, lane = T.planes, ~ZERO
    if facing == 0 or facing == 2:
        front = row if facing == 0 else row + h - 1
        for k in range(w):
            lane &= planes[at.OTHER, front] >> u64(k)
    else:
        shift = u64(w - 1) if facing == 1 else ZERO
        for k in range(h):
            lane &= planes[at.OTHER, row + k] >> shift
    return lane


@jit(inline=True)
def place_at(T, place):
    """Returns rotation, left column and top row of a place."""
    return place // (T.grid * T.grid), place % T.grid, (place // T.grid) % T.grid


@jit(inline=True)
def next_anchor(T, part, facing, place):
    """Returns the first place after `place` (-1: the first of all) where footprint, lane and door are in order, or -1.

    Asked once for each place, so it is copied into its callers: handing over `T` takes longer than the answer.
    A directional part keeps rotation `facing`, others try all of theirs. From one call to the next, plane ANCHORS holds what
    is left of the rotation.
    """
    directional = T.facts[part, CLEAR] > 0
    last = facing if directional else T.facts[part, ROTATIONS] - 1
    if place < 0:
        r, y = facing if directional else 0, 0
        find_anchors(T, part, r)
    else:
        r, _, y = place_at(T, place)
    while True:
        while y < T.grid:
            left = T.planes[at.ANCHORS, y + 1]
            if left != ZERO:
                T.planes[at.ANCHORS, y + 1] = left & (left - ONE)
                return (r * T.grid + y) * T.grid + lowest(left)
            y += 1
        if r == last:
            return -1
        r, y = r + 1, 0
        find_anchors(T, part, r)


@jit(inline=True)
def leaves_ways(T, stage, part, place):
    """Returns whether a part at an anchor leaves the crew their ways, by the longest detour that the stage allows."""
    r, x, y = place_at(T, place)
    return contiguous(T.planes, T.grid, x, y, T.size[part, r, 0], T.size[part, r, 1], T.stages[stage, at.LIMIT])


@jit(inline=True)
def next_place(T, stage, entry, place):
    """Returns the first legal place of a request after `place` (-1: the first of all), or -1."""
    part = T.kinds[stage, entry // 4]
    place = next_anchor(T, part, entry % 4, place)
    while place >= 0 and not leaves_ways(T, stage, part, place):
        place = next_anchor(T, part, entry % 4, place)
    return place


@jit
def is_place(T, stage, entry, place):
    """Returns whether a place is a legal one of a request."""
    part = T.kinds[stage, entry // 4]
    r, x, y = place_at(T, place)
    find_anchors(T, part, r)
    return (T.planes[at.ANCHORS, y + 1] >> u64(x)) & ONE != ZERO and leaves_ways(T, stage, part, place)
