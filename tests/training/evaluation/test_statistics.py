"""Intervals and what they cover, Elo ratings, monotone fits, and the test of chances told in games."""

import json
import math
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from leafwise.training.evaluation.calibration import (
    BINS,
    calibration,
    calibration_test,
    cross_scaled,
    groups,
    monotone,
    scaling,
    tenths,
)
from leafwise.training.evaluation.statistics import (
    NO_INTERVAL,
    SHARES,
    GamePair,
    bounds,
    elo_difference,
    error_half,
    fit,
    interval_text,
    logged_bounds,
    mean_interval,
    points_interval,
    rate,
    ratio_interval,
    results_interval,
    returns_interval,
    share_interval,
)
from running.score_samples import GAMES, sample

ROOT = Path(__file__).parents[3]
MARKS = {5: 0.89, 10: 0.91, 50: 0.93, 200: 0.93}
"""Share of the means of random games of Threes that intervals of so many games cover at least."""
COVERAGE = json.loads((ROOT / "experiments/results/coverage.json").read_text(encoding="utf-8"))["figures"]
"""What is covered of samples, as pages have it: ships that are not valid have quality 0, which few ships may not show."""
RESAMPLES = 4000


def coverage(scores: NDArray[np.float64], games: int, seed: int = 1) -> float:
    """Returns the share of the intervals of so many games, drawn from a sample, that hold its mean."""
    rng, truth = np.random.default_rng(seed), scores.mean()
    intervals = (mean_interval(rng.choice(scores, games)) for _ in range(RESAMPLES))
    return float(np.mean([low <= truth <= high for low, high in intervals]))


def test_intervals_of_few_games_cover_what_they_say() -> None:
    scores = sample("threes random")
    assert len(scores) == 3000
    for games, mark in MARKS.items():
        assert coverage(scores, games) >= mark, games


@pytest.mark.parametrize("name", COVERAGE)
def test_coverage_of_samples_is_as_pages_have_it(name: str) -> None:
    scores, expected = sample(name), COVERAGE[name]
    assert len(scores) == GAMES[name]
    for games in (5, 10, 50, 200):
        assert coverage(scores, games) == pytest.approx(expected[f"{games} games"], abs=0.02), games


def test_the_interval_of_a_mean_is_students() -> None:
    values = np.random.default_rng(1).normal(5.0, 2.0, 12)
    expected = stats.t.interval(0.95, 11, values.mean(), stats.sem(values))
    assert mean_interval(values) == pytest.approx(expected)
    assert error_half(float(stats.sem(values)), 12) == pytest.approx((expected[1] - expected[0]) / 2)


def test_scores_that_are_alike_have_no_interval() -> None:
    for values in (np.array([7.0]), np.full(200, 7.0)):
        assert np.isnan(mean_interval(values)).all()
    assert np.isnan(returns_interval(np.zeros(10), (0.0, 100.0))).all(), "scores of 0, not games that are lost"
    assert bounds(NO_INTERVAL) == {"ci_low": None, "ci_high": None}
    assert logged_bounds(NO_INTERVAL) == {}
    assert interval_text(*NO_INTERVAL, ".1f") == interval_text(None, None, ".1f") == "-"


@pytest.mark.parametrize("games", [5, 6, 7, 8, 10, 13, 20, 50, 100, 400])
def test_intervals_of_shares_cover_95_of_100(games: int) -> None:
    shares, wins = np.arange(1, 100) / 100, np.arange(games + 1)
    low, high = np.array([share_interval(int(won), games) for won in wins]).T
    probable = stats.binom.pmf(wins, games, shares[:, None])
    covered = (probable * ((low <= shares[:, None]) & (shares[:, None] <= high))).sum(axis=1)
    assert 0.93 <= covered.mean() <= 0.97


