"""What the page of a table is told, without a server: Friday, followed card by card."""

from __future__ import annotations

from typing import Any

import pytest

from leafwise.web import follow
from leafwise.web.asks import AdviceAsk, FollowAsk
from leafwise.web.worker import Control


def followed(found: dict[str, Any] | None = None, **what: Any) -> dict[str, Any]:
    """Returns where the game stands after a line, or one taken back."""
    so_far = {"options": found["options"], "text": found["first"], "moves": found["moves"]} if found else {}
    (answer,) = follow.follow(FollowAsk(game="friday", **so_far, **what), Control(lambda message: None))
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
