"""An option of a search stands in two places, its signature and its dataclass; all else that tells of options follows these."""

from __future__ import annotations

import inspect
import re
import textwrap
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from games import dice
from leafwise.envs.core.fields import texts_of, types_of
from leafwise.envs.core.ranges import OneOf, Range, check_fields, limits_of
from leafwise.search import Search
from leafwise.search.mcts import Mcts
from leafwise.search.players import MCTS_OPTIONS, OPTIONS
from leafwise.search.search_options import MctsOptions, SearchOptions

KINDS: Any = pytest.mark.parametrize(("kind", "options"), [(Search, SearchOptions), (Mcts, MctsOptions)])


def summaries(options: type) -> dict[str, str]:
    """Returns the first line of every option's docstring."""
    source = Path(inspect.getfile(options))
    return {name: text.partition("\n")[0] for name, text in texts_of(source, options.__name__).items()}


@KINDS
def test_the_signature_and_the_dataclass_are_one_list(kind: type, options: Any) -> None:
    given = list(inspect.signature(kind).parameters.values())[2:]
    types = types_of(options)
    assert [(one.name, one.annotation, one.default) for one in given] == [
        (one.name, types[one.name], one.default) for one in fields(options)
    ]


@KINDS
def test_the_signature_says_of_each_option_what_the_dataclass_says_first(kind: type, options: Any) -> None:
    lines = [
        line
        for name, summary in summaries(options).items()
        for line in textwrap.wrap(f"{name}: {summary}", 120, initial_indent=" " * 12, subsequent_indent=" " * 16)
    ]
    documented = str(kind.__init__.__doc__)  # type: ignore[misc]
    assert documented.partition("Args:\n")[2].partition("\n\n")[0].split("\n") == lines


def test_the_class_names_the_options_that_change_values() -> None:
    named = re.findall(r"`(\w+)`", str(Search.__doc__).partition("Only")[2])
    assert named == [one.name for one in fields(SearchOptions) if not one.metadata["exact"]]


@KINDS
def test_every_option_has_a_docstring_a_range_and_a_default_in_it(kind: type, options: Any) -> None:
    texts, types, limits = summaries(options), types_of(options), limits_of(options)
    for one in fields(options):
        assert texts[one.name][0].isupper(), one.name
        assert texts[one.name][-1] == "."
        limit = limits.get(one.name)
        if types[one.name].partition(" ")[0] in ("int", "float"):
            assert isinstance(limit, Range)
            assert limit.low < limit.high
            default: Any = one.default
            assert default is None or default in limit
            for value in (limit.low, limit.high):
                if value in limit and abs(value) < float("inf"):
                    assert getattr(check_fields(options(**{one.name: value})), one.name) == value
        elif isinstance(limit, OneOf):
            assert one.default in limit
    assert options().resolved(dice.GAME, dice.GAME.score())


def test_players_texts_take_the_options_that_can_be_written() -> None:
    assert set(vars(SearchOptions())) - set(OPTIONS) == {"all_values", "ordering", "whole_rows"}
    assert set(vars(MctsOptions())) - set(MCTS_OPTIONS) == {"at_once", "seed"}
    numbers = {"depth", "seconds", "table_mb", "cutoff", "nodes", "rare", "width", "threads"}
    assert {name for name, read in OPTIONS.items() if read in (int, float)} == numbers
