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
def next_rotation(T, part, facing, r):
    """Returns the rotation after `r` (-1: the first one), or -1: a directional part has `facing`, others all of theirs."""
    if T.facts[part, CLEAR] > 0:
        return facing if r < 0 else -1
    return r + 1 if r + 1 < T.facts[part, ROTATIONS] else -1


@jit(inline=True)
def next_anchor(T, part, facing, r, y, left):
    """Returns the next anchor (r, x, y), where footprint, lane and door are in order, and those `left` in its row after it.

    The first call gets r = -1 and left = 0, the others what the last one returned; r is -1 after the last anchor. It is asked
    for every place, so it is copied into its callers, and divides nothing.
    """
    while left == ZERO:
        y += 1
        if r < 0 or y == T.grid:
            r, y = next_rotation(T, part, facing, r), 0
            if r < 0:
                return r, y, y, left
            find_anchors(T, part, r)
        left = T.planes[at.ANCHORS, y + 1]
    return r, lowest(left), y, left & (left - ONE)


@jit(inline=True)
def leaves_ways(T, stage, part, r, x, y):
    """Returns whether a part at an anchor leaves the crew their ways, by the longest detour that the stage allows."""
    return contiguous(T.planes, T.grid, x, y, T.size[part, r, 0], T.size[part, r, 1], T.stages[stage, at.LIMIT])


@jit(inline=True)
def next_place(T, stage, part, facing, r, y, left):
    """Returns the next legal place (r, x, y) of a request and the anchors `left` in its row, as `next_anchor` does."""
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
    """Returns whether a place is a legal one of a request."""
    part = T.kinds[stage, entry // 4]
    r, x, y = place_at(T, place)
    find_anchors(T, part, r)
    return (T.planes[at.ANCHORS, y + 1] >> u64(x)) & ONE != ZERO and leaves_ways(T, stage, part, r, x, y)
