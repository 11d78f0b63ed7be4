"""Checks how a ship came about, in plain Python: V11 and V12, which cannot be seen in the finished ship."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from leafwise.envs.starship.check import Broken, Cell, Edge, Plan, edge, neighbours
from leafwise.envs.starship.ship import Ship


def check_stages(told: Sequence[tuple[str, Ship]]) -> list[Broken]:
    """Returns what is broken in the story of a ship, as `Generator.stages` tells it."""
    names = [name for name, _ in told]
    hulls = sum(name in ("Shape", "Fill Gaps", "Carve") for name in names)
    broken = [
        Broken("V11", f"{name} undoes {what}")
        for (_, before), (name, after) in itertools.pairwise(told[max(0, hulls - 1) :])
        for what in _undone(before, after)
    ]
    if "Fill With Armour" in names:
        last = names.index("Fill With Armour")
        broken += _left_open(told[last - 1][1], told[last][1])
    return broken


def _undone(before: Ship, after: Ship) -> list[str]:
    """Returns what an earlier stage made that a later one changed: only corridor may turn into something else."""
    checks = {
        "the hull": after.hull == before.hull,
        "parts": after.parts[: len(before.parts)] == before.parts,
        "armour": set(before.armour) <= set(after.armour),
        "doors": set(before.doors) <= set(after.doors),
        "walls": Plan(after).corridors <= Plan(before).corridors,
    }
    return [what for what, kept in checks.items() if not kept]


def _left_open(before: Ship, after: Ship) -> list[Broken]:
    """V12: goes through stage 13 again and compares the corridors it leaves."""
    plan = Plan(before)
    doors = plan.doors
    floor = set(plan.corridors)
    for cell in sorted(floor, key=lambda cell: (cell[1], cell[0])):
        if can_close(cell, floor, doors, after.parameters.fill_with_armour.max_detour):
            floor.remove(cell)
    left = Plan(after).corridors
    faults = [Broken("V12", f"corridor {cell} could have been closed") for cell in sorted(left - floor)]
    return faults + [Broken("V12", f"armour {cell} closes a way") for cell in sorted(floor - left)]


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
