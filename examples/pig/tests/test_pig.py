"""Pig keeps its contract, and the best play is what a few lines of plain Python say."""

import json
from functools import cache
from pathlib import Path

import leafwise_pig
import pytest
from leafwise_pig import GAME

import leafwise
from leafwise.authoring import listing

IMPOSSIBLE = ("13 after 2 rolls", "30 after 5 rolls", "0 after 1 rolls", "2 after -1 rolls")


@cache
def worth(total: int, rolls: int) -> float:
    """What a decision is worth with the best play."""
    return float(total) if rolls == 5 else max(float(total), rolled(total, rolls))


def rolled(total: int, rolls: int) -> float:
    """What a roll is worth with the best play after it."""
    return sum(worth(total + pips, rolls + 1) for pips in range(2, 7)) / 6


def test_it_keeps_the_contract() -> None:
    leafwise.check_game(GAME, seconds=2)


def test_the_data_file_says_what_the_game_says() -> None:
    listed = json.loads(Path(leafwise_pig.__file__).with_name("games.json").read_text(encoding="utf-8"))
    assert listed == {GAME.name: listing(GAME)}


def test_a_search_to_the_end_plays_the_best_way() -> None:
    search = leafwise.Search(GAME, GAME.score(), depth=5)
    for total, rolls in ((0, 0), (6, 1), (12, 3), (21, 4), (24, 4)):
        result = search(GAME.parse(f"{total} after {rolls} rolls, deciding"))
        assert result.action_values == pytest.approx({"roll": rolled(total, rolls), "stop": total})


@pytest.mark.parametrize("text", ["", "9 after 2 rolls", *(f"{wrong}, deciding" for wrong in IMPOSSIBLE)])
def test_impossible_positions_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"^pig: expected"):
        GAME.parse(text)
