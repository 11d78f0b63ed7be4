"""The quality of a ship, from 0 to 1, and the other figures, measured on a row that may be unfinished."""

import numpy as np

from leafwise.envs.core.compile.jit import jit
from leafwise.envs.starship import catalogue
from leafwise.envs.starship import tables as at
from leafwise.envs.starship.board import (
    ONE,
    ZERO,
    cell_value,
    hull_extent,
    load_planes,
    lowest,
    part_at,
    part_kind,
    parts_placed,
    span,
    spread,
)
from leafwise.envs.starship.catalogue import ARMOUR, COCKPIT, CORRIDOR, ROOM, SPACE
from leafwise.envs.starship.placing import MOMENT_X, MOMENT_Y, TOTAL, consumes, is_thruster, is_weapon, measure_mass

TERMS = ("thrust", "cockpit", "supply", "crew", "fire", "skin")
TERM_WEIGHTS = (0.20, 0.20, 0.20, 0.15, 0.15, 0.10)
FIGURES = (
    *("price", "mass", "thrust_score", "weapon_score", "firepower", "seats", "operators"),
    *("forward_thrust", "hull_area", "corridors", "corridor_length", "doors", "extra_doors", "symmetry"),
)
"""The names of what `measure` writes after the six terms; mass in tonnes, lengths in cells."""
F_PRICE, F_MASS, F_THRUST_SCORE, F_WEAPON_SCORE, F_FIREPOWER, F_SEATS, F_OPERATORS, F_FORWARD = range(6, 14)
F_AREA, F_CORRIDORS, F_LENGTH, F_DOORS, F_EXTRA_DOORS, F_SYMMETRY = range(14, 20)
MEASURES = 20

SUPPLY_STEPS, CREW_STEPS, FULL_SHELTER = 12, 24, 6.0
THRUST_SHARES = (0.125, 0.125, 0.625, 0.125)
FIRE_SHARES = (0.4, 0.2, 0.2, 0.2)


@jit(inline=True)
def thrust_of(S, i, T, facing):
    """Returns the thrust of a facing, and how far its mean lies off the centre of mass, in cells.

    The mass must be measured.
    """
    thrust, moment = 0, 0
    for k in range(parts_placed(S, i)):
        part, r, x, y, w, h = part_at(S, i, T, k)
        if is_thruster(part) and r == facing:
            thrust += T.facts[part, catalogue.THRUST]
            moment += T.facts[part, catalogue.THRUST] * (2 * x + w if facing % 2 == 0 else 2 * y + h)
    if thrust == 0:
        return 0, 0.0
    return thrust, moment / (2 * thrust) - T.notes[MOMENT_X if facing % 2 == 0 else MOMENT_Y] / (2 * T.notes[TOTAL])


@jit
def thrust_term(S, i, T):
    """Returns how well the thrust of each facing goes through the centre of mass, from 0 to 1."""
    term = 0.0
    for facing in range(4):
        thrust, off = thrust_of(S, i, T, facing)
        if thrust > 0:
            half = (T.box[2 + facing % 2] - T.box[facing % 2] + 1) / 2
            term += THRUST_SHARES[facing] * max(0.0, 1.0 - 2.0 * abs(off) / half)
    return term


@jit
def shelter(S, i, T, x, y, dx, dy):
    """Returns how much stands between a cell and the edge of the grid in one direction, at most 1.

    Armour counts 1, a room 0.5, floor 0.25, and their sum is divided by `FULL_SHELTER`.
    """
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
def cockpit_shelter(S, i, T, x, y):
    """Returns the mean shelter of the eight outer sides of a cockpit at (x, y), from 0 to 1."""
    total = 0.0
    for n in range(2):
        total += shelter(S, i, T, x + n, y, 0, -1) + shelter(S, i, T, x + n, y + 1, 0, 1)
        total += shelter(S, i, T, x, y + n, -1, 0) + shelter(S, i, T, x + 1, y + n, 1, 0)
    return total / 8.0


@jit
def cockpit_term(S, i, T):
    """Returns how well the cockpit is sheltered, from 0 to 1."""
    for k in range(parts_placed(S, i)):
        part, _, x, y, _, _ = part_at(S, i, T, k)
        if part == COCKPIT:
            return cockpit_shelter(S, i, T, x, y)
    return 0.0


