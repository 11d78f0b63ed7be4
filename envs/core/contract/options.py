"""Options of a game: one frozen dataclass in its room, checked by its `__post_init__`."""

from __future__ import annotations

import dataclasses
import functools
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from leafwise.envs.core.errors import UserError, asked_of_plugin
from leafwise.envs.core.textfile import read_small_text

RULE_ONLY = {"rule_only": True}
"""Metadata of a field that no network sees: a model of one variant serves another that differs in such options alone."""
SHOWN_ONLY = RULE_ONLY | {"shown_only": True}
"""Metadata of such a field that changes what environments show, and no rule."""
FROM_FILE = "from_file"


@dataclasses.dataclass(frozen=True)
class NoOptions:
    """The options of a game that has none."""


def values_of(options: Any) -> dict[str, Any]:
    """Returns options by name."""
    return {field.name: getattr(options, field.name) for field in dataclasses.fields(options)}


def marked(options: Any, mark: str) -> tuple[str, ...]:
    """Returns the names of the options whose metadata has a mark: "rule_only", "shown_only"."""
    return tuple(field.name for field in dataclasses.fields(options) if field.metadata.get(mark))


def from_file(is_text: Callable[[str], bool]) -> dict[str, Any]:
    """Returns the metadata of a field whose value is the text of a file, which callers in Python and command lines may name.

    `is_text` says of a string whether it is such a text rather than a path. The dataclass itself sees texts alone: a game opens
    no file that an option names, since options are also told by files, models and requests of others.
    """
    return {FROM_FILE: is_text}


def with_files_read(game: str, options: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    """Returns options given in Python or on a command line, with the texts of files in place of their paths.

    `options` is the game's dataclass. What others tell (a request, a game's text, a model's metadata, a run's options) never
    comes here. Raises ValueError for a file that cannot be read.
    """
    kinds = {one.name: one.metadata[FROM_FILE] for one in dataclasses.fields(options) if FROM_FILE in one.metadata}
    found = dict(given)
    for name in kinds.keys() & given.keys():
        value = given[name]
        is_text = isinstance(value, str) and (not value or asked_of_plugin(functools.partial(kinds[name], value)))
        if isinstance(value, os.PathLike) or (isinstance(value, str) and not is_text):
            path = os.fspath(value)
            try:
                found[name] = read_small_text(Path(path))
            except OSError:
                raise UserError(f"{game}: expected {name} as the path of a file, got {path!r:.300}") from None
            except ValueError as problem:
                raise UserError(f"{game}: {problem}") from None
    return found
