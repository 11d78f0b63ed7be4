"""Which change of a finished ship is worth a try: its features, and a small network that estimates how likely it is a gain.

A change puts one part elsewhere. Its value is known only once all later parts are built again (`plans.change`), which takes far
longer than to compute its features. So the features of several changes are computed, and the likeliest one is tried. Only the
exact quality decides whether it is kept. The features are measured on the finished ship, as if that part alone moved.
`leafwise.training.starship.ship_changes` trains the network.
"""

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
"""Parts that are drawn for each try, and places that are looked at for each part."""
KIND, TURNED, X, Y, WIDE, HIGH, MASS = range(7)
"""Columns of `SurveyedShip.parts`."""
CREW, AMMO, POWER = range(3)
SERVERS = (
    (catalogue.QUARTERS, catalogue.BUNK),
    (catalogue.AMMO_SUPPLY, catalogue.AMMO_SUPPLY),
    (catalogue.REACTOR, catalogue.POWER_STORAGE),
)
"""The parts that give each service: crew rooms, ammo supplies, and the reactor with power storages."""
NEAR, FAR = 8, 24
"""Gaps in cells: up to the first a part counts as served; from the second on, distance makes no difference."""

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
"""The number of features of a change, which are in this order: the part's kind, one of 11; the ship's six terms; the part's
share of the order of placement; how far it moves by column, by row, in all, and whether it turns; what the thrust term gains;
cells at the hull's rim and depth, before the change and by how much more; for each service by how much the mean gap and the
share served grow, and the share as it is; what shelter the cockpit gains; for each service by how much fewer the steps on foot
are; how lately it was tried; the share of the new place that rooms and armour take.
"""


class SurveyedShip(NamedTuple):
    """A finished ship, measured, and scratch."""

    parts: Ints
    """[parts, 7]: kind, rotation, place, size, mass."""
    thrust: Floats
    """[4, 2]: thrust of each facing, and its moment with doubled coordinates."""
    mass: Floats
    """[3]: the mass and its moments with doubled coordinates."""
    box: Ints
    """[4]: the hull's extent."""
    terms: Floats
    """[6]"""
    served: Floats
    """[3, 2]: for each service the mean gap as a share of `FAR`, and the share of its consumers served."""
    steps: Floats32
    """[3, cells]: steps on foot from each service, as a share of `CREW_STEPS`, at most 1."""
    tried: Words
    """[decisions, places]: the time of the last try of a change."""
    time: Words
    """[2]: now, counted in changes that were kept, and the time at which this ship began."""
    anchors: Words
    """[4, rows]: where the drawn part may be placed, apart from the crew's ways."""
    seen: Floats32
    """[2, SEEN]: the features of a change, and those of the likeliest so far."""
    hidden: Floats32
    """[2, units]: scratch of the network."""


class ChangeWeights(NamedTuple):
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
"""The kind of the files of such networks."""


def shapes(units: int) -> dict[str, tuple[int, ...]]:
    """Returns the shapes of the weights of a network with `units` units in each hidden layer."""
    return {
        "first": (SEEN, units),
        "first_bias": (units,),
        "second": (units, units),
        "second_bias": (units,),
        "out": (units,),
    }


def weights_of(tensors: Mapping[str, Array], metadata: Mapping[str, Any], path: Path) -> ChangeWeights:
    """Returns the weights in a file's tensors; raises ValueError in one line for another file."""
    units = len(tensors.get("out", ()))
    is_right = metadata.get("kind") == KIND_OF_FILE and {k: t.shape for k, t in tensors.items()} == shapes(units)
    if not is_right or any(t.dtype != np.float32 or not np.isfinite(t).all() for t in tensors.values()):
        raise UserError(
            f"{str(path)!r}: expected a network that proposes changes of ships, got one of kind {metadata.get('kind')!r}"
        )
    return ChangeWeights(**{name: np.ascontiguousarray(tensors[name]) for name in ChangeWeights._fields})


@jit
def thrust_term_of(ship, mass_x, mass_y, facing, more):
    """Returns the thrust term after a change: with these moments of the mass, and with `more` moment of thrust in one facing."""
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
    """Returns whether a part of this kind needs a service."""
    if service == CREW:
        return kind == catalogue.COCKPIT or is_weapon(kind)
    return consumes(kind, catalogue.AMMO_SUPPLY if service == AMMO else catalogue.POWER_STORAGE)


@jit(inline=True)
def serves(kind, service):
    """Returns whether a part of this kind gives a service."""
    return kind == SERVERS[service][0] or kind == SERVERS[service][1]


@jit
def service_of(parts, n, service):
    """Returns the mean gap from the parts that need a service to the nearest that gives it, and the share of them that is near.

    The gap is a share of `FAR`.
    """
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
    """Returns how many cells of a part lie at the hull's rim, and the least depth of its cells."""
    cells, least = 0, np.int64(99)
    for y in range(parts[k, Y], parts[k, Y] + parts[k, HIGH]):
        for x in range(parts[k, X], parts[k, X] + parts[k, WIDE]):
            depth = np.int64(T.depth[y * T.grid + x])
            cells, least = cells + (1 if depth == 1 else 0), min(least, depth)
    return cells, least


