"""Parameters from and to plain dictionaries and TOML. Every wrong entry raises ValueError in one line."""

from __future__ import annotations

import dataclasses
import reprlib
import tomllib
import typing
from collections.abc import Mapping
from typing import Any

from leafwise.envs.starship.presets import PRESETS, STAGES, Parameters, preset, typed

FIELD_OF_NAME = {name: field for _, field, name in STAGES}


def plain(stage: Any) -> dict[str, Any]:
    """Returns a stage's parameters as a dictionary of integers, texts and dictionaries, without `enabled`."""
    values = dataclasses.asdict(stage)
    values.pop("enabled", None)
    return values


def stage_field(name: str) -> str:
    """Returns the field of a stage given by its name ("Exterior Armour") or field (exterior_armour), in any case."""
    wanted = name.strip().lower().replace(" ", "_").replace("-", "_")
    for _, field, title in STAGES:
        if wanted in (field, title.lower().replace(" ", "_")):
            return field
    raise ValueError(f"stage should be one of {', '.join(title for _, _, title in STAGES)}, got {reprlib.repr(name)}")


def switched(parameters: Parameters, names: typing.Iterable[str], enabled: bool) -> Parameters:
    """Returns the parameters with the named stages switched on or off."""
    for name in names:
        field = stage_field(name)
        stage = dataclasses.replace(getattr(parameters, field), enabled=enabled)
        parameters = dataclasses.replace(parameters, **{field: stage})
    return parameters


def updated(base: Any, values: Any, where: str = "") -> Any:
    """Returns the dataclass `base` with `values`, a dictionary of some of its fields, checked against their types."""
    if not isinstance(values, Mapping):
        raise ValueError(f"{where or 'parameters'} should be a table, got {reprlib.repr(values)}")
    types = typing.get_type_hints(type(base))
    changes = {}
    for name, value in values.items():
        place = f"{where}.{name}" if where else str(name)
        if name not in types:
            raise ValueError(f"{where or 'parameters'} has no {reprlib.repr(name)}; known: {', '.join(types)}")
        current = getattr(base, name)
        if dataclasses.is_dataclass(current):
            changes[name] = updated(current, value, place)
        else:
            changes[name] = typed(types[name], value, place)
    return dataclasses.replace(base, **changes)


def from_toml(text: str) -> Parameters:
    """Returns parameters from TOML: `preset` names the base (classic if absent), one table for each changed stage."""
    try:
        values = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as problem:
        raise ValueError(f"parameters should be TOML: {problem}") from None
    name = values.get("preset", "classic")
    base = preset(name) if isinstance(name, str) and name in PRESETS else preset("classic")
    return typing.cast(Parameters, updated(base, values))


def to_toml(parameters: Parameters) -> str:
    """Returns all parameters as TOML that `from_toml` reads back."""
    lines: list[str] = []

    def write(table: str, values: Mapping[str, Any]) -> None:
        if table:
            lines.extend(["", f"[{table}]"])
        lines.extend(f"{name} = {_toml(v)}" for name, v in values.items() if not isinstance(v, Mapping))
        for name, value in values.items():
            if isinstance(value, Mapping):
                write(f"{table}.{name}" if table else name, value)

    write("", dataclasses.asdict(parameters))
    return "\n".join(lines) + "\n"


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
