"""How learned leaves are measured, and what the shipped ones reach."""

from __future__ import annotations

import numpy as np
import pytest

import leafwise
from leafwise.experiments.learned import compare_choices, is_quiet, openings, play_match, subset
from leafwise.experiments.trilobite.learned import every_board
from leafwise.training.oracle import Judged, critical_positions

GAME = leafwise.game("trilobite")


@pytest.fixture(scope="module")
def judged() -> Judged:
    return every_board(GAME)


def test_the_shipped_networks_keep_the_value(judged: Judged) -> None:
    assert len(judged.rows) == 505
    assert judged.share(leafwise.load("trilobite")) == 1.0
    cassis = critical_positions(leafwise.game("cassis"), 150, 1_000_000, (1, 13))
    assert cassis.share(leafwise.load("cassis")) == 1.0
    assert cassis.share(cassis.game.score()) < 0.9


def test_every_board_by_the_counts_of_the_rules(judged: Judged) -> None:
    """694 boards in all; every unfinished one has an action that keeps the value, and only legal ones do."""
    assert judged.keeps.any(axis=1).all()
    for row, keeps in zip(judged.rows, judged.keeps, strict=True):
        assert set(np.flatnonzero(keeps)) <= set(leafwise.State(GAME, row).legal_actions)
    start = next(k for k, row in enumerate(judged.rows) if not row.any())
    assert judged.keeps[start].all()  # the rules: 0, 0, 0


def test_shares_and_their_difference(judged: Judged) -> None:
    learned, hand_made = leafwise.load("trilobite"), GAME.score()
    found = compare_choices(judged, learned, hand_made, 1)
    assert found["learned"] == 1.0
    assert found["difference_points"] == pytest.approx(100 * (1.0 - found["hand_made"]))
    assert found["ci_low"] <= found["difference_points"] <= found["ci_high"]
    some = np.arange(len(judged.rows)) < 7
    assert len(subset(judged, some).rows) == 7


def test_matches_count_for_the_first_search_and_both_seats_are_played() -> None:
    starts = openings(GAME, 12, (0, 3))
    assert len(set(starts)) == 12
    strong, weak = leafwise.Search(GAME, GAME.score(), 6), leafwise.Search(GAME, GAME.score(), 1)
    one, other = play_match(strong, weak, starts), play_match(weak, strong, starts)
    assert (one["wins"], one["draws"], one["losses"]) == (other["losses"], other["draws"], other["wins"])
    assert one["wins"] + one["draws"] + one["losses"] == one["games"] == 24
    assert one["share"] > 0.5 > other["share"]


def test_quiet_positions() -> None:
    assert is_quiet(GAME.start())
    assert not is_quiet(GAME.start().play("1").play("2").play("1").play("2"))  # a win at once
    assert not is_quiet(GAME.start().play("1").play("2").play("1"))  # one reply only
