"""How learned leaves are measured, and what the shipped ones reach."""

from itertools import islice

import numpy as np
import pytest

import leafwise
from leafwise.envs.trilobite.solver import TrilobiteSolver
from leafwise.experiments.cassis import critical
from leafwise.experiments.study import CHECKOUT
from leafwise.experiments.study.leaves import LeafMatch, compare_choices, is_quiet, openings, play_match, subset
from leafwise.experiments.trilobite.fair_openings import FILE, is_fair, read
from leafwise.experiments.trilobite.learned import every_board
from leafwise.training.evaluation.agreement import SolvedPositions, critical_positions, played_lines
from leafwise.training.evaluation.arena import play_game
from leafwise.training.evaluation.statistics import share_interval

GAME = leafwise.game("trilobite")


@pytest.fixture(scope="module")
def judged() -> SolvedPositions:
    return every_board(GAME)


def test_the_shipped_networks_keep_the_value(judged: SolvedPositions) -> None:
    assert len(judged.rows) == 505
    assert judged.share(leafwise.load("trilobite")) == 1.0
    cassis = critical_positions(leafwise.game("cassis"), 150, 1_000_000, (1, 13))
    assert cassis.share(leafwise.load("cassis")) == 1.0
    assert cassis.share(cassis.game.score()) < 0.9


def test_every_board_by_the_counts_of_the_rules(judged: SolvedPositions) -> None:
    """694 boards in all; every unfinished one has an action that keeps the value, and only legal ones do."""
    assert judged.keeps.any(axis=1).all()
    for row, keeps in zip(judged.rows, judged.keeps, strict=True):
        assert set(np.flatnonzero(keeps)) <= set(leafwise.State(GAME, row).legal_actions)
    start = next(k for k, row in enumerate(judged.rows) if not row.any())
    assert judged.keeps[start].all()  # the rules: 0, 0, 0


def test_shares_and_their_difference(judged: SolvedPositions) -> None:
    learned, hand_made = leafwise.load("trilobite"), GAME.score()
    compared = compare_choices(judged, learned, hand_made, 1)
    assert compared["learned"] == 1.0
    assert compared["difference_points"] == pytest.approx(100 * (1.0 - compared["hand_made"]))
    assert compared["ci_low"] <= compared["difference_points"] <= compared["ci_high"]
    some = np.arange(len(judged.rows)) < 7
    assert len(subset(judged, some).rows) == 7


def test_matches_count_for_the_first_search_and_both_seats_are_played() -> None:
    starts = openings(GAME, 12, (0, 3))
    assert len(set(starts)) == 12
    strong, weak = ("", {"depth": 6}), ("", {"depth": 1})
    one, other = (
        play_match(LeafMatch(GAME, (strong, weak)), starts),
        play_match(LeafMatch(GAME, (weak, strong)), starts),
    )
    assert (one["wins"], one["draws"], one["losses"]) == (other["losses"], other["draws"], other["wins"])
    assert one["wins"] + one["draws"] + one["losses"] == one["games"] == 24
    assert one["share"] > 0.5 > other["share"]


def test_the_moves_of_a_match_are_decisions() -> None:
    trap = leafwise.game("trap", size=3)  # a turn has two
    side, start = ("", {"depth": 1}), trap.new(1)
    _, _, moves = LeafMatch(trap, (side, side))([start])
    players = [leafwise.player("search:depth=1", trap) for _ in range(2)]
    played = [play_game(trap, players, 0, seat, opening=start) for seat in (0, 1)]
    assert moves[0] == sum(one.moves for one in played) > sum(one.pace.turns for one in played)
    assert moves.sum() > moves[0]


def test_quiet_positions() -> None:
    assert is_quiet(GAME.start())
    assert not is_quiet(GAME.start().play("1").play("2").play("1").play("2"))  # a win at once
    assert not is_quiet(GAME.start().play("1").play("2").play("1"))  # one reply only


def test_players_who_see_to_the_end_keep_the_game_drawn() -> None:
    """3x3 is a draw, so whatever they play is one; players who see two moves ahead err, but never pass over a win."""
    solver = TrilobiteSolver(GAME, 4)
    assert all(solver.value(s) == 0 for s, _ in islice(played_lines(GAME, 5, (1, 8), 9), 40))
    short = [s for s, _ in islice(played_lines(GAME, 5, (5, 8), 2), 200)]
    assert any(solver.value(s) for s in short)
    assert len(set(short)) > 20


def test_openings_are_fair_by_the_values_of_their_moves() -> None:
    solver = TrilobiteSolver(GAME, 4)
    for state, _ in islice(played_lines(GAME, 6, (0, 7), 1), 150):
        solution = solver.solve(state)
        values = list(solution.action_values.values())
        assert solver.value(state) == solution.value
        assert is_fair(solver, state) == (solution.value == 0 or values.count(solution.value) == 1), str(state)


def test_the_fair_openings_of_connect_four() -> None:
    assert CHECKOUT is not None
    tried, states = read(CHECKOUT / "trilobite" / FILE)
    assert len(set(states)) == len(states) < tried
    solver = TrilobiteSolver(states[0].game, 16)
    late = [state for state in states if str(state).count(".") == 34][:3]
    assert all(is_fair(solver, state) for state in late)
    assert all(34 <= str(state).count(".") <= 38 for state in states)


def test_shares_of_kept_values_have_intervals_and_are_of_the_leaf_that_is_named() -> None:
    cassis = leafwise.game("cassis")
    start = cassis.start().play(0)
    keeps = np.zeros((2, len(cassis.actions)), dtype=bool)
    keeps[0] = True
    judged = SolvedPositions(cassis, np.array([start.row, start.row]), keeps)
    assert critical.kept(judged, "", 1)["mean"] == 0.5
    assert critical.kept(judged, "", 1)["ci_low"] == share_interval(1, 2)[0] > 0
