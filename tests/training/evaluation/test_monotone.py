"""The monotone fit: against brute force on few points, and how far off it says that it is."""

from itertools import pairwise

import numpy as np
import pytest

from leafwise.training.evaluation.calibration import groups, monotone, tenths


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
    told, came = tenths(np.interp(values[1::2], knots, fitted), outcomes[1::2])
    assert len(told) == 10
    assert np.abs(told - came).max() < 0.03
    told, came = tenths(np.clip(chances[1::2] + 0.2, 0, 1), outcomes[1::2])
    assert np.abs(told - came).max() == pytest.approx(0.2, abs=0.03)
