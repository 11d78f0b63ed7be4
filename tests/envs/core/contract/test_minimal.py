"""A game that says no more than it must has texts, pictures, names, a score, and is stepped and searched like any other."""

from __future__ import annotations

import dataclasses
import pickle

import pytest

from games.nim import GAME
from leafwise.envs.core.contract.game import Game
from leafwise.search import Search


def test_it_is_written_read_and_drawn() -> None:
    start = GAME.start()
    assert (str(start), GAME.actions, start.legal_names) == ("7 0", ("0", "1", "2"), ("0", "1", "2"))
    assert GAME.parse("7 0") == start
    assert pickle.loads(pickle.dumps(start)) == start
    assert "7 0" in start.svg()
    assert start.rgb().shape[2] == 3
    assert start.board() == "7 0"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("7", r"nim: expected a row of 2 words, got shape \(1,\)"),
        ("7 0 0", r"nim: expected a row of 2 words, got shape \(3,\)"),
        ("seven 0", "nim: expected hexadecimal numbers, got 'seven 0'"),
        ("", "nim: expected hexadecimal numbers, got ''"),
        ("ffffffffffffffff 0", "nim: .*"),
    ],
)
def test_a_text_that_is_no_row_is_refused(text: str, expected: str) -> None:
    with pytest.raises(ValueError, match=f"^{expected}$"):
        GAME.parse(text)


@pytest.mark.long
def test_it_is_searched_to_the_end() -> None:
    found = Search(GAME, GAME.score(), depth=7)(GAME.start())
    assert (found.name, found.value) == ("2", 1.0)  # three of seven: four are lost
    assert Search(GAME, GAME.score(), depth=1)(GAME.start()).value == 0.0


def test_a_game_must_say_seven_things() -> None:
    needed = [
        field.name
        for field in dataclasses.fields(Game)
        if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
    ]
    assert needed == ["name", "title", "module", "players", "rules", "sizes", "observation"]
    assert len(dataclasses.fields(Game)) <= 22
