"""What a convolutional network sees of a ship: a code for each cell, twelve maps over the hull, and 82 numbers.

The value it learns is counted from the potential: its output is what the quality still gains.
"""

from __future__ import annotations

import numpy as np

from leafwise.envs.core.compile.jit import jit
from leafwise.envs.core.contract.features import GridFeatures
from leafwise.envs.starship import catalogue
from leafwise.envs.starship import tables as at
from leafwise.envs.starship.board import (
    ZERO,
    bit,
    cell_value,
    hull_extent,
    load_planes,
    part_at,
    step_x,
    step_y,
    write_steps,
)
from leafwise.envs.starship.catalogue import ROOM, SPACE
from leafwise.envs.starship.features import NUMBERS, show_numbers
from leafwise.envs.starship.quality import potential, start_from, thrust_of
from leafwise.envs.starship.stages import hull_area
from leafwise.envs.starship.strategies import MOMENT_X, MOMENT_Y, TOTAL, measure_distance

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
CENTRE_AT = NEXT_FACINGS_AT + 4 * (at.PREVIEW - 1)
ASKED_AT = CENTRE_AT + 2
ALL_NUMBERS = ASKED_AT + 10
"""The observation's numbers; the six terms; for each facing how far its thrust is off the centre, and how much it is; the
facings of the next two requests; how far the centre of mass is off the middle of the hull; how large grid, hull and its width and
height are, and what the ship is asked for: thrust, weapons, full firepower, ammo, power, seats."""
FAR_CELLS, FAR_STEPS, NEAR_STEPS, MUCH_THRUST = 8.0, 24, 12, 10_000.0
LARGE_GRID, LARGE_HULL, LONG_HULL = 64.0, 1000.0, 48.0
ASKED = (
    *((at.STAGE_THRUSTERS, at.HIGH, 45.0), (at.STAGE_WEAPONS, at.HIGH, 12.0), (at.STAGE_WEAPONS, at.FULL, 10.0)),
    *((at.STAGE_AMMO, at.HIGH, 3.0), (at.STAGE_POWER, at.HIGH, 3.0), (at.STAGE_CREW, at.LOW, 48.0)),
)
"""Stages, columns of their parameters, and what these are divided by; the shares are at most 1."""
CLEAR_LANE, LONG_LANE = 1.0, 10.0
"""Lanes: clear to the edge of the grid, or else the free cells as a share of LONG_LANE (parts ask for at most 7)."""


@jit
def lane(T, x, y, facing):
    """Returns how free the way out of a hull cell is."""
    dx, dy, free = step_x(facing), step_y(facing), 0
    x, y = x + dx, y + dy
    while 0 <= x < T.grid and 0 <= y < T.grid:
        if T.planes[at.HULL, y + 1] & bit(x) != ZERO:
            return min(7, free) / LONG_LANE
        x, y, free = x + dx, y + dy, free + 1
    return CLEAR_LANE


@jit
def trace_outline(S, i, T):
    """Makes ready the maps that follow from the hull alone; those of the last hull are kept."""
    same = True
    for row in range(1, T.grid + 1):
        same = same and T.outlined[row] == T.planes[at.HULL, row]
    if same:
        return
    for row in range(1, T.grid + 1):
        T.outlined[row] = T.planes[at.HULL, row]
    measure_distance(S, i, T)
    middle_x, middle_y = (T.box[0] + T.box[2] + 1) / 2.0, (T.box[1] + T.box[3] + 1) / 2.0
    for y in range(T.grid):
        for x in range(T.grid):
            if T.planes[at.HULL, y + 1] & bit(x) == ZERO:
                continue
            here = T.outline[y * T.grid + x]
            here[M_X] = 0.5 + (x + 0.5 - middle_x) / T.grid
            here[M_Y] = 0.5 + (y + 0.5 - middle_y) / T.grid
            here[M_ASIDE] = abs(x + 0.5 - middle_x) / FAR_CELLS
            here[M_DISTANCE] = T.depth[y * T.grid + x] / FAR_CELLS
            for facing in range(4):
                here[M_LANE + facing] = lane(T, x, y, facing)


@jit
def map_steps(S, i, T, a, b, most, maps, column):
    """Writes the crew's steps from the nearest part of kinds `a` and `b`, as a share of `most`, where they are fewer."""
    if start_from(S, i, T, a, b):
        write_steps(T, T.box[1], T.box[3], most, maps.reshape(-1), column, MAPS)


@jit
def show_balance(S, i, T, numbers):
    """Writes, for each facing, how far its thrusters' mean lies off the centre of mass, and their thrust."""
    for facing in range(4):
        thrust, off = thrust_of(S, i, T, facing)
        numbers[0, OFFSETS_AT + facing] = max(-1.0, min(1.0, off / FAR_CELLS))
        numbers[0, THRUSTS_AT + facing] = min(1.0, thrust / MUCH_THRUST)


