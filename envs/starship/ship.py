"""A finished ship as plain data: read from a state row, written back to one, with its figures, and as a file.

Files are JSON, and the same ship always gives the same bytes. The reader checks form, types, sizes, ranges and known names.
Whether the ship keeps the rules is checked by `check`.
"""

from __future__ import annotations

import errno
import functools
import hashlib
import json
import os
import reprlib
import types
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
import numpy as np
from msgspec import Meta, to_builtins
from msgspec.structs import replace

from leafwise.envs.core.contract.state import FIRST
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.files import text_of, write_named
from leafwise.envs.starship import catalogue, settings
from leafwise.envs.starship import tables as at
from leafwise.envs.starship.catalogue import ARMOUR, CORRIDOR, LETTERS, PART_NUMBERS, PARTS, ROOM, SPACE
from leafwise.envs.starship.quality import FIGURES, MEASURES, TERM_WEIGHTS, TERMS, measure
from leafwise.envs.starship.settings import CLASSIC, OPTIONAL, STAGES, Parameters, Settings
from leafwise.envs.starship.tables import GameTables, Rows, Tables, new_rows, new_tables, parameters_of


class PlacedPart(NamedTuple):
    """A part on the grid: name in the catalogue, quarter turns clockwise, top-left cell."""

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
        """The cells (x, y) that it covers, in raster order."""
        w, h = self.size
        return [(x, y) for y in range(self.y, self.y + h) for x in range(self.x, self.x + w)]


class Door(NamedTuple):
    """A door on the east ("E") or south ("S") edge of cell (x, y); `initial` is 1 if it came with its room."""

    x: int
    y: int
    side: str
    initial: int


@dataclass(frozen=True)
class Ship:
    """A ship as the generator made it or as a file describes it."""

    seed: int
    attempt: int
    """The number of the attempt at the seed, from 0 on."""
    valid: bool
    reasons: tuple[str, ...]
    """Why it is not valid; empty if it is."""
    parameters: Parameters
    hull: tuple[str, ...]
    """A text for each row of the grid: "." for hull and " " for space."""
    armour: tuple[tuple[int, int], ...]
    """Armour cells (x, y) in raster order."""
    parts: tuple[PlacedPart, ...]
    """In placement order."""
    doors: tuple[Door, ...]
    """In raster order, east before south."""
    stats: dict[str, float]
    """The quality, its terms and the other figures; see `measured`."""

    @property
    def grid(self) -> int:
        """Side of the grid."""
        return self.parameters.grid

    @functools.cached_property
    def hull_cells(self) -> list[tuple[int, int]]:
        """The cells (x, y) of the hull, in raster order."""
        return [(x, y) for y, line in enumerate(self.hull) for x, c in enumerate(line) if c == "."]

    @property
    def text(self) -> str:
        """The ship in letters, a line for each row of the grid."""
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
    """Returns the edge (dx, dy, side) of a door slot, counted from the part's top-left cell."""
    dx, dy, d = catalogue.door_slots(part, r)[slot]
    return dx - (d == catalogue.W), dy - (d == catalogue.N), "E" if d % 2 else "S"


def initial_door(part: PlacedPart, slot: int) -> tuple[int, int, str]:
    """Returns the edge (x, y, side) of a part's door slot."""
    dx, dy, side = _door_offset(part.number, part.r, slot)
    return part.x + dx, part.y + dy, side


def parts_of_row(row: Rows, grid: int) -> list[tuple[PlacedPart, int]]:
    """Returns the parts of a row in the order of their placement, each with the slot of its initial door."""
    start = at.HEADER + grid * grid
    words = row[start : start + 2 * int(row[at.PARTS_PLACED])].tolist()
    return [
        (PlacedPart(PARTS[a & 15].name, (a >> 4) & 3, b & 255, b >> 8), a >> 8)
        for a, b in zip(words[::2], words[1::2], strict=True)
    ]


