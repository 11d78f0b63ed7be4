"""Options of a game: one frozen dataclass in its room, checked by its `__post_init__`; and the same options from text.

Imports nothing, so that a command line can read a game's options without the game.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

RULE_ONLY = {"rule_only": True}
"""Metadata of a field that no network sees: a model of one variant serves another that differs in such options alone."""


@dataclasses.dataclass(frozen=True)
class NoOptions:
    """The options of a game that has none."""


NO_OPTIONS = NoOptions()


def values_of(options: Any) -> dict[str, Any]:
    """Returns options by name."""
    return {field.name: getattr(options, field.name) for field in dataclasses.fields(options)}


def types_of(options: Any) -> dict[str, str]:
    """Returns the type of each option of a dataclass (or instance) as it is written: `int | None`."""
    types = {field.name: field.type for field in dataclasses.fields(options)}
    return {name: kind.__name__ if isinstance(kind, type) else str(kind) for name, kind in types.items()}


def rule_only(options: Any) -> tuple[str, ...]:
    """Returns the names of the options that no network sees."""
    return tuple(field.name for field in dataclasses.fields(options) if field.metadata.get("rule_only"))


def options_from_text(
    types: Mapping[str, str], texts: Mapping[str, str], flag: Callable[[str], str] = str
) -> dict[str, Any]:
    """Returns the options that were written as text, each converted to its type, as `types_of` says it.

    `none` stands for None where there is such a choice. Raises ValueError, which calls an option `flag(name)`, for a text that
    does not fit. All names in `texts` are in `types`.
    """
    return {name: _converted(types[name], text, flag(name)) for name, text in texts.items()}


_READERS: dict[str, tuple[Callable[[str], Any], str]] = {
    "bool": (lambda text: {"true": True, "false": False}[text], "true or false"),
    "int": (int, "INT"),
    "float": (float, "FLOAT"),
    "None": (lambda text: {"none": None}[text], "none"),
    "str": (str, "STR"),
}


def _converted(kind: str, text: str, shown: str) -> Any:
    kinds = sorted(kind.split(" | "), key=list(_READERS).index)  # text, which takes everything, is tried last
    for one in kinds:
        try:
            return _READERS[one][0](text)
        except (ValueError, KeyError):
            continue
    expected = " or ".join(_READERS[one][1] for one in kinds)
    raise ValueError(f"expected {expected} for {shown}, got {text!r}")


def need_one_of(game: str, options: Any, choices: Mapping[str, tuple[Any, ...]]) -> None:
    """Raises ValueError for an option that is none of its choices, or of another type (True is not 1)."""
    for name, allowed in choices.items():
        given = getattr(options, name)
        if not any(type(given) is type(choice) and given == choice for choice in allowed):
            raise ValueError(f"{game}: expected {name} among {', '.join(map(str, allowed))}, got {given!r}")


def need_whole(game: str, options: Any, ranges: Mapping[str, tuple[int, int]]) -> None:
    """Raises ValueError for an option that is not a whole number of its range, both ends included."""
    for name, (low, high) in ranges.items():
        given = getattr(options, name)
        if type(given) is not int or not low <= given <= high:
            raise ValueError(f"{game}: expected {name} in {low}..{high}, got {given!r}")
