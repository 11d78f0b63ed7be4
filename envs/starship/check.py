"""Checks a ship against the rules, in plain Python and without the generator's code: a second opinion.

Each broken rule is named by its number (V1 to V13) with the place where it is broken. V1: one hull. V2: no overlaps.
V3: one cockpit, one reactor. V4, V5: thruster and weapon scores. V6: ammo supplies and power storage. V7: seats.
V8: lanes. V9: doors. V10: the crew reaches everything. V13: extra doors where, and only where, the walk is long.
(V11, V12, V14 and V15 speak of how a ship comes about and cannot be seen in the finished ship.)
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any, NamedTuple

from leafwise.envs.starship.catalogue import DIRECTIONS, DX, DY, PARTS, door_slots
from leafwise.envs.starship.order import final
from leafwise.envs.starship.presets import MOST_EXTRA_SEATS, Parameters
from leafwise.envs.starship.ship import PlacedPart, Ship, stats_of

Cell = tuple[int, int]
Edge = tuple[int, int, str]

THRUSTER_NAMES = ("thruster_small", "thruster_med", "thruster_large")
WEAPON_NAMES = ("cannon_med", "cannon_large")


class Broken(NamedTuple):
    """A broken rule, and where."""

    rule: str
    where: str

    def __str__(self) -> str:
        return f"{self.rule}: {self.where}"


def check(ship: Ship) -> list[Broken]:
    """Returns the rules that a ship breaks, none for a good one; also compares `valid` and the stats with the plan."""
    broken = _hull(ship) + _overlaps(ship)
    if broken:  # nothing further makes sense
        return broken
    plan = Plan(ship)
    broken += _counts(ship) + _lanes(ship, plan) + _doors(ship, plan) + _reach(plan)
    if not broken:
        broken += _extra_doors(ship, plan)
    if ship.valid != (not ship.reasons):
        broken.append(Broken("valid", f"valid is {ship.valid} but the reasons are {list(ship.reasons)}"))
    elif ship.valid and not broken:
        broken += _stats(ship)
    return broken


@dataclass
class Plan:
    """The cells of a ship by what they hold; rooms by their number in placement order."""

    ship: Ship

    def __post_init__(self) -> None:
        self.hull = set(self.ship.hull_cells)
        self.room = {cell: k for k, part in enumerate(self.ship.parts) for cell in part.cells}
        self.corridors = self.hull - set(self.ship.armour) - set(self.room)
        self.doors: set[Edge] = {(door.x, door.y, door.side) for door in self.ship.doors}

    def walkable(self, cell: Cell) -> bool:
        """Returns whether the crew can stand in a cell."""
        return cell in self.corridors or cell in self.room

    def passable(self, a: Cell, b: Cell, doors: set[Edge]) -> bool:
        """Returns whether the crew can step between two neighbouring cells."""
        if not (self.walkable(a) and self.walkable(b)):
            return False
        return self.room.get(a) == self.room.get(b) or edge(a, b) in doors

    def distances(self, start: Cell, doors: set[Edge], most: int | None = None) -> dict[Cell, int]:
        """Returns the steps to every cell the crew can reach from `start`, up to `most` steps away."""
        steps, queue = {start: 0}, deque([start])
        while queue:
            here = queue.popleft()
            if steps[here] == most:
                continue
            for near in neighbours(here):
                if near not in steps and self.passable(here, near, doors):
                    steps[near] = steps[here] + 1
                    queue.append(near)
        return steps

    def allows(self, cell: Cell, d: int) -> bool:
        """Returns whether what stands in `cell` may have a door in direction `d`."""
        if cell not in self.room:
            return True
        part = self.ship.parts[self.room[cell]]
        return (cell[0] - part.x, cell[1] - part.y, d) in door_slots(part.number, part.r)


def neighbours(cell: Cell) -> list[Cell]:
    """Returns the four cells beside a cell, in order N, E, S, W."""
    return [(cell[0] + DX[d], cell[1] + DY[d]) for d in range(4)]


def connected(cells: set[Cell]) -> set[Cell]:
    """Returns the cells that are 4-connected to the first of them."""
    found, todo = {min(cells)}, [min(cells)]
    while todo:
        near = [cell for cell in neighbours(todo.pop()) if cell in cells and cell not in found]
        found.update(near)
        todo += near
    return found


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


def _hull(ship: Ship) -> list[Broken]:
    hull, last = set(ship.hull_cells), ship.grid - 1
    ring = sorted(cell for cell in hull if cell[0] in (0, last) or cell[1] in (0, last))
    if ring:
        return [Broken("V1", f"hull on the outermost ring at {ring[0]}")]
    if not hull:
        return [Broken("V1", "no hull")]
    cut_off = hull - connected(hull)
    return [Broken("V1", f"hull cell {min(cut_off)} is cut off")] if cut_off else []


def _overlaps(ship: Ship) -> list[Broken]:
    holders: dict[Cell, str] = {}
    broken = []
    things = [(f"armour at {cell}", [cell]) for cell in ship.armour] + [(_name(p), p.cells) for p in ship.parts]
    for name, cells in things:
        for x, y in cells:
            if ship.hull[y][x] != ".":
                broken.append(Broken("V2", f"{name} lies outside the hull in cell ({x}, {y})"))
            elif (x, y) in holders:
                broken.append(Broken("V2", f"{name} and {holders[x, y]} both hold cell ({x}, {y})"))
            holders[x, y] = name
    return broken


def _counts(ship: Ship) -> list[Broken]:
    """V3 to V7: what the stages of the file's own parameters ask for; a disabled stage places nothing."""
    p: Parameters = final(ship.parameters)
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
    broken = []
    for rule, what, stage, names, low, high in asked:
        count = sum(PARTS[part.number].points for part in ship.parts if part.id in names)
        if not (low if stage.enabled else 0) <= count <= (high if stage.enabled else 0):
            wanted = f"{low} to {high}" if stage.enabled else "0, as the stage is off"
            broken.append(Broken(rule, f"{what} should be {wanted}, got {count}"))
    return broken


