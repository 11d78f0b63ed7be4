"""Where a part may go: its footprint on free floor, its lane clear, a door to the corridor, the crew's ways kept open.

`find_anchors` decides the first three for a whole rotation at once, in bit planes; `contiguous` is the dear one and is
asked cell by cell.
"""

from __future__ import annotations

import numpy as np

from leafwise.envs.core.compile.jit import jit
from leafwise.envs.starship.board import ONE, ZERO, contiguous, lowest
from leafwise.envs.starship.catalogue import CLEAR
from leafwise.envs.starship.tables import ANCHORS, FLOOR, HULL, OTHER, SPARE

u64 = np.uint64


@jit
def clear_lanes(T, facing, clear):
    """Sets plane OTHER to the cells from which the next `clear` cells towards `facing` are SPACE or off the grid."""
    B = T.B
    for row in range(1, T.grid + 1):
        blocked = ZERO
        if facing == 0:
            for k in range(max(1, row - clear), row):
                blocked |= B[HULL, k]
        elif facing == 2:
            for k in range(row + 1, min(T.grid, row + clear) + 1):
                blocked |= B[HULL, k]
        elif facing == 1:
            for k in range(1, min(clear, T.grid) + 1):
                blocked |= B[HULL, row] >> u64(k)
        else:
            for k in range(1, min(clear, T.grid) + 1):
                blocked |= B[HULL, row] << u64(k)
        B[OTHER, row] = ~blocked


@jit
def find_anchors(T, part, r):
    """Sets plane ANCHORS to the top-left cells at which footprint, lane and door are in order."""
    B = T.B
    w, h = T.size[part, r, 0], T.size[part, r, 1]
    clear = T.facts[part, CLEAR]
    for row in range(T.grid + 2):  # SPARE: w free floor cells side by side
        run = B[FLOOR, row]
        for k in range(1, w):
            run &= B[FLOOR, row] >> u64(k)
        B[SPARE, row] = run
        B[ANCHORS, row] = ZERO
    if clear > 0:
        clear_lanes(T, r, clear)
    for row in range(1, T.grid + 2 - h):
        free = B[SPARE, row]
        for k in range(1, h):
            free &= B[SPARE, row + k]
        if free == ZERO:
            continue
        if clear > 0:
            free &= lane_of_anchor(T, r, row, w, h)
        door = ZERO
        for k in range(T.slots.shape[2]):
            d = T.slots[part, r, k, 2]
            if d < 0:
                break
            dx = T.slots[part, r, k, 0] + (1 if d == 1 else -1 if d == 3 else 0)
            dy = T.slots[part, r, k, 1] + (1 if d == 2 else -1 if d == 0 else 0)
            outside = B[FLOOR, row + dy]
            door |= outside >> u64(dx) if dx >= 0 else outside << ONE
        B[ANCHORS, row] = free & door


@jit
def lane_of_anchor(T, facing, row, w, h):
    """Returns the anchors of one row whose front cells all have a clear lane (plane OTHER)."""
    B, lane = T.B, ~ZERO
    if facing == 0 or facing == 2:
        front = row if facing == 0 else row + h - 1
        for k in range(w):
            lane &= B[OTHER, front] >> u64(k)
    else:
        shift = u64(w - 1) if facing == 1 else ZERO
        for k in range(h):
            lane &= B[OTHER, row + k] >> shift
    return lane


@jit
def legal_anchors(T, part, r, limit):
    """Sets plane ANCHORS to all legal top-left cells of `part` turned by `r`; returns how many there are."""
    find_anchors(T, part, r)
    w, h = T.size[part, r, 0], T.size[part, r, 1]
    count = 0
    for y in range(T.grid):
        left = T.B[ANCHORS, y + 1]
        while left != ZERO:
            x = lowest(left)
            left &= left - ONE
            if contiguous(T.B, T.grid, x, y, w, h, limit):
                count += 1
            else:
                T.B[ANCHORS, y + 1] &= ~(ONE << u64(x))
    return count
