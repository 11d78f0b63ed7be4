"""A cutoff and a width limit change values: what they mean, and how far they are off."""

from statistics import fmean
from typing import Any

import numpy as np
import pytest

from games import dice
from games.walks import positions
from leafwise.envs.core.contract.state import State
from leafwise.envs.registry import game
from leafwise.search import Search, table

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


LIMITS: list[dict[str, Any]] = [{"cutoff": 0.02}, {"nodes": 200}]


@pytest.mark.parametrize("limit", LIMITS, ids=str)
def test_a_limit_means_the_same_with_pruning(limit):
    plain = Search(dice.GAME, dice.GAME.score(), 4, pruning=False, table_mb=0, **limit)
    pruning = Search(dice.GAME, dice.GAME.score(), 4, pruning=True, **BARE, **limit)
    for state in positions(dice.GAME, 100):
        assert pruning(state).values == pytest.approx(plain(state).values, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("limit", LIMITS, ids=str)
def test_the_table_keeps_only_what_no_limit_has_touched(limit):
    g = dice.GAME
    search = Search(g, g.score(), 5, pruning=False, table_mb=1, whole_rows=True, **limit)
    exact = {depth: Search(g, g.score(), depth, pruning=False, table_mb=0) for depth in range(1, 5)}
    kept = 0
    for state in positions(g, 40):
        search(state)
        generation = int(search._B.generation[0])
        for e in np.flatnonzero(search._B.table[:, table.CHECK_WORD]):
            data = int(search._B.table[e, table.DATA])
            if data >> int(table.GENERATION_AT) & (table.GENERATIONS - 1) == generation:
                at = State.unchecked(g, search._B.rows[e])
                sign = -1 if at.current_player == 1 else 1
                value = sign * exact[data & int(table.DEPTH_MASK)](at).value
                assert search._B.proven[e, table.LOW] == pytest.approx(value, abs=1e-12)
                kept += 1
    assert kept > 20


@pytest.mark.parametrize(
    ("g", "limits", "little"),
    [
        (BOARD, [{"width": w} for w in (None, 3, 2, 1)], 0.02),
        (dice.GAME, [{"cutoff": c} for c in (0.0, 1e-3, 1e-2, 1e-1)], 0.02),
        (dice.GAME, [{"nodes": n} for n in (0, 1000, 100, 10)], 0.1),
    ],
    ids=["width", "cutoff", "nodes"],
)
def test_a_limit_limits_the_work_and_errs_little(g, limits, little):
    searches = [Search(g, g.score(), 5, pruning=False, table_mb=0, **limit) for limit in limits]
    results = [[search(state) for state in positions(g, 150)] for search in searches]
    work = [sum(r.nodes for r in searched) for searched in results]
    errors = [fmean(abs(r.value - e.value) for r, e in zip(searched, results[0], strict=True)) for searched in results]
    assert work == sorted(work, reverse=True)
    assert work[3] < 0.2 * work[0]
    assert 0 < errors[1] < little
    assert errors[1] < errors[2] < errors[3] < 0.2
    for limit, searched in zip(limits[1:], results[1:], strict=True):
        if most := limit.get("nodes"):
            assert most // 4 <= max(r.nodes for r in searched) <= most


def test_what_is_limited_to_one_node_or_to_more_than_there_are():
    one, some, exact = (Search(dice.GAME, dice.GAME.score(), 3, nodes=n) for n in (1, 10**6, 0))
    for state in positions(dice.GAME, 100):
        assert some(state).values == exact(state).values
        assert one(state).nodes == 1
