"""Ranges beside types: what fits comes in one type, all else is refused in one line."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import pytest

from leafwise.envs.core.errors import UserError
from leafwise.envs.core.ranges import (
    OneOf,
    Range,
    Share,
    check_fields,
    limits_of,
    need_among,
    need_in,
    ranged,
    settle_fields,
)

if TYPE_CHECKING:
    from leafwise.envs.core.contract.game import Game

CLOCK = OneOf(("wall", "cpu"))


@dataclasses.dataclass(frozen=True)
class Options:
    games: Annotated[int, Range(1, 1000)] = 10
    seconds: Annotated[float | None, Range(0, 1e6, above=True)] = None
    share: Share = 0.5
    clock: Annotated[str, CLOCK] = "wall"
    fast: bool = False
    name: str = ""


@dataclasses.dataclass(frozen=True)
class Fewer(Options):
    games: Annotated[int, Range(1, 9)] = 3
    name: Annotated[str, OneOf(("", "a"))] = "a"


@pytest.mark.parametrize(
    ("limit", "words"),
    [
        (Range(1, 64), "of 1 to 64"),
        (Range(1, 10_000_000, unit="games"), "of 1 to 10,000,000 games"),
        (Range(0, 2**64 - 1), "of 0 to 2**64 - 1"),
        (Range(1e-9, 2**62), "of 1e-09 to 2**62"),
        (Range(2), "of at least 2"),
        (Range(high=5), "at most 5"),
        (Range(0, above=True), "above 0"),
        (Range(0, 1, above=True), "above 0 and at most 1"),
        (Range(0, 1, below=True), "of at least 0 and below 1"),
        (OneOf(("a", 1)), "among a, 1"),
    ],
)
def test_a_range_in_words(limit: Any, words: str) -> None:
    assert str(limit) == words


def test_the_ends_of_a_range() -> None:
    assert [x in Range(0, 1) for x in (-0.1, 0, 1, 1.1, math.nan)] == [False, True, True, False, False]
    assert [x in Range(0, 1, above=True, below=True) for x in (0, 0.5, 1, math.nan)] == [False, True, False, False]
    values: list[Any] = [0, 1, True, 1.0, "1", []]
    assert [x in OneOf((0, 1)) for x in values] == [True, True, False, False, False, False]


def test_numbers_come_in_one_type() -> None:
    found = check_fields(Options(games=np.int32(7), seconds=2, share=np.float32(0.5), fast=np.bool_(True)))  # type: ignore[arg-type]
    assert found == Options(games=7, seconds=2.0, share=0.5, fast=True)
    assert [type(value) for value in vars(found).values()] == [int, float, float, str, bool, str]
    assert check_fields(Fewer()) == Fewer()


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"games": 0}, "games of 1 to 1,000, got 0"),
        ({"games": 2.5}, "games of 1 to 1,000, got 2.5"),
        ({"games": True}, "games of 1 to 1,000, got True"),
        ({"games": "7"}, "games of 1 to 1,000, got '7'"),
        ({"games": None}, "games of 1 to 1,000, got None"),
        ({"seconds": 0}, "seconds above 0 and at most 1,000,000, got 0"),
        ({"seconds": 10**400}, "seconds above 0 and at most 1,000,000, got 1000000"),
        ({"share": math.nan}, "share of 0 to 1, got nan"),
        ({"clock": "sun"}, "clock among wall, cpu, got 'sun'"),
        ({"fast": 1}, "fast as True or False, got 1"),
    ],
)
def test_what_does_not_fit_is_refused(given: dict[str, Any], problem: str) -> None:
    with pytest.raises(UserError) as refused:
        check_fields(Options(**given))
    assert str(refused.value).startswith(f"expected {problem}")
    assert len(str(refused.value)) < 200
    with pytest.raises(UserError, match=r"^arena: expected --"):
        check_fields(Options(**given), "arena", "--{}".format)


def test_a_class_says_anew_what_its_fields_may_be() -> None:
    assert limits_of(Options) == {
        "games": Range(1, 1000),
        "seconds": Range(0, 1e6, above=True),
        "share": Range(0, 1),
        "clock": CLOCK,
    }
    assert limits_of(Fewer) == {**limits_of(Options), "games": Range(1, 9), "name": OneOf(("", "a"))}
    with pytest.raises(UserError, match="expected games of 1 to 9, got 10"):
        check_fields(Fewer(games=10))


def test_a_functions_arguments_are_checked_when_they_are_given() -> None:
    @ranged("solver")
    def solve(
        game: Game, n: Annotated[int, Range(1, 9)], *, table_mb: Annotated[float | None, Range(1)] = None
    ) -> tuple[Any, int, float | None]:
        """Solves."""
        return game, n, table_mb

    anything: Any = "a game"
    assert solve(anything, np.int64(3), table_mb=2) == ("a game", 3, 2.0)  # type: ignore[arg-type]
    assert solve(anything, n=3) == ("a game", 3, None)
    assert solve.__doc__ == "Solves."
    with pytest.raises(UserError, match=r"^solver: expected n of 1 to 9, got 0$"):
        solve(anything, 0)
    with pytest.raises(UserError, match=r"^solver: expected table_mb of at least 1, got 0$"):
        solve(anything, 1, table_mb=0)
    with pytest.raises(TypeError, match="missing a required argument: 'n'"):
        solve(anything)  # type: ignore[call-arg]


def test_single_values() -> None:
    assert need_in(np.uint8(3), Range(0, 5), "seats", kind=int) == 3
    with pytest.raises(UserError, match=r"^x: expected seats of 0 to 5, got 6$"):
        need_in(6, Range(0, 5), "seats", "x", int)
    need_among("b", ("a", "b"), "level")
    with pytest.raises(UserError, match=r"^expected level among a, b, got 'c'$"):
        need_among("c", ("a", "b"), "level")


@dataclasses.dataclass(frozen=True)
class OfAGame:
    size: Annotated[int, Range(3, 9)] = 7
    turns: Annotated[int | None, Range(1, 60)] = None
    shown: bool = False

    def __post_init__(self) -> None:
        settle_fields(self, "trap")


def test_a_frozen_dataclass_settles_its_own_fields() -> None:
    found = OfAGame(size=np.int64(5))  # type: ignore[arg-type]
    assert (found.size, type(found.size), found.turns) == (5, int, None)
    with pytest.raises(UserError, match=r"^trap: expected turns of 1 to 60, got 0$"):
        OfAGame(turns=0)
    with pytest.raises(UserError, match=r"^trap: expected shown as True or False, got 1$"):
        OfAGame(shown=1)  # type: ignore[arg-type]
