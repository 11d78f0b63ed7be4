"""What an agent sees of a ship that is being built: 25 maps over the grid, and 48 numbers beside them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.compile.jit import jit
from leafwise.envs.starship.board import (
    ONE,
    ZERO,
    bit,
    contiguous,
    load_planes,
    lowest,
    part_kind,
    part_rotation,
)
from leafwise.envs.starship.catalogue import ARMOUR, CLEAR, COCKPIT, CORRIDOR, ROOM, SPACE
from leafwise.envs.starship.legality import find_anchors
from leafwise.envs.starship.presets import PRESETS
from leafwise.envs.starship.quality import start_from
from leafwise.envs.starship.stages import hull_area
from leafwise.envs.starship.strategies import MOMENT_X, MOMENT_Y, TOTAL, measure_distance, measure_mass
from leafwise.envs.starship.tables import (
    ANCHORS,
    DOOR_EAST,
    DOOR_SOUTH,
    EAST,
    HEADER,
    HIGH,
    LIMIT,
    PARTS_PLACED,
    PHASE,
    POINTS,
    PREVIEW,
    QUEUE,
    SEEN,
    SOUTH,
    STAGE_AMMO,
    STAGE_COCKPIT,
    STAGE_CREW,
    STAGE_POWER,
    STAGE_REACTOR,
    STAGE_THRUSTERS,
    STAGE_WEAPONS,
    TARGET,
    TURN,
    VALUE,
)
from leafwise.envs.starship.turns import DECISION, first_rotation, last_rotation

CHANNELS = (
    *("hull", "corridor", "armour", "cockpit", "reactor", "thruster_small", "thruster_med", "thruster_large"),
    *("cannon_med", "cannon_large", "ammo_supply", "power_storage", "quarters", "bunk"),
    *("facing_north", "facing_east", "facing_south", "facing_west", "door_east", "door_south"),
    *("distance_to_space", "steps_from_cockpit", "x_from_centre", "y_from_centre", "legal"),
)
"""Maps of the observation's `grid`; `legal` marks the top-left cells at which the current request may stand."""
C_FACING, C_DOOR_EAST, C_DOOR_SOUTH, C_DISTANCE, C_STEPS, C_X, C_Y, C_LEGAL = 14, 18, 19, 20, 21, 22, 23, 24
NUMBERS = 48
V_FACING, V_NEXT, V_PHASE, V_BUDGETS, V_SEATS, V_STEPS, V_AREA, V_MISSING, V_MASS = 11, 15, 37, 38, 42, 43, 44, 45, 46
PHASES = (STAGE_COCKPIT, STAGE_REACTOR, STAGE_THRUSTERS, STAGE_WEAPONS, STAGE_AMMO, STAGE_POWER, STAGE_CREW)
"""The placing stages in order."""
BUDGETS = (STAGE_THRUSTERS, STAGE_WEAPONS, STAGE_AMMO, STAGE_POWER)
FAR_STEPS, FAR_CELLS, MOST_MISSING, HEAVY, MANY_PARTS = 48, 16.0, 45.0, 100_000.0, 60.0


class Observation(NamedTuple):
    """What agents see; n environments, a grid of side S."""

    grid: NDArray[np.float32]
    """[n, 25, S, S]: `CHANNELS` over the grid, row y, column x."""
    vec: NDArray[np.float32]
    """[n, 48]: current request (11 parts, 4 facings), the next two (11 each), stage, budgets and sizes."""


def observation_space(options: Mapping[str, Any]) -> gym.spaces.Dict:
    """Returns a Dict of `grid`, float32 [25, S, S], and `vec`, float32 [48]; all numbers lie in -1..1."""
    side = PRESETS[options["preset"]].grid
    shapes = {"grid": (len(CHANNELS), side, side), "vec": (NUMBERS,)}
    return gym.spaces.Dict({name: gym.spaces.Box(-1.0, 1.0, shape, np.float32) for name, shape in shapes.items()})