def reasons_of(row: Rows) -> tuple[str, ...]:
    """Returns why the ship in a row is not valid; empty if it is."""
    return tuple(name for k, name in enumerate(at.REASON_NAMES) if int(row[at.REASONS]) >> k & 1)


def fill_row(row: Rows, ship: Ship) -> None:
    """Writes a ship into a state row: cells, doors, parts, points. A ship has no targets and no random streams.

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


WHOLE = frozenset(FIGURES) - {"mass", "corridor_length", "symmetry"}
"""Figures that are integers."""
RATIOS = (
    ("forward_acceleration", "forward_thrust", "mass"),
    ("seats_per_operator", "seats", "operators"),
    ("price_per_firepower", "price", "firepower"),
)
"""Figures that are a quotient: name, dividend, divisor."""


def measure_row(S: Rows, T: Tables) -> dict[str, Any]:
    """Returns the six terms and the figures of row 0, `potential`, and `quality` (0 if the ship is not valid)."""
    out = np.empty(MEASURES)
    measure(S, FIRST, T, out)
    stats: dict[str, Any] = dict(zip((*TERMS, *FIGURES), out.tolist(), strict=True))
    stats["potential"] = sum(weight * stats[term] for weight, term in zip(TERM_WEIGHTS, TERMS, strict=True))
    stats["quality"] = 0.0 if S[0, at.REASONS] else stats["potential"]
    return stats


def measured(S: Rows, T: Tables) -> dict[str, Any]:
    """Returns the figures of row 0: `quality` (0 if the ship is not valid), the six terms, and the figures reported with them.

    Price in credits, mass in tonnes, `forward_acceleration` in thrust per tonne. Fractions are rounded to 6 digits.
    """
    stats = measure_row(S, T)
    for name, part, whole in RATIOS:
        stats[name] = stats[part] / stats[whole] if stats[whole] else 0.0
    return {name: int(value) if name in WHOLE else round(value, 6) for name, value in sorted(stats.items())}


def reported(row: Rows, T: Tables, parameters: Parameters, seed: int, attempt: int = 0) -> Ship:
    """Returns a row as a ship with its figures and its targets of thrust and weapon score."""
    stats = measured(np.array([row], np.uint16), T)
    stats["thrust_target"] = int(row[at.TARGET + at.STAGE_THRUSTERS])
    stats["weapon_target"] = int(row[at.TARGET + at.STAGE_WEAPONS])
    grid = parameters.grid
    cells = row[at.HEADER : at.HEADER + grid * grid]
    values = cells & at.VALUE
    letters = np.where(values == SPACE, ord(" "), ord(".")).astype(np.uint8).tobytes().decode("ascii")
    placed = parts_of_row(row, grid)
    initial = {initial_door(part, slot) for part, slot in placed}
    edges = [(k, "E") for k in np.flatnonzero(cells & at.DOOR_EAST).tolist()]
    edges += [(k, "S") for k in np.flatnonzero(cells & at.DOOR_SOUTH).tolist()]
    doors = [(k % grid, k // grid, side) for k, side in sorted(edges)]
    reasons = reasons_of(row)
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
        stats=dict(sorted(stats.items())),
    )


def ship_at(row: Rows, T: GameTables, seed: int = 0) -> Ship:
    """Returns the unfinished ship in a row of the building game; `seed` becomes its seed."""
    ship = reported(row, T.ship, parameters_of(T.ship), seed)
    del ship.stats["thrust_target"], ship.stats["weapon_target"]  # only the generator has these targets
    return ship


def stats_of(ship: Ship) -> dict[str, Any]:
    """Returns the figures of a ship, measured again; the targets are taken from its own stats."""
    S, T = new_rows(ship.parameters, 1), new_tables(ship.parameters)
    fill_row(S[0], ship)
    targets = {name: ship.stats[name] for name in ("thrust_target", "weapon_target") if name in ship.stats}
    return dict(sorted((measured(S, T) | targets).items()))


SCHEMA = "starship/1"
GREATEST = 1e300
"""The largest absolute value of a number in `stats`."""
LARGEST_FILE = 1 << 20
"""Bytes; a ship on the largest grid takes about a tenth of it."""


def document(ship: Ship) -> dict[str, Any]:
    """Returns the content of a ship's file as a dictionary."""
    order = {"order": list(ship.parameters.stages)} if ship.parameters.stages else {}
    return {
        **order,
        "schema": SCHEMA,
        "preset": ship.parameters.preset,
        "seed": ship.seed,
        "attempt": ship.attempt,
        "valid": ship.valid,
        "reasons": list(ship.reasons),
        "grid": ship.grid,
        "hull": list(ship.hull),
        "armour": [list(cell) for cell in ship.armour],
        "parts": [part._asdict() for part in ship.parts],
        "doors": [list(door) for door in ship.doors],
        "stages": [
            {"name": name, "enabled": (stage := getattr(ship.parameters, field)).enabled, "params": _settings(stage)}
            for _, field, name in STAGES
        ],
        "stats": ship.stats,
    }