@jit
def start_from(S, i, T, a, b):
    """Sets plane SEEN to the cells of all parts of kinds `a` and `b`; returns whether there are any."""
    exists = False
    T.planes[at.SEEN, :] = ZERO
    for k in range(parts_placed(S, i)):
        part, _, x, y, w, h = part_at(S, i, T, k)
        if part in (a, b):
            exists = True
            for row in range(y + 1, y + 1 + h):
                T.planes[at.SEEN, row] |= span(x, w)
    return exists


@jit
def reached(S, i, T, k):
    """Returns whether a cell of part number `k` is in plane SEEN."""
    _, _, x, y, w, h = part_at(S, i, T, k)
    seen = ZERO
    for row in range(y + 1, y + 1 + h):
        seen |= T.planes[at.SEEN, row] & span(x, w)
    return seen != ZERO


@jit
def supplied_share(S, i, T, source, supply):
    """Returns the share of the parts that consume what `supply` stores and have a source within reach.

    A source is a part of kind `supply` or `source`.
    """
    if not start_from(S, i, T, source, supply):
        return 0.0
    for _ in range(SUPPLY_STEPS):
        if not spread(T.planes, T.box[1], T.box[3]):
            break
    consumers, supplied = 0, 0
    for k in range(parts_placed(S, i)):
        if consumes(part_kind(S, i, T, k), supply):
            consumers += 1
            supplied += 1 if reached(S, i, T, k) else 0
    return supplied / consumers if consumers > 0 else 0.0


@jit
def crew_term(S, i, T):
    """Returns how near the cockpit and the weapons are to crew rooms, from 0 to 1."""
    stations, total = 0, 0
    if not start_from(S, i, T, catalogue.QUARTERS, catalogue.BUNK):
        return 0.0
    for step in range(CREW_STEPS):  # a station adds 1 for each step before the crew reaches it
        stations, away = 0, 0
        for k in range(parts_placed(S, i)):
            part = part_kind(S, i, T, k)
            if part == COCKPIT or is_weapon(part):
                stations += 1
                away += 0 if reached(S, i, T, k) else 1
        total += away
        if away == 0:
            break
        if not spread(T.planes, T.box[1], T.box[3]):
            total += away * (CREW_STEPS - 1 - step)
            break
    return 1.0 - total / (stations * CREW_STEPS) if stations > 0 else 0.0


@jit
def fire_term(S, i, T):
    """Returns the firepower as a share of the full one, less what its facings differ from the wanted shares, from 0 to 1."""
    total, difference = 0, 0.0
    for k in range(parts_placed(S, i)):
        total += T.facts[part_kind(S, i, T, k), catalogue.FIREPOWER]
    if total == 0:
        return 0.0
    for facing in range(4):
        fire = 0
        for k in range(parts_placed(S, i)):
            part, r, _, _, _, _ = part_at(S, i, T, k)
            fire += T.facts[part, catalogue.FIREPOWER] if r == facing else 0
        difference += 0.5 * abs(fire / total - FIRE_SHARES[facing])
    return min(1.0, total / T.stages[at.STAGE_WEAPONS, at.FULL]) * (1.0 - difference)


@jit
def skin_term(S, i, T):
    """Returns the share of the hull cells beside SPACE that are armour, thruster or weapon."""
    planes, border, good = T.planes, 0, 0
    for row in range(1, T.grid + 1):
        hull = planes[at.HULL, row]
        left = hull & ~((hull << ONE) & (hull >> ONE) & planes[at.HULL, row - 1] & planes[at.HULL, row + 1])
        while left != ZERO:
            value = cell_value(S, i, T, lowest(left), row - 1)
            left &= left - ONE
            border += 1
            part = part_kind(S, i, T, value - ROOM) if value >= ROOM else np.int64(COCKPIT)
            good += 1 if value == ARMOUR or is_thruster(part) or is_weapon(part) else 0
    return good / border if border > 0 else 0.0


