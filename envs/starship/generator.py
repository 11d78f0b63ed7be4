"""Makes ships: the stages in compiled code, and the generator that runs them, retries, and reads the ship from the state row.

Requests (what is to be placed) and places (where) are separate functions with separate streams, so that every builder gets the
same requests. `stage` is a run of a stage, as a row of `T.stages`. For the first run this is the stage's number; `T.base` has
the stage's number of every run.
"""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace

from leafwise.envs.core.compile.jit import jit
from leafwise.envs.core.contract.rules import copy_row
from leafwise.envs.core.contract.stream import GOLDEN, below, mix
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.ranges import Range, need_in
from leafwise.envs.starship import board, catalogue, settings
from leafwise.envs.starship import tables as at
from leafwise.envs.starship.board import ZERO, cell_value
from leafwise.envs.starship.catalogue import CORRIDOR, ROOM, SPACE
from leafwise.envs.starship.hull import Hull, between, carve, draw_hull, fill_gaps, hull_mask
from leafwise.envs.starship.placing import (
    is_place,
    leaves_ways,
    measure_distance,
    next_anchor,
    place_at,
    prepare,
    score,
)
from leafwise.envs.starship.settings import CLASSIC, NO_LIMIT, Parameters, final, runs
from leafwise.envs.starship.ship import Ship, reported
from leafwise.envs.starship.tables import new_rows, new_tables

u64 = np.uint64
MOST_SKIPS = 64
"""How many requests in a row may be unusable before a stage ends."""


@jit
def open_streams(T, seed, attempt, stage):
    """Sets the streams `request` and `place` to their start in a stage of an attempt at a seed."""
    key = mix(mix(seed + GOLDEN) + u64(attempt) * GOLDEN)
    for kind in range(2):
        stream = T.request if kind == 0 else T.place
        stream[0] = mix(key + u64(2 * stage + kind + 1) * GOLDEN)
        stream[1] = ZERO


@jit(inline=True)
def draw_target(T, stage):
    """Draws the target of a placing stage."""
    return between(T.request, T.stages[stage, at.LOW], T.stages[stage, at.HIGH])


@jit(inline=True)
def forget_requests(S, i):
    """Clears the requests in sight, and which of them were unusable."""
    S[i, at.QUEUE : at.QUEUE + at.PREVIEW] = 0
    S[i, at.SKIPS] = 0
    S[i, at.EXHAUSTED] = 0


@jit
def weigh(T, stage, first, count, draw):
    """Returns the index of the weight that `draw` falls on, among `count` weights from column `first` on."""
    for k in range(count):
        draw -= T.stages[stage, first + k]
        if draw < 0:
            return k
    return count - 1


@jit(inline=True)
def weight_sums(T, stage):
    """Returns the sum of the weights of a stage's kinds, and that of its facings."""
    weights = T.stages[stage]
    return weights[at.WEIGHTS : at.FACINGS].sum(), weights[at.FACINGS : at.FACINGS + 4].sum()