@jit
def show_cells(S, i, T, grid, e):
    """Writes the maps of what stands where, and where the centre of mass is."""
    total = max(1, T.notes[TOTAL])
    centre_x, centre_y = T.notes[MOMENT_X] / (2.0 * total), T.notes[MOMENT_Y] / (2.0 * total)
    for c in range(C_DISTANCE):
        for y in range(T.grid):
            for x in range(T.grid):
                grid[e, c, y, x] = 0.0
    for y in range(T.grid):
        for x in range(T.grid):
            word = np.int64(S[i, HEADER + y * T.grid + x])
            value = word & VALUE
            grid[e, C_DISTANCE, y, x] = min(1.0, T.D[y * T.grid + x] / FAR_CELLS)
            grid[e, C_STEPS, y, x] = 1.0
            grid[e, C_X, y, x] = (x + 0.5 - centre_x) / T.grid
            grid[e, C_Y, y, x] = (y + 0.5 - centre_y) / T.grid
            grid[e, C_LEGAL, y, x] = 0.0
            if value == SPACE:
                continue
            grid[e, 0, y, x] = 1.0
            grid[e, C_DOOR_EAST, y, x] = 1.0 if word & DOOR_EAST else 0.0
            grid[e, C_DOOR_SOUTH, y, x] = 1.0 if word & DOOR_SOUTH else 0.0
            if value == CORRIDOR:
                grid[e, 1, y, x] = 1.0
            elif value == ARMOUR:
                grid[e, 2, y, x] = 1.0
            else:
                part = part_kind(S, i, T, value - ROOM)
                grid[e, 3 + part, y, x] = 1.0
                if T.facts[part, CLEAR] > 0:
                    grid[e, C_FACING + part_rotation(S, i, T, value - ROOM), y, x] = 1.0


@jit
def show_steps(S, i, T, grid, e):
    """Writes how many crew steps each cell is from the cockpit."""
    B = T.B
    if not start_from(S, i, T, COCKPIT, COCKPIT):
        return
    for y in range(T.grid):
        for x in range(T.grid):
            if B[SEEN, y + 1] & bit(x) != ZERO:
                grid[e, C_STEPS, y, x] = 0.0
    for step in range(1, FAR_STEPS):
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
                grid[e, C_STEPS, row - 1, lowest(fresh)] = step / 48.0
                fresh &= fresh - ONE
        if grew == ZERO:
            return


@jit
def show_places(S, i, T, grid, e):
    """Writes the top-left cells of the current request's legal places."""
    phase, entry = np.int64(S[i, PHASE]), np.int64(S[i, QUEUE]) - 1
    part, limit = T.kinds[phase, entry // 4], T.P[phase, LIMIT]
    for r in range(first_rotation(T, part, entry), last_rotation(T, part, entry)):
        find_anchors(T, part, r)
        w, h = T.size[part, r, 0], T.size[part, r, 1]
        for y in range(T.grid):
            left = T.B[ANCHORS, y + 1]
            while left != ZERO:
                x = lowest(left)
                left &= left - ONE
                if grid[e, C_LEGAL, y, x] == 0.0 and contiguous(T.B, T.grid, x, y, w, h, limit):
                    grid[e, C_LEGAL, y, x] = 1.0


@jit
def show_numbers(S, i, T, vec, e):
    """Writes the requests in sight, the stage and the budgets."""
    for k in range(NUMBERS):
        vec[e, k] = 0.0
    phase = np.int64(S[i, PHASE])
    for k in range(PREVIEW):
        entry = np.int64(S[i, QUEUE + k]) - 1
        if entry >= 0:
            part = T.kinds[phase, entry // 4]
            vec[e, part if k == 0 else V_NEXT + 11 * (k - 1) + part] = 1.0
            if k == 0 and T.facts[part, CLEAR] > 0:
                vec[e, V_FACING + entry % 4] = 1.0
    for k in range(len(PHASES)):
        if PHASES[k] == phase:
            vec[e, V_PHASE] = (k + 1) / 7.0
    for k in range(len(BUDGETS)):
        vec[e, V_BUDGETS + k] = S[i, POINTS + BUDGETS[k]] / T.P[BUDGETS[k], HIGH]
    vec[e, V_SEATS] = min(1.0, S[i, POINTS + STAGE_CREW] / T.P[STAGE_CREW, HIGH])
    vec[e, V_STEPS] = min(1.0, S[i, PARTS_PLACED] / MANY_PARTS)
    vec[e, V_AREA] = hull_area(T) / (T.grid * T.grid)
    missing = np.int64(S[i, TARGET + phase]) - np.int64(S[i, POINTS + phase])
    vec[e, V_MISSING] = min(1.0, max(np.int64(0), missing) / MOST_MISSING)
    vec[e, V_MASS] = min(1.0, T.notes[TOTAL] / HEAVY)


@jit
def show_ship(S, i, grid, vec, e, T):
    """Writes what row `i` looks like to the builder."""
    load_planes(S, i, T)
    measure_mass(S, i, T)
    measure_distance(S, i, T)
    show_cells(S, i, T, grid, e)
    show_steps(S, i, T, grid, e)
    if S[i, TURN] == DECISION:
        show_places(S, i, T, grid, e)
    show_numbers(S, i, T, vec, e)


@jit(merged=True)
def observe(S, i, O, e, T):
    """Writes what row `i` looks like to the builder."""
    show_ship(S, i, O.grid, O.vec, e, T.ship)