def _settings(stage: Settings) -> dict[str, Any]:
    """Returns a stage's settings without `enabled`; those in `OPTIONAL` only if they differ from their defaults."""
    values, usual = to_builtins(stage), to_builtins(type(stage)())
    left_out = {"enabled", *(name for name in OPTIONAL & values.keys() if values[name] == usual[name])}
    return {name: value for name, value in values.items() if name not in left_out}


def dump(ship: Ship) -> str:
    """Returns a ship as one line of JSON with sorted keys."""
    return _text(document(ship))


def ship_hash(ship: Ship) -> str:
    """Returns the SHA-256 of the ship's JSON without its stats, in hexadecimal."""
    fields = document(ship)
    del fields["stats"]
    return hashlib.sha256(_text(fields).encode("ascii")).hexdigest()


def write(ship: Ship, path: str | os.PathLike[str]) -> None:
    """Writes a ship file; the file appears complete or not at all."""
    write_bytes((dump(ship) + "\n").encode("ascii"), path)


def write_bytes(data: bytes, path: str | os.PathLike[str]) -> None:
    """Writes a file that a person named; it appears complete or not at all, unless it is a device or a pipe."""
    path = Path(path)
    if not path.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "no such folder", str(path.parent))
    write_named(path, data)


def read(path: str | os.PathLike[str]) -> Ship:
    """Reads a ship file; raises OSError if there is none, ValueError if it is not a ship file."""
    with open(path, "rb") as file:
        return load(file.read(LARGEST_FILE + 1))


def load(data: str | bytes) -> Ship:
    """Returns the ship in a JSON text; raises ValueError in one line for any other text."""
    if len(data) > LARGEST_FILE:
        raise UserError(f"expected a ship file of at most {LARGEST_FILE} bytes, got more")
    text = text_of(data)
    try:
        fields = json.loads(text, object_pairs_hook=_no_duplicates, parse_constant=_no_constants)
    except UserError:  # a repeated key, or a number that is not finite
        raise
    except RecursionError:
        raise UserError("expected a ship file in JSON of at most four levels, got far deeper nesting") from None
    except ValueError as problem:
        raise UserError(f"expected a ship file in JSON: {str(problem).splitlines()[0][:200]}") from None
    return _ship(fields)


