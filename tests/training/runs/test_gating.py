"""Which network of a run is kept."""

from __future__ import annotations

import leafwise
from leafwise.models import load_sparse
from leafwise.models.files import model_path
from leafwise.training.networks.sparse import fresh_module
from leafwise.training.runs.gating import Gate


def test_alone_of_equally_good_networks_the_newest_is_kept_and_a_worse_one_is_not() -> None:
    game = leafwise.game("friday", level=1)
    losers = [fresh_module(game, (8, 8), seed).export() for seed in (1, 2)]
    shipped = load_sparse(model_path("friday"), game)
    gate = Gate(losers[0], pool=1, pairs=10, plies=0, nodes=30)
    assert [gate.compare_alone(network)[1] for network in (*losers, shipped, losers[0])] == [True, True, True, False]
    assert gate.best is shipped
    assert gate.score["mean"] > 0
