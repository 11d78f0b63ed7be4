"""Q-learning with n-tuples: it learns, and what a position learns is the best of what may follow."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import leafwise
from leafwise.envs.core.contract.rules import TERMINAL
from leafwise.models.ntuple import NTupleNetwork, Shape, parse_tuples
from leafwise.training.ntuple_td import ntuple_q
from leafwise.training.ntuple_td.kernels import MOVES, kernels, new_trainer
from leafwise.training.ntuple_td.ntuple_q import Config
from leafwise.training.runs.files import Curves

SMALL: dict[str, Any] = {
    "game": "threes", "total_steps": 20_000, "interval": 10_000, "evaluate_games": 20, "evaluate_every": 1, "tuples": "0145",
    "exploration": 0.1,
}  # fmt: skip


def test_it_learns(tmp_path: Path) -> None:
    whole = ntuple_q.train(Config(run=str(tmp_path / "whole"), **SMALL))
    events = Curves(whole).read()
    assert {"train/exploration_rate", "train/q_mean", "train/error", "time/seconds"} <= set(events)
    threes, leaf = leafwise.game("threes"), leafwise.load(whole)
    scores = [leafwise.Search(threes, leaf, 1)(threes.new(seed)).value for seed in range(3)]
    assert min(scores) > 0
    assert events["eval/score_mean"][-1][1] > 500


def test_without_random_actions_games_are_those_of_temporal_differences() -> None:
    """The same stream, so the same games; what is learned with no trace is the best value of the next decision in both."""
    threes = leafwise.game("threes")
    shape = Shape(parse_tuples("0145"))
    tables = []
    for q in (True, False):
        network = NTupleNetwork.create(threes, shape)
        trainer, T = new_trainer(threes, 7), threes.tables(network.evaluator("x"))
        kernels(network, searched=True, exploring=q).td_games(trainer, 2000, 0.1 / network.active, 0.0, 0, T)
        assert trainer.counts[MOVES] >= 2000
        tables.append(network.weights.table.copy())
    assert np.abs(tables[0]).max() > 0
    assert np.allclose(tables[0], tables[1], atol=1e-4)


def test_random_actions_are_a_share_and_end_traces() -> None:
    threes = leafwise.game("threes")
    network = NTupleNetwork.create(threes, Shape(parse_tuples("0145")))
    trainer, T = new_trainer(threes, 7), threes.tables(network.evaluator("x"))
    trainer.exploration[:] = 0.25
    kernels(network, exploring=True).td_games(trainer, 4000, 0.1 / network.active, 0.5, 0, T)
    assert 1 - trainer.greedy[0] / trainer.counts[MOVES] == pytest.approx(0.25, abs=0.03)
    assert trainer.greedy[1] > 0
    assert leafwise.State(threes, trainer.S[0]).current_player == TERMINAL
