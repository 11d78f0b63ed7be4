"""How good a place is to each placement strategy: `prepare` looks at the board once, `score` values one place.

Scores are integers, greater is better, and mean something only within one placement.
"""

from __future__ import annotations

import numpy as np

from leafwise.envs.core.compile.jit import jit
from leafwise.envs.starship.board import (
    part_kind,
    part_rotation,
    part_x,
    part_y,
)
from leafwise.envs.starship.catalogue import (
    AMMO_SUPPLY,
    ARMOUR,
    ARMOUR_MASS,
    BUNK,
    CANNON_LARGE,
    CANNON_MED,
    CORRIDOR,
    CORRIDOR_MASS,
    MASS,
    POWER_STORAGE,
    QUARTERS,
    REACTOR,
    SPACE,
    THRUSTER_LARGE,
    THRUSTER_SMALL,
)
from leafwise.envs.starship.tables import (
    ALIGN,
    CENTRALIZED,
    FARTHEST,
    HEADER,
    NEAR,
    PARTS_PLACED,
    PROTECTED,
    REACH,
    STRATEGY,
    VALUE,
)

TOTAL, MOMENT_X, MOMENT_Y, COUNT, FIRST_NOTE = 0, 1, 2, 3, 4


@jit
def measure_mass(S, i, T):
    """Notes the ship's mass and its moments; the centre of mass is (MOMENT / TOTAL) / 2 cells from the left, top."""
    total, moment_x, moment_y = 0, 0, 0
    for y in range(T.grid):
        for x in range(T.grid):
            value = np.int64(S[i, HEADER + y * T.grid + x]) & VALUE
            if value in (CORRIDOR, ARMOUR):
                mass = CORRIDOR_MASS if value == CORRIDOR else ARMOUR_MASS
                total += mass
                moment_x += mass * (2 * x + 1)
                moment_y += mass * (2 * y + 1)
    for k in range(np.int64(S[i, PARTS_PLACED])):
        part, r = part_kind(S, i, T, k), part_rotation(S, i, T, k)
        mass = T.facts[part, MASS]
        total += mass
        moment_x += mass * (2 * part_x(S, i, T, k) + T.size[part, r, 0])
        moment_y += mass * (2 * part_y(S, i, T, k) + T.size[part, r, 1])
    T.notes[TOTAL], T.notes[MOMENT_X], T.notes[MOMENT_Y] = total, moment_x, moment_y


@jit
def measure_distance(S, i, T):
    """Fills D with the steps from each cell to the nearest cell of SPACE (off the grid counts as SPACE)."""
    D, G = T.D, T.grid
    for y in range(G):
        for x in range(G):
            above, left = D[(y - 1) * G + x] if y > 0 else 0, D[y * G + x - 1] if x > 0 else 0
            D[y * G + x] = 0 if S[i, HEADER + y * G + x] == SPACE else 1 + min(above, left)
    for y in range(G - 1, -1, -1):
        for x in range(G - 1, -1, -1):
            if D[y * G + x] == 0:
                continue
            below, right = D[(y + 1) * G + x] if y < G - 1 else 0, D[y * G + x + 1] if x < G - 1 else 0
            D[y * G + x] = min(D[y * G + x], 1 + min(below, right))


@jit(inline=True)
def gap(S, i, T, k, x, y, w, h):
    """Returns the free columns plus free rows between part number `k` and the rectangle at (x, y); touching is 0."""
    part, r, kx, ky = part_kind(S, i, T, k), part_rotation(S, i, T, k), part_x(S, i, T, k), part_y(S, i, T, k)
    across = max(kx - (x + w), x - (kx + T.size[part, r, 0]))
    down = max(ky - (y + h), y - (ky + T.size[part, r, 1]))
    return max(0, across) + max(0, down)


@jit(inline=True)
def consumes(part, supply):
    """Returns whether `part` is a consumer of what `supply` stores."""
    if supply == AMMO_SUPPLY:
        return part in (CANNON_MED, CANNON_LARGE)
    return part == AMMO_SUPPLY or THRUSTER_SMALL <= part <= THRUSTER_LARGE


