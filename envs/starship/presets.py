"""All parameters of a ship together, what makes them sensible, and the presets classic, scout and cruiser."""

from __future__ import annotations

import dataclasses
import reprlib
from dataclasses import dataclass, field
from typing import Any, Literal, get_args, get_origin, get_type_hints

from leafwise.envs.starship.catalogue import BUNK, PARTS, QUARTERS, THRUSTER_SMALL
from leafwise.envs.starship.parameters import (
    AmmoSupplies,
    Carve,
    CircleModule,
    Cockpit,
    CockpitArmour,
    Crew,
    ExteriorArmour,
    ExtraDoors,
    FillGaps,
    FillWithArmour,
    PowerStorage,
    Reactor,
    ReactorArmour,
    RectangleModule,
    Shape,
    Thrusters,
    Weapons,
)

GRID_LIMITS = (12, 64)
LARGEST = 1000
"""No number in the parameters may be greater."""
MOST_PARTS = 250
MOST_EXTRA_SEATS = PARTS[QUARTERS].seats - 1
"""Seats by which a ship may exceed what it was asked for."""


@dataclass(frozen=True)
class Parameters:
    """Everything but the seed that decides a ship."""

    preset: str = "classic"
    """Name of the preset these parameters started from."""
    grid: int = 48
    """Side of the square grid, in cells."""
    max_attempts: int = 8
    """Attempts, each with fresh random numbers, before an invalid ship is returned."""
    shape: Shape = field(default_factory=Shape)
    fill_gaps: FillGaps = field(default_factory=FillGaps)
    carve: Carve = field(default_factory=Carve)
    cockpit: Cockpit = field(default_factory=Cockpit)
    reactor: Reactor = field(default_factory=Reactor)
    cockpit_armour: CockpitArmour = field(default_factory=CockpitArmour)
    reactor_armour: ReactorArmour = field(default_factory=ReactorArmour)
    thrusters: Thrusters = field(default_factory=Thrusters)
    weapons: Weapons = field(default_factory=Weapons)
    exterior_armour: ExteriorArmour = field(default_factory=ExteriorArmour)
    ammo_supplies: AmmoSupplies = field(default_factory=AmmoSupplies)
    power_storage: PowerStorage = field(default_factory=PowerStorage)
    crew: Crew = field(default_factory=Crew)
    fill_with_armour: FillWithArmour = field(default_factory=FillWithArmour)
    extra_doors: ExtraDoors = field(default_factory=ExtraDoors)

    def __post_init__(self) -> None:
        """Raises ValueError, naming the parameter, where a value makes no sense."""
        _check(self)


STAGES: tuple[tuple[int, str, str], ...] = (
    (1, "shape", "Shape"),
    (2, "fill_gaps", "Fill Gaps"),
    (15, "carve", "Carve"),
    (3, "cockpit", "Cockpit"),
    (4, "reactor", "Reactor"),
    (5, "cockpit_armour", "Cockpit Armour"),
    (6, "reactor_armour", "Reactor Armour"),
    (7, "thrusters", "Thrusters"),
    (8, "weapons", "Weapons"),
    (9, "exterior_armour", "Exterior Armour"),
    (10, "ammo_supplies", "Ammo Supplies"),
    (11, "power_storage", "Power Storage"),
    (12, "crew", "Crew"),
    (13, "fill_with_armour", "Fill With Armour"),
    (14, "extra_doors", "Add Extra Doors"),
)
"""Number (of the random stream), field and name of each stage, in the order in which they run."""


