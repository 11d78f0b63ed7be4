"""Ranges that stand beside the types of options and arguments, and what checks them.

@dataclass(frozen=True)
class Config:
    games: Annotated[int, Range(1, 1000)] = 100
    clock: Annotated[str, OneOf(("wall", "cpu"))] = "wall"

check_fields(Config(games=0))           # expected games of 1 to 1,000, got 0

@ranged("solver")
def solve(game: Game, table_mb: Annotated[float, Range(0, 65536, above=True)]) -> ...
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import math
import operator
import sys
import typing
from collections.abc import Callable, Iterable, Mapping
from numbers import Real
from types import MappingProxyType
from typing import Annotated, Any, TypeVar

from leafwise.envs.core.errors import UserError, short

D = TypeVar("D")
F = TypeVar("F", bound=Callable[..., Any])


@dataclasses.dataclass(frozen=True)
class Range:
    """Numbers from `low` to `high`, both included but for `above` and `below`."""

    low: float = -math.inf
    high: float = math.inf
    above: bool = False
    """Only numbers above `low` are in it."""
    below: bool = False
    """Only numbers below `high` are in it."""
    unit: str = ""
    """What is counted, for messages: "games"."""

    def __contains__(self, number: float) -> bool:
        low = self.low < number if self.above else self.low <= number
        return low and (number < self.high if self.below else number <= self.high)

    def __str__(self) -> str:
        """Returns the range as a message says it: "of 1 to 64"."""
        low, high = shown(self.low), shown(self.high)
        if self.above or self.below or math.isinf(self.low) or math.isinf(self.high):
            least = "" if math.isinf(self.low) else f"above {low}" if self.above else f"of at least {low}"
            most = "" if math.isinf(self.high) else f"below {high}" if self.below else f"at most {high}"
            words = " and ".join(filter(None, (least, most))) or "of any size"
        else:
            words = f"of {low} to {high}"
        return f"{words} {self.unit}".rstrip()


@dataclasses.dataclass(frozen=True)
class OneOf:
    """One of some values, each of its own type: True is not 1; but a text may be of a class of its own."""

    choices: tuple[Any, ...]
    meanings: tuple[str, ...] = ()
    """What each choice means, in the same order; empty: their names say it."""

    @classmethod
    def described(cls, meanings: Mapping[Any, str]) -> OneOf:
        """Returns the choices with what each means: `OneOf.described({"wall": "seconds on the clock", ...})`."""
        return cls(tuple(meanings), tuple(meanings.values()))

    def __contains__(self, value: object) -> bool:
        text = isinstance(value, str)
        return any((text or type(value) is type(choice)) and value == choice for choice in self.choices)

    def __str__(self) -> str:
        """Returns the choices as a message lists them, members of an Enum by their values: "among wall, cpu"."""
        return f"among {', '.join(str(getattr(choice, 'value', choice)) for choice in self.choices) or 'none'}"


Limit = Range | OneOf
Share = Annotated[float, Range(0, 1)]
"""A share of something."""


def shown(number: float) -> str:
    """Returns a number for people: 1,000, 2**64 - 1, 1e-09."""
    if isinstance(number, float) and not (number.is_integer() and abs(number) < 1 << 53):
        return f"{number:g}"
    number = int(number)
    for power, more in ((number, ""), (number + 1, " - 1")):
        if power >= 1 << 31 and power & (power - 1) == 0:
            return f"2**{power.bit_length() - 1}{more}"
    return f"{number:,}"


def need_in(value: Any, limit: Limit, name: str, who: str = "", kind: type = float) -> Any:
    """Returns a value that is within its limit, a number as the type `kind`.

    Raises UserError, `WHO: expected NAME of 1 to 64, got 65`, for another; True is no number, and for `kind` int none with a
    fraction is one.
    """
    found = value
    if isinstance(limit, Range):
        found = _number(value, kind)
    if found is None or found not in limit:
        raise UserError(f"{who and f'{who}: '}expected {name} {limit}, got {short(repr(value))}")
    return found


def need_among(value: Any, choices: Iterable[Any], name: str, who: str = "") -> None:
    """Raises UserError, `WHO: expected NAME among ...`, for a value that is none of the choices."""
    need_in(value, OneOf(tuple(choices)), name, who)


def need_switch(value: Any, name: str, who: str = "") -> bool:
    """Returns True or False; raises UserError for anything else, 0 and 1 too."""
    if type(value).__name__ not in ("bool", "bool_"):  # numpy's own, which is not imported for it
        raise UserError(f"{who and f'{who}: '}expected {name} as True or False, got {short(repr(value))}")
    return bool(value)


def _number(value, kind: type):
    """Returns a value as a number of a type, None for what is none."""
    try:
        if isinstance(value, bool):
            return None
        if kind is int:
            return operator.index(value)
        return float(value) if isinstance(value, Real) else None
    except (TypeError, OverflowError):
        return None


class _Checked(typing.NamedTuple):
    """What is known of an option or argument that is checked."""

    kind: type
    limit: Limit | None
    """None: True or False."""
    optional: bool


def _checked(annotation, scope: dict[str, Any], switches: bool) -> _Checked | None:
    """Returns what an annotation says to check, None if it says nothing."""
    if isinstance(annotation, str):
        try:
            annotation = eval(annotation, scope)
        except NameError:  # a name that type checkers alone import: no range is one of those
            return None
    limits = [one for one in getattr(annotation, "__metadata__", ()) if isinstance(one, Limit)]
    base = annotation.__origin__ if typing.get_origin(annotation) is Annotated else annotation
    kinds = typing.get_args(base) or (base,)
    optional = type(None) in kinds
    kind = next((one for one in kinds if one in (bool, int, float, str)), None)
    if limits:
        return _Checked(kind or object, limits[0], optional)
    return _Checked(bool, None, optional) if switches and kind is bool else None


def _fitted(value, told: _Checked, name: str, who: str):
    """Returns a value as `told` says; raises UserError for another."""
    if value is None and told.optional:
        return None
    return need_switch(value, name, who) if told.limit is None else need_in(value, told.limit, name, who, told.kind)


@functools.cache
def _of_class(options: type) -> Mapping[str, _Checked]:
    found: dict[str, _Checked] = {}
    for owner in reversed(options.__mro__):
        scope = vars(sys.modules[owner.__module__])
        for name, annotation in inspect.get_annotations(owner).items():
            if (told := _checked(annotation, scope, switches=True)) is not None:
                found[name] = told
            else:
                found.pop(name, None)
    return MappingProxyType(found)


def limits_of(options: type) -> dict[str, Limit]:
    """Returns the limits that stand beside the types of a dataclass's fields, by their names."""
    return {name: told.limit for name, told in _of_class(options).items() if told.limit is not None}