@jit
def corridor_length(S, i, T):
    """Returns the mean length of straight runs of at least two corridor cells, along rows and columns."""
    runs, cells = 0, 0
    for along in range(2):
        for a in range(T.grid):
            run = 0
            for b in range(T.grid + 1):  # the cell past the last ends a run
                if cell_value(S, i, T, b if along == 0 else a, a if along == 0 else b) == CORRIDOR:
                    run += 1
                    continue
                runs += 1 if run > 1 else 0
                cells += run if run > 1 else 0
                run = 0
    return cells / runs if runs > 0 else 0.0


@jit
def count_cells(S, i, T, out):
    """Writes areas, doors and symmetry to `out`, and adds the price of corridors, armour and doors."""
    area, corridors, armour, doors, paired = 0, 0, 0, 0, 0
    for y in range(T.grid):
        for x in range(T.grid):
            word = np.int64(S[i, at.HEADER + y * T.grid + x])
            value = word & at.VALUE
            if value != SPACE:
                area += 1
                paired += 1 if cell_value(S, i, T, T.box[0] + T.box[2] - x, y) != SPACE else 0
            corridors += 1 if value == CORRIDOR else 0
            armour += 1 if value == ARMOUR else 0
            doors += (1 if word & at.DOOR_EAST else 0) + (1 if word & at.DOOR_SOUTH else 0)
    out[F_AREA], out[F_CORRIDORS], out[F_DOORS] = area, corridors, doors
    out[F_EXTRA_DOORS] = doors - parts_placed(S, i)
    out[F_SYMMETRY] = paired / area if area > 0 else 0.0
    out[F_PRICE] += (
        corridors * catalogue.CORRIDOR_PRICE + armour * catalogue.ARMOUR_PRICE + doors * catalogue.DOOR_PRICE
    )


@jit
def count_parts(S, i, T, out):
    """Writes the sums over the parts to `out`."""
    for k in range(parts_placed(S, i)):
        part, r, _, _, _, _ = part_at(S, i, T, k)
        facts = T.facts[part]
        out[F_PRICE] += facts[catalogue.PRICE]
        out[F_FIREPOWER] += facts[catalogue.FIREPOWER]
        out[F_SEATS] += facts[catalogue.SEATS]
        out[F_OPERATORS] += facts[catalogue.OPERATORS]
        out[F_THRUST_SCORE] += facts[catalogue.POINTS] if is_thruster(part) else 0
        out[F_WEAPON_SCORE] += facts[catalogue.POINTS] if is_weapon(part) else 0
        out[F_FORWARD] += facts[catalogue.THRUST] if r == 2 else 0


@jit
def measure_terms(S, i, T):
    """Writes the six terms of row `i` to `T.terms`, its mass to `T.notes`, and the hull's extent to `T.box`.

    Builds the planes of the row.
    """
    load_planes(S, i, T)
    terms = T.terms
    measure_mass(S, i, T)
    hull_extent(T, T.box)
    terms[0] = thrust_term(S, i, T)
    terms[1] = cockpit_term(S, i, T)
    ammo = supplied_share(S, i, T, catalogue.AMMO_SUPPLY, catalogue.AMMO_SUPPLY)
    terms[2] = 0.5 * ammo + 0.5 * supplied_share(S, i, T, catalogue.REACTOR, catalogue.POWER_STORAGE)
    terms[3] = crew_term(S, i, T)
    terms[4] = fire_term(S, i, T)
    terms[5] = skin_term(S, i, T)


@jit
def measure(S, i, T, out):
    """Writes the six terms and the figures of row `i` to `out`, shape [MEASURES]; builds the planes of the row."""
    measure_terms(S, i, T)
    for n in range(MEASURES):
        out[n] = T.terms[n] if n < len(TERM_WEIGHTS) else 0.0
    count_parts(S, i, T, out)
    count_cells(S, i, T, out)
    out[F_MASS] = T.notes[TOTAL] / 100.0
    out[F_LENGTH] = corridor_length(S, i, T)


@jit
def potential(S, i, T):
    """Returns the quality of an unfinished ship, missing terms 0; 0 once it cannot become valid."""
    if S[i, at.PARTS_PLACED] == 0 or S[i, at.REASONS] != 0:
        return 0.0
    measure_terms(S, i, T)
    total = 0.0
    for n in range(6):
        total += TERM_WEIGHTS[n] * T.terms[n]
    return total
