"""Q-learning's options: each learns, and a run with them that was cut ends as one that was not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import leafwise
from leafwise.training.dqn import dqn
from leafwise.training.dqn.games import Player
from leafwise.training.networks import fresh_module
from running.training import cut_and_compare

GAME = leafwise.game("trilobite")
SMALL: dict[str, Any] = {
    "game": "trilobite", "total_steps": 8000, "envs": 50, "buffer_size": 3000, "batch_size": 64, "train_every": 200,
    "learning_starts": 1000, "hidden": (16, 8), "interval": 4000, "match_pairs": 100, "judged": 0, "plies": 4,
    "checkpoint_seconds": 0.0, "final_exploration": 0.3,
}  # fmt: skip
OPTIONS: dict[str, dict[str, Any]] = {
    "actions": {"n_step": 3, "priority": 0.6, "tau": 0.02, "dueling": True, "exploration_spread": 3.0, "double": False},
    "searched actions": {"target_depth": 2, "priority": 0.6},
    "states": {"head": "value", "n_step": 2},
}


@pytest.mark.parametrize("name", OPTIONS)
def test_a_run_that_was_cut_ends_as_one_that_was_not(name: str, tmp_path: Path) -> None:
    config = dqn.Config(run=str(tmp_path / "whole"), **SMALL, **OPTIONS[name])
    cut = replace(config, run=str(tmp_path / "cut"))
    logged = cut_and_compare(dqn.QLearner, dqn.train, cut, dqn.train(config))
    assert {"train/loss", "train/td_error", "train/q_mean", "rollout/decided", "eval/score_ci_low"} <= set(logged)


@pytest.mark.parametrize("dueling", [False, True])
def test_what_is_exported_says_what_the_module_says(dueling: bool) -> None:
    import torch

    module = fresh_module(GAME, (16, 8), 1, head="max", sees="observation", dueling=dueling)
    with torch.no_grad():
        for p in module.parameters():
            p.add_(0.1 * torch.randn(p.shape, generator=torch.Generator().manual_seed(2)))
    network = module.export()
    T, row = GAME.tables(network.evaluator("x")), GAME.start().row[None]
    features, _, _ = network.describe(row, T)
    said = module(torch.from_numpy(features)).detach().numpy()
    assert network.action_values(row, T) == pytest.approx(said, abs=1e-5)


def test_searches_say_what_comes_of_each_action() -> None:
    module = fresh_module(GAME, (16, 8), 1, head="value", sees="observation")
    network = module.export()
    player, leaf = Player(network, dqn.Config(game="trilobite", plies=0)), network.evaluator("x")
    state = GAME.start().play(0)
    values = player.searched(state.row[None], 1, player.new_tables(network))[0]
    for action in range(len(GAME.actions)):
        if action in state.legal_actions:
            after = state.play(action)
            assert values[action] == pytest.approx(-after.value(leaf), abs=1e-6)
        else:
            assert values[action] == -np.inf
