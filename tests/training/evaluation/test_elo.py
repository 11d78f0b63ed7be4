"""Ratings: against closed forms, against the truth behind drawn games, and what their errors cover."""

import math

import numpy as np
import pytest

from leafwise.training.evaluation.statistics import SHARES, Unit, elo_difference, fit, rate


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
    units = [Unit(0, 1, 1.5, 2)] * 60 + [Unit(1, 0, 2.0, 2)] * 20 + [Unit(0, 1, 1.0, 1)] * 10
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
        units = [Unit(0, 1, 2 * float(share), 2) for share in rng.choice(SHARES, 100, p=chances)]
        ratings = rate(2, units, samples=300)
        low, high = np.quantile(ratings.samples[:, 0] - ratings.samples[:, 1], [0.025, 0.975])
        covered += low <= truth <= high
    assert 105 <= covered <= 120


def test_who_won_everything_has_a_finite_rating_with_a_wide_error() -> None:
    ratings = rate(3, [Unit(0, 1, 2.0, 2)] * 30 + [Unit(1, 2, 2.0, 2)] * 30)
    assert np.isfinite(ratings.samples).all()
    assert ratings.elo[0] > 300 > ratings.elo[1] > -300 > ratings.elo[2]
    assert ratings.difference(0, 1)[1] > 200


def test_players_without_games_have_no_difference() -> None:
    assert rate(2, []).difference(0, 1) == (0.0, 0.0)
