"""Fields of a dataclass as text: their types and docstrings as they are written, and their values read from text.

Imports no game, so that a command line can read options without it.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
import inspect
import itertools
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from leafwise.envs.core.errors import UserError
from leafwise.envs.core.textfile import read_text


def types_of(options: Any) -> dict[str, str]:
    """Returns the type of each option of a dataclass (or instance) as it is written: `int | None`."""
    return {field.name: _written_type(field.type) for field in dataclasses.fields(options)}


def _written_type(kind: Any) -> str:
    """Returns a type as it is written, without the range that stands beside it."""
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
    raise UserError(f"expected {expected} for {shown}, got {text!r}")
