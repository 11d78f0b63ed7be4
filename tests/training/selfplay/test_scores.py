"""Sparse networks learn the return to come in single-player games with a score, also where a game has cells for n-tuples."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import leafwise
from games import stacks
from leafwise.authoring import SparseFeatures, State, jit
from leafwise.models.files import load_network
from leafwise.search import Search
from leafwise.training.selfplay import selfplay, value_td
from leafwise.training.selfplay.games import SearchRecorder
from running.networks import random_network


@jit(inline=True)
def held(S, i, F, T):
    """Writes the rank of each cell."""
    for k in range(stacks.CELLS):
        F[k] = 16 * k + np.int64(stacks.get(S, i, k))
    return stacks.CELLS


SEEN = SparseFeatures(held, lambda options: 16 * stacks.CELLS, lambda options: stacks.CELLS, stage="tile")
GAME = replace(stacks.GAME, features={**stacks.GAME.features, "sparse": SEEN})


@pytest.mark.parametrize("leaf_targets", [False, True])
def test_returns_to_come_are_recorded_in_a_game_with_a_score_and_cells(leaf_targets: bool) -> None:
    game, network = GAME, random_network(GAME, seed=4)
    config = selfplay.Config(game="threes", plies=0, exploration=0.0, td_lambda=0.0)
    recorded = SearchRecorder([game], network, config, leaf_targets=leaf_targets, positions=400).piece(
        game, 400, network, network, 3
    )
    search, T = Search(game, network.evaluator("x"), 1), game.tables(network.evaluator("x"))
    decisions = chances = 0
    for k, state in enumerate(State(game, row) for row in recorded.rows[:-1]):
        after = State(game, recorded.rows[k + 1])
        if after.returns < state.returns:  # another game
            assert recorded.targets[k] == 0
        elif state.is_chance:  # worth what comes of it
            chances += 1
            assert recorded.targets[k] == pytest.approx(recorded.targets[k + 1] + after.returns - state.returns)
        elif after.is_chance and leaf_targets:
            decisions += 1
            to_come = network.evaluator("x").compiled(recorded.rows, np.uint64(k + 1), T)
            assert recorded.targets[k] == pytest.approx(to_come + after.returns - state.returns, abs=1e-5)
        elif not leaf_targets:
            decisions += 1
            assert recorded.targets[k] == pytest.approx(search(state).value - state.returns, abs=1e-9)
    assert decisions > 100 < chances


@pytest.mark.parametrize("train", [selfplay.train, value_td.train])
def test_a_score_is_learned(train: Any, tmp_path: Any) -> None:
    config = selfplay.Config if train is selfplay.train else value_td.Config
    more: dict[str, Any] = {"plies": 0, "positions": 2000, "total_steps": 1, "hidden": (8, 8), "match_pairs": 100}
    run = train(config(run=str(tmp_path / "run"), game="threes", **more))
    network = load_network(run / "model.safetensors", leafwise.game("threes"))
    assert (network.head, network.evaluator("x").to_go) == ("value", True)
    assert network.unit > 10  # the mean return of random games