@jit(inline=True)
def weight_of(T, stage, entry):
    """Returns the weight of a request; 0 if the stage cannot make it."""
    return T.stages[stage, at.WEIGHTS + entry // 4] * T.stages[stage, at.FACINGS + entry % 4]


@jit
def draw_entry(T, stage):
    """Draws the next request of a stage by the stage's weights: kind * 4 + facing."""
    kinds, facings = weight_sums(T, stage)
    draw = np.int64(below(T.request, u64(kinds * facings)))
    return 4 * weigh(T, stage, at.WEIGHTS, 3, draw // facings) + weigh(T, stage, at.FACINGS, 4, draw % facings)


@jit
def entry_usable(S, i, T, stage, entry):
    """Returns whether a request fits the score that is left, and is not known to have no legal place."""
    part, base = T.kinds[stage, entry // 4], T.base[stage]
    if part < 0 or weight_of(T, stage, entry) == 0 or (np.int64(S[i, at.EXHAUSTED]) >> entry) & 1 != 0:
        return False
    points = np.int64(S[i, at.POINTS + base]) + T.facts[part, catalogue.POINTS]
    if base != at.STAGE_CREW and points > T.stages[stage, at.HIGH]:
        return False
    most = T.stages[stage, at.MOST + entry % 4]
    return most == NO_LIMIT or facing_points(S, i, T, stage, entry % 4) + T.facts[part, catalogue.POINTS] <= most


@jit
def facing_points(S, i, T, stage, facing):
    """Returns the points of the parts of a stage's kinds that have a facing."""
    points = 0
    for k in range(board.parts_placed(S, i)):
        part, r, _, _, _, _ = board.part_at(S, i, T, k)
        if r == facing and part in (T.kinds[stage, 0], T.kinds[stage, 1], T.kinds[stage, 2]):
            points += T.facts[part, catalogue.POINTS]
    return points


@jit
def phase_over(S, i, T, stage):
    """Returns whether a placing stage has met its target or has no usable request left."""
    base = T.base[stage]
    if S[i, at.POINTS + base] >= S[i, at.TARGET + base] or S[i, at.SKIPS] >= MOST_SKIPS:
        return True
    for entry in range(12):  # noqa: SIM110 (compiled code has no generators)
        if entry_usable(S, i, T, stage, entry):
            return False
    return True


@jit
def choose_place(S, i, T, stage, part, facing):
    """Returns the legal place of `part` with the stage's best score, or -1.

    One of equal places is drawn by reservoir sampling from the stream `place`, in the order of rotation, y, x.
    """
    prepare(S, i, T, stage, part)
    first_tie, chosen, best, ties = T.stages[stage, at.FIRST_TIE] != 0, -1, 0, 0
    r, y, left = -1, 0, ZERO
    while True:
        r, x, y, left = next_anchor(T, part, facing, r, y, left)
        if r < 0:
            return chosen
        value = score(S, i, T, stage, r, x, y, T.size[part, r, 0], T.size[part, r, 1])
        better = chosen < 0 or value > best
        if (better or (value == best and not first_tie)) and leaves_ways(T, stage, part, r, x, y):
            ties = 1 if better else ties + 1
            if ties == 1 or below(T.place, u64(ties)) == ZERO:
                chosen = (r * T.grid + y) * T.grid + x
            best = value


@jit
def put_one(S, i, T, stage, part, place):
    """Places `part` and counts its points."""
    r, x, y = place_at(T, place)
    board.put_part(S, i, T, part, r, x, y)
    S[i, at.POINTS + T.base[stage]] += np.uint16(T.facts[part, catalogue.POINTS])
    S[i, at.SKIPS] = 0


@jit
def put_request(S, i, T, stage, entry, place):
    """Places a request, and its mirror image if the stage is mirrored and the image is needed and legal."""
    base, part = T.base[stage], T.kinds[stage, entry // 4]
    put_one(S, i, T, stage, part, place)
    wanted = base != at.STAGE_CREW or S[i, at.POINTS + base] < S[i, at.TARGET + base]
    if T.stages[stage, at.MIRRORED] == 0 or not wanted:
        return
    r, x, y = place_at(T, place)
    board.hull_extent(T, T.box)  # the mirror stands on the hull's middle column
    if T.facts[part, catalogue.CLEAR] > 0:
        entry, r = entry // 4 * 4 + (4 - entry % 4) % 4, (4 - r) % 4
    image = (r * T.grid + y) * T.grid + T.box[0] + T.box[2] + 1 - x - T.size[part, r, 0]
    if entry_usable(S, i, T, stage, entry) and is_place(T, stage, entry, image):
        put_one(S, i, T, stage, part, image)


@jit
def run_phase(S, i, T, stage):
    """Stages 3, 4, 7, 8, 10, 11, 12: places requests until the target is met or none is usable."""
    S[i, at.TARGET + T.base[stage]] = draw_target(T, stage)
    forget_requests(S, i)
    while not phase_over(S, i, T, stage):
        entry = draw_entry(T, stage)
        if entry_usable(S, i, T, stage, entry):
            part = T.kinds[stage, entry // 4]
            place = choose_place(S, i, T, stage, part, entry % 4)
            if place >= 0:
                put_request(S, i, T, stage, entry, place)
                continue
            S[i, at.EXHAUSTED] |= np.uint16(1 << entry)
        S[i, at.SKIPS] += np.uint16(1)
    note_failure(S, i, T, stage)


@jit
def note_failure(S, i, T, stage):
    """Writes the stage's reason into the row if it fell short of its minimum."""
    base = T.base[stage]
    if S[i, at.POINTS + base] < T.stages[stage, at.LOW]:
        S[i, at.REASONS] |= np.uint16(1 << at.REASON_BIT[base])


@jit
def armour_part(S, i, T, stage, part):
    """Stages 5 and 6, and Armour: lays rings of armour round each part of a kind, ring by ring in raster order."""
    for k in range(board.parts_placed(S, i)):
        kind, _, x, y, w, h = board.part_at(S, i, T, k)
        if kind == part:
            for n in range(1, T.stages[stage, at.LAYERS] + 1):
                close_ring(S, i, T, stage, x - n, y - n, x + w - 1 + n, y + h - 1 + n)


@jit(inline=True)
def close_ring(S, i, T, stage, left, top, right, bottom):
    """Closes the cells on the border of a rectangle that lie on the grid, in raster order."""
    for y in range(max(0, top), min(T.grid, bottom + 1)):
        edge_row = y in (top, bottom)
        for x in range(max(0, left), min(T.grid, right + 1)):
            if edge_row or x in (left, right):
                close_cell(S, i, T, stage, x, y)


@jit(inline=True)
def close_cell(S, i, T, stage, x, y):
    """Turns a cell into armour if it is corridor that the crew can do without."""
    limit = T.stages[stage, at.LIMIT]
    if cell_value(S, i, T, x, y) == CORRIDOR and board.contiguous(T.planes, T.grid, x, y, 1, 1, limit):
        board.put_armour(S, i, T, x, y)


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
def armour_layers(S, i, T, stage, first, last):
    """Closes the cells whose Chebyshev distance from SPACE is `first` to `last`, layer by layer; layer 0 is every cell."""
    for layer in range(first, last + 1):
        for y in range(T.grid):
            for x in range(T.grid):
                if cell_value(S, i, T, x, y) == CORRIDOR and (layer == 0 or near_space(S, i, T, x, y, layer)):
                    close_cell(S, i, T, stage, x, y)


@jit
def armour_inward(S, i, T, stage):
    """Closes the cells that the crew can do without, nearest to SPACE first; in each row left and right in turn."""
    measure_distance(T)
    board.hull_extent(T, T.box)
    left, right, deepest = T.box[0], T.box[2], 0
    for cell in range(T.grid * T.grid):
        deepest = max(deepest, T.depth[cell])
    for steps in range(1, deepest + 1):
        for y in range(T.grid):
            for k in range(right - left + 1):
                x = left + k // 2 if k % 2 == 0 else right - k // 2
                if T.depth[y * T.grid + x] == steps:
                    close_cell(S, i, T, stage, x, y)


@jit
def slot_allows(S, i, T, value, x, y, d):
    """Returns whether cell (x, y), corridor or the room `value`, may have a door in direction `d`."""
    if value == CORRIDOR:
        return True
    part, r, px, py, _, _ = board.part_at(S, i, T, value - ROOM)
    for slot in range(T.slots.shape[2]):
        is_cell = T.slots[part, r, slot, 0] == x - px and T.slots[part, r, slot, 1] == y - py
        if is_cell and T.slots[part, r, slot, 2] == d:
            return True
    return False


@jit(inline=True)
def add_door(S, i, T, stage, x, y, d):
    """Adds a door on the east (1) or south (2) edge of a cell if it may have one and the walk round is too long."""
    ox, oy = x + board.step_x(d), y + board.step_y(d)
    value, other_value = cell_value(S, i, T, x, y), cell_value(S, i, T, ox, oy)
    door = np.int64(S[i, at.HEADER + y * T.grid + x]) & (at.DOOR_EAST if d == 1 else at.DOOR_SOUTH)
    if other_value < CORRIDOR or value == other_value or door != 0:
        return
    allowed = slot_allows(S, i, T, value, x, y, d) and slot_allows(S, i, T, other_value, ox, oy, (d + 2) % 4)
    if allowed and board.walk_is_longer(T.planes, T.grid, x, y, ox, oy, T.stages[stage, at.REACH]):
        board.put_door(S, i, T, x, y, d)


@jit
def add_doors(S, i, T, stage):
    """Stage 14: adds a door in each wall whose sides are further apart than the longest path; later walls see it."""
    for y in range(T.grid):
        for x in range(T.grid):
            if cell_value(S, i, T, x, y) >= CORRIDOR:
                for d in range(1, 3):
                    add_door(S, i, T, stage, x, y, d)


@jit(inline=True)
def shape_hull(T, stage):
    """Draws, fills or carves plane HULL, as the stage does."""
    base = T.base[stage]
    if base == at.STAGE_SHAPE:
        draw_hull(T)
    elif base == at.STAGE_FILL:
        fill_gaps(T, stage)
    else:
        carve(T, stage)


@jit(inline=True)
def run_closing_stage(S, i, T, stage):
    """Runs a stage without decisions or random numbers: armour, or the extra doors."""
    base = T.base[stage]
    if base in (at.STAGE_COCKPIT_ARMOUR, at.STAGE_REACTOR_ARMOUR, at.STAGE_PART_ARMOUR):
        armour_part(S, i, T, stage, T.stages[stage, at.ROUND])
    elif base == at.STAGE_EXTERIOR:
        armour_layers(S, i, T, stage, 1, T.stages[stage, at.LAYERS])
    elif base == at.STAGE_ARMOUR and T.stages[stage, at.ORDER] != 0:
        armour_inward(S, i, T, stage)
    elif base == at.STAGE_ARMOUR:
        armour_layers(S, i, T, stage, 0, 0)
    elif base == at.STAGE_DOORS:
        add_doors(S, i, T, stage)


@jit
def run_stage(S, i, T, stage, seed, attempt):
    """Runs a stage on row `i`, whose planes must be loaded."""
    open_streams(T, seed, attempt, stage)
    if T.base[stage] in at.HULL_STAGES:
        shape_hull(T, stage)
        board.open_hull(S, i, T)
    elif T.kinds[stage, 0] >= 0:
        run_phase(S, i, T, stage)
    else:
        run_closing_stage(S, i, T, stage)


@jit
def build(S, T, seed, attempt, keep):
    """Runs the stages on row 0; with `keep`, row n + 1 becomes a copy of the row after n + 1 stages."""
    board.load_planes(S, ZERO, T)
    for n in range(T.order.shape[0]):
        run_stage(S, ZERO, T, T.order[n], seed, attempt)
        if keep:
            copy_row(S, ZERO, n + 1)


class Generator:
    """Makes any number of ships with the same parameters; not to be shared between threads.

    `hull`, a mask of grid by grid cells (booleans, or rows of "." and " "), takes the place of stage 1. It must be 4-connected
    and leave the outermost ring free.
    """

    def __init__(self, parameters: Parameters | str = "classic", *, hull: Hull | None = None) -> None:
        if isinstance(parameters, str):
            parameters = settings.preset(parameters)
        if hull is not None:
            parameters = replace(parameters, shape=replace(parameters.shape, enabled=False))
        elif not final(parameters).shape.enabled:
            raise UserError("expected a hull if the stage Shape is disabled, got none")
        self.parameters = parameters
        self._kept = replace(parameters, max_attempts=CLASSIC.max_attempts)
        self._tables = new_tables(parameters)
        self._rows = new_rows(parameters, 1)
        self._start = self._rows[0].copy()
        if hull is not None:
            mask = hull_mask(hull, parameters.grid)
            self._start[at.HEADER : at.HEADER + mask.size][mask.ravel()] = CORRIDOR

    def attempt(self, seed: int, attempt: int) -> Ship:
        """Returns an attempt at a seed, valid or not."""
        self._rows[0] = self._start
        key = _seed(seed)
        build(self._rows, self._tables, key, np.uint64(attempt), False)
        return reported(self._rows[0], self._tables, self._kept, int(key), attempt)

    def ship(self, seed: int, *, strict: bool = False) -> Ship:
        """Returns the first valid attempt at a seed (an integer of 64 bits).

        If none is valid, returns the attempt with the fewest reasons; of equal ones, that with the highest potential. With
        `strict` it raises ValueError instead.
        """
        failed = []
        for attempt in range(self.parameters.max_attempts):
            ship = self.attempt(seed, attempt)
            if ship.valid:
                return ship
            failed.append(ship)
        best = max(failed, key=lambda ship: (-len(ship.reasons), ship.stats["potential"]))
        if strict:
            raise UserError(
                f"expected a valid ship of seed {seed} within {self.parameters.max_attempts} attempts, "
                f"got {', '.join(best.reasons)} at best"
            )
        return best

    def stages(self, seed: int, attempt: int = 0) -> list[tuple[str, Ship]]:
        """Returns the ship after each run of a stage, as (stage name, ship), in order."""
        rows = new_rows(self.parameters, len(runs(self.parameters)) + 1)
        rows[0] = self._start
        key = _seed(seed)
        build(rows, self._tables, key, np.uint64(attempt), True)
        return [
            (run.title, reported(rows[n + 1], self._tables, self._kept, int(key), attempt))
            for n, run in enumerate(runs(self.parameters))
        ]


def generate(
    seed: int, parameters: Parameters | str = "classic", *, hull: Hull | None = None, strict: bool = False
) -> Ship:
    """Returns the ship of a seed: the same bytes for the same seed and parameters, on every machine and in every version.

    `parameters` may be the name of a preset. For `hull` and `strict` see `Generator`.
    """
    return Generator(parameters, hull=hull).ship(seed, strict=strict)


def _seed(seed: int) -> np.uint64:
    return np.uint64(need_in(seed, Range(0, (1 << 64) - 1), "seed", kind=int))
