"""Lists the parts that a ship is built from: sizes, masses, prices, and the cells at which each may have a door.

Directions are 0 = N (up, the bow), 1 = E, 2 = S, 3 = W. Rotation `r` turns a part by `r` quarter turns clockwise. A directional
part (thruster, weapon) faces N in the catalogue, so its facing equals its rotation.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

N, E, S, W = 0, 1, 2, 3
DIRECTIONS = "NESW"
DX = (0, 1, 0, -1)
DY = (-1, 0, 1, 0)

# A cell's value in a state row; from ROOM on: the number of the part in placement order, plus ROOM.
SPACE, ARMOUR, CORRIDOR, ROOM = 0, 1, 2, 3

CORRIDOR_MASS, ARMOUR_MASS = 100, 300
"""Hundredths of a tonne."""
CORRIDOR_PRICE, ARMOUR_PRICE, DOOR_PRICE = 100, 200, 100

COCKPIT, REACTOR = 0, 1
THRUSTER_SMALL, THRUSTER_MED, THRUSTER_LARGE = 2, 3, 4
CANNON_MED, CANNON_LARGE = 5, 6
AMMO_SUPPLY, POWER_STORAGE = 7, 8
QUARTERS, BUNK = 9, 10

UNLIMITED = 64
"""The lane of a part that must be clear up to the edge of the grid, in cells; no grid is larger."""


class Part(NamedTuple):
    """A row of the catalogue; lengths in cells, mass in hundredths of a tonne, price in credits."""

    name: str
    letter: str
    width: int
    height: int
    rotations: int
    mass: int
    price: int
    points: int = 1
    """How many points it gives its stage: thruster or weapon score, seats, or 1."""
    clear: int = 0
    """Cells of SPACE that a directional part needs in front of it; 0 for other parts."""
    thrust: int = 0
    firepower: int = 0
    operators: int = 0
    seats: int = 0

    @property
    def directional(self) -> bool:
        """Whether the part shoots or exhausts towards its facing."""
        return self.clear > 0


PARTS = (
    Part("cockpit", "C", 2, 2, 4, 400, 10000, operators=1),
    Part("reactor", "R", 2, 2, 1, 400, 25000),
    Part("thruster_small", "t", 1, 1, 4, 130, 500, points=1, clear=3, thrust=400),
    Part("thruster_med", "T", 1, 2, 4, 245, 1500, points=2, clear=5, thrust=1200),
    Part("thruster_large", "H", 2, 2, 4, 499, 4000, points=4, clear=7, thrust=3200),
    Part("cannon_med", "c", 2, 1, 4, 444, 2000, points=1, clear=UNLIMITED, firepower=1, operators=1),
    Part("cannon_large", "L", 3, 2, 4, 1229, 5000, points=2, clear=UNLIMITED, firepower=2, operators=2),
    Part("ammo_supply", "A", 2, 2, 1, 400, 4000),
    Part("power_storage", "P", 2, 2, 1, 400, 3000),
    Part("quarters", "Q", 2, 2, 1, 400, 4200, points=6, seats=6),
    Part("bunk", "b", 2, 1, 2, 200, 1600, points=2, seats=2),
)
PART_NUMBERS = {part.name: number for number, part in enumerate(PARTS)}
LETTERS = {SPACE: " ", ARMOUR: "#", CORRIDOR: "."}
THRUSTERS = (THRUSTER_SMALL, THRUSTER_MED, THRUSTER_LARGE)
WEAPONS = (CANNON_MED, CANNON_LARGE)
CREW_ROOMS = (QUARTERS, BUNK)


def size(part: int, r: int) -> tuple[int, int]:
    """Returns the width and height in cells of the footprint of `part`, turned by `r` quarter turns."""
    base = PARTS[part]
    return (base.height, base.width) if r % 2 else (base.width, base.height)


def _sides(part: Part) -> list[tuple[int, int, int]]:
    """Returns the allowed door slots at rotation 0 as (dx, dy, direction), back first."""
    w, h = part.width, part.height
    south = [(x, h - 1, S) for x in range(w)]
    west = [(0, y, W) for y in reversed(range(h))]
    east = [(w - 1, y, E) for y in reversed(range(h))]
    north = [(x, 0, N) for x in range(w)]
    if part.name == "cockpit":  # the windscreen: nothing in front, nor beside the front half
        return south + [slot for slot in west + east if slot[1] >= h // 2]
    return south + west + east + ([] if part.directional else north)


def door_slots(part: int, r: int) -> list[tuple[int, int, int]]:
    """Returns the cells at which `part`, turned by `r`, may have a door, in order of preference.

    A slot is (dx, dy, direction): the cell inside the footprint, and the direction that leads out.
    """
    slots, (w, h) = _sides(PARTS[part]), (PARTS[part].width, PARTS[part].height)
    for _ in range(r):
        slots = [(h - 1 - dy, dx, (d + 1) % 4) for dx, dy, d in slots]
        w, h = h, w
    return slots


_MOST_SLOTS = max(len(_sides(part)) for part in PARTS)

# The catalogue as arrays for compiled code; the first index is the part
SIZE = np.array([[size(p, r) for r in range(4)] for p in range(len(PARTS))], np.int64)
"""Width and height of the footprint; shape [part, rotation, 2]."""
SLOTS = np.array(
    [[(door_slots(p, r) + [(0, 0, -1)] * _MOST_SLOTS)[:_MOST_SLOTS] for r in range(4)] for p in range(len(PARTS))],
    dtype=np.int64,
)
"""Door slots (dx, dy, direction) in order, direction -1 past the last; shape [part, rotation, slot, 3]."""
FACTS = np.array([part[4:] for part in PARTS], np.int64)
"""The numbers of each part, in the columns named below; shape [part, 9]."""
ROTATIONS, MASS, PRICE, POINTS, CLEAR, THRUST, FIREPOWER, OPERATORS, SEATS = range(9)
