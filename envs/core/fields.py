"""Options as fields of a dataclass: their types and docstrings from the source, and their values by name, from text and from
files.

Imports no game, so that a command line can read options without one.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
import inspect
import itertools
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from leafwise.envs.core.errors import UserError, asked_of_plugin
from leafwise.envs.core.files import read_small_text, read_text


def types_of(options: Any) -> dict[str, str]:
    """Returns the type of each option of a dataclass (or instance) as in the source: `int | None`."""
    return {field.name: _written_type(field.type) for field in dataclasses.fields(options)}


def _written_type(kind) -> str:
    """Returns a type as in the source, without the range beside it."""
    text = kind.__name__ if isinstance(kind, type) else str(kind)
    return text.removeprefix("Annotated[").partition(",")[0] if text.startswith("Annotated[") else text


def texts_of(source: Path, class_name: str, without: str = "") -> dict[str, str]:
    """Returns the docstring of each field of a dataclass, read from its source without importing it.

    Fields whose default is a call with a keyword `without` are left out.
    """
    module = ast.parse(read_text(source))
    body = next(one.body for one in module.body if isinstance(one, ast.ClassDef) and one.name == class_name)
    return {
        field.target.id: inspect.cleandoc(text.value.value)
        for field, text in itertools.pairwise(body)
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
        if isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant) and isinstance(text.value.value, str)
        if without not in (key.arg for key in getattr(field.value, "keywords", ()))
    }


@functools.cache
def docs_of(options: type[Any]) -> dict[str, str]:
    """Returns the docstring of each field of a dataclass."""
    return texts_of(Path(sys.modules[options.__module__].__file__ or ""), options.__name__)


def options_from_text(
    types: Mapping[str, str], texts: Mapping[str, str], flag: Callable[[str], str] = str
) -> dict[str, Any]:
    """Converts options given as text, each to its type as `types_of` returns it.

    `none` means None if the type allows it. Raises ValueError, which calls an option `flag(name)`, for a text that does not
    fit. All names in `texts` must be in `types`.
    """
    return {name: _converted(types[name], text, flag(name)) for name, text in texts.items()}


_READERS: dict[str, tuple[Callable[[str], Any], str]] = {
    "bool": (lambda text: {"true": True, "false": False}[text], "true or false"),
    "int": (int, "INT"),
    "float": (float, "FLOAT"),
    "None": (lambda text: {"none": None}[text], "none"),
    "str": (str, "STR"),
}


def _converted(kind: str, text: str, shown: str):
    kinds = sorted(kind.split(" | "), key=list(_READERS).index)  # str accepts everything and comes last
    for one in kinds:
        try:
            return _READERS[one][0](text)
        except (ValueError, KeyError):
            continue
    expected = " or ".join(_READERS[one][1] for one in kinds)
    raise UserError(f"expected {expected} for {shown}, got {text!r}")


RULE_ONLY = {"rule_only": True}
"""Metadata of a field that no network sees: a model of one variant serves another that differs only in such options."""
SHOWN_ONLY = RULE_ONLY | {"shown_only": True}
"""Metadata of such a field that changes what environments show, but no rule."""
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
    """Returns the metadata of a field whose text Python and the command line may also read from a file.

    `is_text` says whether a string is such a text, not the path of a file. The dataclass gets only the text. So a game opens no
    file that an option names, because options also come from model files and requests of other people.
    """
    return {FROM_FILE: is_text}


def with_files_read(game: str, options: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    """Returns options from Python or a command line, with the contents of files in place of their paths.

    `options` is the game's dataclass. Never call it with options from other people: requests, games as text, models' metadata,
    runs. Raises ValueError for a file that cannot be read.
    """
    kinds = {one.name: one.metadata[FROM_FILE] for one in dataclasses.fields(options) if FROM_FILE in one.metadata}
    values = dict(given)
    for name in kinds.keys() & given.keys():
        value = given[name]
        is_text = isinstance(value, str) and (not value or asked_of_plugin(functools.partial(kinds[name], value)))
        if isinstance(value, os.PathLike) or (isinstance(value, str) and not is_text):
            path = os.fspath(value)
            try:
                values[name] = read_small_text(Path(path))
            except OSError:
                raise UserError(f"{game}: expected {name} as the path of a file, got {path!r:.300}") from None
            except ValueError as problem:
                raise UserError(f"{game}: {problem}") from None
    return values
