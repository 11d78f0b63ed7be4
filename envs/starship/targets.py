"""Targets, which a ship must meet besides its parameters, and how near a ship comes to them.

    targets = {"thrust": 40, "seats": 48, "firepower": {"north": 6, "east": 2, "west": 2}}

`thrust` is a thruster score (small 1, medium 2, large 4 points), `seats` the number of crew seats, `firepower` that of all
weapons (a medium cannon 1, a large one 2) or of each facing, 0 for those not named. A ship that falls short of one is not
valid.
"""

from __future__ import annotations

import json
import reprlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec.structs import replace

from leafwise.envs.core.compile.jit import jit
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.ranges import Range, need_among, need_in
from leafwise.envs.starship import tables as at
from leafwise.envs.starship.catalogue import PARTS
from leafwise.envs.starship.generator import facing_points
from leafwise.envs.starship.settings import MOST_EXTRA_SEATS, Parameters, runs

if TYPE_CHECKING:
    from leafwise.envs.starship.ship import Ship

WAYS = ("north", "east", "south", "west")
NAMES = ("thrust", "seats", "firepower", *(f"firepower_{way}" for way in WAYS))
MOST_ASKED = (100, 200, 50, 50, 50, 50, 50)
"""The largest target, by name; the smallest is 0."""
STAGES_OF = (at.STAGE_THRUSTERS, at.STAGE_CREW, at.STAGE_WEAPONS)
FIRE = 3
"""The index in `NAMES` of the first facing's firepower."""


@jit(inline=True)
def standing(S, i, T, k):
    """Returns what the placed parts add up to, for target number `k` of `NAMES`."""
    if k < FIRE:
        return np.int64(S[i, at.POINTS + STAGES_OF[k]])
    return facing_points(S, i, T, at.STAGE_WEAPONS, k - FIRE)


def read_targets(given: str | Mapping[str, Any]) -> dict[str, Any]:
    """Returns targets, given as a mapping or as JSON, with the names in order; raises ValueError for wrong ones."""
    if isinstance(given, str):
        text = given or "{}"
        try:
            given = json.loads(text)
        except (ValueError, RecursionError):
            raise UserError(f'expected targets like {{"thrust": 40}}, got {text[:60]!r}') from None
    if not isinstance(given, Mapping):
        raise UserError(f'expected targets like {{"thrust": 40}}, got {reprlib.repr(given)}')
    for name in given:
        need_among(name, NAMES[:FIRE], "targets")
    fire = given.get("firepower")
    if isinstance(fire, Mapping):
        for way in fire:
            need_among(way, WAYS, "firepower")
        shares = {way: _count(f"firepower {way}", fire[way], MOST_ASKED[2]) for way in WAYS if way in fire}
        _count("firepower in all", sum(shares.values()), MOST_ASKED[2])
        given = dict(given) | {"firepower": shares}
    return {
        name: given[name] if isinstance(given[name], dict) else _count(name, given[name], most)
        for name, most in zip(NAMES[:FIRE], MOST_ASKED, strict=False)
        if name in given
    }


def _count(name: str, value: Any, most: int) -> int:
    """Returns a target as an integer; raises ValueError unless it is from 0 to `most`."""
    return int(need_in(value, Range(0, most), name, kind=int))


def asked_of(targets: Mapping[str, Any]) -> tuple[int, ...]:
    """Returns targets as one number for each of `NAMES`, -1 for no target."""
    numbers: dict[str, int] = dict.fromkeys(NAMES, -1)
    for name, value in targets.items():
        if isinstance(value, Mapping):
            numbers |= {f"{name}_{way}": value.get(way, 0) for way in WAYS} | {name: sum(value.values())}
        else:
            numbers[name] = value
    return tuple(numbers.values())


def with_targets(parameters: Parameters, targets: Mapping[str, Any]) -> Parameters:
    """Returns parameters whose stages ask for exactly the targets; raises ValueError for wrong targets.

    If the firepower of each facing is given, requests face each of them equally often, and no more than its target. The weapons
    then come before the thrusters, which would leave them too little of the stern, unless the parameters list their stages.
    """
    targets = read_targets(targets)
    changes: dict[str, Any] = {}
    if "thrust" in targets:
        score = targets["thrust"]
        changes["thrusters"] = replace(parameters.thrusters, min_score=score, max_score=score)
    if "seats" in targets:
        changes["crew"] = replace(parameters.crew, min_seats=targets["seats"])
    if "firepower" in targets:
        fire = targets["firepower"]
        total = sum(fire.values()) if isinstance(fire, dict) else fire
        weapons = replace(parameters.weapons, min_score=total, max_score=total)
        if isinstance(fire, dict) and total > 0:
            shares = {f"most_{way}": fire.get(way, 0) for way in WAYS}
            shares |= {f"weight_{way}": int(fire.get(way, 0) > 0) for way in WAYS}
            weapons = replace(weapons, **shares)
            changes["stages"] = parameters.stages or weapons_first(parameters)
        changes["weapons"] = weapons
    return replace(parameters, **changes)


def weapons_first(parameters: Parameters) -> tuple[str, ...]:
    """Returns the stages that run, with the weapons before the thrusters."""
    titles = [run.title for run in runs(parameters)]
    if "Weapons" in titles and "Thrusters" in titles:
        titles.remove("Weapons")
        titles.insert(titles.index("Thrusters"), "Weapons")
    return tuple(titles)


def error_of(name: str, got: int, asked: int) -> int:
    """Returns how far a ship is off a target.

    Rooms have two or six seats, so up to five seats more than the target count as none.
    """
    if name == "seats":
        return max(0, asked - got, got - asked - MOST_EXTRA_SEATS)
    return abs(got - asked)


def asked_errors(ship: Ship, targets: Mapping[str, Any]) -> dict[str, int]:
    """Returns how far a ship is off each target, by name."""
    asked, reached = dict(zip(NAMES, asked_of(read_targets(targets)), strict=True)), reached_by(ship)
    if asked[NAMES[FIRE]] >= 0:  # the whole follows from the facings
        asked["firepower"] = -1
    return {name: error_of(name, reached[name], count) for name, count in asked.items() if count >= 0}


def reached_by(ship: Ship) -> dict[str, int]:
    """Returns what a ship has of everything that can be a target, by name."""
    fire = dict.fromkeys(NAMES[FIRE:], 0)
    for part in ship.parts:
        if firepower := PARTS[part.number].firepower:
            fire[NAMES[FIRE + part.r]] += firepower
    stats = ("thrust_score", "seats", "firepower")
    return {**{name: int(ship.stats[stat]) for name, stat in zip(NAMES[:FIRE], stats, strict=True)}, **fire}
