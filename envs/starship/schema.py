"""What parameters must look like, and one line for an entry that does not.

Imported when something is read: whoever only plays needs no msgspec.
"""

from __future__ import annotations

import dataclasses
import functools
import re
import reprlib
import typing
from typing import Annotated, Any

import msgspec
from msgspec import Meta, inspect

from leafwise.envs.core.errors import UserError
from leafwise.envs.starship.parameters import LARGEST, OPTIONAL

GREATEST = 1e300
"""Numbers of greater size are taken for infinite."""


@functools.cache
def struct(kind: type, without: tuple[str, ...] = ()) -> Any:
    """Returns a dataclass as a struct with the same fields and no others, all of them required but those of `OPTIONAL`."""
    hints = typing.get_type_hints(kind, include_extras=True)
    defaults = {field.name: field.default for field in dataclasses.fields(kind)}
    fields: list[Any] = [(name, _bounded(hint)) for name, hint in hints.items() if name not in (*without, *OPTIONAL)]
    fields += [(name, _bounded(hints[name]), defaults[name]) for name in hints if name in OPTIONAL]
    return msgspec.defstruct(kind.__name__, fields, forbid_unknown_fields=True)


def _bounded(hint: Any) -> Any:
    """Returns the type of a field: integers from 0 to LARGEST, or in the `range` that they are annotated with."""
    if dataclasses.is_dataclass(hint):
        return struct(typing.cast(type, hint))
    allowed = (
        hint.__metadata__[0] if typing.get_origin(hint) is Annotated else range(LARGEST + 1) if hint is int else None
    )
    return hint if allowed is None else whole(allowed.start, allowed.stop - 1)


def whole(low: int, high: int) -> Any:
    """Returns the type of the integers from `low` to `high`."""
    return Annotated[int, Meta(ge=low, le=high)]


def read(values: Any, kind: Any, name: str) -> Any:
    """Returns plain data as a `kind`; raises ValueError that names the entry (or `name`), what it should be and what it is."""
    try:
        return msgspec.convert(values, kind)
    except msgspec.ValidationError as problem:
        raise UserError(_told(str(problem), values, inspect.type_info(kind), name)) from None


def _told(problem: str, values: Any, kind: inspect.Type, name: str) -> str:
    """Returns msgspec's message, `WHAT` or `` WHAT - at `$.thrusters.min_score` ``, in the words of this room."""
    message, found, path = problem.rpartition(" - at `$")
    where = ""
    for step in re.findall(r"[^.\[\]`]+|\.\.\.", path if found else ""):
        if isinstance(kind, inspect.StructType) and step in values:
            where, kind = f"{where}.{step}", next(field.type for field in kind.fields if field.name == step)
        elif isinstance(kind, inspect.ListType | inspect.TupleType):
            where, step = f"{where}[{step}]", int(step)
            kind = kind.item_type if isinstance(kind, inspect.ListType) else kind.item_types[step]
        elif isinstance(kind, inspect.VarTupleType):
            where, step, kind = f"{where}[{step}]", int(step), kind.item_type
        elif isinstance(kind, inspect.DictType):  # msgspec does not say which entry
            step = next(key for key, value in values.items() if not _is_number(value))
            where, kind = f"{where}.{reprlib.repr(step)}", kind.value_type
        else:
            break
        values = values[step]
    where = where.removeprefix(".") or name
    field = re.fullmatch(r"Object (contains unknown|missing required) field `(.*)`", message or problem, re.DOTALL)
    if field and isinstance(kind, inspect.StructType):
        known = ", ".join(known.name for known in kind.fields)
        if field[1] == "missing required":
            return f"{where} should have {known}; {field[2]!r} is missing"
        return f"{where} has no {reprlib.repr(field[2])}; known: {known}"
    return f"{where} should be {_expected(kind)}, got {reprlib.repr(values)}"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= GREATEST


def _expected(kind: inspect.Type) -> str:
    """Returns in words what values a type has."""
    match kind:
        case inspect.IntType(ge=low, le=None):
            return f"an integer from {low} on"
        case inspect.IntType(ge=low, le=high):
            return f"an integer from {low} to {high}"
        case inspect.LiteralType(values=values):
            return f"one of {', '.join(map(str, values))}"
        case inspect.ListType(min_length=length, max_length=most):
            return f"a list of {length}" if length == most else f"a list of at most {most}"
        case inspect.VarTupleType():
            return "a list of texts"
        case inspect.TupleType(item_types=kinds):
            return f"a list of {len(kinds)}"
        case inspect.StrType(max_length=None):
            return "a text"
        case inspect.StrType(max_length=length):
            return f'{length} characters "." or " "'
    return {inspect.BoolType: "true or false", inspect.FloatType: "a finite number"}.get(type(kind), "an object")
