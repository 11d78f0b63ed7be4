"""The race keeps its contract, its data file says what it says, and looking ahead pays."""

import json
from pathlib import Path

import leafwise_race
from leafwise_race import GAME

import leafwise
from leafwise.authoring import listing


def test_it_keeps_the_contract() -> None:
    leafwise.check_game(GAME, seconds=2)


def test_the_data_file_says_what_the_game_says() -> None:
    listed = json.loads(Path(leafwise_race.__file__).with_name("games.json").read_text(encoding="utf-8"))
    assert listed == {GAME.name: listing(GAME)}


def test_looking_ahead_beats_random_play() -> None:
    assert leafwise.evaluate(GAME, "search:lead,depth=2", 200, opponent="random").mean > 0.1
