"""The benchmark compares equal searches."""

import pytest

from games import dice
from leafwise.envs.registry import game
from leafwise.envs.threes.bench import POSITIONS, ScalarSearch, yardsticks
from leafwise.search import Search, bench
from leafwise.search.bench import (
    APPROXIMATE,
    MOST_LEAVES,
    OPTIONS,
    bench_options,
    bench_threads,
    bench_yardsticks,
    measured_depth,
    positions,
    room_bench,
)
from leafwise.search.players import SearchPlayer, player

THREES = game("threes")


@pytest.fixture(scope="module")
def written_by_hand():
    return yardsticks(THREES)


@pytest.mark.parametrize("leaf", ["openness", "rows"])
@pytest.mark.parametrize("board", POSITIONS)
def test_the_hand_written_search_has_the_same_tree(board, leaf, written_by_hand):
    state = THREES.parse(POSITIONS[board])
    found = Search(THREES, THREES.score(leaf), 3)(state)
    values, leaves = written_by_hand[leaf](state, 3)
    assert values == pytest.approx(found.values, rel=1e-12)
    assert leaves == found.leaves


def test_the_hand_written_search_knows_one_variant_and_its_scores():
    with pytest.raises(ValueError, match=r"expected leafwise.game\('threes'\)"):
        ScalarSearch(game("threes", hint="exact"), THREES.score("rows"))
    with pytest.raises(ValueError, match=r"expected a score among openness, rows, rows_cli, got 'total_score'"):
        ScalarSearch(THREES, THREES.score("total_score"))


def test_a_room_brings_positions_and_searches_written_by_hand(written_by_hand):
    assert list(positions(THREES)) == list(POSITIONS)
    assert list(positions(game("threes", hint="exact"))) == ["start"]
    assert hasattr(room_bench(game("friday")), "bench_baselines")
    assert room_bench(game("trap")) is None
    assert positions(dice.GAME) == {"start": dice.GAME.new(0)}
    rates = bench_yardsticks(THREES, written_by_hand, seconds=0.0, depths=(1,))
    assert {f"{leaf}/{board}/depth=1 time ratio" for leaf in ("openness", "rows") for board in POSITIONS} < set(rates)


@pytest.mark.long
def test_other_people_s_programs_are_measured():
    rates = room_bench(THREES).bench_baselines(seconds=0.0)
    assert set(rates) == {f"{name} leaves/s" for name in ("threesus:openness", "threesus:openness_wegner", "nneonneo")}
    assert min(rates.values()) > 0


def test_simulations_are_measured_beside_the_leaves_that_they_take():
    rates = bench.bench_simulations(dice.GAME, dice.GAME.score(), seconds=0.0)
    assert list(rates) == ["lead/start/simulations/s", "lead/start/leaves/s by simulations"]
    simulations, leaves = rates.values()
    assert 0 < simulations < leaves <= dice.GAME.max_actions * simulations * (1 + 1 / bench.SIMULATIONS)


def test_a_difference_to_a_yardstick_is_an_error():
    with pytest.raises(ArithmeticError, match=r"expected equal trees and values"):
        bench_yardsticks(THREES, {"rows": lambda state, depth: ({}, 0)}, seconds=0.0, depths=(1,))


@pytest.mark.long
def test_options_are_measured_at_equal_value():
    rates = bench_options(dice.GAME, dice.GAME.new(900_001), depth=4, seconds=0.001)
    assert rates["plain node ratio"] == 1
    assert rates["table node ratio"] < 1
    assert rates["pruning leaf ratio"] < 1
    assert rates["the same, one value leaf ratio"] < rates["pruning leaf ratio"]
    assert max(rates[f"{option} error"] for option in OPTIONS if option not in APPROXIMATE) < 1e-12


def test_the_measured_depth_keeps_the_plain_search_short():
    state = dice.GAME.new(900_001)
    depth = measured_depth(dice.GAME, state)
    assert Search(dice.GAME, dice.GAME.score(), depth, **OPTIONS["plain"])(state).leaves <= 2 * MOST_LEAVES
    assert depth > 3


def test_a_search_says_what_it_expects():
    score = THREES.score("rows")
    with pytest.raises(ValueError, match=r"expected width of 1 to 2\*\*62, got 0"):
        Search(THREES, score, width=0)
    with pytest.raises(ValueError, match=r"expected nodes of 0 to 1,000,000,000,000,000, got -1"):
        Search(THREES, score, nodes=-1)
    with pytest.raises(ValueError, match=r"expected a cutoff or nodes, got 0.1 and 5"):
        Search(THREES, score, cutoff=0.1, nodes=5)
    with pytest.raises(ValueError, match=r"expected an ordering among table, values, killers, got 'luck'"):
        Search(THREES, score, ordering=("luck",))
    with pytest.raises(ValueError, match=r"expected table_mb of 0 to 65,536, got -1"):
        Search(THREES, score, table_mb=-1)
    with pytest.raises(ValueError, match=r"player .*: expected 0 or 1 for pruning, got 'yes'"):
        player("search:rows,pruning=yes", THREES)


def test_a_player_s_text_holds_the_options():
    found = player("search:lead,depth=4,pruning=1,table_mb=1,width=2,nodes=500", dice.GAME)
    assert isinstance(found, SearchPlayer)
    settings = found.search.options
    assert (settings.depth, settings.pruning, settings.table_mb, settings.width) == (4, True, 1.0, 2)
    assert settings.nodes == 500
    assert found.choose(dice.GAME.new(900_001)) in dice.GAME.new(900_001).legal_actions


def test_threads_are_measured_against_one():
    rates = bench_threads(dice.GAME, seconds=0.01, at_least=0.0)
    assert list(rates) == ["lead/start/depth=1 speed-up of 2 threads"]
    assert rates.popitem()[1] > 0


@pytest.mark.long
def test_the_depth_that_a_clock_allows_is_measured(monkeypatch):
    monkeypatch.setattr(bench, "CLOCK", 0.01)
    trap = game("trap", size=4)
    rates = bench.bench_clock(trap, {"reach": trap.score("reach"), "again": trap.score("reach")})
    told = ("nodes/s", "median depth in 0.01 s")
    assert set(rates) == {f"{name}/{what}" for name in ("reach", "again") for what in told}
    assert min(rates.values()) >= 1
    positions = bench.early_positions(trap, 4)
    assert len(positions) == 4
    assert all(state.legal_actions for state in positions)
