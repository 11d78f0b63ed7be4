"""Checks a ship against the rules, in plain Python and without the generator's code.

Each broken rule is named by its number (V1 to V13) and the place where it is broken. V1: one hull. V2: no overlaps. V3: one
cockpit, one reactor. V4, V5: thruster and weapon scores. V6: ammo supplies and power storage. V7: seats. V8: lanes. V9: doors.
V10: the crew reaches everything. V13: extra doors where, and only where, the walk is long. (V11, V12, V14 and V15 are about how
a ship is built and cannot be checked on the finished ship.)
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from leafwise.envs.starship.catalogue import DIRECTIONS, DX, DY, PARTS, door_slots
from leafwise.envs.starship.settings import MOST_EXTRA_SEATS, final
from leafwise.envs.starship.ship import PlacedPart, Ship, stats_of

Cell = tuple[int, int]
Edge = tuple[int, int, str]

THRUSTER_NAMES = ("thruster_small", "thruster_med", "thruster_large")
WEAPON_NAMES = ("cannon_med", "cannon_large")


class Broken(NamedTuple):
    """A broken rule, and where it is broken."""

    rule: str
    where: str

    def __str__(self) -> str:
        return f"{self.rule}: {self.where}"


def check(ship: Ship) -> list[Broken]:
    """Returns the rules that a ship breaks, empty if it keeps them all. Also compares `valid` and the stats with the ship."""
    broken = [*_hull(ship), *_overlaps(ship)]
    if broken:  # the other checks need a hull without overlaps
        return broken
    plan = ShipPlan(ship)
    broken = [*_counts(ship), *_lanes(plan), *_doors(plan), *_reach(plan)]
    broken = broken or sorted(_extra_doors(plan))
    if ship.valid != (not ship.reasons):
        broken.append(Broken("valid", f"valid is {ship.valid} but the reasons are {list(ship.reasons)}"))
    elif ship.valid and not broken:
        broken = list(_stats(ship))
    return broken


class ShipPlan:
    """The cells of a ship by what is in them; rooms by their number in the order of placement."""

    def __init__(self, ship: Ship) -> None:
        self.ship, self.hull = ship, set(ship.hull_cells)
        self.room = {cell: k for k, part in enumerate(ship.parts) for cell in part.cells}
        self.corridors = self.hull - set(ship.armour) - set(self.room)
        self.doors: set[Edge] = {(door.x, door.y, door.side) for door in ship.doors}

    def walkable(self, cell: Cell) -> bool:
        """Returns whether the crew can stand in a cell."""
        return cell in self.corridors or cell in self.room

    def passable(self, a: Cell, b: Cell, doors: set[Edge]) -> bool:
        """Returns whether the crew can step between two neighbouring cells."""
        if not (self.walkable(a) and self.walkable(b)):
            return False
        return self.room.get(a) == self.room.get(b) or edge(a, b) in doors

    def distances(self, start: Cell, doors: set[Edge], most: int | None = None) -> dict[Cell, int]:
        """Returns the steps to every cell that the crew can reach from `start`, at most `most` steps away."""
        return distances(start, lambda a, b: self.passable(a, b, doors), most)

    def may_have(self, door: Edge) -> bool:
        """Returns whether the parts on both sides of an edge may have a door there."""
        for (x, y), d in zip(sides(door), (1, 3) if door[2] == "E" else (2, 0), strict=True):
            part = self.ship.parts[self.room[x, y]] if (x, y) in self.room else None
            if part and (x - part.x, y - part.y, d) not in door_slots(part.number, part.r):
                return False
        return True


def neighbours(cell: Cell) -> list[Cell]:
    """Returns the four cells beside a cell, in order N, E, S, W."""
    return [(cell[0] + DX[d], cell[1] + DY[d]) for d in range(4)]


def distances(start: Cell, passable: Callable[[Cell, Cell], bool], most: int | None = None) -> dict[Cell, int]:
    """Returns the steps to every cell that can be reached from `start`, at most `most` steps away."""
    steps, queue = {start: 0}, deque([start])
    while queue:
        cell = queue.popleft()
        if steps[cell] != most:
            for near in neighbours(cell):
                if near not in steps and passable(cell, near):
                    steps[near] = steps[cell] + 1
                    queue.append(near)
    return steps


def edge(a: Cell, b: Cell) -> Edge:
    """Returns the edge between two neighbouring cells."""
    first = min(a, b)
    return (*first, "E" if a[1] == b[1] else "S")


def sides(door: Edge) -> tuple[Cell, Cell]:
    """Returns the two cells that an edge lies between."""
    x, y, side = door
    return (x, y), ((x + 1, y) if side == "E" else (x, y + 1))


def _name(part: PlacedPart) -> str:
    return f"{part.id} at ({part.x}, {part.y})"


def _hull(ship: Ship) -> Iterator[Broken]:
    """Yields where rule V1 is broken: the hull is one piece and leaves the outermost ring free."""
    hull, last = set(ship.hull_cells), ship.grid - 1
    ring = sorted(cell for cell in hull if cell[0] in (0, last) or cell[1] in (0, last))
    if ring:
        yield Broken("V1", f"hull on the outermost ring at {ring[0]}")
    elif not hull:
        yield Broken("V1", "no hull")
    elif cut_off := hull - set(distances(min(hull), lambda _, near: near in hull)):
        yield Broken("V1", f"hull cell {min(cut_off)} is cut off")


def _overlaps(ship: Ship) -> Iterator[Broken]:
    """Yields where rule V2 is broken: armour and parts lie inside the hull, and none in the same cell."""
    holders: dict[Cell, str] = {}
    items = [(f"armour at {cell}", [cell]) for cell in ship.armour] + [(_name(p), p.cells) for p in ship.parts]
    for name, cells in items:
        for x, y in cells:
            if ship.hull[y][x] != ".":
                yield Broken("V2", f"{name} lies outside the hull in cell ({x}, {y})")
            elif (x, y) in holders:
                yield Broken("V2", f"{name} and {holders[x, y]} both hold cell ({x}, {y})")
            holders[x, y] = name


def _counts(ship: Ship) -> Iterator[Broken]:
    """Yields where rules V3 to V7 are broken: the counts are those of the file's own parameters, 0 if a stage is disabled."""
    p = final(ship.parameters)
    thrusters, weapons, ammo, power, crew = p.thrusters, p.weapons, p.ammo_supplies, p.power_storage, p.crew
    asked: list[tuple[str, str, Any, tuple[str, ...], int, int]] = [
        ("V3", "cockpits", p.cockpit, ("cockpit",), 1, 1),
        ("V3", "reactors", p.reactor, ("reactor",), 1, 1),
        ("V4", "thruster score", thrusters, THRUSTER_NAMES, thrusters.min_score, thrusters.max_score),
        ("V5", "weapon score", weapons, WEAPON_NAMES, weapons.min_score, weapons.max_score),
        ("V6", "ammo supplies", ammo, ("ammo_supply",), ammo.min_count, ammo.max_count),
        ("V6", "power storages", power, ("power_storage",), power.min_count, power.max_count),
        ("V7", "seats", crew, ("quarters", "bunk"), crew.min_seats, crew.min_seats + MOST_EXTRA_SEATS),
    ]
    for rule, what, stage, names, low, high in asked:
        count = sum(PARTS[part.number].points for part in ship.parts if part.id in names)
        if not (low if stage.enabled else 0) <= count <= (high if stage.enabled else 0):
            wanted = f"{low} to {high}" if stage.enabled else "0, as the stage is off"
            yield Broken(rule, f"{what} should be {wanted}, got {count}")


