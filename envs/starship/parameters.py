"""The parameters of each of the 14 stages, and of the optional carving, as dataclasses with the classic defaults.

Lengths are in cells, paths in crew steps, weights are relative and need not add up to anything. Numbers are from 0 to 1000
where no `range` says otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Literal

from leafwise.envs.starship.catalogue import PARTS

PART_NAMES = tuple(part.name for part in PARTS)
NO_LIMIT = 1000
LARGEST = 1000
"""No number in the parameters may be greater."""
OPTIONAL = frozenset({"most_north", "most_east", "most_south", "most_west", "mirrored", "order"})
"""Fields that ship files leave out where they have their defaults."""
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


@dataclass(frozen=True)
class CircleModule:
    """A blocky disc."""

    weight: int = 1
    """How often this kind is drawn, relative to the other kind."""
    min_radius: int = 3
    """Smallest radius, in cells."""
    max_radius: int = 6
    """Greatest radius, in cells."""


@dataclass(frozen=True)
class RectangleModule:
    """A rectangle."""

    weight: int = 1
    """How often this kind is drawn, relative to the other kind."""
    min_width: Annotated[int, range(1, 1001)] = 5
    """Smallest width, in cells."""
    max_width: Annotated[int, range(1, 1001)] = 12
    """Greatest width, in cells."""
    min_height: Annotated[int, range(1, 1001)] = 5
    """Smallest height, in cells."""
    max_height: Annotated[int, range(1, 1001)] = 12
    """Greatest height, in cells."""


@dataclass(frozen=True)
class Stage:
    """Any stage."""

    enabled: bool = True
    """Whether the stage runs."""


@dataclass(frozen=True)
class Scan(Stage):
    """A stage that changes cells by what stands in several directions nearby."""

    scan_range: int = 2
    """How far each ray looks, in cells."""
    iterations: int = 2
    """Times the scan is repeated."""
    min_directions: Annotated[int, range(1, 5)] = 2
    """Directions (of 4) in which what is looked for must be seen."""


@dataclass(frozen=True)
class Closing(Stage):
    """A stage that closes floor to the crew."""

    max_detour: int = 5
    """Longest way round that a part or an armour cell may force on the crew, in steps."""


@dataclass(frozen=True)
class Rings(Closing):
    """A stage that lays armour in rings or layers."""

    layers: int = 1
    """Rings of armour, or layers from the outside in."""


@dataclass(frozen=True)
class Placing(Closing):
    """A stage that places parts."""

    strategy: str = "random"
    """How the place is chosen."""
    tie: Literal["random", "first"] = "random"
    """Which of equally good places is taken."""
    mirrored: bool = False
    """Whether each part has its mirror image beside the hull's middle column, where that may stand."""


@dataclass(frozen=True)
class CorePart(Placing):
    """A stage that places one part inside; `..._amidships` as near to the hull's middle column as can be."""

    strategy: Literal["protected", "centralized", "random", "protected_amidships", "centralized_amidships"] = (
        "protected"
    )


@dataclass(frozen=True)
class Mounts(Placing):
    """A stage that places directional parts at the rim until a target score is met."""

    strategy: Literal["random", "farthest_in_facing", "protected", "centralized"] = "random"
    min_score: int = 0
    """Lowest target; below it the ship is not valid."""
    max_score: int = 0
    """Highest target; the score never exceeds it."""
    weight_north: int = 1
    """Firing ahead, or exhaust to the bow."""
    weight_east: int = 1
    """Firing or exhaust to the right."""
    weight_south: int = 1
    """Firing astern, or exhaust to the stern, which pushes the ship forward."""
    weight_west: int = 1
    """Firing or exhaust to the left."""
    most_north: int = NO_LIMIT
    """Greatest score of the parts that face ahead; with `min_score` it makes a facing's share exact."""
    most_east: int = NO_LIMIT
    """Greatest score of the parts that face to the right."""
    most_south: int = NO_LIMIT
    """Greatest score of the parts that face astern."""
    most_west: int = NO_LIMIT
    """Greatest score of the parts that face to the left."""


@dataclass(frozen=True)
class Supplies(Placing):
    """A stage that places supplies near what consumes them."""

    strategy: Literal["near_consumers", "random", "protected", "centralized"] = "near_consumers"
    min_count: int = 1
    """Lowest target; below it the ship is not valid."""
    max_count: int = 2
    """Highest target."""
    near: int = 8
    """Greatest gap at which a consumer is supplied, in cells."""


