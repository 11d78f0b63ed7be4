"""What an agent sees of a ship that is being built: 25 maps over the grid, and 48 numbers beside them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.compile.jit import jit
from leafwise.envs.core.contract.game import Labels
from leafwise.envs.starship import tables as at
from leafwise.envs.starship.board import ZERO, load_planes, part_at, write_bits, write_steps
from leafwise.envs.starship.catalogue import ARMOUR, CLEAR, COCKPIT, CORRIDOR, PARTS, ROOM, SPACE
from leafwise.envs.starship.quality import start_from
from leafwise.envs.starship.stages import hull_area
from leafwise.envs.starship.strategies import MOMENT_X, MOMENT_Y, TOTAL, measure_distance, measure_mass
from leafwise.envs.starship.targets import MOST_ASKED, NAMES, standing
from leafwise.envs.starship.turns import DECISION, find_places

if TYPE_CHECKING:
    from leafwise.envs.starship.options import Options

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
PHASES = tuple(at.KINDS)
BUDGETS = (at.STAGE_THRUSTERS, at.STAGE_WEAPONS, at.STAGE_AMMO, at.STAGE_POWER)
FAR_STEPS, FAR_CELLS, MOST_MISSING, HEAVY, MANY_PARTS = 48, 16.0, 45.0, 100_000.0, 60.0


class Observation(NamedTuple):
    """What agents see; n environments, a square grid."""

    grid: NDArray[np.float32]
    """[n, 25, side, side]: `CHANNELS` over the grid, row y, column x."""
    vec: NDArray[np.float32]
    """[n, 48]: current request (11 parts, 4 facings), the next two (11 each), stage, budgets and sizes; where targets are given
    [n, 62]: also what they ask for and what stands of it."""


def observation_space(options: Options) -> gym.spaces.Dict:
    """Returns a Dict of `grid`, float32 [25, side, side], and `vec`, float32 [48] or with targets [62]; all lie in -1..1."""
    side = options.built.grid
    shapes = {"grid": (len(CHANNELS), side, side), "vec": (NUMBERS + (2 * len(NAMES) if options.targets else 0),)}
    return gym.spaces.Dict({name: gym.spaces.Box(-1.0, 1.0, shape, np.float32) for name, shape in shapes.items()})


def labels(options: Options) -> dict[str, tuple[Labels, ...]]:
    """Returns what `observe` writes."""
    parts, ways = tuple(part.name for part in PARTS), ("north", "east", "south", "west")
    budgets = ("thrusters", "weapons", "ammo", "power")
    return {
        "grid": (
            Labels(CHANNELS[:3], "1 where there is hull, corridor, armour"),
            Labels(CHANNELS[3:14], "1 at the cells of a part of the kind"),
            Labels(CHANNELS[14:18], "1 at the cells of a part that faces there, of those that face anywhere"),
            Labels(CHANNELS[18:20], "1 where a door leads to the next cell in the east, in the south"),
            Labels(CHANNELS[20:21], "steps to the nearest space, 16 and more: 1"),
            Labels(CHANNELS[21:22], "steps from the cockpit on foot, 48 and more, or out of reach: 1"),
            Labels(CHANNELS[22:24], "distance from the centre of mass, as a share of the grid"),
            Labels(CHANNELS[24:], "1 where the current request's top-left cell may stand"),
        ),
        "vec": (
            Labels(tuple(f"requested {part}" for part in parts), "1 for the part to be placed now"),
            Labels(tuple(f"facing {way}" for way in ways), "1 for where it is to face, if it faces anywhere"),
            Labels(tuple(f"next {part}" for part in parts), "1 for the part of the next request"),
            Labels(tuple(f"after next {part}" for part in parts), "1 for the part of the request after it"),
            Labels(("stage",), "number of the placing stage, a seventh each"),
            Labels(tuple(f"{name} placed" for name in budgets), "points placed, as a share of the most"),
            Labels(("seats placed",), "points of crew rooms, as a share of the most"),
            Labels(("parts placed",), "parts placed, 60 and more: 1"),
            Labels(("hull area",), "cells of the hull, as a share of the grid"),
            Labels(("missing",), "points the running stage still has to place, 45 and more: 1"),
            Labels(("mass",), "mass, 1,000 tonnes and more: 1"),
            Labels(("unused",), "always 0"),
            *(asked_labels() if options.targets else ()),
        ),
    }


def asked_labels() -> tuple[Labels, ...]:
    """Returns what the numbers are that are there where targets are given."""
    most = ", ".join(f"{name} {count}" for name, count in zip(NAMES, MOST_ASKED, strict=True))
    return (
        Labels(tuple(f"asked {name}" for name in NAMES), f"the target as a share of the most ({most}), -1 for none"),
        Labels(tuple(f"placed {name}" for name in NAMES), "what the parts placed so far add up to, as the same share"),
    )


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
            grid[e, C_DISTANCE, y, x] = min(1.0, T.depth[y * T.grid + x] / FAR_CELLS)
            grid[e, C_STEPS, y, x] = 1.0
            grid[e, C_X, y, x] = (x + 0.5 - centre_x) / T.grid
            grid[e, C_Y, y, x] = (y + 0.5 - centre_y) / T.grid
            grid[e, C_LEGAL, y, x] = 0.0
            word = np.int64(S[i, at.HEADER + y * T.grid + x])
            if word != SPACE:
                show_hull(S, i, T, grid, e, y, x, word)


@jit(inline=True)
def show_hull(S, i, T, grid, e, y, x, word):
    """Writes what stands in a cell of the hull."""
    value = word & at.VALUE
    grid[e, 0, y, x] = 1.0
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
def show_places(S, i, T, grid, e):
    """Writes the top-left cells of the current request's legal places."""
    find_places(S, i, T)
    first = (e * len(CHANNELS) + C_LEGAL) * T.grid * T.grid
    for y in range(T.grid):
        left = ZERO
        for r in range(T.places.shape[0]):
            left |= T.places[r, y + 1]
        write_bits(left, 1.0, grid.reshape(-1), first + y * T.grid, 1)


@jit
def show_numbers(S, i, T, vec, e):
    """Writes the requests in sight, the stage and the budgets."""
    for k in range(NUMBERS):
        vec[e, k] = 0.0
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
def show_targets(S, i, T, vec, e):
    """Writes what is asked for, and what stands of it."""
    for k in range(len(NAMES)):
        asked = T.asked[k]
        vec[e, NUMBERS + k] = -1.0 if asked < 0 else asked / MOST_ASKED[k]
        vec[e, NUMBERS + len(NAMES) + k] = min(1.0, standing(S, i, T, k) / MOST_ASKED[k])


@jit
def show_ship(S, i, grid, vec, e, T):
    """Writes what row `i` looks like to the builder."""
    load_planes(S, i, T)
    measure_mass(S, i, T)
    measure_distance(S, i, T)
    show_cells(S, i, T, grid, e)
    if start_from(S, i, T, COCKPIT, COCKPIT):
        first = (e * len(CHANNELS) + C_STEPS) * T.grid * T.grid
        write_steps(T, 0, T.grid - 1, FAR_STEPS, grid.reshape(-1), first, 1)
    if S[i, at.TURN] == DECISION:
        show_places(S, i, T, grid, e)
    show_numbers(S, i, T, vec, e)
    if vec.shape[1] > NUMBERS:
        show_targets(S, i, T, vec, e)


@jit(inline_source=True)
def observe(S, i, O, e, T):
    """Writes what row `i` looks like to the builder."""
    show_ship(S, i, O.grid, O.vec, e, T.ship)