def _fitted_fields(options: Any, who: str, shown: Callable[[str], str] = str) -> dict[str, Any]:
    kind: Any = type(options)
    return {name: _fitted(getattr(options, name), told, shown(name), who) for name, told in _of_class(kind).items()}


def check_fields(options: D, who: str = "", shown: Callable[[str], str] = str) -> D:
    """Returns a dataclass of options whose numbers are in one type each; raises UserError for one that is not within its limit.

    The message begins with `who`, and calls a field `shown(name)`.
    """
    return dataclasses.replace(options, **_fitted_fields(options, who, shown))  # type: ignore[type-var]


def settle_fields(options: Any, who: str) -> None:
    """Puts the numbers of a frozen dataclass into one type each, in its own `__post_init__`.

    Raises UserError, `WHO: expected NAME of 3 to 9, got 10`, for one that is not within the limit beside its type.
    """
    for name, value in _fitted_fields(options, who).items():
        object.__setattr__(options, name, value)


def ranged(who: str = "") -> Callable[[F], F]:
    """Returns a decorator of a function: its arguments come in one type each, or are refused as their annotations say."""

    def wrap(function: F) -> F:
        signature = inspect.signature(function)

        @functools.cache
        def told() -> Mapping[str, _Checked]:
            annotations = inspect.get_annotations(function)
            known = {name: _checked(one, function.__globals__, switches=False) for name, one in annotations.items()}
            return {name: one for name, one in known.items() if one is not None and name != "return"}

        @functools.wraps(function)
        def call(*args, **given):
            bound = signature.bind(*args, **given)
            for name, one in told().items():
                if name in bound.arguments:
                    bound.arguments[name] = _fitted(bound.arguments[name], one, name, who)
            return function(*bound.args, **bound.kwargs)

        return typing.cast("F", call)

    return wrap
