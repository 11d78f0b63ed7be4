"""The quality of a ship, from 0 to 1, and the figures reported beside it, measured on a finished row."""

from __future__ import annotations

import numpy as np

from leafwise.envs.core.compile.jit import jit
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
    span,
    spread,
)
from leafwise.envs.starship.catalogue import (
    AMMO_SUPPLY,
    ARMOUR,
    ARMOUR_PRICE,
    BUNK,
    CANNON_LARGE,
    CANNON_MED,
    COCKPIT,
    CORRIDOR,
    CORRIDOR_PRICE,
    DOOR_PRICE,
    FIREPOWER,
    OPERATORS,
    POINTS,
    POWER_STORAGE,
    PRICE,
    QUARTERS,
    REACTOR,
    ROOM,
    SEATS,
    SPACE,
    THRUST,
    THRUSTER_LARGE,
    THRUSTER_SMALL,
)
from leafwise.envs.starship.strategies import MOMENT_X, MOMENT_Y, TOTAL, measure_mass
from leafwise.envs.starship.tables import (
    DOOR_EAST,
    DOOR_SOUTH,
    FULL,
    HEADER,
    HULL,
    PARTS_PLACED,
    REASONS,
    SEEN,
    STAGE_WEAPONS,
    VALUE,
)

TERMS = ("thrust", "cockpit", "supply", "crew", "fire", "skin")
TERM_WEIGHTS = (0.20, 0.20, 0.20, 0.15, 0.15, 0.10)
FIGURES = (
    *("price", "mass", "thrust_score", "weapon_score", "firepower", "seats", "operators"),
    *("forward_thrust", "hull_area", "corridors", "corridor_length", "doors", "extra_doors", "symmetry"),
)
"""Names of what `measure` writes after the six terms; mass in tonnes, lengths in cells."""
F_PRICE, F_MASS, F_THRUST_SCORE, F_WEAPON_SCORE, F_FIREPOWER, F_SEATS, F_OPERATORS = range(6, 13)
F_FORWARD, F_AREA, F_CORRIDORS, F_LENGTH, F_DOORS, F_EXTRA_DOORS, F_SYMMETRY = range(13, 20)
MEASURES = 20

SUPPLY_STEPS, CREW_STEPS, FULL_SHELTER = 12, 24, 6.0
THRUST_SHARES = (0.125, 0.125, 0.625, 0.125)
FIRE_SHARES = (0.4, 0.2, 0.2, 0.2)


@jit
def is_thruster(part):
    """Returns whether a part is a thruster."""
    return THRUSTER_SMALL <= part <= THRUSTER_LARGE


@jit
def is_weapon(part):
    """Returns whether a part is a weapon."""
    return part in (CANNON_MED, CANNON_LARGE)


@jit
def hull_extent(T, box):
    """Writes left, top, right and bottom of the hull into `box`; left > right without a hull."""
    box[0], box[1], box[2], box[3] = T.grid, T.grid, -1, -1
    columns = ZERO
    for y in range(T.grid):
        if T.B[HULL, y + 1] != ZERO:
            columns |= T.B[HULL, y + 1]
            box[1], box[3] = min(box[1], y), y
    for x in range(T.grid):
        if columns & bit(x) != ZERO:
            box[0], box[2] = min(box[0], x), x


@jit
def thrust_term(S, i, T, box):
    """Returns how well the thrusters of each facing push through the centre of mass."""
    term = 0.0
    for facing in range(4):
        thrust, moment, sideways = 0, 0, facing % 2 == 0
        for k in range(np.int64(S[i, PARTS_PLACED])):
            part = part_kind(S, i, T, k)
            if is_thruster(part) and part_rotation(S, i, T, k) == facing:
                thrust += T.facts[part, THRUST]
                centre = 2 * part_x(S, i, T, k) + T.size[part, facing, 0]
                if not sideways:
                    centre = 2 * part_y(S, i, T, k) + T.size[part, facing, 1]
                moment += T.facts[part, THRUST] * centre
        if thrust > 0:
            middle = T.notes[MOMENT_X if sideways else MOMENT_Y] / (2 * T.notes[TOTAL])
            half = (box[2] - box[0] + 1 if sideways else box[3] - box[1] + 1) / 2
            off = abs(moment / (2 * thrust) - middle)
            term += THRUST_SHARES[facing] * max(0.0, 1.0 - 2.0 * off / half)
    return term


@jit
def shelter(S, i, T, x, y, dx, dy):
    """Returns how much stands between a cell's neighbour and the edge of the grid: armour 1, rooms 0.5, floor 0.25."""
    total = 0.0
    x, y = x + dx, y + dy
    while 0 <= x < T.grid and 0 <= y < T.grid:
        value = cell_value(S, i, T, x, y)
        if value >= CORRIDOR:
            total += 0.5 if value >= ROOM else 0.25
        elif value == ARMOUR:
            total += 1.0
        x, y = x + dx, y + dy
    return min(1.0, total / FULL_SHELTER)