@jit
def least_steps(steps, x, y, w, h, grid):
    """Returns the fewest steps to a service from the cells of a rectangle and from those round it."""
    least = 1.0
    for row in range(max(0, y - 1), min(grid, y + h + 1)):
        for column in range(max(0, x - 1), min(grid, x + w + 1)):
            least = min(least, steps[row * grid + column])
    return least


@jit
def survey(S, last, ship, T):
    """Measures the finished ship of row `last` into `ship`; returns how many parts it has."""
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
    """Writes the features of a change: part number `k` of the ship in row `last`, one of `n`, goes to (x, y), turned by `r`.

    `ago` is how lately the change was tried, from 0 to 1.
    """
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
    # The thrust term with the part's mass and thrust at the new place
    more = 0.0
    if is_thruster(kind):
        more = 2.0 * T.facts[kind, catalogue.THRUST] * (across if old_r % 2 == 0 else down)
    mass_x, mass_y = ship.mass[1] + 2.0 * parts[k, MASS] * across, ship.mass[2] + 2.0 * parts[k, MASS] * down
    seen[THRUST_AT] = 10.0 * (thrust_term_of(ship, mass_x, mass_y, old_r, more) - ship.terms[0])
    # The hull's rim and the services, with the part moved to the new place and then back
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
    # Shelter, steps on foot, and what is at the new place
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
    """Returns the log odds, up to a constant, that the change in `ship.seen` makes the ship better."""
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
    """Writes where the part of decision `i` may be placed, apart from the crew's ways; returns how many places there are."""
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
    """Returns the m-th of the places that `find_room` wrote: (r, x, y)."""
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
    """Draws `drawn` parts, looks at up to `per` places of each, and returns the likeliest change as (decision, place); -1 if
    none.

    Skips what was tried since the ship changed last.
    """
    chosen, best, best_place = np.int64(-1), np.float32(-np.inf), np.int64(-1)
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
                chosen, best, best_place = k, odds, place
                for feature in range(SEEN):
                    ship.seen[1, feature] = ship.seen[0, feature]
    return chosen, best_place


@jit
def leaves_ways_at(S, k, place, T):
    """Returns whether the part of decision `k` leaves the crew its ways at a place."""
    load_planes(S, u64(k), T)
    stage, entry = current_request(S, u64(k))
    area = T.grid * T.grid
    return leaves_ways(T, stage, T.kinds[stage, entry // 4], place // area, place % T.grid, place // T.grid % T.grid)


@jit
def improve_by(S, streams, places, room, last, A, scores, tries, drawn, per, R, ship, W, tried_features, gained, T):
    """Tries `tries` changes of a plan, those that `propose` returns, and keeps each that makes the ship no worse.

    For each try of a valid ship it writes the features to `tried_features` [tries, SEEN] and whether the ship got better to
    `gained` [tries], if they have room. Returns the last row, and how many tries it wrote.
    """
    best, count = merit(S, u64(last), T), 0
    ship.time[0] += ONE
    ship.time[1] = ship.time[0]
    n = survey(S, last, ship, T)
    for _ in range(tries if last > 0 else 0):
        # A ship that is not valid changes at random
        if best <= 0.0:
            k = np.int64(below(R, u64(last)))
            n_places = list_places(S, u64(k), A, scores, T)
            place = A[np.int64(below(R, u64(n_places)))]
        else:
            k, place = propose(S, places, last, n, drawn, per, R, ship, W, T)
        if k < 0 or place == places[k]:
            continue
        # Try it, and keep it if it is no worse
        before, old, is_valid = best, places[k], best > 0.0
        ship.tried[k, place] = ship.time[0]
        if leaves_ways_at(S, k, place, T):
            best, last = change(S, streams, places, room, last, k, place, best, R, T)
        if is_valid and count < gained.shape[0]:
            for feature in range(SEEN):
                tried_features[count, feature] = ship.seen[1, feature]
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

    def __init__(self, game: Game, weights: ChangeWeights, *, drawn: int = DRAWN, places: int = PLACES) -> None:
        """Each try draws `drawn` parts and looks at `places` places of each."""
        self.weights, self.drawn, self.places, self._T = weights, drawn, places, game.tables().ship
        cells, most = self._T.grid * self._T.grid, MOST_PARTS + 2
        self._ship = SurveyedShip(
            np.zeros((most, 7), np.int64), np.zeros((4, 2)), np.zeros(3), np.zeros(4, np.int64), np.zeros(6), np.zeros((3, 2)),
            np.ones((3, cells), np.float32), np.zeros((most, 4 * cells), np.uint64), np.ones(2, np.uint64),
            np.zeros((4, at.MARGIN_ROWS), np.uint64), np.zeros((2, SEEN), np.float32),
            np.zeros((2, len(weights.out)), np.float32),
        )  # fmt: skip

    def __call__(self, plans: Plans, R: Words, tries: int, *, record: bool = False) -> tuple[Floats32, Array]:
        """Tries `tries` changes of a plan, drawn from stream `R`, and keeps each that makes the ship no worse.

        With `record` returns the features of each change [n, SEEN] and whether it made the ship better [n].
        """
        most = tries if record else 0
        features, gained = np.zeros((most, SEEN), np.float32), np.zeros(most, np.bool_)
        settings = tries, self.drawn, self.places, R, self._ship, self.weights, features, gained
        plans.decisions, n = improve_by(*plans.arrays, *settings, self._T)
        return features[:n], gained[:n]
