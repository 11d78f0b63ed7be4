"""The editor of Friday's cards speaks the room's words: every card, turn, phase and word of a position's text."""

from __future__ import annotations

import re
from pathlib import Path

from leafwise import web
from leafwise.envs.friday.cards import HAZARDS, NAMES, PHASES
from leafwise.envs.friday.text import HOMES, TURNS, WORDS, in_words

SOURCE = (Path(web.__file__).parent / "static/games/friday.js").read_text(encoding="utf-8")


def told(name: str) -> str:
    """Returns what a constant of the editor is, as its source has it."""
    found = re.search(rf"^const {name} = (.*?);(?: //.*)?$", SOURCE, re.MULTILINE | re.DOTALL)
    assert found, name
    return found[1]


def listed(name: str) -> list[str]:
    """Returns the strings of a list."""
    return re.findall(r'"(\w+)"', told(name))


def test_the_editor_of_friday_knows_every_card() -> None:
    cards = dict(re.findall(r'(\w+): "([^"]*)"', told("CARDS")))
    assert cards == {name: in_words(kind) for kind, name in enumerate(NAMES)}
    assert set(re.findall(r"(\w): ", told("HAZARDS"))) == set(HAZARDS)


def test_the_editor_of_friday_knows_every_word() -> None:
    assert set(listed("TURNS")) == set(TURNS)
    assert tuple(listed("PHASES")) == PHASES
    assert set(listed("HOMES")) == set(HOMES)
    parts = [told(name) for name in ("PILES", "MORE_PILES", "NUMBERS", "FIELDS", "MORE_FIELDS")]
    words = {word for part in parts for word in re.findall(r"(\w+): [\[\"]", part)}
    assert {"turn", "phase"} | words == set(WORDS)
