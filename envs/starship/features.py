"""What learners see of an unfinished ship.

Agents see 25 maps over the grid and 48 numbers. A convolutional network (`GRID`) sees a code for each cell, 12 maps over the
hull, and 82 numbers. The value that it learns is counted from the potential: its output is what the quality still gains.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from leafwise.envs.core.arrays import Floats32
from leafwise.envs.core.compile.jit import jit
from leafwise.envs.core.contract.features import GridFeatures
from leafwise.envs.core.contract.game import Labels
from leafwise.envs.starship import catalogue
from leafwise.envs.starship import tables as at
from leafwise.envs.starship.board import (
    ONE,
    ZERO,
    bit,
    cell_value,
    copy_words,
    hull_area,
    hull_extent,
    load_planes,
    lowest,
    part_at,
    step_x,
    step_y,
    write_bits,
    write_steps,
)
from leafwise.envs.starship.catalogue import ARMOUR, CLEAR, COCKPIT, CORRIDOR, PARTS, ROOM, SPACE
from leafwise.envs.starship.placing import MOMENT_X, MOMENT_Y, TOTAL, measure_distance, measure_mass
from leafwise.envs.starship.quality import potential, start_from, thrust_of
from leafwise.envs.starship.rules import DECISION, find_places
from leafwise.envs.starship.targets import MOST_ASKED, NAMES, WAYS, standing

if TYPE_CHECKING:
    import gymnasium as gym

    from leafwise.envs.starship.options import Options

CHANNELS = (
    *("hull", "corridor", "armour", "cockpit", "reactor", "thruster_small", "thruster_med", "thruster_large"),
    *("cannon_med", "cannon_large", "ammo_supply", "power_storage", "quarters", "bunk"),
    *("facing_north", "facing_east", "facing_south", "facing_west", "door_east", "door_south"),
    *("distance_to_space", "steps_from_cockpit", "x_from_centre", "y_from_centre", "legal"),
)
"""The maps of the observation's `grid`; `legal` marks the top-left cells of the current request's legal places."""
C_FACING, C_DOOR_EAST, C_DOOR_SOUTH, C_DISTANCE, C_STEPS, C_X, C_Y, C_LEGAL = 14, 18, 19, 20, 21, 22, 23, 24
NUMBERS = 48
V_FACING, V_NEXT, V_PHASE, V_BUDGETS, V_SEATS, V_STEPS, V_AREA, V_MISSING, V_MASS = 11, 15, 37, 38, 42, 43, 44, 45, 46
PHASES = tuple(at.KINDS)
BUDGETS = (at.STAGE_THRUSTERS, at.STAGE_WEAPONS, at.STAGE_AMMO, at.STAGE_POWER)
FAR_STEPS, FAR_CELLS, MOST_MISSING, HEAVY, MANY_PARTS = 48, 16.0, 45.0, 100_000.0, 60.0


class Observation(NamedTuple):
    """What agents see; n environments, a square grid."""

    grid: Floats32
    """[n, 25, side, side]: `CHANNELS` over the grid, row y, column x."""
    vec: Floats32
    """[n, 48]: current request (11 parts, 4 facings), the next two (11 each), stage, budgets and sizes. With targets [n, 62]:
    also the targets and what is reached of each.
    """


def observation_space(options: Options) -> gym.spaces.Dict:
    """Returns a Dict of `grid`, float32 [25, side, side], and `vec`, float32 [48] or with targets [62]; all values are in -1..1."""
    import gymnasium as gym

    side = options.built.grid
    shapes = {"grid": (len(CHANNELS), side, side), "vec": (NUMBERS + (2 * len(NAMES) if options.targets else 0),)}
    return gym.spaces.Dict({name: gym.spaces.Box(-1.0, 1.0, shape, np.float32) for name, shape in shapes.items()})


PARTS_ORDER = "kinds of parts, in the order of `grid`"


def labels(options: Options) -> dict[str, tuple[Labels, ...]]:
    """Returns the labels of the numbers that `observe` writes."""
    parts = tuple(part.name for part in PARTS)
    budgets = ("thrusters", "weapons", "ammo", "power")
    return {
        "grid": (
            Labels(CHANNELS[:3], "1 at each cell of this kind"),
            Labels(CHANNELS[3:14], "1 at each cell of such a part", f"kinds of parts: {', '.join(CHANNELS[3:14])}"),
            Labels(CHANNELS[14:18], "1 at each cell of a part that faces this way; 0 at parts without a front"),
            Labels(CHANNELS[18:20], "1 where a door leads to the neighbouring cell on this side"),
            Labels(CHANNELS[20:21], "steps to the nearest cell of space, divided by 16, at most 1"),
            Labels(CHANNELS[21:22], "steps on foot from the cockpit, divided by 48, at most 1; 1 if out of reach"),
            Labels(CHANNELS[22:24], "distance from the centre of mass, divided by the side of the grid"),
            Labels(CHANNELS[24:], "1 where the top-left cell of the requested part may go"),
        ),
        "vec": (
            Labels(tuple(f"requested {part}" for part in parts), "1 for the kind of the requested part", PARTS_ORDER),
            Labels(
                tuple(f"facing {way}" for way in WAYS),
                "1 for the way that the requested part has to face; all 0 if this part has no front",
            ),
            Labels(
                tuple(f"next {part}" for part in parts),
                "1 for the kind of the part after the requested one",
                PARTS_ORDER,
            ),
            Labels(
                tuple(f"after next {part}" for part in parts),
                "1 for the kind of the second part after the requested one",
                PARTS_ORDER,
            ),
            Labels(("stage",), "number of the current stage among the 7 stages that place parts, divided by 7"),
            Labels(
                tuple(f"{name} placed" for name in budgets),
                "points of the placed parts of this kind, divided by the largest target that their stage can draw",
            ),
            Labels(
                ("seats placed",),
                "seats placed, divided by the target of the crew's stage, at most 1",
            ),
            Labels(("parts placed",), "number of parts placed, divided by 60, at most 1"),
            Labels(("hull area",), "cells of the hull, as a share of all cells of the grid"),
            Labels(("missing",), "points that the current stage still has to place, divided by 45, at most 1"),
            Labels(("mass",), "mass, divided by 1,000 tonnes, at most 1"),
            Labels(("unused",), "always 0"),
            *(asked_labels() if options.targets else ()),
        ),
    }


def asked_labels() -> tuple[Labels, ...]:
    """Returns the labels of the numbers that the option `targets` adds."""
    most = ", ".join(f"{name} {count}" for name, count in zip(NAMES, MOST_ASKED, strict=True))
    return (
        Labels(
            tuple(f"asked {name}" for name in NAMES),
            f"the target, divided by the largest target allowed ({most}); -1: no target",
        ),
        Labels(
            tuple(f"placed {name}" for name in NAMES),
            "what the parts placed so far add up to, divided by the largest target allowed, at most 1",
        ),
    )


@jit
def show_cells(S, i, T, grid, e):
    """Writes the maps of the cells' contents and of the distance from the centre of mass."""
    total = max(1, T.notes[TOTAL])
    centre_x, centre_y = T.notes[MOMENT_X] / (2.0 * total), T.notes[MOMENT_Y] / (2.0 * total)
    grid[e, : C_DISTANCE + 1, :, :] = 0.0
    grid[e, C_STEPS, :, :] = 1.0
    grid[e, C_LEGAL, :, :] = 0.0
    for y in range(T.grid):
        for x in range(T.grid):
            grid[e, C_X, y, x] = (x + 0.5 - centre_x) / T.grid if y == 0 else grid[e, C_X, 0, x]
        grid[e, C_Y, y, :] = (y + 0.5 - centre_y) / T.grid
        left = T.planes[at.HULL, y + 1]
        while left != ZERO:
            x = lowest(left)
            left &= left - ONE
            word = np.int64(S[i, at.HEADER + y * T.grid + x])
            value = word & at.VALUE
            grid[e, 0, y, x] = 1.0
            grid[e, C_DISTANCE, y, x] = min(1.0, T.depth[y * T.grid + x] / FAR_CELLS)
            grid[e, C_DOOR_EAST, y, x] = 1.0 if word & at.DOOR_EAST else 0.0
            grid[e, C_DOOR_SOUTH, y, x] = 1.0 if word & at.DOOR_SOUTH else 0.0
            if value == CORRIDOR:
                grid[e, 1, y, x] = 1.0
            elif value == ARMOUR:
                grid[e, 2, y, x] = 1.0
            else:
                part, r, _, _, _, _ = part_at(S, i, T, value - ROOM)
                grid[e, 3 + part, y, x] = 1.0
                if T.facts[part, CLEAR] > 0:
                    grid[e, C_FACING + r, y, x] = 1.0


