"""Options: read from text by their types, checked against their ranges, compared with the defaults, and kept from networks."""

from __future__ import annotations

import dataclasses
import math
import pickle
from dataclasses import FrozenInstanceError, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import pytest

import leafwise
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.fields import from_file, options_from_text, types_of, with_files_read
from leafwise.envs.core.files import MAX_SMALL
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
from leafwise.training.runs.loop import find_variant

# Options: from text by their types, what differs from the defaults, and what no network sees.


MEANT: list[tuple[str, str, Any]] = [("starship", "parameters", {}), ("starship", "targets", {})]
"""Options that may be no short values."""
TYPES = {"n": "int", "p": "float", "name": "str", "on": "bool", "turns": "int | None", "label": "None | str"}


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("n", "7", 7), ("p", "7", 7.0), ("p", "1e-3", 0.001), ("name", "7x6", "7x6"), ("name", "none", "none"),
        ("on", "true", True), ("on", "false", False), ("turns", "50", 50), ("turns", "none", None),
        ("label", "none", None), ("label", "far", "far"),
    ],
)  # fmt: skip
def test_a_text_becomes_a_value_of_its_type(name: str, text: str, value: Any) -> None:
    result = options_from_text(TYPES, {name: text})[name]
    assert (result, type(result)) == (value, type(value))


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("n", "7.5", "INT"), ("n", "", "INT"), ("p", "far", "FLOAT"), ("on", "1", "true or false"),
        ("turns", "many", "INT or none"), ("turns", "None", "INT or none"),
    ],
)  # fmt: skip
def test_a_text_that_does_not_fit_is_one_line_with_the_users_word(name: str, text: str, expected: str) -> None:
    with pytest.raises(ValueError, match=f"^expected {expected} for --{name}, got {text!r}$"):
        options_from_text(TYPES, {name: text}, lambda name: f"--{name}")


def test_a_variant_is_written_with_an_option_whose_default_is_none() -> None:
    assert find_variant("trap", "max_turns=50,size=5") == leafwise.game("trap", size=5, max_turns=50)
    assert find_variant("trap", "max_turns=none") == leafwise.game("trap")
    with pytest.raises(ValueError, match=r"^expected INT or none for max_turns in --variant, got 'x'$"):
        find_variant("trap", "max_turns=x")


def test_options_are_one_frozen_object() -> None:
    trap = leafwise.game("trap", size=5)
    assert types_of(trap.options) == {
        "size": "int",
        "self_trap": "str",
        "max_turns": "int | None",
        "observe_turn": "bool",
    }
    assert (trap.options.size, trap.options.last_turn) == (5, 100)
    assert (trap.given_options, trap.rule_options) == ({"size": 5}, ("self_trap", "max_turns", "observe_turn"))
    assert dict(trap.defaults) == {"size": 7, "self_trap": "immediate", "max_turns": None, "observe_turn": False}
    assert pickle.loads(pickle.dumps(trap)) == trap == eval(repr(trap))
    assert len({trap, leafwise.game("trap", size=5), leafwise.game("trap")}) == 2
    with pytest.raises(FrozenInstanceError):
        trap.options.size = 6


@dataclass(frozen=True)
class Loose(type(leafwise.game("trilobite").options)):  # type: ignore[misc]
    """Options that check no types, as a plug-in's may be."""

    n: int = 1
    name: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.n < 1:
            raise ValueError("own: expected n of 1 or more")


def test_options_from_outside_are_refused_in_one_line() -> None:
    """Whatever they are called, also as the arguments of the functions on their way, and whatever their values are."""
    loose_game = replace(leafwise.game("trilobite"), name="own", ids={}, options=Loose())
    for name in ("name", "self", "game", "cls", "options", "", "x y", "x" * 10_000):
        with pytest.raises(ValueError, match=r"^trilobite: expected options among \(board, k\), got ") as refused:
            leafwise.game("trilobite", **{name: 1})
        assert len(str(refused.value)) < 200
    for game in leafwise.games():
        for name in leafwise.game(game).defaults:
            for value in ([1], {}, {"x": [1]}, [[]], 1e400, float("nan"), 10**40, b"x", object()):
                if (game, name, value) not in MEANT:
                    with pytest.raises(ValueError, match=rf"\A{game}: [^\n]+\Z"):
                        leafwise.game(game, **{name: value})
    assert loose_game.variant(name="x").options == Loose(name="x")  # a game may call an option so
    wrong: list[dict[str, Any]] = [{"n": "many"}, {"n": [2]}, {"name": ["x"]}, {"name": {}}, {"n": None}]
    for options in wrong:
        with pytest.raises(ValueError, match=r"^own: expected options of their types, got "):
            loose_game.variant(**options)


