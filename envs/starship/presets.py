"""All parameters of a ship together, what makes them sensible, and the presets: classic, scout and cruiser, and the symmetrical
corvette and frigate."""

from __future__ import annotations

import reprlib
from dataclasses import asdict, dataclass, field, replace
from typing import Annotated, Any

from leafwise.envs.core.errors import UserError
from leafwise.envs.starship import order
from leafwise.envs.starship import parameters as stage
from leafwise.envs.starship.catalogue import BUNK, PARTS, QUARTERS, THRUSTER_SMALL
from leafwise.envs.starship.parameters import LARGEST, STAGES

MOST_PARTS = 250
MOST_EXTRA_SEATS = PARTS[QUARTERS].seats - 1
"""Seats by which a ship may exceed what it was asked for."""
FACINGS = ("weight_north", "weight_east", "weight_south", "weight_west")
"""Fields of a stage that weigh the facings; its other weights are of kinds."""


@dataclass(frozen=True)
class Parameters:
    """Everything but the seed that decides a ship."""

    preset: str = "classic"
    """Name of the preset these parameters started from."""
    grid: Annotated[int, range(12, 65)] = 48
    """Side of the square grid, in cells."""
    max_attempts: Annotated[int, range(1, LARGEST + 1)] = 8
    """Attempts, each with fresh random numbers, before an invalid ship is returned."""
    shape: stage.Shape = field(default_factory=stage.Shape)
    fill_gaps: stage.FillGaps = field(default_factory=stage.FillGaps)
    carve: stage.Carve = field(default_factory=stage.Carve)
    cockpit: stage.Cockpit = field(default_factory=stage.Cockpit)
    reactor: stage.Reactor = field(default_factory=stage.Reactor)
    cockpit_armour: stage.CockpitArmour = field(default_factory=stage.CockpitArmour)
    reactor_armour: stage.ReactorArmour = field(default_factory=stage.ReactorArmour)
    thrusters: stage.Thrusters = field(default_factory=stage.Thrusters)
    weapons: stage.Weapons = field(default_factory=stage.Weapons)
    exterior_armour: stage.ExteriorArmour = field(default_factory=stage.ExteriorArmour)
    ammo_supplies: stage.AmmoSupplies = field(default_factory=stage.AmmoSupplies)
    power_storage: stage.PowerStorage = field(default_factory=stage.PowerStorage)
    crew: stage.Crew = field(default_factory=stage.Crew)
    fill_with_armour: stage.FillWithArmour = field(default_factory=stage.FillWithArmour)
    extra_doors: stage.ExtraDoors = field(default_factory=stage.ExtraDoors)
    stages: tuple[str, ...] = ()
    """The stages that run, in this order, if it is not the usual one: Weapons, "Armour part=ammo_supply layers=2"."""

    def __post_init__(self) -> None:
        """Raises ValueError, naming the parameter, where a value makes no sense."""
        if PRESETS:  # those below need no check when the module is imported; a test makes it
            check(self)


PRESETS: dict[str, Parameters] = {}


