"""The parameters of each of the 14 stages, and of the optional carving, as dataclasses with the classic defaults.

Lengths are in cells, paths in crew steps, weights are relative and need not add up to anything.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Tie = Literal["random", "first"]
CoreStrategy = Literal["protected", "centralized", "random"]
MountStrategy = Literal["random", "farthest_in_facing", "protected", "centralized"]
SupplyStrategy = Literal["near_consumers", "random", "protected", "centralized"]
CrewStrategy = Literal["align_edges", "random", "protected", "centralized"]


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
    min_width: int = 5
    """Smallest width, in cells."""
    max_width: int = 12
    """Greatest width, in cells."""
    min_height: int = 5
    """Smallest height, in cells."""
    max_height: int = 12
    """Greatest height, in cells."""


@dataclass(frozen=True)
class Shape:
    """Stage 1: the hull is a random configuration of overlapping modules."""

    enabled: bool = True
    """Whether the stage runs; without it a hull must be supplied."""
    min_modules: int = 8
    """Fewest modules."""
    max_modules: int = 8
    """Most modules."""
    circle: CircleModule = field(default_factory=CircleModule)
    """Circular modules."""
    rectangle: RectangleModule = field(default_factory=RectangleModule)
    """Rectangular modules."""
    symmetry: Literal["none", "x"] = "none"
    """x: mirror the hull left-right about the first module."""
    max_redraws: int = 50
    """Positions tried for a module before it is dropped."""


@dataclass(frozen=True)
class FillGaps:
    """Stage 2: cells of space with hull in several directions nearby become hull."""

    enabled: bool = True
    """Whether the stage runs."""
    scan_range: int = 2
    """How far each ray looks for hull, in cells."""
    iterations: int = 2
    """Times the scan is repeated."""
    min_directions: int = 2
    """Directions (of 4) in which hull must be seen."""


@dataclass(frozen=True)
class Carve:
    """Optional, in place of stage 2 or after it: hull with space in several directions nearby is carved away."""

    enabled: bool = False
    """Whether the stage runs."""
    scan_range: int = 2
    """How far each ray looks for space, in cells."""
    iterations: int = 1
    """Times the scan is repeated."""
    min_directions: int = 2
    """Directions (of 4) in which space must be seen."""


@dataclass(frozen=True)
class Cockpit:
    """Stage 3: the cockpit, where it is best protected."""

    enabled: bool = True
    """Whether the stage runs."""
    strategy: CoreStrategy = "protected"
    """How the place is chosen."""
    tie: Tie = "random"
    """Which of equally good places is taken."""
    max_detour: int = 5
    """Longest way round that the part may force on the crew, in steps."""


@dataclass(frozen=True)
class Reactor:
    """Stage 4: the reactor, near the centre of mass."""

    enabled: bool = True
    """Whether the stage runs."""
    strategy: CoreStrategy = "centralized"
    """How the place is chosen."""
    tie: Tie = "random"
    """Which of equally good places is taken."""
    max_detour: int = 5
    """Longest way round that the part may force on the crew, in steps."""


@dataclass(frozen=True)
class CockpitArmour:
    """Stage 5: rings of armour round the cockpit."""

    enabled: bool = True
    """Whether the stage runs."""
    layers: int = 2
    """Rings of armour."""
    max_detour: int = 5
    """Longest way round that an armour cell may force on the crew, in steps."""


@dataclass(frozen=True)
class ReactorArmour:
    """Stage 6: rings of armour round the reactor."""

    enabled: bool = True
    """Whether the stage runs."""
    layers: int = 1
    """Rings of armour."""
    max_detour: int = 5
    """Longest way round that an armour cell may force on the crew, in steps."""


@dataclass(frozen=True)
class Thrusters:
    """Stage 7: thrusters of random size and facing until the target score is met."""

    enabled: bool = True
    """Whether the stage runs."""
    min_score: int = 35
    """Lowest target; below it the ship is not valid."""
    max_score: int = 45
    """Highest target; the score never exceeds it."""
    weight_small: int = 1
    """Small thruster (score 1)."""
    weight_medium: int = 2
    """Medium thruster (score 2)."""
    weight_large: int = 3
    """Large thruster (score 4)."""
    weight_north: int = 1
    """Exhaust to the bow."""
    weight_east: int = 1
    """Exhaust to the right."""
    weight_south: int = 5
    """Exhaust to the stern: pushes the ship forward."""
    weight_west: int = 1
    """Exhaust to the left."""
    strategy: MountStrategy = "random"
    """How the place is chosen."""
    tie: Tie = "random"
    """Which of equally good places is taken."""
    max_detour: int = 5
    """Longest way round that a part may force on the crew, in steps."""


@dataclass(frozen=True)
class Weapons:
    """Stage 8: cannons of random size and facing until the target score is met."""

    enabled: bool = True
    """Whether the stage runs."""
    min_score: int = 8
    """Lowest target; below it the ship is not valid."""
    max_score: int = 12
    """Highest target; the score never exceeds it."""
    weight_medium: int = 2
    """Medium cannon (score 1)."""
    weight_large: int = 1
    """Large cannon (score 2)."""
    weight_north: int = 2
    """Firing ahead."""
    weight_east: int = 1
    """Firing to the right."""
    weight_south: int = 1
    """Firing astern."""
    weight_west: int = 1
    """Firing to the left."""
    strategy: MountStrategy = "farthest_in_facing"
    """How the place is chosen."""
    tie: Tie = "random"
    """Which of equally good places is taken."""
    max_detour: int = 5
    """Longest way round that a part may force on the crew, in steps."""
    full_firepower: int = 10
    """Firepower that earns the whole fire term of the quality (the stage itself does not use it)."""


@dataclass(frozen=True)
class ExteriorArmour:
    """Stage 9: what borders space and is still corridor becomes armour."""

    enabled: bool = True
    """Whether the stage runs."""
    layers: int = 1
    """Layers of armour, from the outside in."""
    max_detour: int = 5
    """Longest way round that an armour cell may force on the crew, in steps."""


@dataclass(frozen=True)
class AmmoSupplies:
    """Stage 10: ammo supplies near the weapons."""

    enabled: bool = True
    """Whether the stage runs."""
    min_count: int = 2
    """Lowest target; below it the ship is not valid."""
    max_count: int = 3
    """Highest target."""
    near: int = 8
    """Greatest gap at which a consumer is supplied, in cells."""
    strategy: SupplyStrategy = "near_consumers"
    """How the place is chosen."""
    tie: Tie = "random"
    """Which of equally good places is taken."""
    max_detour: int = 5
    """Longest way round that a part may force on the crew, in steps."""


@dataclass(frozen=True)
class PowerStorage:
    """Stage 11: power storage near the thrusters and ammo supplies that the reactor does not reach."""

    enabled: bool = True
    """Whether the stage runs."""
    min_count: int = 1
    """Lowest target; below it the ship is not valid."""
    max_count: int = 2
    """Highest target."""
    near: int = 8
    """Greatest gap at which a consumer is supplied, in cells."""
    strategy: SupplyStrategy = "near_consumers"
    """How the place is chosen."""
    tie: Tie = "random"
    """Which of equally good places is taken."""
    max_detour: int = 5
    """Longest way round that a part may force on the crew, in steps."""


@dataclass(frozen=True)
class Crew:
    """Stage 12: quarters and bunks, edges lined up where possible."""

    enabled: bool = True
    """Whether the stage runs."""
    min_seats: int = 24
    """Seats at which the stage stops; below it the ship is not valid."""
    weight_quarters: int = 1
    """Quarters (6 seats)."""
    weight_bunk: int = 1
    """Bunk (2 seats)."""
    strategy: CrewStrategy = "align_edges"
    """How the place is chosen."""
    tie: Tie = "random"
    """Which of equally good places is taken."""
    max_detour: int = 5
    """Longest way round that a part may force on the crew, in steps."""


@dataclass(frozen=True)
class FillWithArmour:
    """Stage 13: every corridor cell that nobody needs becomes armour."""

    enabled: bool = True
    """Whether the stage runs."""
    max_detour: int = 5
    """Longest way round that an armour cell may force on the crew, in steps."""


@dataclass(frozen=True)
class ExtraDoors:
    """Stage 14: doors through walls that would otherwise mean a long walk."""

    enabled: bool = True
    """Whether the stage runs."""
    max_path: int = 10
    """Longest walk from one side of a wall to the other that needs no door, in steps."""
