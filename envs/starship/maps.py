"""What a convolutional network sees of a ship: a code for each cell, twelve maps over the hull, and 72 numbers.

The value it learns is counted from the potential: its output is what the quality still gains.
"""

from __future__ import annotations

import numpy as np

from leafwise.envs.core.compile.jit import jit
from leafwise.envs.core.contract.grid import GridFeatures
from leafwise.envs.starship.board import (
    ONE,
    ZERO,
    bit,
    cell_value,
    load_planes,
    lowest,
    part_kind,
    part_rotation,
    part_x,
    part_y,
)
from leafwise.envs.starship.catalogue import (
    AMMO_SUPPLY,
    BUNK,
    CLEAR,
    COCKPIT,
    POWER_STORAGE,
    QUARTERS,
    REACTOR,
    ROOM,
    SPACE,
    THRUST,
)
from leafwise.envs.starship.features import NUMBERS, show_numbers
from leafwise.envs.starship.presets import PRESETS
from leafwise.envs.starship.quality import hull_extent, is_thruster, potential, start_from
from leafwise.envs.starship.strategies import MOMENT_X, MOMENT_Y, TOTAL, measure_distance
from leafwise.envs.starship.tables import EAST, HULL, OUTLINE_MAPS, PARTS_PLACED, PHASE, PREVIEW, QUEUE, SEEN, SOUTH

CODES = ROOM + 4 * 11
"""Space, armour, corridor, and each part in each rotation."""
M_X, M_Y, M_ASIDE, M_DISTANCE, M_LANE, M_COCKPIT, M_CREW, M_AMMO, M_POWER = 0, 1, 2, 3, 4, 8, 9, 10, 11
MAPS = 12
"""Maps, all from 0 on: the cell's column and row, how far it is aside of the hull's middle, and from SPACE; the free lane ahead
of it in each direction; the crew's steps to cockpit, crew rooms, ammo and power."""
TERMS_AT = NUMBERS
OFFSETS_AT = TERMS_AT + 6
THRUSTS_AT = OFFSETS_AT + 4
NEXT_FACINGS_AT = THRUSTS_AT + 4
CENTRE_AT = NEXT_FACINGS_AT + 4 * (PREVIEW - 1)
ALL_NUMBERS = CENTRE_AT + 2
"""The observation's numbers; the six terms; for each facing how far its thrust is off the centre, and how much it is; the
facings of the next two requests; how far the centre of mass is off the middle of the hull."""
FAR_CELLS, FAR_STEPS, NEAR_STEPS, MUCH_THRUST = 8.0, 24, 12, 10_000.0
CLEAR_LANE, LONG_LANE = 1.0, 10.0
"""Lanes: clear to the edge of the grid, or else the free cells as a share of LONG_LANE (parts ask for at most 7)."""


@jit
def lane(T, x, y, facing):
    """Returns how free the way out of a hull cell is."""
    dx, dy, free = 1 if facing == 1 else -1 if facing == 3 else 0, 1 if facing == 2 else -1 if facing == 0 else 0, 0
    x, y = x + dx, y + dy
    while 0 <= x < T.grid and 0 <= y < T.grid:
        if T.B[HULL, y + 1] & bit(x) != ZERO:
            return min(7, free) / LONG_LANE
        x, y, free = x + dx, y + dy, free + 1
    return CLEAR_LANE


@jit
def trace_outline(S, i, T):
    """Makes ready the maps that follow from the hull alone; those of the last hull are kept."""
    same = True
    for row in range(1, T.grid + 1):
        same = same and T.outlined[row] == T.B[HULL, row]
    if same:
        return
    for row in range(1, T.grid + 1):
        T.outlined[row] = T.B[HULL, row]
    measure_distance(S, i, T)
    middle_x, middle_y = (T.box[0] + T.box[2] + 1) / 2.0, (T.box[1] + T.box[3] + 1) / 2.0
    for y in range(T.grid):
        for x in range(T.grid):
            if T.B[HULL, y + 1] & bit(x) == ZERO:
                continue
            here = T.outline[y * T.grid + x]
            here[M_X] = 0.5 + (x + 0.5 - middle_x) / T.grid
            here[M_Y] = 0.5 + (y + 0.5 - middle_y) / T.grid
            here[M_ASIDE] = abs(x + 0.5 - middle_x) / FAR_CELLS
            here[M_DISTANCE] = T.D[y * T.grid + x] / FAR_CELLS
            for facing in range(4):
                here[M_LANE + facing] = lane(T, x, y, facing)


@jit
def map_steps(S, i, T, a, b, most, maps, column):
    """Writes the crew's steps from the nearest part of kinds `a` and `b`, as a share of `most`, where they are fewer."""
    B = T.B
    if not start_from(S, i, T, a, b):
        return
    for row in range(T.box[1] + 1, T.box[3] + 2):
        left = B[SEEN, row]
        while left != ZERO:
            maps[(row - 1) * T.grid + lowest(left), column] = 0.0
            left &= left - ONE
    for step in range(1, most):
        grew, above = ZERO, ZERO
        for row in range(T.box[1] + 1, T.box[3] + 2):
            old, east = B[SEEN, row], B[EAST, row]
            new = old | ((old & east) << ONE) | ((old >> ONE) & east)
            new |= (above & B[SOUTH, row - 1]) | (B[SEEN, row + 1] & B[SOUTH, row])
            above = old
            B[SEEN, row] = new
            fresh = new ^ old
            grew |= fresh
            while fresh != ZERO:
                maps[(row - 1) * T.grid + lowest(fresh), column] = step / most
                fresh &= fresh - ONE
        if grew == ZERO:
            return


