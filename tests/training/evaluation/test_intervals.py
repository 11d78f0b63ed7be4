"""Intervals: what they cover, on stored samples and for every share; where there is none."""

import math
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from leafwise.training.evaluation.statistics import (
    NO_INTERVAL,
    bounds,
    error_half,
    interval_text,
    logged_bounds,
    mean_interval,
    points_interval,
    ratio_interval,
    results_interval,
    returns_interval,
    share_interval,
)
from running.score_samples import GAMES, sample

ROOT = Path(__file__).parents[3]
MARKS = {5: 0.89, 10: 0.91, 50: 0.93, 200: 0.93}
"""Share of the means of random games of Threes that intervals of so many games cover at least."""
OTHERS = {
    "threes openness, depth 1": {5: 0.93, 10: 0.93, 50: 0.93, 200: 0.94},
    "starship quality": {5: 0.79, 10: 0.71, 50: 0.92, 200: 0.95},
}
"""What is covered of other samples: ships that are not valid have quality 0, which few ships may not show."""
RESAMPLES = 4000


def coverage(scores: NDArray[np.float64], games: int, seed: int = 1) -> float:
    """Returns the share of the intervals of so many games, drawn from a sample, that hold its mean."""
    rng, truth = np.random.default_rng(seed), scores.mean()
    found = (mean_interval(rng.choice(scores, games)) for _ in range(RESAMPLES))
    return float(np.mean([low <= truth <= high for low, high in found]))


def test_intervals_of_few_games_cover_what_they_say() -> None:
    scores = sample("threes random")
    assert len(scores) == 3000
    for games, mark in MARKS.items():
        assert coverage(scores, games) >= mark, games


@pytest.mark.parametrize(("name", "expected"), OTHERS.items())
def test_coverage_of_other_samples_is_as_the_page_says(name: str, expected: dict[int, float]) -> None:
    scores = sample(name)
    assert len(scores) == GAMES[name]
    for games, share in expected.items():
        assert coverage(scores, games) == pytest.approx(share, abs=0.02), games
    page = (ROOT / "docs/concepts.md").read_text(encoding="utf-8")
    assert " | ".join(f"{share:.0%}".replace("%", " %") for share in expected.values()) in page


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
    own = {
        str(path.relative_to(ROOT))
        for path in files
        if any(
            word in path.read_text(encoding="utf-8")
            for word in ("1.96 *", "quantile(", "percentile(", "bootstrap_interval")
        )
    }
    assert own == allowed
