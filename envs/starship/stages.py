"""The stages in compiled code. Asking (what is to be placed) and placing (where) are separate functions with streams
of their own, so that whoever places chooses among the same requests.
"""

from __future__ import annotations

import numpy as np

from leafwise.envs.core.compile.jit import jit
from leafwise.envs.core.contract.stream import GOLDEN, below, mix
from leafwise.envs.starship.board import (
    ONE,
    ZERO,
    cell_value,
    contiguous,
    load_planes,
    lowest,
    open_hull,
    part_kind,
    part_rotation,
    part_x,
    part_y,
    popcount,
    put_armour,
    put_door,
    put_part,
    walk_is_longer,
)
from leafwise.envs.starship.catalogue import (
    CLEAR,
    COCKPIT,
    CORRIDOR,
    REACTOR,
    ROOM,
    ROTATIONS,
    SPACE,
)
from leafwise.envs.starship.catalogue import (
    POINTS as PART_POINTS,
)
from leafwise.envs.starship.legality import find_anchors
from leafwise.envs.starship.shape import carve, draw_hull, fill_gaps
from leafwise.envs.starship.strategies import prepare, score
from leafwise.envs.starship.tables import (
    ANCHORS,
    DOOR_EAST,
    DOOR_SOUTH,
    ENABLED,
    EXHAUSTED,
    FACINGS,
    FIRST_TIE,
    HEADER,
    HIGH,
    HULL,
    LAYERS,
    LIMIT,
    LOW,
    PARTS_PLACED,
    POINTS,
    REACH,
    REASON_BIT,
    REASONS,
    SKIPS,
    STAGE_ARMOUR,
    STAGE_CARVE,
    STAGE_COCKPIT_ARMOUR,
    STAGE_CREW,
    STAGE_DOORS,
    STAGE_EXTERIOR,
    STAGE_FILL,
    STAGE_REACTOR_ARMOUR,
    STAGE_SHAPE,
    TARGET,
    WEIGHTS,
)

u64 = np.uint64
MOST_SKIPS = 64
"""Requests in a row that may be unusable before a stage gives up."""


@jit
def open_streams(T, seed, attempt, stage):
    """Sets the streams `request` and `place` to the start of a stage of one attempt at a seed."""
    key = mix(mix(seed + GOLDEN) + u64(attempt) * GOLDEN)
    for kind in range(2):
        stream = T.request if kind == 0 else T.place
        stream[0] = mix(key + u64(2 * stage + kind + 1) * GOLDEN)
        stream[1] = ZERO


@jit
def begin_phase(S, i, T, stage):
    """Draws the target of a placing stage and forgets what was unusable before."""
    span = T.P[stage, HIGH] - T.P[stage, LOW] + 1
    S[i, TARGET + stage] = T.P[stage, LOW] + np.int64(below(T.request, u64(span)))
    S[i, SKIPS] = 0
    S[i, EXHAUSTED] = 0


@jit
def weigh(T, stage, first, count, draw):
    """Returns the index that `draw` falls on among `count` weights from column `first` on."""
    for k in range(count):
        draw -= T.P[stage, first + k]
        if draw < 0:
            return k
    return count - 1