@jit
def note_uncovered(S, i, T, near, supply):
    """Notes the consumers of `supply` that nothing within `near` cells supplies yet."""
    count, placed = 0, np.int64(S[i, PARTS_PLACED])
    for k in range(placed):
        part, r = part_kind(S, i, T, k), part_rotation(S, i, T, k)
        if not consumes(part, supply):
            continue
        covered = False
        for other in range(placed):
            source = part_kind(S, i, T, other)
            if source == supply or (supply == POWER_STORAGE and source == REACTOR):
                x, y, w, h = part_x(S, i, T, k), part_y(S, i, T, k), T.size[part, r, 0], T.size[part, r, 1]
                covered = covered or gap(S, i, T, other, x, y, w, h) <= near
        if not covered:
            T.notes[FIRST_NOTE + count] = k
            count += 1
    T.notes[COUNT] = count


@jit
def note_crew_rooms(S, i, T):
    """Notes the crew rooms that stand already."""
    count = 0
    for k in range(np.int64(S[i, PARTS_PLACED])):
        part = part_kind(S, i, T, k)
        if part in (QUARTERS, BUNK):
            T.notes[FIRST_NOTE + count] = k
            count += 1
    T.notes[COUNT] = count


@jit
def prepare(S, i, T, stage, part):
    """Finds out what the stage's strategy must know of the board before it scores places for `part`."""
    strategy = T.P[stage, STRATEGY]
    if strategy == PROTECTED:
        measure_distance(S, i, T)
    elif strategy == CENTRALIZED:
        measure_mass(S, i, T)
    elif strategy == NEAR:
        note_uncovered(S, i, T, T.P[stage, REACH], part)
    elif strategy == ALIGN:
        note_crew_rooms(S, i, T)


@jit(inline=True)
def alignment(S, i, T, k, x, y, w, h):
    """Returns 1 plus the border lines that continue across if the rectangle touches part `k` along an edge, else 0."""
    part, r, kx, ky = part_kind(S, i, T, k), part_rotation(S, i, T, k), part_x(S, i, T, k), part_y(S, i, T, k)
    kw, kh = T.size[part, r, 0], T.size[part, r, 1]
    if (kx + kw == x or x + w == kx) and y < ky + kh and ky < y + h:
        return 1 + (1 if y == ky else 0) + (1 if y + h == ky + kh else 0)
    if (ky + kh == y or y + h == ky) and x < kx + kw and kx < x + w:
        return 1 + (1 if x == kx else 0) + (1 if x + w == kx + kw else 0)
    return 0


@jit(inline=True)
def score(S, i, T, stage, r, x, y, w, h):
    """Returns how good a `w` by `h` footprint at (x, y), turned by `r`, is to the stage's strategy."""
    strategy, notes = T.P[stage, STRATEGY], T.notes
    if strategy == PROTECTED:
        least, total = T.D[y * T.grid + x], 0
        for yy in range(y, y + h):
            for xx in range(x, x + w):
                least = min(least, T.D[yy * T.grid + xx])
                total += T.D[yy * T.grid + xx]
        return least * 65536 + total
    if strategy == CENTRALIZED:
        off_x = (2 * x + w) * notes[TOTAL] - notes[MOMENT_X]
        off_y = (2 * y + h) * notes[TOTAL] - notes[MOMENT_Y]
        return -(off_x * off_x + off_y * off_y)
    if strategy == FARTHEST:
        return -(2 * y + h) if r == 0 else 2 * x + w if r == 1 else 2 * y + h if r == 2 else -(2 * x + w)
    best = 0
    if strategy == NEAR:
        for k in range(notes[COUNT]):
            distance = gap(S, i, T, notes[FIRST_NOTE + k], x, y, w, h)
            if distance <= T.P[stage, REACH]:
                best += 1000 - distance
    elif strategy == ALIGN:
        for k in range(notes[COUNT]):
            best = max(best, alignment(S, i, T, notes[FIRST_NOTE + k], x, y, w, h))
    return best