def _text(fields: dict[str, Any]) -> str:
    return json.dumps(fields, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise UserError("expected each key of an object once, got one twice")
    return fields


def _no_constants(name: str) -> Any:
    raise UserError(f"expected finite numbers, got {name}")


@functools.cache
def ship_form(grid: int) -> Any:
    """Returns the type of the content of a ship file with this grid."""

    def form(name: str, /, **fields: Any) -> Any:
        field_types = [(key, *kind) if isinstance(kind, tuple) else (key, kind) for key, kind in fields.items()]
        return msgspec.defstruct(name, field_types, forbid_unknown_fields=True)

    def many(kind: Any, most: int, least: int = 0) -> Any:
        return Annotated[list[kind], Meta(min_length=least, max_length=most)]

    def upto(most: int) -> Any:
        return Annotated[int, Meta(ge=0, le=most)]

    across = upto(grid - 1)
    line: Any = Annotated[str, Meta(min_length=grid, max_length=grid, pattern=r"^[. ]*\Z")]
    part = form("Part", id=Literal[tuple(PART_NUMBERS)], r=upto(3), x=across, y=across)
    stages = (
        form("Stage", name=Literal[title], enabled=bool, params=type(getattr(CLASSIC, field)))
        for _, field, title in STAGES
    )
    return form(
        "Ship",
        schema=Literal[SCHEMA],
        preset=str,
        seed=Annotated[int, Meta(ge=0)],
        attempt=upto(1000),
        valid=bool,
        reasons=many(Literal[at.REASON_NAMES], len(at.REASON_NAMES)),
        grid=Annotated[int, Meta(ge=12, le=64)],
        hull=many(line, grid, grid),
        armour=many(tuple[across, across], grid**2),  # type: ignore[valid-type]
        parts=many(part, grid**2),
        doors=many(tuple[across, across, Literal["E", "S"], upto(1)], 2 * grid**2),  # type: ignore[misc, valid-type]
        stages=types.GenericAlias(tuple, tuple(stages)),
        stats=dict[str, Any],
        order=(tuple[str, ...], ()),
    )


def _need_all(given: dict[str, Any], known: dict[str, Any], where: str) -> None:
    """Raises ValueError unless `given` has all settings of a stage and no others; nested settings too."""
    for name in sorted(given.keys() - known.keys() - {*OPTIONAL}):
        raise UserError(f"expected a field of {where} among {', '.join(known)}, got {name!r}")
    for name, value in known.items():
        if name not in given:
            raise UserError(f"expected {where} with {', '.join(known)}, got no {name!r}")
        if isinstance(value, dict):
            _need_all(given[name], value, f"{where}.{name}")


def _ship(fields: Any) -> Ship:
    """Returns the ship in parsed JSON; raises ValueError if it is none."""
    if not isinstance(fields, dict):
        raise UserError(f"expected an object in a ship file, got {reprlib.repr(fields)}")
    grid = fields.get("grid")
    known = isinstance(grid, int) and 12 <= grid <= 64
    content = settings.read(fields, ship_form(grid if known else 64), "the ship")
    if content.seed >= 1 << 64:
        raise UserError(f"expected seed as an integer from 0 to 2**64 - 1, got {reprlib.repr(content.seed)}")
    if len(set(content.reasons)) != len(content.reasons):
        raise UserError(f"expected each of reasons once, got {', '.join(content.reasons)}")
    for name, value in content.stats.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > GREATEST:
            raise UserError(f"expected stats.{reprlib.repr(name)} as a finite number, got {reprlib.repr(value)}")
    parts = tuple(PlacedPart(part.id, part.r, part.x, part.y) for part in content.parts)
    for k, part in enumerate(parts):
        (w, h), most = part.size, PARTS[part.number].rotations - 1
        if part.r > most:
            raise UserError(f"expected parts[{k}].r as an integer from 0 to {most}, got {part.r}")
        if part.x + w > content.grid or part.y + h > content.grid:
            got = f"{part.id} of {w} by {h} cells at ({part.x}, {part.y})"
            raise UserError(f"expected parts[{k}] on the grid, got {got}")
    stages = {}
    for k, (stage, (_, field, _)) in enumerate(zip(content.stages, STAGES, strict=True)):
        stages[field] = replace(stage.params, enabled=stage.enabled)
        _need_all(fields["stages"][k]["params"], _settings(stages[field]), f"stages[{k}].params")
    return Ship(
        seed=content.seed,
        attempt=content.attempt,
        valid=content.valid,
        reasons=tuple(content.reasons),
        parameters=Parameters(preset=content.preset, grid=content.grid, stages=content.order, **stages),
        hull=tuple(content.hull),
        armour=tuple(content.armour),
        parts=parts,
        doors=tuple(Door(*door) for door in content.doors),
        stats=content.stats,
    )
