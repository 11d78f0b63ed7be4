"""Which network of a run is kept."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

import leafwise
from games import dice
from leafwise.models import load_sparse
from leafwise.models.files import model_path
from leafwise.training.evaluation.statistics import elo_difference, expected_share
from leafwise.training.networks import fresh_module
from leafwise.training.runs.gating import Gate, pair_points
from running.networks import random_network


def test_alone_of_equally_good_networks_the_newest_is_kept_and_a_worse_one_is_not() -> None:
    game = leafwise.game("friday", level=1)
    losers = [fresh_module(game, (8, 8), seed).export() for seed in (1, 2)]
    shipped = load_sparse(model_path("friday"), game)
    gate = Gate(losers[0], pool=1, pairs=10, plies=0, nodes=30)
    assert [gate.compare_alone(network)[1] for network in (*losers, shipped, losers[0])] == [True, True, True, False]
    assert gate.best is shipped
    assert gate.score["mean"] > 0


def results_of(places: range, share: float) -> NDArray[np.float64]:
    """Returns results of pairs of games of a player who wins that share of them."""
    rng = np.random.default_rng([place % 100_000 for place in places])
    return np.where(rng.random((len(places), 2)) < share, 1.0, -1.0)


def test_elo_of_the_best_is_of_games_that_did_not_choose_it() -> None:
    """Every candidate is better by 10 Elo; those whose luck in the match made them the best look better by far."""
    network = fresh_module(leafwise.game("trilobite"), (8, 8), 1).export()
    share, gains, in_matches = expected_share(10), [], []
    for number in range(300):
        gate = Gate(network, pool=1, pairs=1500, plies=0, play=lambda _, places: results_of(places, share))
        logged, better = gate.challenge(network, number)
        if better:
            gains.append(logged["eval/best_elo"])
            in_matches.append(elo_difference(float(pair_points(gate.meet(network, number)[1]).mean())))
            assert logged["eval/best_elo"] == gate.best_elo == gate.score["elo"] == logged["eval/elo"]
        else:
            assert logged["eval/best_elo"] == 0
    assert len(gains) > 30
    assert np.mean(in_matches) > 18
    assert np.mean(gains) == pytest.approx(10, abs=8)


@pytest.mark.parametrize(("share", "kept"), [(0.5, True), (0.4, False)])
def test_in_a_game_of_chance_the_newest_is_kept_unless_it_is_worse(share: float, kept: bool) -> None:
    network = random_network(dice.GAME, sees="observation")
    gate = Gate(network, pool=1, pairs=400, plies=0, play=lambda _, places: results_of(places, share))
    assert gate.challenge(network, 1)[1] == kept


def test_points_are_shares_of_the_stake_and_elo_is_of_wins() -> None:
    """Who wins half of all games, each twice as high, is better, and no stronger in Elo."""
    game = replace(leafwise.game("trilobite"), return_range=lambda options: (-2.0, 2.0))
    network = random_network(game)
    gate = Gate(network, pool=1, pairs=200, plies=0, play=lambda _, places: np.tile([2.0, -1.0], (len(places), 1)))
    logged, better = gate.challenge(network, 1)
    assert (logged["eval/score_mean"], logged["eval/elo"], better) == (0.625, 0.0, True)