@dataclass(frozen=True)
class Shape(Stage):
    """Stage 1: the hull is a random configuration of overlapping modules."""

    enabled: bool = True
    """Whether the stage runs; without it a hull must be supplied."""
    min_modules: Annotated[int, range(1, 1001)] = 8
    """Fewest modules."""
    max_modules: int = 8
    """Most modules."""
    circle: CircleModule = field(default_factory=CircleModule)
    """Circular modules."""
    rectangle: RectangleModule = field(default_factory=RectangleModule)
    """Rectangular modules."""
    symmetry: Literal["none", "x", "pairs"] = "none"
    """x: mirror the hull left-right about the first module; pairs: about the line right of its middle column, so that parts two
    cells wide can stand amidships."""
    max_redraws: int = 50
    """Positions tried for a module before it is dropped."""


@dataclass(frozen=True)
class FillGaps(Scan):
    """Stage 2: cells of space with hull in several directions nearby become hull."""


@dataclass(frozen=True)
class Carve(Scan):
    """Optional, in place of stage 2 or after it: hull with space in several directions nearby is carved away."""

    enabled: bool = False
    iterations: int = 1


@dataclass(frozen=True)
class Cockpit(CorePart):
    """Stage 3: the cockpit, where it is best protected."""


@dataclass(frozen=True)
class Reactor(CorePart):
    """Stage 4: the reactor, near the centre of mass."""

    strategy: Literal["protected", "centralized", "random", "protected_amidships", "centralized_amidships"] = (
        "centralized"
    )


@dataclass(frozen=True)
class CockpitArmour(Rings):
    """Stage 5: rings of armour round the cockpit."""

    layers: int = 2


@dataclass(frozen=True)
class ReactorArmour(Rings):
    """Stage 6: rings of armour round the reactor."""


@dataclass(frozen=True)
class Thrusters(Mounts):
    """Stage 7: thrusters of random size and facing until the target score is met."""

    min_score: int = 35
    max_score: int = 45
    weight_small: int = 1
    """Small thruster (score 1)."""
    weight_medium: int = 2
    """Medium thruster (score 2)."""
    weight_large: int = 3
    """Large thruster (score 4)."""
    weight_south: int = 5
    """Exhaust to the stern: pushes the ship forward."""


@dataclass(frozen=True)
class Weapons(Mounts):
    """Stage 8: cannons of random size and facing until the target score is met."""

    strategy: Literal["random", "farthest_in_facing", "protected", "centralized"] = "farthest_in_facing"
    min_score: int = 8
    max_score: int = 12
    weight_medium: int = 2
    """Medium cannon (score 1)."""
    weight_large: int = 1
    """Large cannon (score 2)."""
    weight_north: int = 2
    """Firing ahead."""
    full_firepower: Annotated[int, range(1, 1001)] = 10
    """Firepower that earns the whole fire term of the quality (the stage itself does not use it)."""


@dataclass(frozen=True)
class ExteriorArmour(Rings):
    """Stage 9: what borders space and is still corridor becomes armour."""


@dataclass(frozen=True)
class AmmoSupplies(Supplies):
    """Stage 10: ammo supplies near the weapons."""

    min_count: int = 2
    max_count: int = 3


@dataclass(frozen=True)
class PowerStorage(Supplies):
    """Stage 11: power storage near the thrusters and ammo supplies that the reactor does not reach."""


@dataclass(frozen=True)
class Crew(Placing):
    """Stage 12: quarters and bunks, edges lined up where possible."""

    strategy: Literal["align_edges", "random", "protected", "centralized"] = "align_edges"
    min_seats: int = 24
    """Seats at which the stage stops; below it the ship is not valid."""
    weight_quarters: int = 1
    """Quarters (6 seats)."""
    weight_bunk: int = 1
    """Bunk (2 seats)."""


@dataclass(frozen=True)
class FillWithArmour(Closing):
    """Stage 13: every corridor cell that nobody needs becomes armour."""

    order: Literal["raster", "inward"] = "raster"
    """raster: row by row from the top, which leaves more upright corridors than level ones; inward: from the rim to the middle,
    left and right in turn."""


@dataclass(frozen=True)
class ExtraDoors(Stage):
    """Stage 14: doors through walls that would otherwise mean a long walk."""

    max_path: int = 10
    """Longest walk from one side of a wall to the other that needs no door, in steps."""


@dataclass(frozen=True)
class PartArmour(Rings):
    """Armour round every part of a kind: "Armour part=ammo_supply" in the list of stages."""

    part: Literal[PART_NAMES] = "cockpit"  # type: ignore[valid-type]
    """The kind."""
