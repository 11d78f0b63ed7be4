"""Games have pages by one template: those of the package, and the examples' README."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import leafwise

ROOT = Path(__file__).parents[2]
PARTS = ["Rules", "Environment", "Score", "Players", "Sources"]
EXAMPLES = sorted(path.parent.parent.name for path in (ROOT / "examples").glob("*/leafwise_*/__init__.py"))


def parts(page: str) -> list[str]:
    return re.findall(r"^## (.*)$", page, re.MULTILINE)


@pytest.mark.parametrize("name", leafwise.games())
def test_a_game_has_a_page_with_its_ids_and_options(name: str) -> None:
    page, game = (ROOT / f"docs/games/{name}.md").read_text(encoding="utf-8"), leafwise.game(name)
    assert parts(page) == PARTS
    assert f"](../pictures/{name}.svg)" in page
    for short in game.ids:
        assert f"[`leafwise/{short}-v0`](../environments/{short}-v0.md)" in page
    assert [option for option in game.defaults if f"`{option}`" not in page and f"`{option}=" not in page] == []
    assert "](../results.md#" in page


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_has_the_same_parts(name: str) -> None:
    page = (ROOT / f"examples/{name}/README.md").read_text(encoding="utf-8")
    assert [part for part in parts(page) if part in PARTS] == PARTS
    assert f"pip install -e examples/{name}\n" in page