@jit
def cockpit_term(S, i, T):
    """Returns how well the cockpit is sheltered, over its eight outer sides."""
    for k in range(np.int64(S[i, PARTS_PLACED])):
        if part_kind(S, i, T, k) == COCKPIT:
            x, y, total = part_x(S, i, T, k), part_y(S, i, T, k), 0.0
            for n in range(2):
                total += shelter(S, i, T, x + n, y, 0, -1) + shelter(S, i, T, x + n, y + 1, 0, 1)
                total += shelter(S, i, T, x, y + n, -1, 0) + shelter(S, i, T, x + 1, y + n, 1, 0)
            return total / 8.0
    return 0.0


@jit
def start_from(S, i, T, a, b):
    """Sets plane SEEN to the cells of all parts of kinds `a` and `b`; returns whether there are any."""
    found = False
    for row in range(T.grid + 2):
        T.B[SEEN, row] = ZERO
    for k in range(np.int64(S[i, PARTS_PLACED])):
        part, r, y = part_kind(S, i, T, k), part_rotation(S, i, T, k), part_y(S, i, T, k)
        if part in (a, b):
            found = True
            for row in range(y + 1, y + 1 + T.size[part, r, 1]):
                T.B[SEEN, row] |= span(part_x(S, i, T, k), T.size[part, r, 0])
    return found


@jit
def reached(S, i, T, k):
    """Returns whether plane SEEN has a cell of part number `k`."""
    part, r, y, any_bits = part_kind(S, i, T, k), part_rotation(S, i, T, k), part_y(S, i, T, k), ZERO
    for row in range(y + 1, y + 1 + T.size[part, r, 1]):
        any_bits |= T.B[SEEN, row] & span(part_x(S, i, T, k), T.size[part, r, 0])
    return any_bits != ZERO


@jit
def supplied_share(S, i, T, weapons):
    """Returns the share of consumers (weapons, or else thrusters and ammo supplies) within reach of a supply."""
    found = start_from(S, i, T, AMMO_SUPPLY, AMMO_SUPPLY) if weapons else start_from(S, i, T, REACTOR, POWER_STORAGE)
    if not found:
        return 0.0
    for _ in range(SUPPLY_STEPS):
        if not spread(T.B, T.box[1], T.box[3]):
            break
    consumers, supplied = 0, 0
    for k in range(np.int64(S[i, PARTS_PLACED])):
        part = part_kind(S, i, T, k)
        if is_weapon(part) if weapons else (is_thruster(part) or part == AMMO_SUPPLY):
            consumers += 1
            supplied += 1 if reached(S, i, T, k) else 0
    return supplied / consumers if consumers > 0 else 0.0


@jit
def crew_term(S, i, T):
    """Returns how near the cockpit and the weapons are to crew rooms."""
    stations, total = 0, 0
    if not start_from(S, i, T, QUARTERS, BUNK):
        return 0.0
    for step in range(CREW_STEPS):  # a station counts once for each step at which it is not yet reached
        stations, away = 0, 0
        for k in range(np.int64(S[i, PARTS_PLACED])):
            part = part_kind(S, i, T, k)
            if part == COCKPIT or is_weapon(part):
                stations += 1
                away += 0 if reached(S, i, T, k) else 1
        total += away
        if away == 0:
            break
        if not spread(T.B, T.box[1], T.box[3]):
            total += away * (CREW_STEPS - 1 - step)
            break
    return 1.0 - total / (stations * CREW_STEPS) if stations > 0 else 0.0


@jit
def fire_term(S, i, T, full):
    """Returns the firepower against `full`, less what its facings differ from the wanted shares."""
    total, difference = 0, 0.0
    for k in range(np.int64(S[i, PARTS_PLACED])):
        total += T.facts[part_kind(S, i, T, k), FIREPOWER]
    if total == 0:
        return 0.0
    for facing in range(4):
        fire = 0
        for k in range(np.int64(S[i, PARTS_PLACED])):
            if part_rotation(S, i, T, k) == facing:
                fire += T.facts[part_kind(S, i, T, k), FIREPOWER]
        difference += 0.5 * abs(fire / total - FIRE_SHARES[facing])
    return min(1.0, total / full) * (1.0 - difference)


