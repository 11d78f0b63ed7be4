"""Following a game that is played elsewhere: typed lines, undo, saving and continuing."""

from __future__ import annotations

import pytest

from leafwise.envs.core.contract.state import State
from leafwise.envs.core.play.by_name import Choice, chosen
from leafwise.envs.core.play.companion import Following
from leafwise.envs.core.play.gamefile import read_games
from leafwise.envs.registry import game
from leafwise.envs.threes.companion import first_deck

THREES = game("threes")
START = "48 24 12 6/3 1 2 0/3 0 1 0/2 0 0 0 next=1 deck=0,2,1"
CARDS = tuple(
    Choice(name, words, number)
    for number, (name, words) in enumerate(
        [("S1", "distracted -1"), ("G1", "distracted (aging) -1"), ("G2", "stupid -2"), ("G4", "very stupid -3"),
         ("W1", "food 0 (+1 life)"), ("E1", "food 1 (+1 life)")], start=1,
    )
)  # fmt: skip


@pytest.mark.parametrize(
    ("typed", "name"),
    [
        ("g1", "G1"),
        ("3", "G2"),
        ("stupid", "G2"),
        ("st", "G2"),
        ("very", "G4"),
        ("v s", "G4"),
        ("food 1", "E1"),
        ("distracted -1", "S1"),
        ("dis ag", "G1"),
        ("life 9", None),
        ("weak", None),
    ],
)
def test_a_choice_is_typed_by_name_number_or_first_letters(typed: str, name: str | None) -> None:
    choice = chosen(CARDS, typed.split())
    assert (choice and choice.name) == name


def test_what_may_mean_several_is_refused() -> None:
    with pytest.raises(ValueError, match=r"expected one of food 0 \(\+1 life\) \[W1\], food 1 .*, got 'foo'"):
        chosen(CARDS, ["foo"])


def test_lines_are_entered_taken_back_and_saved() -> None:
    following = Following(THREES, THREES.parse(START))
    assert following.question.form == "left 3,1 2"
    assert [choice.name for choice in following.question.choices] == ["up", "down", "left", "right"]
    assert following.enter("1,0 2", best="right") == "right, 1@1,0 (33.3 %), 2 (63.5 %)"
    text = following.text
    again = Following.load(THREES, text)
    assert again.text == text
    assert again.state == following.state
    assert str(next(read_games(text))) == text
    assert again.undo()  # the next tile
    assert again.state is not None
    assert again.question.asks == "the next tile"
    assert again.enter("+")
    assert following.undo()
    assert str(following.state) == START
    assert not following.undo()


def test_a_refused_line_changes_nothing() -> None:
    following = Following(THREES, THREES.parse(START))
    with pytest.raises(ValueError, match="expected the next tile among 2, 3, "):
        following.enter("right 1,0 1")
    assert str(following.state) == START
    assert following.text.count("\n") == 3


def test_the_beginning_is_typed_and_can_be_typed_again() -> None:
    following = Following(THREES)
    assert (following.state, following.text) == (None, "")
    with pytest.raises(ValueError, match="expected 4 rows"):
        following.enter("1 2 3")
    board = "1 2 3 1/2 3 1 2/3 0 0 0/0 0 0 0"
    assert first_deck(board) == "1,1,1"
    assert following.enter(board) == "a new game: 1s, 2s and 3s left in the deck are 1,1,1"
    assert following.enter("3").startswith("3 (")
    assert str(following.state) == f"{board} next=3 deck=1,1,0"
    assert following.undo()
    assert following.undo()
    assert following.state is None
    assert following.enter("48 2 3 1/2 3 1 2/3 3 0 0/0 0 0 6").endswith("are taken to be 4,4,4; deck= tells others")
    assert str(Following.load(THREES, "").state) == "None"


def test_options_are_told_the_best_first() -> None:
    following = Following(THREES, THREES.parse(START))

    def values(state: State) -> dict[int, float]:
        return {a: 0.25 * (a % 3) for a in state.legal_actions}

    advice = following.advise(values, lambda value: f"{100 * value:.1f} %")
    assert [(option.name, option.told) for option in advice.options] == [
        ("left", "50.0 %"),
        ("down", "25.0 %"),
        ("up", "0.0 %"),
        ("right", "0.0 %"),
    ]
    assert advice.best == "left"
    assert advice.options[3].words == "swipe RIGHT; may enter: 1@1,0, 1@2,0, 1@3,0"
    following.enter("right")
    with pytest.raises(ValueError, match="expected a decision, got 'where the tile entered'"):
        following.advise(values, str)


def test_what_cannot_be_followed_is_refused() -> None:
    with pytest.raises(ValueError, match="expected a game that can be followed, got 'trilobite'"):
        Following(game("trilobite"))
    with pytest.raises(ValueError, match="got a finished game"):
        Following(THREES, THREES.parse("1 3 1 3/3 1 3 1/1 3 1 3/3 1 3 1"))
    with pytest.raises(ValueError, match="saved: expected a game of threes, got one of trilobite"):
        Following.load(THREES, '[Game "trilobite"]\n1. 1\n', "saved")
    with pytest.raises(ValueError, match="saved, line 2: "):
        Following.load(THREES, '[Game "threes"]\n1. up\n', "saved")
