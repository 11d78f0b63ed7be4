"""Tables of options on pages have every option, and say of each what it does."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

from leafwise.envs import registry
from leafwise.envs.core.contract.game import OwnSearch
from leafwise.envs.core.play.program import KNOWN
from leafwise.experiments.option_tables import TRAINING, first, option_tables, values_of
from leafwise.search.rollout import OPTIONS
from leafwise.training.runs.recipes import METHODS, recipes

ROOT = Path(__file__).parents[2]


def rows(name: str) -> list[list[str]]:
    """Returns the cells of a table, without its head."""
    lines = option_tables()[name].splitlines()[2:]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]


@pytest.mark.parametrize("name", option_tables())
def test_a_table_is_on_one_page_and_says_what_each_option_does(name: str) -> None:
    pages = [page for page in (ROOT / "docs").rglob("*.md") if f"table: {name} -->" in page.read_text(encoding="utf-8")]
    assert len(pages) == 1
    assert [row for row in rows(name) if len(row[-1]) < 10 or not (row[-1][0].isupper() and row[-1][-1] == ".")] == []


def test_the_tables_of_training_have_every_option_of_every_method() -> None:
    modules = {method.module for method in METHODS} | set(recipes("starship")["modules"].values())
    missing = []
    for module in sorted(modules - {recipes("starship")["modules"].get("publish")}):
        options = importlib.import_module(module).Config
        bases = [f"{base.__module__}:{base.__name__}" for base in options.__mro__[:-1]]
        missing += [base for base in bases if base.removeprefix("leafwise.training.") not in TRAINING.values()]
    assert missing == []
    assert "`--no-double`" in option_tables()["dqn-options"]


def test_the_table_of_players_has_the_options_that_their_texts_take() -> None:
    taken = {"`rollout`": set(OPTIONS), "`solver`": {"level"}, "`program:COMMAND`": set(KNOWN)}
    for name in registry.games():
        game = registry.game(name)
        own = {kind: made for kind, made in game.ais.items() if isinstance(made, OwnSearch)}
        taken |= {f"`{kind}:LEAF` ({name.capitalize()})": set(made.options) for kind, made in own.items()}
    assert len(taken) == 5
    found: dict[str, set[str]] = {player: set() for player in taken}
    for player, option, *_ in rows("player-options"):
        found[player].add(option.strip("`"))
    assert found == taken


def test_values_are_those_of_the_type() -> None:
    assert values_of("bool | None", None) == "True, False"
    assert values_of("Literal['max', 'value']", None) == "max, value"
    assert values_of("str", None) == ""
    assert first("One\nline.\n\nAnother.") == "One line."