@jit
def skin_term(S, i, T):
    """Returns the share of hull cells beside SPACE that are armour, thruster or weapon."""
    B, border, good = T.B, 0, 0
    for row in range(1, T.grid + 1):
        hull = B[HULL, row]
        left = hull & ~((hull << ONE) & (hull >> ONE) & B[HULL, row - 1] & B[HULL, row + 1])
        while left != ZERO:
            value = cell_value(S, i, T, lowest(left), row - 1)
            left &= left - ONE
            border += 1
            part = part_kind(S, i, T, value - ROOM) if value >= ROOM else np.int64(COCKPIT)
            good += 1 if value == ARMOUR or is_thruster(part) or is_weapon(part) else 0
    return good / border if border > 0 else 0.0


@jit
def corridor_length(S, i, T):
    """Returns the mean length of the straight runs of at least two corridor cells, along rows and columns."""
    runs, cells = 0, 0
    for along in range(2):
        for a in range(T.grid):
            run = 0
            for b in range(T.grid + 1):
                if cell_value(S, i, T, b if along == 0 else a, a if along == 0 else b) == CORRIDOR:
                    run += 1
                else:
                    if run > 1:
                        runs += 1
                        cells += run
                    run = 0
    return cells / runs if runs > 0 else 0.0


@jit
def count_cells(S, i, T, box, out):
    """Writes areas, doors and symmetry, and adds the price of corridors, armour and doors."""
    area, corridors, armour, doors, paired = 0, 0, 0, 0, 0
    for y in range(T.grid):
        for x in range(T.grid):
            word = np.int64(S[i, HEADER + y * T.grid + x])
            value = word & VALUE
            if value != SPACE:
                area += 1
                paired += 1 if cell_value(S, i, T, box[0] + box[2] - x, y) != SPACE else 0
            corridors += 1 if value == CORRIDOR else 0
            armour += 1 if value == ARMOUR else 0
            doors += (1 if word & DOOR_EAST else 0) + (1 if word & DOOR_SOUTH else 0)
    out[F_AREA], out[F_CORRIDORS], out[F_DOORS] = area, corridors, doors
    out[F_EXTRA_DOORS] = doors - np.int64(S[i, PARTS_PLACED])
    out[F_SYMMETRY] = paired / area if area > 0 else 0.0
    out[F_PRICE] += corridors * CORRIDOR_PRICE + armour * ARMOUR_PRICE + doors * DOOR_PRICE


@jit
def count_parts(S, i, T, out):
    """Writes what the parts add up to."""
    for k in range(np.int64(S[i, PARTS_PLACED])):
        part = part_kind(S, i, T, k)
        out[F_PRICE] += T.facts[part, PRICE]
        out[F_FIREPOWER] += T.facts[part, FIREPOWER]
        out[F_SEATS] += T.facts[part, SEATS]
        out[F_OPERATORS] += T.facts[part, OPERATORS]
        if is_thruster(part):
            out[F_THRUST_SCORE] += T.facts[part, POINTS]
            out[F_FORWARD] += T.facts[part, THRUST] if part_rotation(S, i, T, k) == 2 else 0
        if is_weapon(part):
            out[F_WEAPON_SCORE] += T.facts[part, POINTS]


@jit
def measure_terms(S, i, T):
    """Writes the six terms of row `i`, whose planes must be loaded, into `T.terms`, and its mass into the notes."""
    terms = T.terms
    measure_mass(S, i, T)
    hull_extent(T, T.box)
    terms[0] = thrust_term(S, i, T, T.box)
    terms[1] = cockpit_term(S, i, T)
    terms[2] = 0.5 * supplied_share(S, i, T, True) + 0.5 * supplied_share(S, i, T, False)
    terms[3] = crew_term(S, i, T)
    terms[4] = fire_term(S, i, T, T.P[STAGE_WEAPONS, FULL])
    terms[5] = skin_term(S, i, T)


@jit
def measure(S, i, T, out):
    """Writes the six terms and the figures of row `i` into `out`, shape [MEASURES]; rebuilds the planes."""
    load_planes(S, i, T)
    measure_terms(S, i, T)
    for n in range(MEASURES):
        out[n] = T.terms[n] if n < len(TERM_WEIGHTS) else 0.0
    count_parts(S, i, T, out)
    count_cells(S, i, T, T.box, out)
    out[F_MASS] = T.notes[TOTAL] / 100.0
    out[F_LENGTH] = corridor_length(S, i, T)


@jit
def weighted_quality(terms):
    """Returns the weighted sum of the six terms, whether or not the ship is valid."""
    total = 0.0
    for n in range(6):
        total += TERM_WEIGHTS[n] * terms[n]
    return total


@jit
def potential(S, i, T):
    """Returns the quality as it would be if the ship stood as it is, missing terms 0; 0 once it cannot be valid."""
    if S[i, PARTS_PLACED] == 0 or S[i, REASONS] != 0:
        return 0.0
    load_planes(S, i, T)
    measure_terms(S, i, T)
    return weighted_quality(T.terms)
