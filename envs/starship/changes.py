"""Which change of a finished ship is worth a try: what is seen of a change, and a small network that says how likely it is a gain.

A change puts one part elsewhere. To know what it is worth, all that came after that part is built again (`plans.change`), which
takes far longer than to see one. So several are seen, and the likeliest is tried. The exact quality alone decides whether it is
kept. What is seen is measured on the ship as it stands, as if that part alone moved.
`leafwise.training.starship.ship_changes` learns it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from leafwise.envs.core.arrays import Array, Floats, Floats32, Ints, Words
from leafwise.envs.core.compile.jit import jit
from leafwise.envs.core.contract.bits import count_bits
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.stream import below
from leafwise.envs.core.errors import UserError
from leafwise.envs.starship import catalogue
from leafwise.envs.starship import tables as at
from leafwise.envs.starship.board import (
    ONE,
    ZERO,
    cell_value,
    copy_words,
    load_planes,
    lowest,
    part_at,
    parts_placed,
    write_steps,
)
from leafwise.envs.starship.catalogue import ARMOUR, CLEAR, PARTS, ROOM, ROTATIONS
from leafwise.envs.starship.lookahead import list_places
from leafwise.envs.starship.placing import (
    MOMENT_X,
    MOMENT_Y,
    TOTAL,
    consumes,
    find_anchors,
    is_thruster,
    is_weapon,
    leaves_ways,
    measure_distance,
)
from leafwise.envs.starship.plans import Plans, change, merit
from leafwise.envs.starship.quality import CREW_STEPS, THRUST_SHARES, cockpit_shelter, potential, start_from
from leafwise.envs.starship.rules import current_request
from leafwise.envs.starship.settings import MOST_PARTS

u64 = np.uint64
DRAWN, PLACES = 3, 6
"""Parts that are drawn for each try, and places that are seen of each."""
KIND, TURNED, X, Y, WIDE, HIGH, MASS = range(7)
"""Columns of `Ship.parts`."""
CREW, AMMO, POWER = range(3)
SERVERS = (
    (catalogue.QUARTERS, catalogue.BUNK),
    (catalogue.AMMO_SUPPLY, catalogue.AMMO_SUPPLY),
    (catalogue.REACTOR, catalogue.POWER_STORAGE),
)
"""What parts are served by: crew rooms, ammo supplies, and the reactor with power storages."""
NEAR, FAR = 8, 24
"""Gaps in cells within which a part counts as served, and from which on it makes no difference."""

TERMS_AT = len(PARTS)
ORDER_AT = TERMS_AT + 6
MOVED_AT = ORDER_AT + 1
THRUST_AT = MOVED_AT + 4
RIM_AT = THRUST_AT + 1
SERVED_AT = RIM_AT + 4
SHELTER_AT = SERVED_AT + 9
STEPS_AT = SHELTER_AT + 1
TRIED_AT = STEPS_AT + 3
THERE_AT = TRIED_AT + 1
SEEN = THERE_AT + 2
"""What is seen of a change: the part's kind, one of 11; the ship's six terms; how late the part came; how far it moves, by column,
by row, in all, and whether it turns; what the thrust term gains; cells at the hull's rim and depth, before and by how much more;
for each service the mean gap and the share served, by how much more, and the share as it is; what shelter the cockpit gains; steps
on foot to each service, by how much fewer; how lately it was tried; the share of the new place that rooms and armour take."""


class Ship(NamedTuple):
    """The ship as it stands, and scratch."""

    parts: Ints
    """[parts, 7]: kind, rotation, place, size, mass."""
    thrust: Floats
    """[4, 2]: thrust of each facing, and its moment, as twice the place."""
    mass: Floats
    """[3]: the mass and its moments, as twice the place."""
    box: Ints
    """[4]: the hull's extent."""
    terms: Floats
    """[6]"""
    served: Floats
    """[3, 2]: for each service the mean gap as a share of `FAR`, and the share of the served."""
    steps: Floats32
    """[3, cells]: steps on foot from each service, as a share of `CREW_STEPS`; 1 where they are no fewer."""
    tried: Words
    """[decisions, places]: the time at which a change was tried last."""
    time: Words
    """[2]: now, counted in changes that were kept, and when this ship began."""
    anchors: Words
    """[4, rows]: where the part drawn may stand, its ways apart."""
    seen: Floats32
    """[2, SEEN]: a change, and the likeliest one so far."""
    hidden: Floats32
    """[2, most units]"""


