"""Starship: ships built in 14 stages from modules, and every stage open to change.

The hull is a heap of circles and rectangles; the cockpit goes where it is safest, the reactor to the centre of mass,
thrusters and weapons to the rim, supplies and crew near what needs them, and armour wherever the crew can do without
a corridor. Source: the early ship generator of Cosmoteer, as its author told it in 14 stages.

    >>> from leafwise.envs.starship import generate
    >>> print(generate(seed=7))
"""

from leafwise.envs.starship.check import Broken, check
from leafwise.envs.starship.files import dump, load, read, ship_hash, write
from leafwise.envs.starship.generator import Generator, generate
from leafwise.envs.starship.presets import CLASSIC, CRUISER, PRESETS, SCOUT, STAGES, Parameters, preset
from leafwise.envs.starship.settings import from_toml, switched, to_toml
from leafwise.envs.starship.ship import Door, PlacedPart, Ship

__all__ = [
    "CLASSIC",
    "CRUISER",
    "PRESETS",
    "SCOUT",
    "STAGES",
    "Broken",
    "Door",
    "Generator",
    "Parameters",
    "PlacedPart",
    "Ship",
    "check",
    "dump",
    "from_toml",
    "generate",
    "load",
    "preset",
    "read",
    "ship_hash",
    "switched",
    "to_toml",
    "write",
]