@jit
def draw_entry(T, stage):
    """Draws the next request of a stage: kind * 4 + facing, by the stage's weights."""
    kinds, facings = 0, 0
    for column in range(WEIGHTS, FACINGS):
        kinds += T.P[stage, column]
    for column in range(FACINGS, FACINGS + 4):
        facings += T.P[stage, column]
    draw = np.int64(below(T.request, u64(kinds * facings)))
    return 4 * weigh(T, stage, WEIGHTS, 3, draw // facings) + weigh(T, stage, FACINGS, 4, draw % facings)


@jit
def entry_usable(S, i, T, stage, entry):
    """Returns whether a request fits the score that is left and is not known to have no legal place."""
    part = T.kinds[stage, entry // 4]
    if part < 0 or T.P[stage, WEIGHTS + entry // 4] == 0 or T.P[stage, FACINGS + entry % 4] == 0:
        return False
    if (np.int64(S[i, EXHAUSTED]) >> entry) & 1 != 0:
        return False
    points = np.int64(S[i, POINTS + stage]) + T.facts[part, PART_POINTS]
    return stage == STAGE_CREW or points <= T.P[stage, HIGH]


@jit
def phase_over(S, i, T, stage):
    """Returns whether a placing stage has met its target, or nothing it may ask for can be used."""
    if S[i, POINTS + stage] >= S[i, TARGET + stage] or S[i, SKIPS] >= MOST_SKIPS:
        return True
    for entry in range(12):  # noqa: SIM110 (compiled code has no generators)
        if entry_usable(S, i, T, stage, entry):
            return False
    return True


@jit
def choose_place(S, i, T, stage, part, facing):
    """Returns the stage's best legal place as (rotation * grid + y) * grid + x, or -1.

    A directional part keeps rotation `facing`; others try all of theirs. Equal places are chosen among by reservoir
    sampling from the stream `place`, in order of rotation, y, x.
    """
    prepare(S, i, T, stage, part)
    directional = T.facts[part, CLEAR] > 0
    first_tie, limit = T.P[stage, FIRST_TIE] != 0, T.P[stage, LIMIT]
    place, best, ties = -1, 0, 0
    for r in range(facing if directional else 0, facing + 1 if directional else T.facts[part, ROTATIONS]):
        find_anchors(T, part, r)
        w, h = T.size[part, r, 0], T.size[part, r, 1]
        for y in range(T.grid):
            left = T.B[ANCHORS, y + 1]
            while left != ZERO:
                x = lowest(left)
                left &= left - ONE
                value = score(S, i, T, stage, r, x, y, w, h)
                if place >= 0 and (value < best or (first_tie and value == best)):
                    continue
                if not contiguous(T.B, T.grid, x, y, w, h, limit):
                    continue
                ties = ties + 1 if place >= 0 and value == best else 1
                if ties == 1 or below(T.place, u64(ties)) == ZERO:
                    place = (r * T.grid + y) * T.grid + x
                best = value
    return place


@jit
def put_request(S, i, T, stage, part, place):
    """Places `part` at a place as `choose_place` returns it, and counts its points."""
    x, y, r = place % T.grid, (place // T.grid) % T.grid, place // (T.grid * T.grid)
    put_part(S, i, T, part, r, x, y)
    S[i, POINTS + stage] += np.uint16(T.facts[part, PART_POINTS])
    S[i, SKIPS] = 0


@jit
def run_phase(S, i, T, stage):
    """Stages 3, 4, 7, 8, 10, 11, 12: places requests until the target is met or nothing more can be placed."""
    begin_phase(S, i, T, stage)
    while not phase_over(S, i, T, stage):
        entry = draw_entry(T, stage)
        if entry_usable(S, i, T, stage, entry):
            part = T.kinds[stage, entry // 4]
            place = choose_place(S, i, T, stage, part, entry % 4)
            if place >= 0:
                put_request(S, i, T, stage, part, place)
                continue
            S[i, EXHAUSTED] |= np.uint16(1 << entry)
        S[i, SKIPS] += np.uint16(1)
    note_failure(S, i, T, stage)


@jit
def note_failure(S, i, T, stage):
    """Records the stage's reason if it fell short of its minimum."""
    if S[i, POINTS + stage] < T.P[stage, LOW]:
        S[i, REASONS] |= np.uint16(1 << REASON_BIT[stage])


@jit
def armour_part(S, i, T, stage, part):
    """Stages 5 and 6: rings of armour round the first part of a kind, ring by ring in raster order."""
    for k in range(np.int64(S[i, PARTS_PLACED])):
        if part_kind(S, i, T, k) != part:
            continue
        r, x0, y0 = part_rotation(S, i, T, k), part_x(S, i, T, k), part_y(S, i, T, k)
        x1, y1 = x0 + T.size[part, r, 0] - 1, y0 + T.size[part, r, 1] - 1
        for ring in range(1, T.P[stage, LAYERS] + 1):
            for y in range(max(0, y0 - ring), min(T.grid, y1 + ring + 1)):
                edge_row = y == y0 - ring or y == y1 + ring
                for x in range(max(0, x0 - ring), min(T.grid, x1 + ring + 1)):
                    if edge_row or x == x0 - ring or x == x1 + ring:
                        close_cell(S, i, T, stage, x, y)
        return


@jit(inline=True)
def close_cell(S, i, T, stage, x, y):
    """Turns a cell into armour if it is corridor that the crew can do without."""
    if cell_value(S, i, T, x, y) == CORRIDOR and contiguous(T.B, T.grid, x, y, 1, 1, T.P[stage, LIMIT]):
        put_armour(S, i, T, x, y)


@jit(inline=True)
def near_space(S, i, T, x, y, distance):
    """Returns whether a cell at Chebyshev distance exactly `distance` is SPACE."""
    for yy in range(y - distance, y + distance + 1):
        step = 1 if abs(yy - y) == distance else 2 * distance
        for xx in range(x - distance, x + distance + 1, step):
            if cell_value(S, i, T, xx, yy) == SPACE:
                return True
    return False


@jit
def armour_exterior(S, i, T, stage):
    """Stage 9: closes the cells that border SPACE by a side or a corner; further layers lie one cell deeper each."""
    for layer in range(1, T.P[stage, LAYERS] + 1):
        for y in range(T.grid):
            for x in range(T.grid):
                if cell_value(S, i, T, x, y) == CORRIDOR and near_space(S, i, T, x, y, layer):
                    close_cell(S, i, T, stage, x, y)


@jit
def armour_rest(S, i, T, stage):
    """Stage 13: closes every corridor cell that the crew can do without, in raster order."""
    for y in range(T.grid):
        for x in range(T.grid):
            close_cell(S, i, T, stage, x, y)


@jit
def slot_allows(S, i, T, value, x, y, d):
    """Returns whether the room `value` may have a door on the edge of its cell (x, y) in direction `d`."""
    if value < ROOM:
        return True
    k = value - ROOM
    part, r, px, py = part_kind(S, i, T, k), part_rotation(S, i, T, k), part_x(S, i, T, k), part_y(S, i, T, k)
    for slot in range(T.slots.shape[2]):
        here = T.slots[part, r, slot, 0] == x - px and T.slots[part, r, slot, 1] == y - py
        if here and T.slots[part, r, slot, 2] == d:
            return True
    return False


@jit
def add_doors(S, i, T, stage):
    """Stage 14: puts a door on each wall whose sides are more than the longest path apart; later walls see it."""
    for y in range(T.grid):
        for x in range(T.grid):
            here = cell_value(S, i, T, x, y)
            if here < CORRIDOR:
                continue
            for side in range(1, 3):
                ox, oy = x + (1 if side == 1 else 0), y + (1 if side == 2 else 0)
                there = cell_value(S, i, T, ox, oy)
                door = np.int64(S[i, HEADER + y * T.grid + x]) & (DOOR_EAST if side == 1 else DOOR_SOUTH)
                if there < CORRIDOR or here == there or door != 0:
                    continue
                if not slot_allows(S, i, T, here, x, y, side):
                    continue
                if not slot_allows(S, i, T, there, ox, oy, 3 if side == 1 else 0):
                    continue
                if walk_is_longer(T.B, T.grid, x, y, ox, oy, T.P[stage, REACH]):
                    put_door(S, i, T, x, y, side)


@jit
def hull_area(T):
    """Returns the number of hull cells."""
    area = 0
    for row in range(1, T.grid + 1):
        area += popcount(T.B[HULL, row])
    return area


@jit
def run_hull_stage(S, i, T, stage):
    """Runs stage 1, 2 or the carving, which leave a hull of nothing but corridor."""
    if stage == STAGE_SHAPE:
        draw_hull(T)
    elif stage == STAGE_FILL:
        fill_gaps(T, stage)
    else:
        carve(T, stage)
    open_hull(S, i, T)
    if hull_area(T) == 0:
        S[i, REASONS] |= np.uint16(1 << REASON_BIT[stage])


@jit
def run_stage(S, i, T, stage, seed, attempt):
    """Runs one stage on row `i`, whose planes must be loaded, if it is enabled."""
    if T.P[stage, ENABLED] == 0:
        return
    open_streams(T, seed, attempt, stage)
    if stage <= STAGE_FILL or stage == STAGE_CARVE:
        run_hull_stage(S, i, T, stage)
    elif stage == STAGE_COCKPIT_ARMOUR:
        armour_part(S, i, T, stage, COCKPIT)
    elif stage == STAGE_REACTOR_ARMOUR:
        armour_part(S, i, T, stage, REACTOR)
    elif stage == STAGE_EXTERIOR:
        armour_exterior(S, i, T, stage)
    elif stage == STAGE_ARMOUR:
        armour_rest(S, i, T, stage)
    elif stage == STAGE_DOORS:
        add_doors(S, i, T, stage)
    else:
        run_phase(S, i, T, stage)


@jit
def build(S, T, order, seed, attempt, keep):
    """Runs the stages of `order` on row 0; with `keep`, row n+1 becomes a copy of what the first n + 1 stages made."""
    load_planes(S, ZERO, T)
    for n in range(order.shape[0]):
        run_stage(S, ZERO, T, order[n], seed, attempt)
        if keep:
            for word in range(S.shape[1]):
                S[n + 1, word] = S[0, word]