class Weights(NamedTuple):
    """Three dense layers with rectified units between them."""

    first: Floats32
    """[SEEN, units]"""
    first_bias: Floats32
    second: Floats32
    """[units, units]"""
    second_bias: Floats32
    out: Floats32
    """[units]"""


KIND_OF_FILE = "ship-changes"
"""Kind of the files of such networks."""


def shapes(units: int) -> dict[str, tuple[int, ...]]:
    """Returns the shapes of the weights of a network with so many units in each hidden layer."""
    return {
        "first": (SEEN, units),
        "first_bias": (units,),
        "second": (units, units),
        "second_bias": (units,),
        "out": (units,),
    }


def weights_of(tensors: Mapping[str, Array], told: Mapping[str, Any], path: Path) -> Weights:
    """Returns the weights of a file's tensors; raises ValueError in one line for another file."""
    units = len(tensors.get("out", ()))
    right = told.get("kind") == KIND_OF_FILE and {k: t.shape for k, t in tensors.items()} == shapes(units)
    if not right or any(t.dtype != np.float32 or not np.isfinite(t).all() for t in tensors.values()):
        raise UserError(
            f"{str(path)!r}: expected a network that proposes changes of ships, got one of kind {told.get('kind')!r}"
        )
    return Weights(**{name: np.ascontiguousarray(tensors[name]) for name in Weights._fields})


@jit
def thrust_term_of(ship, mass_x, mass_y, facing, more):
    """Returns the thrust term with other moments of the mass, and of one facing `more` moment of thrust."""
    term = 0.0
    for f in range(4):
        thrust = ship.thrust[f, 0]
        if thrust > 0.0:
            moment = ship.thrust[f, 1] + (more if f == facing else 0.0)
            off = moment / (2.0 * thrust) - (mass_x if f % 2 == 0 else mass_y) / (2.0 * ship.mass[0])
            half = (ship.box[2 + f % 2] - ship.box[f % 2] + 1) / 2.0
            term += THRUST_SHARES[f] * max(0.0, 1.0 - 2.0 * abs(off) / half)
    return term


@jit(inline=True)
def gap_between(parts, a, b):
    """Returns the free columns plus free rows between two parts."""
    across = max(0, max(parts[a, X] - parts[b, X] - parts[b, WIDE], parts[b, X] - parts[a, X] - parts[a, WIDE]))
    down = max(0, max(parts[a, Y] - parts[b, Y] - parts[b, HIGH], parts[b, Y] - parts[a, Y] - parts[a, HIGH]))
    return across + down


@jit(inline=True)
def is_served(kind, service):
    """Returns whether a part is one that a service is for."""
    if service == CREW:
        return kind == catalogue.COCKPIT or is_weapon(kind)
    return consumes(kind, catalogue.AMMO_SUPPLY if service == AMMO else catalogue.POWER_STORAGE)


@jit(inline=True)
def serves(kind, service):
    """Returns whether a part gives a service."""
    return kind == SERVERS[service][0] or kind == SERVERS[service][1]


@jit
def service_of(parts, n, service):
    """Returns the mean gap from the served to the nearest of a service, as a share of `FAR`, and the share that it is near."""
    total, near, count = np.int64(0), 0, 0
    for a in range(n):
        if is_served(parts[a, KIND], service):
            least = np.int64(FAR)
            for b in range(n):
                if b != a and serves(parts[b, KIND], service):
                    least = min(least, gap_between(parts, a, b))
            total, near, count = total + least, near + (1 if least <= NEAR else 0), count + 1
    return total / (FAR * max(1, count)), near / max(1, count)


@jit
def rim_and_depth(parts, k, T):
    """Returns how many cells of a part lie at the hull's rim, and the least depth of one."""
    cells, least = 0, np.int64(99)
    for y in range(parts[k, Y], parts[k, Y] + parts[k, HIGH]):
        for x in range(parts[k, X], parts[k, X] + parts[k, WIDE]):
            depth = np.int64(T.depth[y * T.grid + x])
            cells, least = cells + (1 if depth == 1 else 0), min(least, depth)
    return cells, least


