"""Ship files: JSON out, byte for byte the same for the same ship, and a reader that believes nothing.

The reader checks form: types, sizes, ranges, known names. Whether the ship keeps the rules is `check`'s business.
"""

from __future__ import annotations

import errno
import hashlib
import json
import math
import os
import reprlib
import tempfile
from pathlib import Path
from typing import Any

from leafwise.envs.starship.catalogue import PART_NUMBERS, PARTS
from leafwise.envs.starship.presets import GRID_LIMITS, PRESETS, STAGES, Parameters, preset
from leafwise.envs.starship.settings import plain, updated
from leafwise.envs.starship.ship import Door, PlacedPart, Ship
from leafwise.envs.starship.tables import REASON_NAMES

SCHEMA = "starship/1"
LARGEST_FILE = 1 << 20
"""Bytes; a ship of the largest grid takes about a tenth of it."""
KEYS = (
    *("schema", "preset", "seed", "attempt", "valid", "reasons", "grid"),
    *("hull", "armour", "parts", "doors", "stages", "stats"),
)


def document(ship: Ship) -> dict[str, Any]:
    """Returns a ship as the dictionary that its file holds."""
    return {
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
    """Writes a file under a temporary name in the same folder and renames it."""
    path = Path(path)
    if not path.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "no such folder", str(path.parent))
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def read(path: str | os.PathLike[str]) -> Ship:
    """Reads a ship file; OSError if there is none, ValueError if it is no ship file."""
    with open(path, "rb") as file:
        return load(file.read(LARGEST_FILE + 1))


def load(data: str | bytes) -> Ship:
    """Returns the ship that JSON text describes; ValueError, in one line, for anything else."""
    if len(data) > LARGEST_FILE:
        raise ValueError(f"a ship file should have at most {LARGEST_FILE} bytes, got more")
    try:
        text = data.decode("utf-8") if isinstance(data, bytes) else data
        fields = json.loads(text, object_pairs_hook=_no_duplicates, parse_constant=_no_constants)
    except RecursionError:
        raise ValueError("a ship file should be JSON of at most four levels, got far deeper nesting") from None
    except UnicodeDecodeError as problem:
        raise ValueError(f"a ship file should be UTF-8 text: {problem.reason} at byte {problem.start}") from None
    except json.JSONDecodeError as problem:
        raise ValueError(f"a ship file should be JSON: {problem}") from None
    except ValueError as problem:
        raise ValueError(f"a ship file should be JSON: {str(problem).splitlines()[0][:200]}") from None
    return _ship(fields)


