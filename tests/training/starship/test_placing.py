"""Masked PPO that builds ships: it learns, its run can be cut, what it writes is a builder."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import leafwise
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.gym.observation import new_observations
from leafwise.envs.starship import GAME
from leafwise.models.files import load_tensors
from leafwise.training.starship.builders import builder, policy_builder
from leafwise.training.starship.ppo import Config, PlacementPpo, train

pytestmark = pytest.mark.long

SMALL: dict[str, Any] = {
    "game": "starship",
    "total_steps": 384,
    "envs": 4,
    "rollout": 32,
    "batch_size": 64,
    "epochs": 2,
    "channels": 4,
    "evaluate_games": 2,
}
SMALL |= {"evaluate_every": 2, "checkpoint_seconds": 0.0}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train(Config(run=str(tmp_path_factory.mktemp("runs") / "whole"), **SMALL))


def test_a_run_that_was_cut_ends_as_one_that_was_not(run: Path, tmp_path: Path) -> None:
    learner = PlacementPpo(Config(run=str(tmp_path / "cut"), **SMALL))
    learner.step()
    learner.save()
    learner.step()  # what was done since the last checkpoint is lost
    learner.folder.lock.release()
    train(replace(learner.config, resume=True))
    one, other = (load_tensors(p / "state.safetensors")[0] for p in (run, tmp_path / "cut"))
    assert one.keys() == other.keys()
    for name, tensor in one.items():
        np.testing.assert_array_equal(tensor, other[name], err_msg=name)


def test_it_learns_where_reward_is_paid(tmp_path: Path) -> None:
    """Where only places in the left half of the grid pay, it places there more often than at first."""
    import torch

    learner = PlacementPpo(
        Config(run=str(tmp_path / "x"), **{**SMALL, "learning_rate": 0.01, "epochs": 4, "entropy": 0.0, "gamma": 0.0})
    )
    paid, venv = [], learner.model.env.venv.venv  # under the monitor and the scale
    wait = venv.step_wait

    def pay() -> Any:
        obs, _, dones, infos = wait()
        reward = (np.asarray(venv._actions) % 24 < 12).astype(np.float32) / 10
        paid.append(reward.mean() * 10)
        return obs, reward, dones, infos

    venv.step_wait = pay
    torch.manual_seed(1)
    logged = [learner.step() for _ in range(8)]
    assert np.mean(paid[-96:]) > np.mean(paid[:64]) + 0.1
    assert {"train/value_loss", "train/entropy_loss", "time/fps", "rollout/ep_len_mean"} <= logged[-1].keys()


def test_the_run_folder_and_its_builder(run: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(run))
    events.Reload()
    assert {"eval/score_mean", "eval/valid", "rollout/ep_rew_mean", "train/loss"} <= set(events.Tags()["scalars"])
    assert events.Tags()["images"] == ["ships"]
    ship = builder(f"policy:{run}", GAME)(5)
    assert ship.is_terminal
    assert ship == builder(f"policy:{run}", GAME)(5)


def test_the_builder_takes_the_policys_greatest_legal_number(run: Path) -> None:
    import torch

    learner, state = PlacementPpo(Config(run=str(run), **SMALL, resume=True)), GAME.new(5)
    chosen = policy_builder(GAME, str(run))
    rows = GAME.rows(1)
    rows[0] = state.row
    seen = new_observations(GAME, 1)
    GAME.rules.observe(rows, np.uint64(0), seen, np.uint64(0), GAME.tables())
    mask = np.zeros((1, GAME.max_actions), dtype=bool)[:, : 4 * 24 * 24]
    mask[0, list(state.legal_actions)] = True
    observation = {"grid": torch.from_numpy(seen.grid), "vec": torch.from_numpy(seen.vec)}
    best = load_tensors(run / "model.safetensors")[0]
    learner.model.policy.load_state_dict({k: torch.from_numpy(x) for k, x in best.items()}, strict=False)
    actions, *_ = learner.model.policy(observation, deterministic=True, action_masks=mask)
    assert chosen.choose(State(GAME, state.row)) == int(actions[0])


def test_models_that_do_not_fit(run: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="expected a policy for"):
        policy_builder(leafwise.game("starship", preset="classic"), str(run))
    with pytest.raises(ValueError, match="expected a game that builds on a grid, got 'threes'"):
        PlacementPpo(Config(game="threes", run=str(tmp_path / "x")))