@jit
def least_steps(steps, x, y, w, h, grid):
    """Returns the fewest steps to a service from the cells of a rectangle and round it."""
    least = 1.0
    for row in range(max(0, y - 1), min(grid, y + h + 1)):
        for column in range(max(0, x - 1), min(grid, x + w + 1)):
            least = min(least, steps[row * grid + column])
    return least


@jit
def survey(S, last, ship, T):
    """Measures the finished ship of row `last`; returns how many parts it has."""
    # Terms, mass and extent, as the quality measures them
    i, parts = u64(last), ship.parts
    potential(S, i, T)
    for term in range(6):
        ship.terms[term] = T.terms[term]
    ship.mass[0], ship.mass[1], ship.mass[2] = T.notes[TOTAL], T.notes[MOMENT_X], T.notes[MOMENT_Y]
    for side in range(4):
        ship.box[side] = T.box[side]
    # The parts, and the thrust of each facing
    n = parts_placed(S, i)
    ship.thrust[:] = 0.0
    for k in range(n):
        kind, r, x, y, w, h = part_at(S, i, T, k)
        parts[k, KIND], parts[k, TURNED], parts[k, X], parts[k, Y], parts[k, WIDE], parts[k, HIGH] = kind, r, x, y, w, h
        parts[k, MASS] = T.facts[kind, catalogue.MASS]
        if is_thruster(kind):
            thrust = T.facts[kind, catalogue.THRUST]
            ship.thrust[r, 0] += thrust
            ship.thrust[r, 1] += thrust * (2 * x + w if r % 2 == 0 else 2 * y + h)
    # What serves whom, and how far it is on foot
    ship.steps[:] = 1.0
    for service in range(3):
        ship.served[service, 0], ship.served[service, 1] = service_of(parts, n, service)
        if start_from(S, i, T, SERVERS[service][0], SERVERS[service][1]):
            write_steps(T, T.box[1], T.box[3], CREW_STEPS, ship.steps[service], 0, 1)
    load_planes(S, i, T)
    measure_distance(T)
    return n


@jit
def see_change(S, last, ship, n, k, r, x, y, ago, T):
    """Writes what is seen of putting part number `k` of the ship in row `last`, one of `n`, to (x, y), turned by `r`."""
    parts, seen = ship.parts, ship.seen[0]
    seen[:] = 0.0
    kind, old_r, old_x, old_y = parts[k, KIND], parts[k, TURNED], parts[k, X], parts[k, Y]
    old_w, old_h = parts[k, WIDE], parts[k, HIGH]
    w, h = T.size[kind, r, 0], T.size[kind, r, 1]
    # The part, the ship, and how far the part moves
    seen[kind] = 1.0
    for term in range(6):
        seen[TERMS_AT + term] = ship.terms[term]
    seen[ORDER_AT] = k / max(1, last)
    across, down = (2 * x + w - 2 * old_x - old_w) / 2.0, (2 * y + h - 2 * old_y - old_h) / 2.0
    seen[MOVED_AT], seen[MOVED_AT + 1], seen[MOVED_AT + 2] = across / 8.0, down / 8.0, (abs(across) + abs(down)) / 8.0
    seen[MOVED_AT + 3] = 1.0 if r != old_r else 0.0
    # The thrust term with mass and thrust elsewhere
    more = 0.0
    if is_thruster(kind):
        more = 2.0 * T.facts[kind, catalogue.THRUST] * (across if old_r % 2 == 0 else down)
    mass_x, mass_y = ship.mass[1] + 2.0 * parts[k, MASS] * across, ship.mass[2] + 2.0 * parts[k, MASS] * down
    seen[THRUST_AT] = 10.0 * (thrust_term_of(ship, mass_x, mass_y, old_r, more) - ship.terms[0])
    # The hull's rim, and the services, with the part there for a moment
    rim, depth = rim_and_depth(parts, k, T)
    parts[k, TURNED], parts[k, X], parts[k, Y], parts[k, WIDE], parts[k, HIGH] = r, x, y, w, h
    new_rim, new_depth = rim_and_depth(parts, k, T)
    seen[RIM_AT], seen[RIM_AT + 1] = rim / 2.0, (new_rim - rim) / 2.0
    seen[RIM_AT + 2], seen[RIM_AT + 3] = depth / 4.0, (new_depth - depth) / 4.0
    for service in range(3):
        seen[SERVED_AT + 3 * service + 2] = ship.served[service, 1]
        if is_served(kind, service) or serves(kind, service):
            mean, near = service_of(parts, n, service)
            seen[SERVED_AT + 3 * service] = 10.0 * (mean - ship.served[service, 0])
            seen[SERVED_AT + 3 * service + 1] = 10.0 * (near - ship.served[service, 1])
    parts[k, TURNED], parts[k, X], parts[k, Y], parts[k, WIDE], parts[k, HIGH] = old_r, old_x, old_y, old_w, old_h
    # Shelter, steps on foot, and what stands there
    if kind == catalogue.COCKPIT:
        seen[SHELTER_AT] = 10.0 * (cockpit_shelter(S, u64(last), T, x, y) - ship.terms[1])
    for service in range(3):
        if is_served(kind, service):
            steps = ship.steps[service]
            fewer = least_steps(steps, old_x, old_y, old_w, old_h, T.grid) - least_steps(steps, x, y, w, h, T.grid)
            seen[STEPS_AT + service] = 2.0 * fewer
    seen[TRIED_AT] = ago
    for row in range(y, y + h):
        for column in range(x, x + w):
            value = cell_value(S, u64(last), T, column, row)
            seen[THERE_AT] += 1.0 / (w * h) if value >= ROOM else 0.0
            seen[THERE_AT + 1] += 1.0 / (w * h) if value == ARMOUR else 0.0