def _text(fields: dict[str, Any]) -> str:
    return json.dumps(fields, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise ValueError("an object has the same key twice")
    return fields


def _no_constants(name: str) -> Any:
    raise ValueError(f"numbers should be finite, got {name}")


def _ship(fields: Any) -> Ship:
    """Returns the ship of parsed JSON."""
    if not isinstance(fields, dict):
        raise ValueError(f"a ship file should hold an object, got {reprlib.repr(fields)}")
    _keys("the ship", fields, KEYS)
    if fields["schema"] != SCHEMA:
        raise ValueError(f"schema should be {SCHEMA!r}, got {reprlib.repr(fields['schema'])}")
    grid = _integer("grid", fields["grid"], *GRID_LIMITS)
    reasons = _list("reasons", fields["reasons"], len(REASON_NAMES))
    for k, reason in enumerate(reasons):
        _one_of(f"reasons[{k}]", reason, REASON_NAMES)
    if len(set(reasons)) != len(reasons):
        raise ValueError("reasons should be named once each")
    if not isinstance(fields["valid"], bool):
        raise ValueError(f"valid should be true or false, got {reprlib.repr(fields['valid'])}")
    cells = [tuple(_cell(f"armour[{k}]", c, grid, 2)) for k, c in enumerate(_list("armour", fields["armour"], grid**2))]
    return Ship(
        seed=_integer("seed", fields["seed"], 0, (1 << 64) - 1),
        attempt=_integer("attempt", fields["attempt"], 0, 1000),
        valid=fields["valid"],
        reasons=tuple(reasons),
        parameters=_parameters(fields, grid),
        hull=_hull(fields["hull"], grid),
        armour=tuple((x, y) for x, y in cells),
        parts=tuple(_part(f"parts[{k}]", p, grid) for k, p in enumerate(_list("parts", fields["parts"], grid**2))),
        doors=tuple(_door(f"doors[{k}]", d, grid) for k, d in enumerate(_list("doors", fields["doors"], 2 * grid**2))),
        stats=_stats(fields["stats"]),
    )


def _hull(lines: Any, grid: int) -> tuple[str, ...]:
    for k, line in enumerate(_list("hull", lines, grid)):
        if not isinstance(line, str) or len(line) != grid or set(line) - {".", " "}:
            raise ValueError(f'hull[{k}] should be {grid} characters "." or " ", got {reprlib.repr(line)}')
    if len(lines) != grid:
        raise ValueError(f"hull should have {grid} rows, got {len(lines)}")
    return tuple(lines)


def _part(where: str, fields: Any, grid: int) -> PlacedPart:
    if not isinstance(fields, dict):
        raise ValueError(f"{where} should be an object, got {reprlib.repr(fields)}")
    _keys(where, fields, PlacedPart._fields)
    name = _one_of(f"{where}.id", fields["id"], tuple(PART_NUMBERS))
    part = PlacedPart(
        name,
        _integer(f"{where}.r", fields["r"], 0, PARTS[PART_NUMBERS[name]].rotations - 1),
        _integer(f"{where}.x", fields["x"], 0, grid - 1),
        _integer(f"{where}.y", fields["y"], 0, grid - 1),
    )
    w, h = part.size
    if part.x + w > grid or part.y + h > grid:
        raise ValueError(f"{where} should lie on the grid, got {name} of {w} by {h} cells at ({part.x}, {part.y})")
    return part


def _door(where: str, values: Any, grid: int) -> Door:
    x, y, side, initial = _cell(where, values, grid, 4)
    return Door(x, y, _one_of(f"{where}[2]", side, ("E", "S")), _integer(f"{where}[3]", initial, 0, 1))


def _cell(where: str, values: Any, grid: int, length: int) -> list[Any]:
    if not isinstance(values, list) or len(values) != length:
        raise ValueError(f"{where} should be a list of {length}, got {reprlib.repr(values)}")
    for k in range(2):
        _integer(f"{where}[{k}]", values[k], 0, grid - 1)
    return values


def _parameters(fields: dict[str, Any], grid: int) -> Parameters:
    """Returns the parameters that a file's stages list; every stage and every parameter must be there."""
    name = fields["preset"]
    values: dict[str, Any] = {"preset": name, "grid": grid}
    stages = _list("stages", fields["stages"], len(STAGES))
    if len(stages) != len(STAGES):
        raise ValueError(f"stages should be {len(STAGES)}, got {len(stages)}")
    for stage, (_, field, title) in zip(stages, STAGES, strict=True):
        if not isinstance(stage, dict) or stage.get("name") != title:
            raise ValueError(f"stages should list {title!r} here, got {reprlib.repr(stage)}")
        _keys(title, stage, ("name", "enabled", "params"))
        if not isinstance(stage["params"], dict):
            raise ValueError(f"{title}: params should be an object, got {reprlib.repr(stage['params'])}")
        _all_there(title, plain(getattr(PRESETS["classic"], field)), stage["params"])
        values[field] = {**stage["params"], "enabled": stage["enabled"]}
    parameters: Parameters = updated(preset("classic"), values)
    return parameters


def _all_there(where: str, wanted: dict[str, Any], got: Any) -> None:
    if not isinstance(got, dict):
        raise ValueError(f"{where} should be an object, got {reprlib.repr(got)}")
    _keys(where, got, tuple(wanted))
    for name, value in wanted.items():
        if isinstance(value, dict):
            _all_there(f"{where}.{name}", value, got[name])


def _stats(fields: Any) -> dict[str, float]:
    if not isinstance(fields, dict) or len(fields) > 100:
        raise ValueError(f"stats should be an object of at most 100 numbers, got {reprlib.repr(fields)}")
    for name, value in fields.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise ValueError(f"stats.{reprlib.repr(name)} should be a finite number, got {reprlib.repr(value)}")
    return fields


def _keys(where: str, fields: dict[str, Any], wanted: tuple[str, ...]) -> None:
    missing, extra = set(wanted) - set(fields), set(fields) - set(wanted)
    if missing:
        raise ValueError(f"{where} should have {', '.join(wanted)}; {min(missing)!r} is missing")
    if extra:
        raise ValueError(f"{where} should have {', '.join(wanted)} only, got {reprlib.repr(min(extra))}")


def _list(where: str, values: Any, most: int) -> list[Any]:
    if not isinstance(values, list) or len(values) > most:
        raise ValueError(f"{where} should be a list of at most {most}, got {reprlib.repr(values)}")
    return values


def _integer(where: str, value: Any, low: int, high: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise ValueError(f"{where} should be an integer from {low} to {high}, got {reprlib.repr(value)}")
    return value


def _one_of(where: str, value: Any, names: tuple[str, ...]) -> str:
    if not isinstance(value, str) or value not in names:
        raise ValueError(f"{where} should be one of {', '.join(names)}, got {reprlib.repr(value)}")
    return value
