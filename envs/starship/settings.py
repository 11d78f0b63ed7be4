"""Parameters from and to plain dictionaries and TOML. Every wrong entry raises ValueError in one line."""

from __future__ import annotations

import dataclasses
import tomllib
import typing
from collections.abc import Mapping
from typing import Any

from leafwise.envs.core.errors import UserError
from leafwise.envs.starship.order import stage_field
from leafwise.envs.starship.parameters import OPTIONAL
from leafwise.envs.starship.presets import CLASSIC, PRESETS, Parameters


def plain(stage: Any) -> dict[str, Any]:
    """Returns a stage's parameters as a dictionary of integers, texts and dictionaries, without `enabled`.

    Those of `OPTIONAL` are left out where they have their defaults.
    """
    values = dataclasses.asdict(stage)
    values.pop("enabled", None)
    for field in dataclasses.fields(stage):
        if field.name in OPTIONAL and values[field.name] == field.default:
            del values[field.name]
    return values


def switched(parameters: Parameters, names: typing.Iterable[str], enabled: bool) -> Parameters:
    """Returns the parameters with the named stages switched on or off."""
    for name in names:
        field = stage_field(name)
        stage = dataclasses.replace(getattr(parameters, field), enabled=enabled)
        parameters = dataclasses.replace(parameters, **{field: stage})
    return parameters


def built(values: Any) -> Parameters:
    """Returns the parameters of nested dictionaries that hold all of them; ValueError in one line for a wrong entry."""
    from leafwise.envs.starship import schema

    schema.read(values, schema.struct(Parameters), "parameters")
    return typing.cast(Parameters, _made(Parameters, values))


def _made(kind: Any, values: Mapping[str, Any]) -> Any:
    kinds = typing.get_type_hints(kind)
    return kind(**{name: _made_field(kinds[name], x) for name, x in values.items()})


def _made_field(kind: Any, value: Any) -> Any:
    if isinstance(value, Mapping):
        return _made(kind, value)
    return tuple(value) if isinstance(value, list) else value


def _merged(base: Any, changes: Any) -> Any:
    """Returns nested dictionaries with some entries changed."""
    if not (isinstance(base, dict) and isinstance(changes, dict)):
        return changes
    return base | {name: _merged(base.get(name), change) for name, change in changes.items()}


def toml_values(text: str) -> dict[str, Any]:
    """Returns the entries of a settings file; raises ValueError in one line if it is no TOML."""
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as problem:  # a ValueError of its own, or of a number of thousands of digits
        raise UserError(f"parameters should be TOML: {problem}") from None


def from_toml(text: str) -> Parameters:
    """Returns parameters from TOML: `preset` names the base (classic if absent), one table for each changed stage."""
    values = toml_values(text)
    name = values.get("preset", "classic")
    return changed(PRESETS.get(name, CLASSIC) if isinstance(name, str) else CLASSIC, values)


def changed(base: Parameters, changes: Mapping[str, Any]) -> Parameters:
    """Returns parameters with some entries of nested dictionaries changed; ValueError in one line for a wrong entry."""
    return built(_merged(dataclasses.asdict(base), changes))


def changes_from(base: Any, other: Any) -> dict[str, Any]:
    """Returns what `changed` needs to make of parameters, or nested dictionaries, other ones."""
    if dataclasses.is_dataclass(base):
        base, other = dataclasses.asdict(base), dataclasses.asdict(other)  # type: ignore[arg-type]
    found = {}
    for name, value in other.items():
        if value != base[name]:
            found[name] = changes_from(base[name], value) if isinstance(value, dict) else value
    return found


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
    if isinstance(value, tuple):
        return f"[{', '.join(map(_toml, value))}]"
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