@jit
def show_balance(S, i, T, numbers):
    """Writes, for each facing, how far its thrusters' mean lies off the centre of mass, and their thrust."""
    for facing in range(4):
        thrust, moment = 0, 0
        for k in range(np.int64(S[i, PARTS_PLACED])):
            part = part_kind(S, i, T, k)
            if is_thruster(part) and part_rotation(S, i, T, k) == facing:
                thrust += T.facts[part, THRUST]
                if facing % 2 == 0:
                    moment += T.facts[part, THRUST] * (2 * part_x(S, i, T, k) + T.size[part, facing, 0])
                else:
                    moment += T.facts[part, THRUST] * (2 * part_y(S, i, T, k) + T.size[part, facing, 1])
        off = 0.0
        if thrust > 0:
            centre = T.notes[MOMENT_X if facing % 2 == 0 else MOMENT_Y] / (2.0 * T.notes[TOTAL])
            off = (moment / (2.0 * thrust) - centre) / FAR_CELLS
        numbers[0, OFFSETS_AT + facing] = max(-1.0, min(1.0, off))
        numbers[0, THRUSTS_AT + facing] = min(1.0, thrust / MUCH_THRUST)


@jit
def show_more(S, i, T, numbers):
    """Writes the numbers that the observation does not hold; the terms must be measured."""
    for n in range(6):
        numbers[0, TERMS_AT + n] = T.terms[n]
    show_balance(S, i, T, numbers)
    for n in range(NEXT_FACINGS_AT, CENTRE_AT):
        numbers[0, n] = 0.0
    phase = np.int64(S[i, PHASE])
    for k in range(1, PREVIEW):
        entry = np.int64(S[i, QUEUE + k]) - 1
        if entry >= 0 and T.facts[T.kinds[phase, entry // 4], CLEAR] > 0:
            numbers[0, NEXT_FACINGS_AT + 4 * (k - 1) + entry % 4] = 1.0


@jit
def see_ship(S, i, codes, maps, numbers, T):
    """Describes row `i` of a hull that stands; returns its potential."""
    base = potential(S, i, T)
    if S[i, PARTS_PLACED] == 0:  # nothing is measured yet
        load_planes(S, i, T)
        hull_extent(T, T.box)
        for n in range(6):
            T.terms[n] = 0.0
        T.notes[TOTAL], T.notes[MOMENT_X], T.notes[MOMENT_Y] = 1, T.grid, T.grid
    trace_outline(S, i, T)
    width, total = T.grid + 2, 2.0 * T.notes[TOTAL]
    for at in range(width * width):
        codes[at] = 0
    for y in range(T.box[1], T.box[3] + 1):
        for x in range(T.box[0], T.box[2] + 1):
            value = cell_value(S, i, T, x, y)
            if value == SPACE:
                continue
            at = y * T.grid + x
            if value >= ROOM:
                k = value - ROOM
                value = ROOM + 4 * part_kind(S, i, T, k) + part_rotation(S, i, T, k)
            codes[(y + 1) * width + x + 1] = value
            for m in range(OUTLINE_MAPS):
                maps[at, m] = T.outline[at, m]
            for m in range(OUTLINE_MAPS, MAPS):
                maps[at, m] = 1.0
    map_steps(S, i, T, COCKPIT, COCKPIT, FAR_STEPS, maps, M_COCKPIT)
    map_steps(S, i, T, QUARTERS, BUNK, FAR_STEPS, maps, M_CREW)
    map_steps(S, i, T, AMMO_SUPPLY, AMMO_SUPPLY, NEAR_STEPS, maps, M_AMMO)
    map_steps(S, i, T, REACTOR, POWER_STORAGE, NEAR_STEPS, maps, M_POWER)
    show_numbers(S, i, T, numbers, 0)
    show_more(S, i, T, numbers)
    for axis in range(2):
        centre = (T.notes[MOMENT_X] if axis == 0 else T.notes[MOMENT_Y]) / total
        off = (centre - (T.box[axis] + T.box[axis + 2] + 1) / 2.0) / FAR_CELLS
        numbers[0, CENTRE_AT + axis] = max(-1.0, min(1.0, off))
    return base


@jit(merged=True)
def see(S, i, codes, maps, numbers, T):
    """Describes row `i` of a hull that stands; returns its potential."""
    return see_ship(S, i, codes, maps, numbers, T.ship)


GRID = GridFeatures(
    see=see,
    side=lambda options: PRESETS[options["preset"]].grid,
    codes=CODES,
    maps=MAPS,
    numbers=ALL_NUMBERS,
    stage="request",
    version=2,
)
