"""Options: from text by their types, what differs from the defaults, and what no network sees."""

from __future__ import annotations

import pickle
from dataclasses import FrozenInstanceError, dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

import leafwise
from leafwise.envs.core.fields import from_file, options_from_text, types_of, with_files_read
from leafwise.envs.core.files import MAX_SMALL
from leafwise.training.runs.loop import find_variant

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
    found = options_from_text(TYPES, {name: text})[name]
    assert (found, type(found)) == (value, type(value))


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
    """Options that check no types, as those of a plug-in may."""

    n: int = 1
    name: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.n < 1:
            raise ValueError("own: expected n of 1 or more")


def test_options_from_outside_are_refused_in_one_line() -> None:
    """Whatever they are called, also as the arguments of the functions on their way, and whatever their values are."""
    own = replace(leafwise.game("trilobite"), name="own", ids={}, options=Loose())
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
    assert own.variant(name="x").options == Loose(name="x")  # a game may call an option so
    wrong: list[dict[str, Any]] = [{"n": "many"}, {"n": [2]}, {"name": ["x"]}, {"name": {}}, {"n": None}]
    for options in wrong:
        with pytest.raises(ValueError, match=r"^own: expected options of their types, got "):
            own.variant(**options)


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