def _lanes(plan: ShipPlan) -> Iterator[Broken]:
    """Yields where rule V8 is broken: no hull blocks the lane of a directional part."""
    for part in plan.ship.parts:
        cells, dx, dy = part.cells, DX[part.r], DY[part.r]
        front = [(x, y) for x, y in cells if (x + dx, y + dy) not in cells]
        steps = range(1, PARTS[part.number].clear + 1)
        if blocked := {(x + dx * k, y + dy * k) for x, y in front for k in steps} & plan.hull:
            yield Broken("V8", f"{_name(part)} facing {DIRECTIONS[part.r]} is blocked at {min(blocked)}")


def _doors(plan: ShipPlan) -> Iterator[Broken]:
    """Yields where rule V9 is broken: doors join walkable cells, and each room came with one."""
    parts = plan.ship.parts
    seen: set[Edge] = set()
    touched: set[int] = set()
    initial_doors: list[list[Edge]] = [[] for _ in parts]
    for door in plan.ship.doors:
        door_edge: Edge = (door.x, door.y, door.side)
        a, b = sides(door_edge)
        name = f"door {door_edge}"
        if door_edge in seen:
            yield Broken("V9", f"{name} is listed twice")
        seen.add(door_edge)
        if not (plan.walkable(a) and plan.walkable(b)):
            yield Broken("V9", f"{name} does not join two walkable cells")
        elif plan.room.get(a) == plan.room.get(b):
            yield Broken("V9", f"{name} stands in no wall")
        elif not plan.may_have(door_edge):
            yield Broken("V9", f"{name} is where a room may have none")
        elif door.initial and a in plan.room and b in plan.room:
            yield Broken("V9", f"{name} came with a room but leads into another room")
        for k in {plan.room[cell] for cell in (a, b) if cell in plan.room}:
            touched.add(k)
            initial_doors[k] += [door_edge] if door.initial else []
    for k, (part, came_with) in enumerate(zip(parts, initial_doors, strict=True)):
        if k not in touched:
            yield Broken("V9", f"{_name(part)} has no door")
        elif len(came_with) != 1:
            yield Broken("V9", f"{_name(part)} should have come with one door, got {len(came_with)}")
        else:
            yield from _first_slot(part, came_with[0], plan)


