"""The test of chances told in games: right ones pass, wrong ones do not, and games count, not decisions."""

import numpy as np
import pytest

from leafwise.training.evaluation.calibration import BINS, calibration, calibration_test, cross_scaled, scaling


def games(n: int, wrong: float, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns games whose chance moves between 0 and 1 in fair steps to its end, told with an error in the log odds."""
    rng = np.random.default_rng(seed)
    decisions, chances, at = np.zeros((n, BINS)), np.zeros((n, BINS)), np.full(n, 10)
    while len(open_ := np.flatnonzero((at > 0) & (at < 20))):
        told = 1 / (1 + np.exp(-np.log(at[open_] / (20 - at[open_])) - wrong))
        tenths = np.minimum((told * BINS).astype(int), BINS - 1)
        decisions[open_, tenths] += 1
        chances[open_, tenths] += told
        at[open_] += rng.choice((-1, 1), size=len(open_))
    outcomes = (at == 20).astype(float)
    return decisions, chances, outcomes


def test_right_chances_pass_as_often_as_they_should() -> None:
    tests = [calibration_test(*games(200, 0.0, seed), draws=500) for seed in range(60)]
    refused = sum(test.p < 0.05 for test in tests)
    assert refused <= 9, "60 draws with a chance of 0.05 each exceed 9 less than once in 1,000 times"
    assert np.mean([test.p for test in tests]) == pytest.approx(0.5, abs=0.15)
    assert all((test.error <= test.luck) == (test.p >= 0.05) or abs(test.p - 0.05) < 0.01 for test in tests)


def test_wrong_chances_are_found() -> None:
    test = calibration_test(*games(400, 0.8, 1))
    assert test.p < 0.001
    assert test.luck < test.ci_low < test.error < test.ci_high


def test_its_error_is_that_of_all_decisions() -> None:
    decisions, chances, outcomes = games(50, 0.3, 2)
    told = np.repeat((chances / np.maximum(decisions, 1)).ravel(), decisions.ravel().astype(int))
    won = np.repeat(np.repeat(outcomes, BINS), decisions.ravel().astype(int))
    assert calibration_test(decisions, chances, outcomes).error == pytest.approx(calibration(told, won)[0])


def test_games_count_and_not_decisions() -> None:
    decisions, chances, outcomes = games(100, 0.0, 3)
    one, many = (calibration_test(decisions * k, chances * k, outcomes) for k in (1, 64))
    assert many == one


def test_where_all_is_won_luck_is_not_nothing() -> None:
    """200 games of a chance of 0.99 are all won once in seven times; of 0.9, once in a billion."""
    decisions, outcomes = np.zeros((200, BINS)), np.ones(200)
    decisions[:, -1] = 300
    assert calibration_test(decisions, 0.99 * decisions, outcomes).p > 0.05
    assert calibration_test(decisions, 0.90 * decisions, outcomes).p < 0.001


def test_a_line_for_the_log_odds_mends_what_is_wrong() -> None:
    decisions, chances, outcomes = games(1200, 0.8, 5)
    right = cross_scaled(decisions, chances, outcomes)
    assert calibration_test(decisions, chances, outcomes).p < 0.001
    assert calibration_test(decisions, right.chances, outcomes).p > 0.05
    for slope, offset in right.lines:
        assert slope == pytest.approx(1.0, abs=0.15)
        assert offset == pytest.approx(-0.8, abs=0.25)


def test_no_game_is_judged_by_what_it_taught() -> None:
    decisions, chances, outcomes = games(300, 0.8, 6)
    other = outcomes.copy()
    other[0] = 1 - other[0]  # the first game ends otherwise
    before, after = (cross_scaled(decisions, chances, ends) for ends in (outcomes, other))
    assert (before.chances[::2] == after.chances[::2]).all()
    assert not (before.chances[1::2] == after.chances[1::2]).all()
    assert before.lines[0] == after.lines[0]
    with pytest.raises(ValueError, match="expected games won and games lost"):
        cross_scaled(decisions, chances, np.ones(300))


def test_a_line_for_chances_near_0_and_1_is_made_of_numbers() -> None:
    chances = np.tile([0.0, 1e-12, 0.5, 1.0], 25)
    outcomes = np.tile([0.0, 0.0, 1.0, 1.0], 25)
    assert np.isfinite(scaling(chances, outcomes)).all()  # games that the chances tell apart without fail
    with pytest.raises(ValueError, match="expected chances that differ, got 100 that no line"):
        scaling(np.full(100, 0.25), outcomes)
    decisions = np.ones((4, 1))
    scaled = cross_scaled(decisions, np.array([[0.0], [1.0], [1.0], [0.0]]), np.array([0.0, 1.0, 1.0, 0.0]))
    assert ((scaled.chances >= 0) & (scaled.chances <= 1)).all()
