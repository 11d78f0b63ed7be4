"""The game keeps its contract, its data file says what it says, and a search plays it."""

import json
from pathlib import Path

import leafwise_template
from leafwise_template import GAME

import leafwise
from leafwise.envs.registry import listing


def test_it_keeps_the_contract() -> None:
    leafwise.check_game(GAME, seconds=5)


def test_the_data_file_says_what_the_game_says() -> None:
    told = json.loads(Path(leafwise_template.__file__).with_name("games.json").read_text(encoding="utf-8"))
    assert told == {GAME.name: listing(GAME)}  # leafwise games template --listing prints it


def test_a_search_takes_the_last_stones() -> None:
    found = leafwise.Search(GAME, GAME.score(), depth=2)(GAME.parse("3 second"))
    assert (found.name, found.value) == ("3", 1.0)