def _first_slot(part: PlacedPart, door: Edge, plan: ShipPlan) -> Iterator[Broken]:
    """Yields if a room's initial door is not at its first slot that led to corridor; what is corridor now was so then."""
    for dx, dy, d in door_slots(part.number, part.r):
        inside = (part.x + dx, part.y + dy)
        outside = neighbours(inside)[d]
        if edge(inside, outside) == door:
            return
        if outside in plan.corridors:
            yield Broken("V9", f"{_name(part)} should have its own door at {edge(inside, outside)}, not {door}")
            return


def _reach(plan: ShipPlan) -> Iterator[Broken]:
    """Yields where rule V10 is broken: the crew reaches every corridor and room."""
    cells = plan.corridors | set(plan.room)
    if cells and (cut_off := cells - set(plan.distances(min(cells), plan.doors))):
        yield Broken("V10", f"the crew cannot reach {min(cut_off)} from {min(cells)}")


def _extra_doors(plan: ShipPlan) -> Iterator[Broken]:
    """Yields where rule V13 is broken: runs stage 14 again from the initial doors."""
    ship, stage = plan.ship, final(plan.ship.parameters).extra_doors
    doors: set[Edge] = {(door.x, door.y, door.side) for door in ship.doors if door.initial}
    for y, x, side in itertools.product(range(ship.grid), range(ship.grid), "ES") if stage.enabled else ():
        a, b = sides((x, y, side))
        wall = plan.walkable(a) and plan.walkable(b) and not plan.passable(a, b, doors)
        if wall and plan.may_have((x, y, side)) and b not in plan.distances(a, doors, stage.max_path):
            doors.add((x, y, side))
    for door in doors - plan.doors:
        yield Broken("V13", f"door {door} should be there: the walk round is too long")
    for door in plan.doors - doors:
        yield Broken("V13", f"door {door} is not called for")


def _stats(ship: Ship) -> Iterator[Broken]:
    """Yields the stats that differ from those measured again."""
    measured_stats = stats_of(ship)
    for name in sorted({*measured_stats, *ship.stats}):
        if measured_stats.get(name) != ship.stats.get(name):
            yield Broken("stats", f"{name} should be {measured_stats.get(name)}, got {ship.stats.get(name)}")
