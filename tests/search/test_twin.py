"""Every exact search gives the values of a naive recursion over positions, for every game."""

from typing import Any

import pytest

from games import dice, solitaire
from games.walks import positions
from leafwise.envs.registry import game, games
from leafwise.search import Search
from twins.recursion import Naive

SMALL = {"trap": {"size": 4}}
"""Variants that are searched in place of the defaults."""
GAMES = [game(name, **SMALL.get(name, {})) for name in games()]
GAMES += [dice.GAME, solitaire.GAME]
SCORES = {
    "threes": ["rows"],
    "dice": ["lead", "lead_at_die"],
    "solitaire": ["hope", "points_and_discards"],
}
"""Scores to search with, where it is not the default score alone."""
DEPTHS = {"threes": 2, "cassis": 3, "trilobite": 4, "dice": 4, "solitaire": 3, "starship": 1}
"""Depth of the searches that are compared with each other and with the recursion (default: 2). Two requests of a ship in a row may
have a new target drawn between them, digit by digit: too many outcomes for the recursion."""
DEAR = ("friday", "starship")
"""Games whose search takes long to compile."""
CASES = [
    pytest.param(g, score, marks=pytest.mark.long if k or g.name in DEAR else ())
    for g in GAMES
    for k, score in enumerate(SCORES.get(g.name, [g.default_score]))
]
SIZES = [
    pytest.param(400, 500_000, id="400 positions"),
    pytest.param(1000, 2_000_000, id="1,000 positions", marks=pytest.mark.long),
]
"""Positions of a game, fewer once the plain searches have valued so many leaves."""

BARE = {"table_mb": 0, "ordering": ()}
EXACT: dict[str, dict[str, Any]] = {
    "plain": {"pruning": False, "table_mb": 0},
    "table": {"pruning": False, "table_mb": 0.01},
    "pruning": {"pruning": True, **BARE},
    "pruning, star2": {"pruning": True, **BARE, "star2": True},
    "pruning, table, star2": {"pruning": True, "table_mb": 0.01, "ordering": (), "star2": True},
    "pruning, table move": {"pruning": True, "table_mb": 0.01, "ordering": ("table",), "seconds": 1e6},
    "pruning, values": {"pruning": True, "table_mb": 0, "ordering": ("values",)},
    "pruning, killers": {"pruning": True, "table_mb": 0, "ordering": ("killers",)},
    "pruning, everything": {"pruning": True, "table_mb": 0.001, "star2": True, "seconds": 1e6},
    "pruning, everything, whole rows": {"pruning": True, "table_mb": 0.001, "star2": True, "whole_rows": True},
    "pruning, everything, symmetric": {"pruning": True, "table_mb": 0.001, "symmetric": True, "seconds": 1e6},
    "windows never passed on": {"pruning": False, "table_mb": 0.01, "width": 1000},
    "batched": {"batched": True},
    "as it comes": {},
    "as it comes, one value": {"all_values": False},
}
"""Options that change no value, beside no limit of nodes. Small tables, so that entries are replaced; `seconds` for depth after
depth."""


def ids(case):
    return getattr(case, "name", case)


def depth_of(g):
    return DEPTHS.get(g.name, 2)


@pytest.mark.parametrize(("count", "budget"), SIZES)
@pytest.mark.parametrize(("g", "score"), CASES, ids=ids)
def test_the_plain_search_is_the_naive_recursion(g, score, count, budget):
    evaluator, depth = g.score(score), depth_of(g)
    naive = Naive(g, evaluator)
    search = Search(g, evaluator, depth, nodes=0, **EXACT["plain"])
    leaves = 0
    for state in positions(g, count):
        if leaves > budget:
            break
        result = search(state)
        leaves += result.leaves
        expected = naive.values(state, depth)
        assert result.values.keys() == expected.keys()
        assert all(same(value, expected[a]) for a, value in result.values.items()), str(state)
        assert result.value == max(result.values.values())


def same(result, expected):
    """Whether values agree to the last bits that the order of sums allows."""
    return abs(result - expected) <= 1e-12 * max(1.0, abs(expected))


@pytest.mark.parametrize(("count", "budget"), SIZES)
@pytest.mark.parametrize(("g", "score"), CASES, ids=ids)
def test_exact_options_change_no_value(g, score, count, budget):
    evaluator, depth = g.score(score), depth_of(g)
    searches = {name: Search(g, evaluator, depth, nodes=0, **options) for name, options in EXACT.items()}
    work = dict.fromkeys(EXACT, 0)
    for state in positions(g, count)[::2]:
        if work["plain"] > budget // 4:
            break
        plain = searches["plain"](state)
        for name, search in searches.items():
            result = search(state)
            work[name] += result.nodes + result.leaves
            assert same(result.value, plain.value), (str(state), name)
            for a, value in result.values.items():
                if a in result.bounds:
                    assert plain.values[a] <= value + 1e-12 * max(1.0, abs(value)), (str(state), name)
                    assert value <= result.value
                else:
                    assert same(value, plain.values[a]), (str(state), name)
            assert not (result.bounds and search.options.all_values)
            assert result.action not in result.bounds
    assert work["table"] <= work["plain"]
    assert work["pruning"] <= work["plain"]
    if g.players == 2:
        assert work["pruning"] < work["plain"]
        assert work["as it comes, one value"] < work["as it comes"]
