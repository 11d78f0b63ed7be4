"""Ranges beside the types of options and arguments, and functions that check them.

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
    """Numbers from `low` to `high`, including both except with `above` and `below`."""

    low: float = -math.inf
    high: float = math.inf
    above: bool = False
    """Excludes `low`."""
    below: bool = False
    """Excludes `high`."""
    unit: str = ""
    """The unit, for messages: "games"."""

    def __post_init__(self) -> None:
        """Raises ValueError for ends that are not numbers, or a low end above the high one."""
        if not (isinstance(self.low, Real) and isinstance(self.high, Real) and self.low <= self.high):
            raise UserError(f"range: expected low at most high, both numbers, got {self.low!r} and {self.high!r}")

    def __contains__(self, number: float) -> bool:
        low = self.low < number if self.above else self.low <= number
        return low and (number < self.high if self.below else number <= self.high)

    def __str__(self) -> str:
        """Returns the range for a message: "of 1 to 64"."""
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
    """A choice among some values. The type must be the same too: True is not 1. A text may be of a subclass of `str`."""

    choices: tuple[Any, ...]
    meanings: tuple[str, ...] = ()
    """The meaning of each choice, in the same order; empty: the names suffice."""

    @classmethod
    def described(cls, meanings: Mapping[Any, str]) -> OneOf:
        """Returns the choices with their meanings: `OneOf.described({"wall": "seconds on the clock", ...})`."""
        return cls(tuple(meanings), tuple(meanings.values()))

    def __contains__(self, value: object) -> bool:
        text = isinstance(value, str)
        return any((text or type(value) is type(choice)) and value == choice for choice in self.choices)

    def __str__(self) -> str:
        """Returns the choices for a message, members of an Enum by their values: "among wall, cpu"."""
        return f"among {', '.join(str(getattr(choice, 'value', choice)) for choice in self.choices) or 'none'}"


Limit = Range | OneOf
Share = Annotated[float, Range(0, 1)]
"""A share, 0 to 1."""


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
    """Returns a value within its limit, a number as the type `kind`.

    Raises UserError, `WHO: expected NAME of 1 to 64, got 65`, for another. True is not a number, and a number with a fraction
    is not an int.
    """
    checked = value
    if isinstance(limit, Range):
        checked = _number(value, kind)
    if checked is None or checked not in limit:
        raise UserError(f"{who and f'{who}: '}expected {name} {limit}, got {short(repr(value))}")
    return checked


def is_number_in(value: Any, limit: Range, kind: type = float) -> bool:
    """Whether a value is a number of the type `kind` in a range; True is not a number."""
    number = _number(value, kind)
    return number is not None and number in limit


def need_among(value: Any, choices: Iterable[Any], name: str, who: str = "") -> None:
    """Raises UserError, `WHO: expected NAME among ...`, for a value outside the choices."""
    need_in(value, OneOf(tuple(choices)), name, who)


def need_switch(value: Any, name: str, who: str = "") -> bool:
    """Returns True or False; raises UserError for anything else, also for 0 and 1."""
    if type(value).__name__ not in ("bool", "bool_"):  # numpy's, without importing it
        raise UserError(f"{who and f'{who}: '}expected {name} as True or False, got {short(repr(value))}")
    return bool(value)


def _number(value, kind: type):
    """Returns a value as a number of a type; None if it is not one."""
    try:
        if isinstance(value, bool):
            return None
        if kind is int:
            return operator.index(value)
        return float(value) if isinstance(value, Real) else None
    except (TypeError, OverflowError):
        return None


class _Checked(typing.NamedTuple):
    """What to check of an option or argument."""

    kind: type
    limit: Limit | None
    """None: it must be True or False."""
    optional: bool


def _checked(annotation, scope: dict[str, Any], switches: bool) -> _Checked | None:
    """Returns what to check by an annotation; None for nothing."""
    if isinstance(annotation, str):
        try:
            annotation = eval(annotation, scope)
        except NameError:  # a name imported for type checkers only, so not a range
            return None
    limits = [one for one in getattr(annotation, "__metadata__", ()) if isinstance(one, Limit)]
    base = annotation.__origin__ if typing.get_origin(annotation) is Annotated else annotation
    kinds = typing.get_args(base) or (base,)
    optional = type(None) in kinds
    kind = next((one for one in kinds if one in (bool, int, float, str)), None)
    if limits:
        return _Checked(kind or object, limits[0], optional)
    return _Checked(bool, None, optional) if switches and kind is bool else None


def _fitted(value, check: _Checked, name: str, who: str):
    """Returns a value in the type of its check; raises UserError if it fails."""
    if value is None and check.optional:
        return None
    return need_switch(value, name, who) if check.limit is None else need_in(value, check.limit, name, who, check.kind)


@functools.cache
def _of_class(options: type) -> Mapping[str, _Checked]:
    checks: dict[str, _Checked] = {}
    for owner in reversed(options.__mro__):
        scope = vars(sys.modules[owner.__module__])
        for name, annotation in inspect.get_annotations(owner).items():
            if (check := _checked(annotation, scope, switches=True)) is not None:
                checks[name] = check
            else:
                checks.pop(name, None)
    return MappingProxyType(checks)


def limits_of(options: type) -> dict[str, Limit]:
    """Returns the limits beside the types of a dataclass's fields, by name."""
    return {name: check.limit for name, check in _of_class(options).items() if check.limit is not None}


def _fitted_fields(options: Any, who: str, shown: Callable[[str], str] = str) -> dict[str, Any]:
    kind: Any = type(options)
    return {name: _fitted(getattr(options, name), check, shown(name), who) for name, check in _of_class(kind).items()}


def check_fields(options: D, who: str = "", shown: Callable[[str], str] = str) -> D:
    """Returns a dataclass of options with each number in one type; raises UserError for a number outside its limit.

    The message begins with `who`, and calls a field `shown(name)`.
    """
    return dataclasses.replace(options, **_fitted_fields(options, who, shown))  # type: ignore[type-var]


def settle_fields(options: Any, who: str) -> None:
    """Converts the numbers of a frozen dataclass to the types of their fields; call it in its `__post_init__`.

    Raises UserError, `WHO: expected NAME of 3 to 9, got 10`, for a number outside the limit beside its type.
    """
    for name, value in _fitted_fields(options, who).items():
        object.__setattr__(options, name, value)


def ranged(who: str = "") -> Callable[[F], F]:
    """Returns a decorator that converts a function's arguments to one type each, or refuses them, by their annotations."""

    def wrap(function: F) -> F:
        signature = inspect.signature(function)

        @functools.cache
        def checks() -> Mapping[str, _Checked]:
            annotations = inspect.get_annotations(function)
            known = {name: _checked(one, function.__globals__, switches=False) for name, one in annotations.items()}
            return {name: one for name, one in known.items() if one is not None and name != "return"}

        @functools.wraps(function)
        def call(*args, **given):
            bound = signature.bind(*args, **given)
            for name, one in checks().items():
                if name in bound.arguments:
                    bound.arguments[name] = _fitted(bound.arguments[name], one, name, who)
            return function(*bound.args, **bound.kwargs)

        return typing.cast("F", call)

    return wrap
