"""Every exact search gives the values of a naive recursion over positions, for every game."""

from functools import cache
from random import Random

import pytest

from games import dice, solitaire
from leafwise.envs.core.state import State
from leafwise.envs.core.stream import new_stream
from leafwise.envs.registry import game, games
from leafwise.search import Search
from twins.recursion import Naive

GAMES = [*map(game, games()), dice.GAME, solitaire.GAME]
SCORES = {
    "threes": ["openness", "rows"],
    "dice": ["lead", "lead_at_die"],
    "solitaire": ["hope", "points_and_discards"],
}
"""Scores to search with, where it is not the default score alone."""
DEPTHS = {"threes": 2, "cassis": 3, "trilobite": 4, "dice": 4, "solitaire": 3}
"""Depth of the searches that are compared with each other and with the recursion (default: 2)."""
CASES = [(g, score) for g in GAMES for score in SCORES.get(g.name, [g.default_score])]
COUNT = 1000

EXACT = {
    "plain": {"pruning": False, "table_mb": 0},
    "table": {"pruning": False, "table_mb": 1},
    "table of whole rows": {"pruning": False, "table_mb": 1, "whole_rows": True},
    "tiny table": {"pruning": False, "table_mb": 0.0002},
    "pruning alone": {"pruning": True, "table_mb": 0, "ordering": ()},
    "pruning, star2": {"pruning": True, "table_mb": 0, "ordering": (), "star2": True},
    "pruning, table": {"pruning": True, "table_mb": 1, "ordering": ()},
    "pruning, table move": {"pruning": True, "table_mb": 1, "ordering": ("table",), "deepening": True},
    "pruning, values": {"pruning": True, "table_mb": 0, "ordering": ("values",)},
    "pruning, killers": {"pruning": True, "table_mb": 0, "ordering": ("killers",)},
    "pruning, tiny table": {"pruning": True, "table_mb": 0.0002, "star2": True, "deepening": True},
    "pruning, everything": {"pruning": True, "table_mb": 1, "star2": True, "deepening": True},
    "pruning, everything, whole rows": {"pruning": True, "table_mb": 1, "star2": True, "whole_rows": True},
    "windowed, no pruning": {"pruning": False, "table_mb": 1, "width": 1000},
    "as it comes": {},
}


def ids(case):
    return getattr(case, "name", case)


@cache
def positions(g, count):
    """Random decisions, from the start of games to their end."""
    rng, seed = Random(5), 900_000
    found: dict[State, None] = {}
    while len(found) < count and seed < 900_000 + 40 * count:
        stream = new_stream(seed)
        state = g.new(seed)
        while not state.is_terminal:
            if rng.random() < 0.3:
                found[state] = None
            state = state.play(rng.choice(state.legal_actions)).settle(stream)
        seed += 1
    return list(found)[:count]


def depth_of(g):
    return DEPTHS.get(g.name, 2)


@pytest.mark.parametrize(("g", "score"), CASES, ids=ids)
def test_the_plain_search_is_the_naive_recursion(g, score):
    evaluator, depth = g.score(score), depth_of(g)
    naive = Naive(g, evaluator)
    search = Search(g, evaluator, depth, **EXACT["plain"])
    for state in positions(g, COUNT):
        result = search(state)
        assert result.values == pytest.approx(naive.values(state, depth), rel=1e-12, abs=1e-12), str(state)
        assert result.value == max(result.values.values())


@pytest.mark.parametrize(("g", "score"), CASES, ids=ids)
def test_exact_options_change_no_value(g, score):
    evaluator, depth = g.score(score), depth_of(g)
    searches = {name: Search(g, evaluator, depth, **options) for name, options in EXACT.items()}
    hasty = Search(g, evaluator, depth, all_values=False)
    work = dict.fromkeys(EXACT, 0)
    for state in positions(g, COUNT):
        plain = searches["plain"](state)
        for name, search in searches.items():
            result = search(state)
            assert result.values == pytest.approx(plain.values, rel=1e-12, abs=1e-12), (str(state), name)
            work[name] += result.nodes + result.leaves
        quick = hasty(state)
        assert quick.value == pytest.approx(plain.value, rel=1e-12, abs=1e-12)
        for a, value in quick.values.items():
            if a in quick.bounds:
                assert plain.values[a] <= value + 1e-12 * abs(value)
                assert value <= quick.value
            else:
                assert value == pytest.approx(plain.values[a], rel=1e-12, abs=1e-12)
    assert work["table"] <= work["plain"]
    assert work["pruning alone"] <= work["plain"]
    if g.players == 2:
        assert work["pruning alone"] < work["plain"]
