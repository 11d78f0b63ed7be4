"""The benchmark compares equal searches."""

import pytest

from games import dice
from leafwise.envs.registry import game
from leafwise.search import Search
from leafwise.search.bench import OPTIONS, POSITIONS, bench_options
from leafwise.search.scalar_threes import ScalarSearch

THREES = game("threes")


@pytest.mark.parametrize("leaf", ["openness", "rows"])
@pytest.mark.parametrize("board", POSITIONS)
def test_the_hand_written_search_has_the_same_tree(board, leaf):
    state = THREES.parse(POSITIONS[board])
    found = Search(THREES, THREES.score(leaf), 3)(state)
    values, leaves = ScalarSearch(THREES, THREES.score(leaf))(state, 3)
    assert values == pytest.approx(found.values, rel=1e-12)
    assert leaves == found.leaves


def test_the_hand_written_search_knows_one_variant_and_its_scores():
    with pytest.raises(ValueError, match=r"expected leafwise.game\('threes'\)"):
        ScalarSearch(game("threes", hint="exact"), THREES.score("rows"))
    with pytest.raises(ValueError, match=r"expected openness, rows or rows_cli, got 'total_score'"):
        ScalarSearch(THREES, THREES.score("total_score"))


def test_options_are_measured_at_equal_value():
    rates = bench_options(dice.GAME, dice.GAME.new(900_001), depth=5, seconds=0.01)
    assert rates["plain node ratio"] == 1
    assert rates["table node ratio"] < 1
    assert rates["pruning node ratio"] < 1
    assert rates["one value node ratio"] <= rates["pruning + table, values, killers node ratio"]
    exact = [name for name in OPTIONS if name not in ("cutoff", "width 3")]
    assert max(rates[f"{option} error"] for option in exact) < 1e-12