def check(parameters: Parameters) -> None:
    """Raises ValueError in one line, naming the entry, for parameters that make no sense."""
    from leafwise.envs.starship import schema

    values = asdict(parameters)
    schema.read(values, schema.struct(Parameters), "parameters")
    if len(parameters.preset) > 40 or not parameters.preset.isprintable():
        got = reprlib.repr(parameters.preset)
        raise UserError(f"preset should be a name of at most 40 printable characters, got {got}")
    shape, room = parameters.shape, parameters.grid - 2
    _at_most("shape.circle.max_radius", shape.circle.max_radius, 0, (room - 1) // 2)
    _at_most("shape.rectangle.max_width", shape.rectangle.max_width, 1, room)
    _at_most("shape.rectangle.max_height", shape.rectangle.max_height, 1, room)
    _some_weight("shape", [shape.circle.weight, shape.rectangle.weight])
    for _, name, _ in STAGES:
        weights = {key: weight for key, weight in values[name].items() if key.startswith("weight_")}
        if weights:
            _some_weight(name, [weight for key, weight in weights.items() if key not in FACINGS])
        if FACINGS[0] in weights:
            _some_weight(name, [weights[key] for key in FACINGS])
    _in_order("", values)
    order.check(parameters)
    if most_parts(parameters) > MOST_PARTS:
        raise UserError(f"targets should allow at most {MOST_PARTS} parts, got up to {most_parts(parameters)}")


def _at_most(where: str, value: int, low: int, high: int) -> None:
    if value > high:
        raise UserError(f"{where} should be an integer from {low} to {high}, got {value}")


def _some_weight(where: str, weights: list[int]) -> None:
    if sum(weights) <= 0:
        raise UserError(f"{where}: at least one weight should be greater than 0, got {weights!r}")


def _in_order(where: str, values: dict[str, Any]) -> None:
    """Checks that each `min_...` is at most its `max_...`."""
    for name, value in values.items():
        top = f"max_{name[4:]}"
        if isinstance(value, dict):
            _in_order(f"{where}{name}.", value)
        elif name.startswith("min_") and top in values and value > values[top]:
            raise UserError(f"{where}{name} should be at most {top} = {values[top]}, got {value}")


def most_parts(parameters: Parameters) -> int:
    """Returns an upper bound of the number of parts a ship with these parameters can have."""
    return (
        2
        + order.greatest(parameters, "thrusters", "max_score") // PARTS[THRUSTER_SMALL].points
        + order.greatest(parameters, "weapons", "max_score")
        + order.greatest(parameters, "ammo_supplies", "max_count")
        + order.greatest(parameters, "power_storage", "max_count")
        + (order.greatest(parameters, "crew", "min_seats") + MOST_EXTRA_SEATS) // PARTS[BUNK].points
    )


CLASSIC = Parameters()
SCOUT = Parameters(
    preset="scout",
    grid=24,
    shape=stage.Shape(
        min_modules=5,
        max_modules=5,
        circle=stage.CircleModule(min_radius=3, max_radius=4),
        rectangle=stage.RectangleModule(min_width=5, max_width=9, min_height=5, max_height=9),
    ),
    cockpit_armour=stage.CockpitArmour(layers=1),
    thrusters=stage.Thrusters(min_score=8, max_score=12),
    weapons=stage.Weapons(min_score=3, max_score=5, full_firepower=4),
    ammo_supplies=stage.AmmoSupplies(min_count=1, max_count=1),
    power_storage=stage.PowerStorage(min_count=1, max_count=1),
    crew=stage.Crew(min_seats=8),
)
CRUISER = Parameters(
    preset="cruiser",
    grid=64,
    shape=stage.Shape(
        circle=stage.CircleModule(min_radius=4, max_radius=7),
        rectangle=stage.RectangleModule(min_width=6, max_width=14, min_height=6, max_height=14),
    ),
)


def _symmetrical(name: str, base: Parameters, supplies: int) -> Parameters:
    """Returns parameters whose ships are the same on both sides, as far as parts come in pairs."""
    return replace(
        base,
        preset=name,
        shape=replace(base.shape, symmetry="pairs"),
        carve=replace(base.carve, enabled=True, scan_range=1),
        cockpit=replace(base.cockpit, strategy="protected_amidships"),
        reactor=replace(base.reactor, strategy="centralized_amidships"),
        thrusters=replace(base.thrusters, mirrored=True),
        weapons=replace(base.weapons, mirrored=True),
        ammo_supplies=replace(base.ammo_supplies, mirrored=True, min_count=supplies, max_count=supplies),
        power_storage=replace(base.power_storage, mirrored=True, min_count=1, max_count=2),
        crew=replace(base.crew, mirrored=True),
        fill_with_armour=replace(base.fill_with_armour, order="inward"),
    )


CORVETTE, FRIGATE = _symmetrical("corvette", SCOUT, 1), _symmetrical("frigate", CLASSIC, 2)
PRESETS |= {"classic": CLASSIC, "scout": SCOUT, "cruiser": CRUISER, "corvette": CORVETTE, "frigate": FRIGATE}


def preset(name: str) -> Parameters:
    """Returns the parameters of a preset; ValueError for an unknown name."""
    if name not in PRESETS:
        raise UserError(f"preset should be one of {', '.join(PRESETS)}, got {name!r}")
    return PRESETS[name]
