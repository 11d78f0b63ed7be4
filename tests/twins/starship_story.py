"""Checks how a ship came about, in plain Python: V11 and V12, which cannot be seen in the finished ship."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

from leafwise.envs.starship.check import Broken, Cell, Edge, ShipPlan, edge, neighbours
from leafwise.envs.starship.settings import HULL_STAGES, FillWithArmour, runs
from leafwise.envs.starship.ship import Ship


def check_stages(told: Sequence[tuple[str, Ship]]) -> list[Broken]:
    """Returns what is broken in the story of a ship, as `Generator.stages` tells it."""
    names = [name for name, _ in told]
    hulls = sum(name in HULL_STAGES for name in names)
    broken = [
        Broken("V11", f"{name} undoes {what}")
        for (_, before), (name, after) in itertools.pairwise(told[max(0, hulls - 1) :])
        for what in _undone(before, after)
    ]
    for k, name in enumerate(names):
        if name == "Fill With Armour":
            settings = runs(told[k][1].parameters)[k].settings
            broken += _left_open(told[k - 1][1], told[k][1], settings)
    return broken


def _undone(before: Ship, after: Ship) -> list[str]:
    """Returns what an earlier stage made that a later one changed: only corridor may turn into something else."""
    checks = {
        "the hull": after.hull == before.hull,
        "parts": after.parts[: len(before.parts)] == before.parts,
        "armour": set(before.armour) <= set(after.armour),
        "doors": set(before.doors) <= set(after.doors),
        "walls": ShipPlan(after).corridors <= ShipPlan(before).corridors,
    }
    return [what for what, kept in checks.items() if not kept]


def _left_open(before: Ship, after: Ship, settings: FillWithArmour) -> list[Broken]:
    """V12: goes through stage 13 again and compares the corridors it leaves."""
    plan = ShipPlan(before)
    doors = plan.doors
    floor = set(plan.corridors)
    turns = raster_turn if settings.order == "raster" else inward_turn(before)
    for cell in sorted(floor, key=turns):
        if can_close(cell, floor, doors, settings.max_detour):
            floor.remove(cell)
    left = ShipPlan(after).corridors
    faults = [Broken("V12", f"corridor {cell} could have been closed") for cell in sorted(left - floor)]
    return faults + [Broken("V12", f"armour {cell} closes a way") for cell in sorted(floor - left)]


def raster_turn(cell: Cell) -> tuple[int, ...]:
    """Returns when a cell is tried, row by row."""
    return cell[1], cell[0]


def inward_turn(ship: Ship) -> Callable[[Cell], tuple[int, ...]]:
    """Returns when each cell is tried from the rim inwards, left and right in turn."""
    hull, steps = set(ship.hull_cells), dict[Cell, int]()
    level = {cell for cell in hull if any(near not in hull for near in neighbours(cell))}
    while level:
        steps |= dict.fromkeys(level, 1 + max(steps.values(), default=0))
        level = {near for cell in level for near in neighbours(cell) if near in hull} - set(steps)
    left, right = min(x for x, _ in hull), max(x for x, _ in hull)
    return lambda cell: (steps[cell], cell[1], min(2 * (cell[0] - left), 2 * (right - cell[0]) + 1))


def can_close(cell: Cell, floor: set[Cell], doors: set[Edge], limit: int) -> bool:
    """Returns whether a corridor cell can be closed while every room has one door: rooms are then dead ends."""
    if any(edge(cell, near) in doors for near in neighbours(cell)):
        return False
    members = [near for near in neighbours(cell) if near in floor]
    if len(members) <= 1:
        return True
    front = {members[0]}
    seen = set(front)
    for _ in range(limit):
        front = {near for here in front for near in neighbours(here) if near in floor} - seen - {cell}
        seen |= front
    return seen >= set(members)