def test_the_interval_of_a_share_holds_it_and_has_a_width() -> None:
    for games in range(1, 500):
        for wins in {0, 1, games // 2, games - 1, games}:
            low, high = share_interval(wins, games)
            assert 0 <= low <= wins / games <= high <= 1
            assert low < high
    assert share_interval(5, 10) == pytest.approx((0.2366, 0.7634), abs=1e-4)
    assert share_interval(10, 10) == pytest.approx((0.7225, 1.0), abs=1e-4)


def test_intervals_of_pairs_are_never_narrower_than_wilsons() -> None:
    rng = np.random.default_rng(2)
    for units in (1, 2, 5, 20, 200):
        for draws in (0.0, 0.5, 1.0):
            shares = rng.choice(
                [0, 0.25, 0.5, 0.75, 1], units, p=np.array([1, draws, draws, draws, 1]) / (2 + 3 * draws)
            )
            low, high = points_interval(shares)
            least, most = share_interval(float(shares.sum()), units)
            assert 0 <= low <= least <= shares.mean() <= most <= high <= 1
            assert results_interval(2 * shares - 1) == pytest.approx((2 * low - 1, 2 * high - 1))
    spread = np.array([0.0] * 5 + [1.0] * 5)
    assert points_interval(spread) == pytest.approx(mean_interval(spread)), "wider than Wilson's"


def test_a_game_says_which_interval_its_mean_return_has() -> None:
    won = np.array([1.0] * 10)
    assert returns_interval(won, (0.0, 1.0)) == share_interval(10, 10)
    assert returns_interval(won, (-1.0, 1.0)) == results_interval(won)
    quality = np.array([0.4, 0.45, 0.5])
    assert returns_interval(quality, (0.0, 1.0)) == mean_interval(quality)
    low, high = mean_interval(np.array([3.0, 6.0, 900.0]))
    assert low < 0
    assert returns_interval(np.array([3.0, 6.0, 900.0]), (0.0, 25e6)) == (0.0, high)


def test_the_interval_of_a_ratio_covers_it() -> None:
    """Groups of 1 to 8 cases that share half of their luck."""
    rng, held = np.random.default_rng(3), 0
    for _ in range(500):
        counts = rng.integers(0, 9, 60).astype(float)
        sums = np.array([(rng.normal() + rng.normal(size=int(n))).sum() for n in counts])
        low, high = ratio_interval(sums, counts)
        held += low <= 0 <= high
    assert 0.92 <= held / 500 <= 0.98
    ones = np.ones(9)
    values = np.arange(9.0)
    assert ratio_interval(values, ones) == pytest.approx(mean_interval(values))
    assert all(math.isnan(bound) for bound in ratio_interval(np.zeros(0), np.zeros(0)))


def test_no_other_file_makes_intervals_of_its_own() -> None:
    """Quantiles of samples stand where a model is fitted to them: Elo, and the calibration of chances."""
    allowed = {"training/evaluation/statistics.py", "training/evaluation/calibration.py"}
    files = [path for room in ("training", "experiments", "src", "models") for path in (ROOT / room).rglob("*.py")]
    offenders = {
        str(path.relative_to(ROOT))
        for path in files
        if any(
            word in path.read_text(encoding="utf-8")
            for word in ("1.96 *", "quantile(", "percentile(", "bootstrap_interval")
        )
    }
    assert offenders == allowed


def test_elo_of_shares() -> None:
    assert elo_difference(0.5) == 0
    assert elo_difference(10 / 11) == pytest.approx(400)
    assert elo_difference(1.0) == math.inf
    assert elo_difference(0.0) == -math.inf


@pytest.mark.parametrize("share", [0.3, 0.5, 0.61, 0.9])
def test_two_players_fit_the_closed_form(share: float) -> None:
    points = np.array([[0, 50 * share], [50 * (1 - share), 0]])
    games = np.array([[0, 50.0], [50, 0]])
    one, other = fit(points, games)
    assert one - other == pytest.approx(elo_difference(share))
    assert one + other == pytest.approx(0)


def test_the_prior_is_one_pair_of_every_kind() -> None:
    units = [GamePair(0, 1, 1.5, 2)] * 60 + [GamePair(1, 0, 2.0, 2)] * 20 + [GamePair(0, 1, 1.0, 1)] * 10
    expected = (60 * 1.5 + 10 + 1) / (60 * 2 + 20 * 2 + 10 + 2)
    elo, error = rate(2, units).difference(0, 1)
    assert elo == pytest.approx(elo_difference(expected))
    assert 0 < error < 100


def test_ratings_that_add_up_are_found() -> None:
    truth = np.array([150.0, 20.0, -30.0, -140.0])
    share = 1 / (1 + 10 ** ((truth[None, :] - truth[:, None]) / 400))
    games = 40.0 * (1 - np.eye(4))
    games[0, 3] = games[3, 0] = 0  # two who never met are compared through the others
    assert fit(share * games, games) == pytest.approx(truth)


def test_intervals_cover_the_truth_about_as_often_as_they_say() -> None:
    rng, covered = np.random.default_rng(3), 0
    chances = np.array([0.1, 0.15, 0.3, 0.2, 0.25])  # games of a pair hang together: wider than single games would be
    truth = elo_difference(float(chances @ SHARES))
    for _ in range(120):
        units = [GamePair(0, 1, 2 * float(share), 2) for share in rng.choice(SHARES, 100, p=chances)]
        ratings = rate(2, units, samples=300)
        low, high = np.quantile(ratings.samples[:, 0] - ratings.samples[:, 1], [0.025, 0.975])
        covered += low <= truth <= high
    assert 105 <= covered <= 120


def test_who_won_everything_has_a_finite_rating_with_a_wide_error() -> None:
    ratings = rate(3, [GamePair(0, 1, 2.0, 2)] * 30 + [GamePair(1, 2, 2.0, 2)] * 30)
    assert np.isfinite(ratings.samples).all()
    assert ratings.elo[0] > 300 > ratings.elo[1] > -300 > ratings.elo[2]
    assert ratings.difference(0, 1)[1] > 200


def test_players_without_games_have_no_difference() -> None:
    assert rate(2, []).difference(0, 1) == (0.0, 0.0)


def test_few_points_are_fitted_best() -> None:
    """No step function that never falls, with any blocks of neighbours at their means, has a smaller square error."""
    rng = np.random.default_rng(3)
    for _ in range(20):
        values, outcomes = np.sort(rng.random(6)), rng.random(6)
        knots, fitted = monotone(values, outcomes)
        assert (np.diff(knots) > 0).all()
        assert (np.diff(fitted) >= 0).all()
        error = ((np.interp(values, knots, fitted) - outcomes) ** 2).sum()
        best = np.inf
        for cuts in range(32):
            edges = [0, *(k + 1 for k in range(5) if cuts >> k & 1), 6]
            means = [outcomes[a:b].mean() for a, b in pairwise(edges)]
            if all(a <= b for a, b in pairwise(means)):
                best = min(
                    best,
                    sum(((outcomes[a:b] - m) ** 2).sum() for (a, b), m in zip(pairwise(edges), means, strict=True)),
                )
        assert error == pytest.approx(best)


def test_equal_values_stay_together() -> None:
    values = np.array([0.5] * 30 + [0.1] * 30 + [0.9] * 40)
    assert groups(values, 10).tolist() == [1] * 30 + [0] * 30 + [2] * 40
    knots, fitted = monotone(values, np.where(values == 0.9, 1.0, np.where(values == 0.5, 0.5, 0.0)))
    assert knots.tolist() == pytest.approx([0.1, 0.5, 0.9])
    assert fitted.tolist() == pytest.approx([0.0, 0.5, 1.0])


def test_chances_that_are_told_right_are_off_by_little_and_wrong_ones_by_what_they_are() -> None:
    rng = np.random.default_rng(0)
    values = rng.normal(size=40_000)
    chances = 1 / (1 + np.exp(-2 * values))
    outcomes = (rng.random(40_000) < chances).astype(float)
    knots, fitted = monotone(values[::2], outcomes[::2])
    predicted, observed = tenths(np.interp(values[1::2], knots, fitted), outcomes[1::2])
    assert len(predicted) == 10
    assert np.abs(predicted - observed).max() < 0.03
    predicted, observed = tenths(np.clip(chances[1::2] + 0.2, 0, 1), outcomes[1::2])
    assert np.abs(predicted - observed).max() == pytest.approx(0.2, abs=0.03)


def games(n: int, wrong: float, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns games whose chance moves between 0 and 1 in fair steps to its end, told with an error in the log odds."""
    rng = np.random.default_rng(seed)
    decisions, chances, at = np.zeros((n, BINS)), np.zeros((n, BINS)), np.full(n, 10)
    while len(open_ := np.flatnonzero((at > 0) & (at < 20))):
        predicted = 1 / (1 + np.exp(-np.log(at[open_] / (20 - at[open_])) - wrong))
        tenths = np.minimum((predicted * BINS).astype(int), BINS - 1)
        decisions[open_, tenths] += 1
        chances[open_, tenths] += predicted
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
    predicted = np.repeat((chances / np.maximum(decisions, 1)).ravel(), decisions.ravel().astype(int))
    won = np.repeat(np.repeat(outcomes, BINS), decisions.ravel().astype(int))
    assert calibration_test(decisions, chances, outcomes).error == pytest.approx(calibration(predicted, won)[0])


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
    with pytest.raises(ValueError, match="expected won and lost games"):
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
