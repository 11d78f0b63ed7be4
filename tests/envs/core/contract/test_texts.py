"""What the rooms' texts share: words, whole numbers, boards of marks, refusals in one line."""

from __future__ import annotations

import numpy as np
import pytest

import leafwise
from leafwise.envs.core.contract.texts import SIDES, last_player, marked, need, whole_number, words_by_name, written


def test_a_refusal_says_what_was_expected_and_what_came() -> None:
    need(True, "anything")
    with pytest.raises(ValueError, match=r"^expected a card, got 'x' in 'x y'$"):
        need(False, "a card", "x", "x y")
    with pytest.raises(ValueError, match=r"^expected a turn, got none$"):
        need(False, "a turn")
    with pytest.raises(ValueError, match=r"^expected at most 3, got 4$"):
        need(False, "at most 3", 4)
    with pytest.raises(ValueError, match=r"^expected a tile, got '9{80}'$"):
        need(False, "a tile", "9" * 5000)


def test_a_refusal_names_the_game_once() -> None:
    for name in leafwise.games():
        with pytest.raises(ValueError, match=f"^{name}: expected ") as problem:
            leafwise.game(name).parse("nonsense")
        assert str(problem.value).count(f"{name}: ") == 1


@pytest.mark.parametrize("word", ["", "-1", "1.5", "1_0", "½", "٣", "1234567"])
def test_whole_numbers_are_short_and_plain(word: str) -> None:
    assert whole_number("042", "a turn") == 42
    with pytest.raises(ValueError, match=f"^expected a turn as a whole number, got {word!r}$"):
        whole_number(word, "a turn")


def test_words_have_a_name_and_come_once() -> None:
    assert words_by_name(["b=2", "a="], ("a", "b")) == {"a": "", "b": "2"}
    assert written({"a": 1, "b": "", "c": 0, "d": "x,y"}) == "a=1 d=x,y"
    for words in ("c=1", "a", "a=1 a=2"):
        with pytest.raises(ValueError, match=r"^expected fields among a, b, each once, got '"):
            words_by_name(words.split(), ("a", "b"))


def test_marks_are_read_row_by_row() -> None:
    assert marked("x./.o", [2, 2], SIDES, "2 rows of 2 cells", "cells") == [1, 0, 0, 2]
    with pytest.raises(ValueError, match=r"^expected 2 rows of 2 cells separated by '/', got 'x\.'$"):
        marked("x.", [2, 2], SIDES, "2 rows of 2 cells", "cells")
    with pytest.raises(ValueError, match=r"^expected cells among '\.', 'x', 'o', got '#' in 'x#'$"):
        marked("x#", [2], SIDES, "2 cells", "cells")


def pair(marks: np.uint64) -> bool:
    """Whether the two lowest cells are both marked: a figure for the tests."""
    return int(marks) & 3 == 3


@pytest.mark.parametrize(
    ("sides", "loose", "problem"),
    [
        ((0b1, 0b110), -1, "expected as many x as o, or one more, got 1 x and 2 o in 'board'"),
        ((0b11, 0b1100), -1, "expected no move after a pair of x, got 'board'"),
        ((0b111, 0b11000), 0b100, "expected one last mark that closed every pair, got 'board'"),
    ],
)
def test_who_marked_last_follows_from_the_marks(sides: tuple[int, int], loose: int, problem: str) -> None:
    def last(sides: tuple[int, int], loose: int) -> int:
        return last_player(np.array(sides, dtype=np.uint64), loose, pair, "pair", "mark that closed", "board")

    assert last((0b100, 0b1000), -1) == 1
    assert last((0b111, 0b11000), -1) == 0
    with pytest.raises(ValueError, match=f"^{problem}$"):
        last(sides, loose)


def test_a_state_names_its_outcomes() -> None:
    state = leafwise.game("threes").parse("0 0 0 0/0 3 0 0/0 0 0 0/0 0 0 0 next=2 deck=4,3,4").play("up")
    named = state.outcomes_by_name()
    assert list(named) == ["2@3,1"]
    assert [state.outcome_name(after) for after in named.values()] == list(named)
    with pytest.raises(ValueError, match="expected a chance stage"):
        leafwise.game("trilobite").start().outcomes_by_name()
