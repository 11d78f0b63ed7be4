"""What the pages of a table and of a phone are told, without a server: Friday card by card, Threes tap by tap."""

from __future__ import annotations

from typing import Any

import pytest

from leafwise.web import follow
from leafwise.web.asks import AdviceAsk, FollowAsk
from leafwise.web.control import Control

THREES = "3 0 1 0/0 2 1 3/0 2 0 3/1 0 0 2 next=1"


def followed(found: dict[str, Any] | None = None, game: str = "friday", **what: Any) -> dict[str, Any]:
    """Returns where the game stands after a line, or one taken back."""
    so_far = {"options": found["options"], "text": found["first"], "moves": found["moves"]} if found else {}
    (answer,) = follow.follow(FollowAsk(game=game, **so_far, **what), Control(lambda message: None))
    told: dict[str, Any] = answer
    return told


def test_friday_is_followed_line_by_line() -> None:
    begun = followed()
    assert (begun["state"], begun["question"]["asks"], len(begun["question"]["choices"])) == (None, "the level", 4)
    level = followed(begun, line="1")
    assert level["state"]["player"] == "chance"
    drawn = followed(level, line="P3, P7, raft food, E1")
    assert [name for name in drawn["moves"] if name[0] == "P"] == ["P3", "P7"]
    fight = followed(drawn, line="first")
    assert [choice["name"] for choice in fight["question"]["choices"]] == ["free"]
    assert fight["question"]["choices"][0]["words"].startswith("draw a free card (1 of ")
    assert len(fight["lines"]) == len(fight["moves"])
    assert "[Game" in fight["file"]
    card = followed(fight, line="free")
    assert sum(choice["chance"] for choice in card["question"]["choices"]) == pytest.approx(1)
    assert followed(card, undo=True)["state"] == fight["state"]


def test_a_move_of_threes_takes_two_taps() -> None:
    begun = followed(game="threes", line=THREES)
    assert begun["first"].endswith("deck=0,1,1")  # of a new game it is counted
    swiped = followed(begun, game="threes", line="left")
    entries = [choice["name"] for choice in swiped["question"]["choices"]]
    assert entries == ["1@0,3", "1@1,3", "1@2,3", "1@3,3"]
    entered = followed({**swiped, "first": swiped["state"]["text"], "moves": []}, game="threes", line=entries[0])
    assert [choice["name"] for choice in entered["question"]["choices"]] == ["2", "3"]
    told = followed({**begun, "moves": ["left", entries[0]]}, game="threes", line="2")
    assert told["moves"] == ["left", entries[0], "2"]
    assert told["state"]["player"] == 1
    back = followed(told, game="threes", undo=True)
    assert back["state"] == entered["state"]


def test_wrong_lines_of_friday_change_nothing() -> None:
    level = followed(line="1")
    with pytest.raises(ValueError, match=r"expected one of pirate 1 .*, got 'weapon'"):
        followed(level, line="weapon")
    with pytest.raises(ValueError, match=r"as step 1"):
        followed({**level, "moves": ["S1"]})
    with pytest.raises(ValueError, match="expected no steps before a game has begun, got some"):
        followed({**level, "first": ""}, line="1") if level["moves"] else followed(
            {**level, "first": "", "moves": ["P1"]}
        )
    with pytest.raises(ValueError, match="expected a game that can be followed, got 'trap'"):
        list(follow.follow(FollowAsk(game="trap"), Control(lambda message: None)))


@pytest.mark.long
def test_options_of_friday_have_a_chance_to_win() -> None:
    fight = followed(followed(line="1"), line="P3, P7, raft food, E1, first, free, weak")
    ask = AdviceAsk(game="friday", options=fight["options"], text=fight["state"]["text"], seconds=0.5)
    *_, last = follow.advise(ask, Control(lambda message: None))
    assert last["unit"] == "chance to win"
    assert {option["name"] for option in last["options"]} == set(fight["state"]["actions"])
    assert all(option["told"].endswith(" %") for option in last["options"])
    assert last["best"] == last["options"][0]["name"]
    assert any(note.startswith("next card: ") for note in last["notes"])
