"""A finished ship as plain data, and how it is read off a state row and written back to one."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.starship import catalogue
from leafwise.envs.starship import tables as at
from leafwise.envs.starship.catalogue import ARMOUR, CORRIDOR, LETTERS, PART_NUMBERS, PARTS, ROOM, SPACE
from leafwise.envs.starship.presets import Parameters


class PlacedPart(NamedTuple):
    """A part on the grid: catalogue name, quarter turns clockwise, top-left cell."""

    id: str
    r: int
    x: int
    y: int

    @property
    def number(self) -> int:
        """The part's catalogue number."""
        return PART_NUMBERS[self.id]

    @property
    def size(self) -> tuple[int, int]:
        """Width and height of the turned footprint."""
        return catalogue.size(self.number, self.r)

    @property
    def cells(self) -> list[tuple[int, int]]:
        """The (x, y) it covers, in raster order."""
        w, h = self.size
        return [(x, y) for y in range(self.y, self.y + h) for x in range(self.x, self.x + w)]


class Door(NamedTuple):
    """A door on the east ("E") or south ("S") edge of cell (x, y); `initial` 1 if it came with its room."""

    x: int
    y: int
    side: str
    initial: int


@dataclass(frozen=True)
class Ship:
    """A ship as the generator made it, or as a file says it is."""

    seed: int
    attempt: int
    """Which attempt at the seed this is, from 0 on."""
    valid: bool
    reasons: tuple[str, ...]
    """What keeps it from being valid."""
    parameters: Parameters
    hull: tuple[str, ...]
    """One string for each row of the grid, "." for hull and " " for space."""
    armour: tuple[tuple[int, int], ...]
    """Armour cells (x, y) in raster order."""
    parts: tuple[PlacedPart, ...]
    """In placement order."""
    doors: tuple[Door, ...]
    """In raster order, east before south."""
    stats: dict[str, float]
    """The quality, its terms and the figures beside it; see `leafwise.envs.starship.report`."""

    @property
    def grid(self) -> int:
        """Side of the grid."""
        return self.parameters.grid

    @functools.cached_property
    def hull_cells(self) -> list[tuple[int, int]]:
        """The (x, y) of the hull, in raster order."""
        return [(x, y) for y, line in enumerate(self.hull) for x, c in enumerate(line) if c == "."]

    @property
    def text(self) -> str:
        """The ship in letters, one row a line."""
        rows = [list(line.replace(".", LETTERS[CORRIDOR])) for line in self.hull]
        for x, y in self.armour:
            rows[y][x] = LETTERS[ARMOUR]
        for part in self.parts:
            for x, y in part.cells:
                rows[y][x] = PARTS[part.number].letter
        return "\n".join("".join(row) for row in rows)

    def __str__(self) -> str:
        return self.text


@functools.cache
def _door_offset(part: int, r: int, slot: int) -> tuple[int, int, str]:
    """Returns the edge of a door slot, from the part's top-left cell."""
    dx, dy, d = catalogue.door_slots(part, r)[slot]
    return dx - (d == catalogue.W), dy - (d == catalogue.N), "E" if d % 2 else "S"


def initial_door(part: PlacedPart, slot: int) -> tuple[int, int, str]:
    """Returns the edge (x, y, side) of a part's door slot."""
    dx, dy, side = _door_offset(part.number, part.r, slot)
    return part.x + dx, part.y + dy, side


def parts_of_row(row: NDArray[np.uint16], grid: int) -> list[tuple[PlacedPart, int]]:
    """Returns the placed parts of a row with their door slots, in placement order."""
    start = at.HEADER + grid * grid
    words = row[start : start + 2 * int(row[at.PARTS_PLACED])].tolist()
    return [
        (PlacedPart(PARTS[a & 15].name, (a >> 4) & 3, b & 255, b >> 8), a >> 8)
        for a, b in zip(words[::2], words[1::2], strict=True)
    ]


def ship_of_row(
    row: NDArray[np.uint16], parameters: Parameters, seed: int, attempt: int, stats: dict[str, float]
) -> Ship:
    """Reads a ship off a state row."""
    grid = parameters.grid
    cells = row[at.HEADER : at.HEADER + grid * grid]
    values = cells & at.VALUE
    letters = np.where(values == SPACE, ord(" "), ord(".")).astype(np.uint8).tobytes().decode("ascii")
    placed = parts_of_row(row, grid)
    initial = {initial_door(part, slot) for part, slot in placed}
    edges = [(k, "E") for k in np.flatnonzero(cells & at.DOOR_EAST).tolist()]
    edges += [(k, "S") for k in np.flatnonzero(cells & at.DOOR_SOUTH).tolist()]
    doors = [(k % grid, k // grid, side) for k, side in sorted(edges)]
    reasons = tuple(name for k, name in enumerate(at.REASON_NAMES) if int(row[at.REASONS]) >> k & 1)
    return Ship(
        seed=seed,
        attempt=attempt,
        valid=not reasons,
        reasons=reasons,
        parameters=parameters,
        hull=tuple(letters[k * grid : (k + 1) * grid] for k in range(grid)),
        armour=tuple((k % grid, k // grid) for k in np.flatnonzero(values == ARMOUR).tolist()),
        parts=tuple(part for part, _ in placed),
        doors=tuple(Door(*edge, int(edge in initial)) for edge in doors),
        stats=stats,
    )


def fill_row(row: NDArray[np.uint16], ship: Ship) -> None:
    """Writes a ship into a state row: cells, doors, parts, points. Targets and random streams are not in a ship.

    The ship must keep rule V2 (see `leafwise.envs.starship.check`).
    """
    grid = ship.grid
    row[:] = 0
    cells = row[at.HEADER : at.HEADER + grid * grid].reshape(grid, grid)
    for x, y in ship.hull_cells:
        cells[y, x] = CORRIDOR
    for x, y in ship.armour:
        cells[y, x] = ARMOUR
    initial = {(door.x, door.y, door.side) for door in ship.doors if door.initial}
    for k, part in enumerate(ship.parts):
        for x, y in part.cells:
            cells[y, x] = ROOM + k
        slots = range(len(catalogue.door_slots(part.number, part.r)))
        slot = next((s for s in slots if initial_door(part, s) in initial), 0)
        first = at.HEADER + grid * grid + 2 * k
        row[first : first + 2] = part.number | part.r << 4 | slot << 8, part.x | part.y << 8
    row[at.PARTS_PLACED] = len(ship.parts)
    for stage, kinds in at.KINDS.items():
        row[at.POINTS + stage] = sum(PARTS[part.number].points for part in ship.parts if part.number in kinds)
    for door in ship.doors:
        cells[door.y, door.x] |= at.DOOR_EAST if door.side == "E" else at.DOOR_SOUTH
    row[at.REASONS] = sum(1 << at.REASON_NAMES.index(reason) for reason in ship.reasons)