@jit
def likelihood(ship, W):
    """Returns the log odds, but for a constant, that the change seen makes the ship better."""
    seen, one, two = ship.seen[0], ship.hidden[0], ship.hidden[1]
    for j in range(W.out.shape[0]):
        one[j], two[j] = W.first_bias[j], W.second_bias[j]
    for i in range(SEEN):
        if seen[i] != 0.0:
            for j in range(W.out.shape[0]):
                one[j] += seen[i] * W.first[i, j]
    total = np.float32(0.0)
    for i in range(W.out.shape[0]):
        if one[i] > 0.0:
            for j in range(W.out.shape[0]):
                two[j] += one[i] * W.second[i, j]
    for j in range(W.out.shape[0]):
        total += max(np.float32(0.0), two[j]) * W.out[j]
    return total


@jit
def find_room(S, i, ship, T):
    """Notes where the part of decision `i` may stand, the crew's ways apart; returns how many places those are."""
    load_planes(S, i, T)
    stage, entry = current_request(S, i)
    kind, facing, total = T.kinds[stage, entry // 4], entry % 4, np.int64(0)
    for r in range(4):
        asked = r < T.facts[kind, ROTATIONS] if T.facts[kind, CLEAR] == 0 else r == facing
        ship.anchors[r] = ZERO
        if asked:
            find_anchors(T, kind, r)
            copy_words(T.planes[at.ANCHORS], ship.anchors[r])
        for row in range(1, T.grid + 1):
            total += np.int64(count_bits(ship.anchors[r, row]))
    return total


@jit
def place_number(ship, m, T):
    """Returns the m-th of the places noted: (r, x, y)."""
    for r in range(4):
        for row in range(1, T.grid + 1):
            left = ship.anchors[r, row]
            n = np.int64(count_bits(left))
            if m < n:
                for _ in range(m):
                    left &= left - ONE
                return r, lowest(left), row - 1
            m -= n
    return 0, 0, 0


@jit
def propose(S, places, last, n, drawn, per, R, ship, W, T):
    """Draws `drawn` parts, sees at most `per` places of each, and returns the likeliest change as (decision, place); -1 if none.

    What was tried since the ship changed last is not seen again.
    """
    chosen, best, found = np.int64(-1), np.float32(-np.inf), np.int64(-1)
    for _ in range(drawn):
        k = np.int64(below(R, u64(last)))
        number = np.int64(S[k, at.PARTS_PLACED])  # of the part; a mirror image counts too
        total = find_room(S, u64(k), ship, T) if number < n else 0
        for _ in range(min(per, total) if total > 1 else 0):
            r, x, y = place_number(ship, np.int64(below(R, u64(total))), T)
            place = np.int64((r * T.grid + y) * T.grid + x)
            at_last = ship.tried[k, place]
            if place == places[k] or at_last == ship.time[0]:
                continue
            ago = 1.0 / (ship.time[0] - at_last) if at_last >= ship.time[1] else 0.0
            see_change(S, last, ship, n, number, r, x, y, ago, T)
            odds = likelihood(ship, W)
            if odds > best:
                chosen, best, found = k, odds, place
                for feature in range(SEEN):
                    ship.seen[1, feature] = ship.seen[0, feature]
    return chosen, found


@jit
def leaves_ways_at(S, k, place, T):
    """Returns whether a place at which decision `k` may stand leaves the crew their ways."""
    load_planes(S, u64(k), T)
    stage, entry = current_request(S, u64(k))
    area = T.grid * T.grid
    return leaves_ways(T, stage, T.kinds[stage, entry // 4], place // area, place % T.grid, place // T.grid % T.grid)


@jit
def improve_by(S, streams, places, room, last, A, scores, tries, drawn, per, R, ship, W, told, gained, T):
    """Puts `tries` parts of a plan elsewhere, those that `propose` names; keeps what is no worse.

    Of each try of a valid ship it writes what was seen to `told` [tries, SEEN] and whether the ship got better to `gained` [tries],
    if they have room. Returns the last row, and how many it wrote.
    """
    best, count = merit(S, u64(last), T), 0
    ship.time[0] += ONE
    ship.time[1] = ship.time[0]
    n = survey(S, last, ship, T)
    for _ in range(tries if last > 0 else 0):
        # A ship that is not valid changes at random
        if best <= 0.0:
            k = np.int64(below(R, u64(last)))
            found = list_places(S, u64(k), A, scores, T)
            place = A[np.int64(below(R, u64(found)))]
        else:
            k, place = propose(S, places, last, n, drawn, per, R, ship, W, T)
        if k < 0 or place == places[k]:
            continue
        # Try it, and keep it if it is no worse
        before, old, known = best, places[k], best > 0.0
        ship.tried[k, place] = ship.time[0]
        if leaves_ways_at(S, k, place, T):
            best, last = change(S, streams, places, room, last, k, place, best, R, T)
        if known and count < gained.shape[0]:
            for feature in range(SEEN):
                told[count, feature] = ship.seen[1, feature]
            gained[count] = best > before
            count += 1
        if places[k] != old:
            ship.tried[k, old] = ship.time[0]
            if best != before:
                ship.time[0] += ONE
            n = survey(S, last, ship, T)
    return last, count


class Proposer:
    """Improves plans by the changes that a network finds likeliest; serves one thread."""

    def __init__(self, game: Game, weights: Weights, *, drawn: int = DRAWN, places: int = PLACES) -> None:
        """A try draws so many parts and sees so many places of each."""
        self.weights, self.drawn, self.places, self._T = weights, drawn, places, game.tables().ship
        cells, most = self._T.grid * self._T.grid, MOST_PARTS + 2
        self._ship = Ship(
            np.zeros((most, 7), np.int64), np.zeros((4, 2)), np.zeros(3), np.zeros(4, np.int64), np.zeros(6), np.zeros((3, 2)),
            np.ones((3, cells), np.float32), np.zeros((most, 4 * cells), np.uint64), np.ones(2, np.uint64),
            np.zeros((4, at.MARGIN_ROWS), np.uint64), np.zeros((2, SEEN), np.float32),
            np.zeros((2, len(weights.out)), np.float32),
        )  # fmt: skip

    def __call__(self, plans: Plans, R: Words, tries: int, *, record: bool = False) -> tuple[Floats32, Array]:
        """Puts `tries` parts of a plan elsewhere, drawn from stream `R`; keeps what is no worse.

        With `record` returns what was seen of each change [n, SEEN] and whether it made the ship better [n].
        """
        most = tries if record else 0
        told, gained = np.zeros((most, SEEN), np.float32), np.zeros(most, np.bool_)
        how = tries, self.drawn, self.places, R, self._ship, self.weights, told, gained
        plans.decisions, n = improve_by(*plans.arrays, *how, self._T)
        return told[:n], gained[:n]