def _check(parameters: Parameters) -> None:
    low, high = GRID_LIMITS
    _in_range("grid", parameters.grid, low, high)
    _in_range("max_attempts", parameters.max_attempts, 1, LARGEST)
    name = typed(str, parameters.preset, "preset")
    if len(name) > 40 or not name.isprintable():
        raise ValueError(f"preset should be a name of at most 40 printable characters, got {reprlib.repr(name)}")
    types = get_type_hints(Parameters)
    for _, name, _ in STAGES:
        _check_fields(name, typed(types[name], getattr(parameters, name), name))
    shape, room = parameters.shape, parameters.grid - 2
    _in_range("shape.min_modules", shape.min_modules, 1, LARGEST)
    _in_range("shape.circle.max_radius", shape.circle.max_radius, 0, (room - 1) // 2)
    for side in ("width", "height"):
        _in_range(f"shape.rectangle.min_{side}", getattr(shape.rectangle, f"min_{side}"), 1, room)
        _in_range(f"shape.rectangle.max_{side}", getattr(shape.rectangle, f"max_{side}"), 1, room)
    _positive_sum("shape", [shape.circle.weight, shape.rectangle.weight])
    for name in ("fill_gaps", "carve"):
        _in_range(f"{name}.min_directions", getattr(parameters, name).min_directions, 1, 4)
    thrusters, weapons, crew = parameters.thrusters, parameters.weapons, parameters.crew
    _positive_sum("thrusters", [thrusters.weight_small, thrusters.weight_medium, thrusters.weight_large])
    _positive_sum("weapons", [weapons.weight_medium, weapons.weight_large])
    for name, stage in (("thrusters", thrusters), ("weapons", weapons)):
        _positive_sum(name, [getattr(stage, f"weight_{side}") for side in ("north", "east", "south", "west")])
    _positive_sum("crew", [crew.weight_quarters, crew.weight_bunk])
    _in_range("weapons.full_firepower", weapons.full_firepower, 1, LARGEST)
    if most_parts(parameters) > MOST_PARTS:
        raise ValueError(f"targets should allow at most {MOST_PARTS} parts, got up to {most_parts(parameters)}")


def most_parts(parameters: Parameters) -> int:
    """Returns an upper bound of the number of parts a ship with these parameters can have."""
    return (
        2
        + parameters.thrusters.max_score // PARTS[THRUSTER_SMALL].points
        + parameters.weapons.max_score
        + parameters.ammo_supplies.max_count
        + parameters.power_storage.max_count
        + (parameters.crew.min_seats + MOST_EXTRA_SEATS) // PARTS[BUNK].points
    )


def typed(wanted: Any, value: Any, place: str) -> Any:
    """Returns `value` if it is of a field's type; ValueError, naming the field by `place`, otherwise."""
    if get_origin(wanted) is Literal:
        if not isinstance(value, str) or value not in get_args(wanted):
            raise ValueError(f"{place} should be one of {', '.join(get_args(wanted))}, got {reprlib.repr(value)}")
    elif not isinstance(value, wanted) or (wanted is int and isinstance(value, bool)):
        kind = {int: "an integer", bool: "true or false", str: "a text"}.get(wanted, f"a {wanted.__name__}")
        raise ValueError(f"{place} should be {kind}, got {reprlib.repr(value)}")
    return value


def _check_fields(where: str, stage: Any) -> None:
    """Checks the types and ranges of one stage's fields, and that each `min_...` is at most its `max_...`."""
    types = get_type_hints(type(stage))
    for name, wanted in types.items():
        value = typed(wanted, getattr(stage, name), f"{where}.{name}")
        if dataclasses.is_dataclass(value):
            _check_fields(f"{where}.{name}", value)
        elif wanted is int:
            _in_range(f"{where}.{name}", value, 0, LARGEST)
    for name in types:
        top = f"max_{name[4:]}"
        if name.startswith("min_") and top in types and getattr(stage, name) > getattr(stage, top):
            limit = f"{top} = {getattr(stage, top)}"
            raise ValueError(f"{where}.{name} should be at most {limit}, got {getattr(stage, name)}")


def _in_range(name: str, value: int, low: int, high: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise ValueError(f"{name} should be an integer from {low} to {high}, got {reprlib.repr(value)}")


def _positive_sum(name: str, weights: list[int]) -> None:
    if sum(weights) <= 0:
        raise ValueError(f"{name}: at least one weight should be greater than 0, got {weights!r}")


CLASSIC = Parameters()
SCOUT = Parameters(
    preset="scout",
    grid=24,
    shape=Shape(
        min_modules=5,
        max_modules=5,
        circle=CircleModule(min_radius=3, max_radius=4),
        rectangle=RectangleModule(min_width=5, max_width=9, min_height=5, max_height=9),
    ),
    cockpit_armour=CockpitArmour(layers=1),
    thrusters=Thrusters(min_score=8, max_score=12),
    weapons=Weapons(min_score=3, max_score=5, full_firepower=4),
    ammo_supplies=AmmoSupplies(min_count=1, max_count=1),
    power_storage=PowerStorage(min_count=1, max_count=1),
    crew=Crew(min_seats=8),
)
CRUISER = Parameters(
    preset="cruiser",
    grid=64,
    shape=Shape(
        circle=CircleModule(min_radius=4, max_radius=7),
        rectangle=RectangleModule(min_width=6, max_width=14, min_height=6, max_height=14),
    ),
)
PRESETS = {"classic": CLASSIC, "scout": SCOUT, "cruiser": CRUISER}


def preset(name: str) -> Parameters:
    """Returns the parameters of a preset; ValueError for an unknown name."""
    if name not in PRESETS:
        raise ValueError(f"preset should be one of {', '.join(PRESETS)}, got {name!r}")
    return PRESETS[name]
