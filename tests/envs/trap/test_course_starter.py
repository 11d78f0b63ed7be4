"""The course's starter player searches as its recipe says: the compiled trees give the same values."""

import importlib
import sys
from collections.abc import Iterator
from random import Random
from types import ModuleType

import pytest

from leafwise.envs.trap import GAME
from leafwise.envs.trap.baselines.course import child
from leafwise.envs.trap.baselines.course.players import RECIPES, CoursePlayer
from leafwise.envs.trap.baselines.course.starter.Grid import Grid
from twins.trap import Twin, crowded_state

DEFERRED = GAME.variant(self_trap="deferred")
NAMES = ("PlayerAI", "BaseAI", "Grid", "Utils")


@pytest.fixture
def starter(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The starter program, imported by Python."""
    monkeypatch.syspath_prepend(child.STARTER)
    yield importlib.import_module("PlayerAI")
    for name in NAMES:
        sys.modules.pop(name, None)


@pytest.mark.parametrize(("heuristic", "recipe"), [("improved_score", "is"), ("aggressive_improved_score", "ais")])
def test_both_trees_come_to_the_values_of_the_compiled_ones(
    starter: ModuleType, heuristic: str, recipe: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(starter, "HEURISTIC", getattr(starter, heuristic))
    twin = CoursePlayer(DEFERRED, "twin", RECIPES[recipe], depth=starter.DEPTH, chance="hit_miss")
    rng = Random(5)
    for k in range(12):
        throwing, grid = bool(k % 2), Grid(7)
        state = crowded_state(DEFERRED, rng.randrange(10, 24), rng, " throw" * throwing)
        p = Twin(DEFERRED.options).read(str(state))
        for cell in p.traps:
            grid.trap(cell)
        places = p.players
        grid.move(places[0], 1).move(places[1], 2)
        ai, who = starter.PlayerAI(), state.current_player
        ai.setPlayerNum(1 + who)
        ai.setPosition(places[who])
        expected = twin.values(state)
        best = max(expected.values())
        if throwing:
            targets = grid.get_neighbors(places[1 - who], only_available=True)
            values = ai.values_of_throws(grid, places[1 - who], targets, starter.DEPTH)
            chosen = ai.getTrap(grid)
        else:
            values = {
                cell: ai.throw_at_me(grid.clone().move(cell, 1 + who), cell, places[1 - who], starter.DEPTH - 1, -1e9)
                for cell in grid.get_neighbors(places[who], only_available=True)
            }
            chosen = ai.getMove(grid)
        assert max(values.values()) == pytest.approx(best)
        assert values[chosen] == pytest.approx(best)


def test_heuristics_at_the_start(starter: ModuleType) -> None:
    grid, start = Grid(7).move((0, 3), 1).move((6, 3), 2), ((0, 3), (6, 3))
    heuristics = (starter.improved_score, starter.aggressive_improved_score, starter.one_cell_lookahead_score)
    assert [score(grid, *start) for score in heuristics] == [0, -5, 0]
    assert sum(len(starter.moves(grid, cell)) for cell in starter.moves(grid, (0, 3))) == 29
    assert set(starter.moves(grid, (0, 3))) == set(Twin(GAME.options).around((0, 3)))
    assert starter.hit_probability((6, 6), (0, 0)) == pytest.approx(0.45)