@jit
def show_numbers(S, i, T, vec, e):
    """Writes the requests in sight, the stage and the budgets."""
    vec[e, :NUMBERS] = 0.0
    phase = np.int64(S[i, at.PHASE])
    for k in range(at.PREVIEW):
        entry = np.int64(S[i, at.QUEUE + k]) - 1
        if entry >= 0:
            part = T.kinds[phase, entry // 4]
            vec[e, part if k == 0 else V_NEXT + 11 * (k - 1) + part] = 1.0
            if k == 0 and T.facts[part, CLEAR] > 0:
                vec[e, V_FACING + entry % 4] = 1.0
    for k in range(len(PHASES)):
        if PHASES[k] == phase:
            vec[e, V_PHASE] = (k + 1) / 7.0
    for k in range(len(BUDGETS)):
        vec[e, V_BUDGETS + k] = S[i, at.POINTS + BUDGETS[k]] / max(1, T.stages[BUDGETS[k], at.HIGH])
    vec[e, V_SEATS] = min(1.0, S[i, at.POINTS + at.STAGE_CREW] / max(1, T.stages[at.STAGE_CREW, at.HIGH]))
    vec[e, V_STEPS] = min(1.0, S[i, at.PARTS_PLACED] / MANY_PARTS)
    vec[e, V_AREA] = hull_area(T) / (T.grid * T.grid)
    missing = np.int64(S[i, at.TARGET + phase]) - np.int64(S[i, at.POINTS + phase])
    vec[e, V_MISSING] = min(1.0, max(np.int64(0), missing) / MOST_MISSING)
    vec[e, V_MASS] = min(1.0, T.notes[TOTAL] / HEAVY)


@jit
def show_ship(S, i, grid, vec, e, T):
    """Writes the observation of row `i`: its maps and its numbers."""
    load_planes(S, i, T)
    measure_mass(S, i, T)
    measure_distance(T)
    show_cells(S, i, T, grid, e)
    if start_from(S, i, T, COCKPIT, COCKPIT):
        first = (e * len(CHANNELS) + C_STEPS) * T.grid * T.grid
        write_steps(T, 0, T.grid - 1, FAR_STEPS, grid.reshape(-1), first, 1)
    if S[i, at.TURN] == DECISION:
        find_places(S, i, T)
        first = (e * len(CHANNELS) + C_LEGAL) * T.grid * T.grid
        for y in range(T.grid):
            left = ZERO
            for r in range(T.places.shape[0]):
                left |= T.places[r, y + 1]
            write_bits(left, 1.0, grid.reshape(-1), first + y * T.grid, 1)
    show_numbers(S, i, T, vec, e)
    if vec.shape[1] > NUMBERS:
        for k in range(len(NAMES)):
            asked = T.asked[k]
            vec[e, NUMBERS + k] = -1.0 if asked < 0 else asked / MOST_ASKED[k]
            vec[e, NUMBERS + len(NAMES) + k] = min(1.0, standing(S, i, T, k) / MOST_ASKED[k])


@jit(inline_source=True)
def observe(S, i, O, e, T):
    """Writes the observation of row `i` to environment `e`."""
    show_ship(S, i, O.grid, O.vec, e, T.ship)


def planes_space(options: Options) -> gym.spaces.Box:
    """Returns a Box float32 [73, side, side], with targets [87, side, side]: `grid`, then a plane for each number of `vec`."""
    import gymnasium as gym

    (channels, *cells), (numbers,) = (box.shape or () for box in observation_space(options).values())
    return gym.spaces.Box(-1.0, 1.0, (channels + numbers, *cells), np.float32)


def planes_labels(options: Options) -> dict[str, tuple[Labels, ...]]:
    """Returns the labels of the planes that `planes_as` writes."""
    grid, numbers = (tuple(name for group in groups for name in group.names) for groups in labels(options).values())
    return {
        "": (
            Labels(grid, "as in `grid`", "the planes of `grid`, in their order"),
            Labels(
                numbers, "as in `vec`, the same number in every cell", "one for each number of `vec`, in their order"
            ),
        )
    }


@jit(inline_source=True)
def planes_as(S, i, player, O, e, T):
    """Writes the maps of row `i`, and its numbers as further maps with the same value in every cell."""
    grid = O[e : e + 1]
    numbers = grid[:, len(CHANNELS) :, 0, 0]
    show_ship(S, i, grid, numbers, 0, T.ship)
    for k in range(numbers.shape[1]):
        O[e, len(CHANNELS) + k, :, :] = numbers[0, k]


CODES = ROOM + 4 * 11
"""The number of codes: space, armour, corridor, and each part in each rotation."""
M_X, M_Y, M_ASIDE, M_DISTANCE, M_LANE, M_COCKPIT, M_CREW, M_AMMO, M_POWER = 0, 1, 2, 3, 4, 8, 9, 10, 11
MAPS = 12
"""The number of maps, from 0 on: the cell's column and row, its distance from the hull's middle column, and from SPACE; the
free lane in each direction; the crew's steps to cockpit, crew rooms, ammo and power.
"""
TERMS_AT = NUMBERS
OFFSETS_AT = TERMS_AT + 6
THRUSTS_AT = OFFSETS_AT + 4
NEXT_FACINGS_AT = THRUSTS_AT + 4
CENTRE_AT = NEXT_FACINGS_AT + 4 * (at.PREVIEW - 1)
ASKED_AT = CENTRE_AT + 2
ALL_NUMBERS = ASKED_AT + 10
"""The number of numbers: the observation's; the six terms; for each facing how far its thrust is off the centre, and how much
it is; the facings of the next two requests; how far the centre of mass is off the middle of the hull; the size of grid and
hull, the hull's width and height, and the targets: thrust, weapons, full firepower, ammo, power, seats.
"""
MAP_CELLS, MAP_STEPS, NEAR_STEPS, MUCH_THRUST = 8.0, 24, 12, 10_000.0
LARGE_GRID, LARGE_HULL, LONG_HULL = 64.0, 1000.0, 48.0
ASKED = (
    *((at.STAGE_THRUSTERS, at.HIGH, 45.0), (at.STAGE_WEAPONS, at.HIGH, 12.0), (at.STAGE_WEAPONS, at.FULL, 10.0)),
    *((at.STAGE_AMMO, at.HIGH, 3.0), (at.STAGE_POWER, at.HIGH, 3.0), (at.STAGE_CREW, at.LOW, 48.0)),
)
"""Stages, columns of their parameters, and what these are divided by; the quotients are at most 1."""
CLEAR_LANE, LONG_LANE = 1.0, 10.0
"""Lanes that are clear to the edge of the grid; others are free cells divided by LONG_LANE (parts need at most 7)."""


@jit
def lane(T, x, y, facing):
    """Returns how free the lane from a hull cell in one direction is, from 0 to 1."""
    dx, dy, free = step_x(facing), step_y(facing), 0
    x, y = x + dx, y + dy
    while 0 <= x < T.grid and 0 <= y < T.grid:
        if T.planes[at.HULL, y + 1] & bit(x) != ZERO:
            return min(7, free) / LONG_LANE
        x, y, free = x + dx, y + dy, free + 1
    return CLEAR_LANE


@jit
def trace_outline(S, i, T):
    """Writes the maps that follow from the hull alone to `T.outline`, unless they are already those of this hull."""
    different = ZERO
    for row in range(1, T.grid + 1):
        different |= T.outlined[row] ^ T.planes[at.HULL, row]
    if different == ZERO:
        return
    copy_words(T.planes[at.HULL], T.outlined)
    measure_distance(T)
    middle_x, middle_y = (T.box[0] + T.box[2] + 1) / 2.0, (T.box[1] + T.box[3] + 1) / 2.0
    for y in range(T.grid):
        for x in range(T.grid):
            if T.planes[at.HULL, y + 1] & bit(x) == ZERO:
                continue
            cell_maps = T.outline[y * T.grid + x]
            cell_maps[M_X] = 0.5 + (x + 0.5 - middle_x) / T.grid
            cell_maps[M_Y] = 0.5 + (y + 0.5 - middle_y) / T.grid
            cell_maps[M_ASIDE] = abs(x + 0.5 - middle_x) / MAP_CELLS
            cell_maps[M_DISTANCE] = T.depth[y * T.grid + x] / MAP_CELLS
            for facing in range(4):
                cell_maps[M_LANE + facing] = lane(T, x, y, facing)


@jit
def map_steps(S, i, T, a, b, most, maps, column):
    """Writes the crew's steps from the nearest part of kinds `a` and `b`, as a share of `most`, where they are fewer."""
    if start_from(S, i, T, a, b):
        write_steps(T, T.box[1], T.box[3], most, maps.reshape(-1), column, MAPS)


@jit
def show_more(S, i, T, numbers):
    """Writes the numbers that the observation does not have; the terms must be measured."""
    for n in range(6):
        numbers[0, TERMS_AT + n] = T.terms[n]
    for facing in range(4):
        thrust, off = thrust_of(S, i, T, facing)
        numbers[0, OFFSETS_AT + facing] = max(-1.0, min(1.0, off / MAP_CELLS))
        numbers[0, THRUSTS_AT + facing] = min(1.0, thrust / MUCH_THRUST)
    numbers[0, NEXT_FACINGS_AT:CENTRE_AT] = 0.0
    phase = np.int64(S[i, at.PHASE])
    for k in range(1, at.PREVIEW):
        entry = np.int64(S[i, at.QUEUE + k]) - 1
        if entry >= 0 and T.facts[T.kinds[phase, entry // 4], CLEAR] > 0:
            numbers[0, NEXT_FACINGS_AT + 4 * (k - 1) + entry % 4] = 1.0
    numbers[0, ASKED_AT] = T.grid / LARGE_GRID
    numbers[0, ASKED_AT + 1] = min(1.0, hull_area(T) / LARGE_HULL)
    for axis in range(2):
        low, high = T.box[axis], T.box[axis + 2] + 1
        centre = T.notes[MOMENT_X if axis == 0 else MOMENT_Y] / (2.0 * T.notes[TOTAL])
        numbers[0, CENTRE_AT + axis] = max(-1.0, min(1.0, (centre - (low + high) / 2.0) / MAP_CELLS))
        numbers[0, ASKED_AT + 2 + axis] = min(1.0, (high - low) / LONG_HULL)
    for k in range(len(ASKED)):
        stage, column, most = ASKED[k]
        numbers[0, ASKED_AT + 4 + k] = min(1.0, T.stages[stage, column] / most)


@jit
def see_ship(S, i, codes, maps, numbers, T):
    """Writes codes, maps and numbers of row `i`, whose hull is drawn; returns its potential."""
    base = potential(S, i, T)
    if S[i, at.PARTS_PLACED] == 0:  # the potential of an empty hull measures nothing
        load_planes(S, i, T)
        hull_extent(T, T.box)
        T.terms[:] = 0.0
        T.notes[TOTAL], T.notes[MOMENT_X], T.notes[MOMENT_Y] = 1, T.grid, T.grid
    trace_outline(S, i, T)
    # Codes of all cells, and the hull's own maps; no cell is within reach of the crew yet
    width = T.grid + 2
    codes[: width * width] = 0
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
            for m in range(MAPS):
                maps[cell, m] = T.outline[cell, m] if m < at.OUTLINE_MAPS else 1.0
    map_steps(S, i, T, catalogue.COCKPIT, catalogue.COCKPIT, MAP_STEPS, maps, M_COCKPIT)
    map_steps(S, i, T, catalogue.QUARTERS, catalogue.BUNK, MAP_STEPS, maps, M_CREW)
    map_steps(S, i, T, catalogue.AMMO_SUPPLY, catalogue.AMMO_SUPPLY, NEAR_STEPS, maps, M_AMMO)
    map_steps(S, i, T, catalogue.REACTOR, catalogue.POWER_STORAGE, NEAR_STEPS, maps, M_POWER)
    show_numbers(S, i, T, numbers, 0)
    show_more(S, i, T, numbers)
    return base


@jit(inline_source=True)
def see(S, i, codes, maps, numbers, T):
    """Writes codes, maps and numbers of row `i`, whose hull is drawn; returns its potential."""
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
