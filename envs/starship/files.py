"""Ship files: JSON out, byte for byte the same for the same ship, and a reader that believes nothing.

The reader checks form: types, sizes, ranges, known names. Whether the ship keeps the rules is `check`'s business.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import reprlib
from dataclasses import asdict
from pathlib import Path
from typing import Any

from leafwise.envs.core.errors import UserError
from leafwise.envs.core.files import text_of, write_named
from leafwise.envs.starship.catalogue import PARTS
from leafwise.envs.starship.parameters import STAGES
from leafwise.envs.starship.presets import CLASSIC, Parameters
from leafwise.envs.starship.settings import built, plain
from leafwise.envs.starship.ship import Door, PlacedPart, Ship

SCHEMA = "starship/1"
LARGEST_FILE = 1 << 20
"""Bytes; a ship of the largest grid takes about a tenth of it."""


def document(ship: Ship) -> dict[str, Any]:
    """Returns a ship as the dictionary that its file holds."""
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
            {"name": name, "enabled": (stage := getattr(ship.parameters, field)).enabled, "params": plain(stage)}
            for _, field, name in STAGES
        ],
        "stats": ship.stats,
    }


def dump(ship: Ship) -> str:
    """Returns a ship as one line of JSON with sorted keys."""
    return _text(document(ship))


def ship_hash(ship: Ship) -> str:
    """Returns the SHA-256 of the ship's JSON without its stats, in hexadecimal."""
    fields = document(ship)
    del fields["stats"]
    return hashlib.sha256(_text(fields).encode("ascii")).hexdigest()


def write(ship: Ship, path: str | os.PathLike[str]) -> None:
    """Writes a ship file; the file appears whole or not at all."""
    write_bytes((dump(ship) + "\n").encode("ascii"), path)


def write_bytes(data: bytes, path: str | os.PathLike[str]) -> None:
    """Writes a file that a person named; it appears whole or not at all, unless it is a device or a pipe."""
    path = Path(path)
    if not path.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "no such folder", str(path.parent))
    write_named(path, data)


def read(path: str | os.PathLike[str]) -> Ship:
    """Reads a ship file; OSError if there is none, ValueError if it is no ship file."""
    with open(path, "rb") as file:
        return load(file.read(LARGEST_FILE + 1))


def load(data: str | bytes) -> Ship:
    """Returns the ship that JSON text describes; ValueError, in one line, for anything else."""
    if len(data) > LARGEST_FILE:
        raise UserError(f"a ship file should have at most {LARGEST_FILE} bytes, got more")
    text = text_of(data)
    try:
        fields = json.loads(text, object_pairs_hook=_no_duplicates, parse_constant=_no_constants)
    except RecursionError:
        raise UserError("a ship file should be JSON of at most four levels, got far deeper nesting") from None
    except json.JSONDecodeError as problem:
        raise UserError(f"a ship file should be JSON: {problem}") from None
    except ValueError as problem:
        raise UserError(f"a ship file should be JSON: {str(problem).splitlines()[0][:200]}") from None
    return _ship(fields)


def _text(fields: dict[str, Any]) -> str:
    return json.dumps(fields, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise UserError("an object has the same key twice")
    return fields


def _no_constants(name: str) -> Any:
    raise UserError(f"numbers should be finite, got {name}")


def _ship(fields: Any) -> Ship:
    """Returns the ship of parsed JSON."""
    from leafwise.envs.starship import schema, ship_schema

    if not isinstance(fields, dict):
        raise UserError(f"a ship file should hold an object, got {reprlib.repr(fields)}")
    grid = fields.get("grid")
    known = isinstance(grid, int) and 12 <= grid <= 64
    told = schema.read(fields, ship_schema.ship(grid if known else 64), "the ship")
    if told.seed >= 1 << 64:
        raise UserError(f"seed should be an integer from 0 to 2**64 - 1, got {reprlib.repr(told.seed)}")
    if len(set(told.reasons)) != len(told.reasons):
        raise UserError("reasons should be named once each")
    parts = tuple(PlacedPart(part.id, part.r, part.x, part.y) for part in told.parts)
    for k, part in enumerate(parts):
        (w, h), most = part.size, PARTS[part.number].rotations - 1
        if part.r > most:
            raise UserError(f"parts[{k}].r should be an integer from 0 to {most}, got {part.r}")
        if part.x + w > told.grid or part.y + h > told.grid:
            got = f"{part.id} of {w} by {h} cells at ({part.x}, {part.y})"
            raise UserError(f"parts[{k}] should lie on the grid, got {got}")
    return Ship(
        seed=told.seed,
        attempt=told.attempt,
        valid=told.valid,
        reasons=tuple(told.reasons),
        parameters=_parameters(fields),
        hull=tuple(told.hull),
        armour=tuple(told.armour),
        parts=parts,
        doors=tuple(Door(*door) for door in told.doors),
        stats=fields["stats"],
    )


def _parameters(fields: dict[str, Any]) -> Parameters:
    """Returns the parameters of a file of the right form, which lists those of every stage."""
    stages = {
        field: {**stage["params"], "enabled": stage["enabled"]}
        for stage, (_, field, _) in zip(fields["stages"], STAGES, strict=True)
    }
    own = {"preset": fields["preset"], "grid": fields["grid"], "stages": fields.get("order", [])}
    return built({**asdict(CLASSIC), **own, **stages})
