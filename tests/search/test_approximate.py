"""A cutoff and a width limit change values: what they mean, and how far they are off."""

from statistics import fmean
from typing import Any

import pytest

from games import dice
from games.walks import positions
from leafwise.envs.registry import game
from leafwise.search import Search

THREES, BOARD = game("threes"), game("trilobite", board="5x5", k=4)
BARE: dict[str, Any] = {"table_mb": 0, "ordering": ()}


@pytest.mark.parametrize(("g", "depth"), [(BOARD, 5), (dice.GAME, 4)], ids=["trilobite", "dice"])
@pytest.mark.parametrize("width", [1, 2])
def test_a_width_means_the_same_with_every_exact_option(g, depth, width):
    bare = Search(g, g.score(), depth, width=width, pruning=False, **BARE)
    full = Search(g, g.score(), depth, width=width)
    hasty = Search(g, g.score(), depth, width=width, all_values=False)
    for state in positions(g, 100):
        expected = bare(state)
        assert full(state).values == pytest.approx(expected.values, rel=1e-12, abs=1e-12), str(state)
        assert hasty(state).value == pytest.approx(expected.value, rel=1e-12, abs=1e-12), str(state)


def test_a_width_of_all_actions_is_exact():
    exact, wide = Search(BOARD, BOARD.score(), 5), Search(BOARD, BOARD.score(), 5, width=5)
    for state in positions(BOARD, 50):
        assert wide(state).values == exact(state).values


def test_a_width_limits_the_work_and_errs_little():
    searches = [Search(BOARD, BOARD.score(), 5, pruning=False, table_mb=0, width=w) for w in (None, 3, 2, 1)]
    states = positions(BOARD, 200)
    results = [[search(state) for state in states] for search in searches]
    nodes = [sum(r.nodes for r in found) for found in results]
    errors = [fmean(abs(r.value - e.value) for r, e in zip(found, results[0], strict=True)) for found in results]
    assert nodes == sorted(nodes, reverse=True)
    assert nodes[3] < 0.2 * nodes[0]
    assert 0 < errors[1] < 0.02
    assert errors[1] < errors[2] < errors[3] < 0.2


def test_a_cutoff_means_the_same_with_pruning():
    plain = Search(dice.GAME, dice.GAME.score(), 4, pruning=False, table_mb=0, cutoff=0.02)
    pruning = Search(dice.GAME, dice.GAME.score(), 4, pruning=True, **BARE, cutoff=0.02)
    for state in positions(dice.GAME, 100):
        assert pruning(state).values == pytest.approx(plain(state).values, rel=1e-12, abs=1e-12)


def test_a_cutoff_limits_the_work_and_errs_little():
    searches = [
        Search(dice.GAME, dice.GAME.score(), 5, pruning=False, table_mb=0, cutoff=c) for c in (0.0, 1e-3, 1e-2, 1e-1)
    ]
    states = positions(dice.GAME, 200)
    results = [[search(state) for state in states] for search in searches]
    nodes = [sum(r.nodes for r in found) for found in results]
    errors = [fmean(abs(r.value - e.value) for r, e in zip(found, results[0], strict=True)) for found in results]
    assert nodes == sorted(nodes, reverse=True)
    assert nodes[3] < 0.2 * nodes[0]
    assert 0 < errors[1] < 0.02
    assert errors[1] < errors[2] < errors[3] < 0.2