def test_an_option_is_completed() -> None:
    assert leafwise.game("trilobite", board="3X8", k=5) == leafwise.game("trilobite", board="3x8", k=5)


def test_the_same_options_are_the_same_game() -> None:
    small, large = leafwise.game("trilobite"), leafwise.game("trilobite", board="7x6", k=4)
    assert small.with_defaults is small
    assert small.variant(board="3x3") is small
    assert large.variant(k=4) is large
    assert large.with_defaults == small
    assert large.with_defaults is large.with_defaults
    assert small.variant(board="7x6", k=4) == large


@dataclass(frozen=True)
class Options:
    """Of a game with a text of lines, which may be told as a file."""

    book: str = field(default="", metadata=from_file(lambda text: "\n" in text))
    name: str = ""


def test_a_path_in_python_stands_for_the_text_of_its_file(tmp_path: Path) -> None:
    file = tmp_path / "book.txt"
    file.write_bytes(b"\xef\xbb\xbfe4\ne5\n")
    for path in (file, str(file)):
        assert with_files_read("nim", Options(), {"book": path}) == {"book": "e4\ne5\n"}
    same = {"book": "e4\n", "name": str(file)}  # a text already; an option that is no file's
    assert with_files_read("nim", Options(), same) == same
    file.write_bytes(b"x" * (MAX_SMALL + 1))
    with pytest.raises(ValueError, match=r"^nim: .*book\.txt: expected at most 262144 bytes, got more"):
        with_files_read("nim", Options(), {"book": file})
    with pytest.raises(ValueError, match=r"^nim: expected book as the path of a file, got 'none\.txt'$"):
        with_files_read("nim", Options(), {"book": "none.txt"})


def test_a_comma_in_a_value_is_no_end_of_it() -> None:
    game = find_variant("starship", 'targets={"thrust": 3, "seats": 12},preset=classic')
    assert game == leafwise.game("starship", preset="classic", targets={"thrust": 3, "seats": 12})


# Ranges beside types: what fits comes in one type, all else is refused in one line.


if TYPE_CHECKING:
    from leafwise.envs.core.contract.game import Game

CLOCK = OneOf(("wall", "cpu"))


@dataclasses.dataclass(frozen=True)
class Ranged:
    games: Annotated[int, Range(1, 1000)] = 10
    seconds: Annotated[float | None, Range(0, 1e6, above=True)] = None
    share: Share = 0.5
    clock: Annotated[str, CLOCK] = "wall"
    fast: bool = False
    name: str = ""


@dataclasses.dataclass(frozen=True)
class Fewer(Ranged):
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
    checked = check_fields(Ranged(games=np.int32(7), seconds=2, share=np.float32(0.5), fast=np.bool_(True)))  # type: ignore[arg-type]
    assert checked == Ranged(games=7, seconds=2.0, share=0.5, fast=True)
    assert [type(value) for value in vars(checked).values()] == [int, float, float, str, bool, str]
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
        check_fields(Ranged(**given))
    assert str(refused.value).startswith(f"expected {problem}")
    assert len(str(refused.value)) < 200
    with pytest.raises(UserError, match=r"^arena: expected --"):
        check_fields(Ranged(**given), "arena", "--{}".format)


def test_a_class_says_anew_what_its_fields_may_be() -> None:
    assert limits_of(Ranged) == {
        "games": Range(1, 1000),
        "seconds": Range(0, 1e6, above=True),
        "share": Range(0, 1),
        "clock": CLOCK,
    }
    assert limits_of(Fewer) == {**limits_of(Ranged), "games": Range(1, 9), "name": OneOf(("", "a"))}
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
    options = OfAGame(size=np.int64(5))  # type: ignore[arg-type]
    assert (options.size, type(options.size), options.turns) == (5, int, None)
    with pytest.raises(UserError, match=r"^trap: expected turns of 1 to 60, got 0$"):
        OfAGame(turns=0)
    with pytest.raises(UserError, match=r"^trap: expected shown as True or False, got 1$"):
        OfAGame(shown=1)  # type: ignore[arg-type]


@pytest.mark.parametrize("ends", [(3, 1), (0, math.nan), ("a", "b"), (None, 1)])
def test_a_range_whose_ends_make_none_is_refused(ends: Any) -> None:
    with pytest.raises(UserError, match=r"^range: expected low at most high, both numbers, got "):
        Range(*ends)
