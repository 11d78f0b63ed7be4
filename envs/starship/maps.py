"""What a convolutional network sees of a ship: a code for each cell, seven maps over the hull, and 70 numbers.

The value it learns is counted from the potential: its output is what the quality still gains.
"""

from __future__ import annotations

import numpy as np

from leafwise.envs.core.grid import GridFeatures
from leafwise.envs.core.jit import jit
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
from leafwise.envs.starship.quality import is_thruster, potential, start_from
from leafwise.envs.starship.strategies import MOMENT_X, MOMENT_Y, TOTAL, measure_distance
from leafwise.envs.starship.tables import EAST, PARTS_PLACED, PHASE, PREVIEW, QUEUE, SEEN, SOUTH

CODES = ROOM + 4 * 11
"""Space, armour, corridor, and each part in each rotation."""
M_X, M_Y, M_DISTANCE, M_COCKPIT, M_CREW, M_AMMO, M_POWER = range(7)
MAPS = 7
"""Maps: cells right of and below the centre of mass, and to SPACE; steps to cockpit, crew rooms, ammo and power."""
TERMS_AT = NUMBERS
OFFSETS_AT = TERMS_AT + 6
THRUSTS_AT = OFFSETS_AT + 4
NEXT_FACINGS_AT = THRUSTS_AT + 4
ALL_NUMBERS = NEXT_FACINGS_AT + 4 * (PREVIEW - 1)
"""The observation's numbers; the six terms; for each facing how far its thrust is off the centre, and how much it is; the
facings of the next two requests."""
FAR_CELLS, FAR_STEPS, NEAR_STEPS, MUCH_THRUST = 8.0, 24, 12, 10_000.0


@jit
def map_steps(S, i, T, a, b, most, maps, column):
    """Writes the crew's steps from the nearest part of kinds `a` and `b`, as a share of `most`; 1 if there is none."""
    B = T.B
    found = start_from(S, i, T, a, b)
    for y in range(T.grid):
        inside = B[SEEN, y + 1]
        for x in range(T.grid):
            maps[y * T.grid + x, column] = 1.0 if inside & bit(x) == ZERO else 0.0
    if not found:
        return
    for step in range(1, most):
        grew, above = ZERO, ZERO
        for row in range(1, T.grid + 1):
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
    for n in range(NEXT_FACINGS_AT, ALL_NUMBERS):
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
        for n in range(6):
            T.terms[n] = 0.0
        T.notes[TOTAL], T.notes[MOMENT_X], T.notes[MOMENT_Y] = 1, T.grid, T.grid
    measure_distance(S, i, T)
    width, total = T.grid + 2, 2.0 * T.notes[TOTAL]
    centre_x, centre_y = T.notes[MOMENT_X] / total, T.notes[MOMENT_Y] / total
    for at in range(width * width):
        codes[at] = 0
    map_steps(S, i, T, COCKPIT, COCKPIT, FAR_STEPS, maps, M_COCKPIT)
    map_steps(S, i, T, QUARTERS, BUNK, FAR_STEPS, maps, M_CREW)
    map_steps(S, i, T, AMMO_SUPPLY, AMMO_SUPPLY, NEAR_STEPS, maps, M_AMMO)
    map_steps(S, i, T, REACTOR, POWER_STORAGE, NEAR_STEPS, maps, M_POWER)
    for y in range(T.grid):
        for x in range(T.grid):
            value = cell_value(S, i, T, x, y)
            if value == SPACE:
                continue
            at = y * T.grid + x
            if value >= ROOM:
                k = value - ROOM
                value = ROOM + 4 * part_kind(S, i, T, k) + part_rotation(S, i, T, k)
            codes[(y + 1) * width + x + 1] = value
            maps[at, M_X] = (x + 0.5 - centre_x) / FAR_CELLS
            maps[at, M_Y] = (y + 0.5 - centre_y) / FAR_CELLS
            maps[at, M_DISTANCE] = T.D[at] / FAR_CELLS
    show_numbers(S, i, T, numbers, 0)
    show_more(S, i, T, numbers)
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
)
