"""Decisions below one chance node searched together give what they give one by one: to the last bit, with as many nodes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from games.walks import positions
from leafwise.envs.registry import game
from leafwise.models.files import load_evaluator
from leafwise.search import Search

ONE_BY_ONE = 1e-300
"""A cutoff that cuts nothing, but lets every decision be asked how probable it is, and so be searched alone."""
VARIANTS: list[dict[str, Any]] = [
    {},
    {"hint": "colour", "top": "continue"},
    {"bonus_value": "window3", "hint": "window3", "entry": "any_empty_edge"},
    {"bonus_value": "window3", "bonus_schedule": "slot21", "top": "no_merge_6144"},
    {"hint": "exact"},
]
CROWDED = [
    "768 384 192 96/12 24 48 96/6 3 2 1/1 2 0 3 next=1 deck=0,1,2",
    "3072 768 2 96/2 48 768 6/6 3 2 1/1 2 6 3 next=2 deck=0,1,2",
    "6144 6144 192 96/12 24 48 96/6 3 2 1/1 2 0 3 next=1 deck=0,1,2",
]
"""Boards that may die, and one whose slide makes a 12288."""


def states(g: Any) -> list[Any]:
    return [*positions(g, 400)[::25], *map(g.parse, CROWDED)]


CASES = [("rows", options) for options in VARIANTS] + [("openness", {}), ("total_score", {})]
CASES += [("load:threes-small", {}), ("load:threes-small", {"hint": "colour"})]


@pytest.mark.parametrize(
    ("leaf", "options"), CASES, ids=lambda case: case if isinstance(case, str) else "-".join(case.values())
)
def test_together_as_one_by_one(leaf: str, options: dict[str, Any]) -> None:
    g = game("threes", **options)
    evaluator = load_evaluator(game("threes"), leaf[5:]) if leaf.startswith("load:") else g.score(leaf)
    evaluator = replace(evaluator, game=None)  # the network was made for one variant; here any values will do
    assert leaf == "total_score" or evaluator.speed.sibling_values is not None
    for depth in (2, 3):
        together = Search(g, evaluator, depth)
        alone = Search(g, evaluator, depth, cutoff=ONE_BY_ONE)
        for state in states(g)[:: 6 if depth == 3 else 2]:
            result, expected = together(state), alone(state)
            assert result.values == expected.values, str(state)
            assert (result.nodes, result.leaves) == (expected.nodes, expected.leaves), str(state)