def _lanes(ship: Ship, plan: Plan) -> list[Broken]:
    broken = []
    for part in ship.parts:
        clear = PARTS[part.number].clear
        front = [(x, y) for x, y in part.cells if (x + DX[part.r], y + DY[part.r]) not in part.cells]
        ahead = {(x + DX[part.r] * k, y + DY[part.r] * k) for x, y in front for k in range(1, clear + 1)}
        blocked = sorted(ahead & plan.hull)
        if blocked:
            broken.append(Broken("V8", f"{_name(part)} facing {DIRECTIONS[part.r]} is blocked at {blocked[0]}"))
    return broken


def _doors(ship: Ship, plan: Plan) -> list[Broken]:
    broken = []
    seen: set[Edge] = set()
    touched: dict[int, int] = dict.fromkeys(range(len(ship.parts)), 0)
    started: dict[int, list[Edge]] = {k: [] for k in touched}
    for door in ship.doors:
        here: Edge = (door.x, door.y, door.side)
        a, b = sides(here)
        name = f"door {here}"
        if here in seen:
            broken.append(Broken("V9", f"{name} is listed twice"))
        seen.add(here)
        if not (plan.walkable(a) and plan.walkable(b)):
            broken.append(Broken("V9", f"{name} does not join two walkable cells"))
        elif plan.room.get(a) == plan.room.get(b):
            broken.append(Broken("V9", f"{name} stands in no wall"))
        elif not (plan.allows(a, 1 if door.side == "E" else 2) and plan.allows(b, 3 if door.side == "E" else 0)):
            broken.append(Broken("V9", f"{name} is where a room may have none"))
        elif door.initial and a in plan.room and b in plan.room:
            broken.append(Broken("V9", f"{name} came with a room but leads into another room"))
        for cell in (a, b):
            if cell in plan.room:
                touched[plan.room[cell]] += 1
                if door.initial:
                    started[plan.room[cell]].append(here)
    for k, part in enumerate(ship.parts):
        if not touched[k]:
            broken.append(Broken("V9", f"{_name(part)} has no door"))
        elif len(started[k]) != 1:
            broken.append(Broken("V9", f"{_name(part)} should have come with one door, got {len(started[k])}"))
        else:
            broken += _first_slot(part, started[k][0], plan)
    return broken


def _first_slot(part: PlacedPart, door: Edge, plan: Plan) -> list[Broken]:
    """A room's own door is at its first slot that led to corridor; what is corridor now was corridor then."""
    for dx, dy, d in door_slots(part.number, part.r):
        inside = (part.x + dx, part.y + dy)
        outside = (inside[0] + DX[d], inside[1] + DY[d])
        if edge(inside, outside) == door:
            return []
        if outside in plan.corridors:
            return [Broken("V9", f"{_name(part)} should have its own door at {edge(inside, outside)}, not {door}")]
    return []


def _reach(plan: Plan) -> list[Broken]:
    cells = plan.corridors | set(plan.room)
    if not cells:
        return []
    cut_off = cells - set(plan.distances(min(cells), plan.doors))
    return [Broken("V10", f"the crew cannot reach {min(cut_off)} from {min(cells)}")] if cut_off else []


def _extra_doors(ship: Ship, plan: Plan) -> list[Broken]:
    """V13, by walking through stage 14 again from the doors that came with the rooms."""
    stage = final(ship.parameters).extra_doors
    doors: set[Edge] = {(door.x, door.y, door.side) for door in ship.doors if door.initial}
    if stage.enabled:
        for y in range(ship.grid):
            for x in range(ship.grid):
                for side in ("E", "S"):
                    a, b = sides((x, y, side))
                    if not (plan.walkable(a) and plan.walkable(b)) or plan.passable(a, b, doors):
                        continue
                    d = 1 if side == "E" else 2
                    if not (plan.allows(a, d) and plan.allows(b, (d + 2) % 4)):
                        continue
                    if b not in plan.distances(a, doors, stage.max_path):
                        doors.add((x, y, side))
    broken = [Broken("V13", f"door {door} should be there: the walk round is too long") for door in doors - plan.doors]
    broken += [Broken("V13", f"door {door} is not called for") for door in plan.doors - doors]
    return sorted(broken)


def _stats(ship: Ship) -> list[Broken]:
    right = stats_of(ship)
    return [
        Broken("stats", f"{name} should be {right.get(name)}, got {ship.stats.get(name)}")
        for name in sorted({*right, *ship.stats})
        if right.get(name) != ship.stats.get(name)
    ]