@jit
def show_more(S, i, T, numbers):
    """Writes the numbers that the observation does not hold; the terms must be measured."""
    for n in range(6):
        numbers[0, TERMS_AT + n] = T.terms[n]
    show_balance(S, i, T, numbers)
    for n in range(NEXT_FACINGS_AT, CENTRE_AT):
        numbers[0, n] = 0.0
    phase = np.int64(S[i, at.PHASE])
    for k in range(1, at.PREVIEW):
        entry = np.int64(S[i, at.QUEUE + k]) - 1
        if entry >= 0 and T.facts[T.kinds[phase, entry // 4], catalogue.CLEAR] > 0:
            numbers[0, NEXT_FACINGS_AT + 4 * (k - 1) + entry % 4] = 1.0


@jit
def show_asked(T, numbers):
    """Writes how large the ship is and what it is asked for, so that one network can tell ships of all kinds apart."""
    numbers[0, ASKED_AT] = T.grid / LARGE_GRID
    numbers[0, ASKED_AT + 1] = min(1.0, hull_area(T) / LARGE_HULL)
    for axis in range(2):
        numbers[0, ASKED_AT + 2 + axis] = min(1.0, (T.box[axis + 2] + 1 - T.box[axis]) / LONG_HULL)
    for k in range(len(ASKED)):
        stage, column, most = ASKED[k]
        numbers[0, ASKED_AT + 4 + k] = min(1.0, T.stages[stage, column] / most)


@jit(inline=True)
def show_hull(S, i, T, codes, maps):
    """Writes the codes of all cells and the hull's own maps; no cell is within reach of the crew yet."""
    width = T.grid + 2
    for cell in range(width * width):
        codes[cell] = 0
    for y in range(T.box[1], T.box[3] + 1):
        for x in range(T.box[0], T.box[2] + 1):
            value = cell_value(S, i, T, x, y)
            if value == SPACE:
                continue
            if value >= ROOM:
                part, r, _, _, _, _ = part_at(S, i, T, value - ROOM)
                value = ROOM + 4 * part + r
            codes[(y + 1) * width + x + 1] = value
            cell = y * T.grid + x
            for m in range(at.OUTLINE_MAPS):
                maps[cell, m] = T.outline[cell, m]
            for m in range(at.OUTLINE_MAPS, MAPS):
                maps[cell, m] = 1.0


@jit
def see_ship(S, i, codes, maps, numbers, T):
    """Describes row `i` of a hull that stands; returns its potential."""
    base = potential(S, i, T)
    if S[i, at.PARTS_PLACED] == 0:  # nothing is measured yet
        load_planes(S, i, T)
        hull_extent(T, T.box)
        for n in range(6):
            T.terms[n] = 0.0
        T.notes[TOTAL], T.notes[MOMENT_X], T.notes[MOMENT_Y] = 1, T.grid, T.grid
    trace_outline(S, i, T)
    show_hull(S, i, T, codes, maps)
    map_steps(S, i, T, catalogue.COCKPIT, catalogue.COCKPIT, FAR_STEPS, maps, M_COCKPIT)
    map_steps(S, i, T, catalogue.QUARTERS, catalogue.BUNK, FAR_STEPS, maps, M_CREW)
    map_steps(S, i, T, catalogue.AMMO_SUPPLY, catalogue.AMMO_SUPPLY, NEAR_STEPS, maps, M_AMMO)
    map_steps(S, i, T, catalogue.REACTOR, catalogue.POWER_STORAGE, NEAR_STEPS, maps, M_POWER)
    show_numbers(S, i, T, numbers, 0)
    show_more(S, i, T, numbers)
    for axis in range(2):
        centre = (T.notes[MOMENT_X] if axis == 0 else T.notes[MOMENT_Y]) / (2.0 * T.notes[TOTAL])
        off = (centre - (T.box[axis] + T.box[axis + 2] + 1) / 2.0) / FAR_CELLS
        numbers[0, CENTRE_AT + axis] = max(-1.0, min(1.0, off))
    show_asked(T, numbers)
    return base


@jit(inline_source=True)
def see(S, i, codes, maps, numbers, T):
    """Describes row `i` of a hull that stands; returns its potential."""
    return see_ship(S, i, codes, maps, numbers, T.ship)


GRID = GridFeatures(
    see=see,
    side=lambda options: options.built.grid,
    codes=CODES,
    maps=MAPS,
    numbers=ALL_NUMBERS,
    stage="request",
    version=2,
)
