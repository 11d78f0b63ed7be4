"""A run that was killed ends as one that was not: the same state, and no step stands twice in TensorBoard or is missing."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import leafwise
from leafwise.models.network import text_of
from leafwise.models.players import policy
from leafwise.models.tensors import load_tensors
from leafwise.training.alphazero import alphazero
from leafwise.training.dqn import dqn
from leafwise.training.ntuple_td import ntuple_q
from leafwise.training.ntuple_td import ntuple_td as td
from leafwise.training.ppo import ppo
from leafwise.training.runs.files import Curves
from leafwise.training.runs.loop import run_learner
from leafwise.training.selfplay import selfplay, value_td
from leafwise.training.starship import ppo as ship_ppo
from leafwise.training.starship import ship_changes, ship_values
from running.training import cut_and_compare

BATCHES: dict[str, Any] = {
    "game": "trilobite",
    "match_pairs": 100,
    "solver_positions": 0,
    "hidden": (8, 8),
    "batch_size": 64,
}
SHIPS: dict[str, Any] = {"game": "starship", "evaluate_games": 2, "evaluate_every": 1}
PLAYED: dict[str, Any] = {**BATCHES, "positions": 200, "buffer_size": 400, "total_steps": 4}
PIECES = {**PLAYED, "job_size": 80, "staleness": 1}
SEARCHED = {**PIECES, "simulations": 10, "evaluate_every": 2}
Q: dict[str, Any] = {
    **BATCHES, "total_steps": 4000, "envs": 50, "buffer_size": 1000, "learning_starts": 500, "interval": 1000, "train_every": 200,
}  # fmt: skip
ACTIONS: dict[str, Any] = {
    "n_step": 3, "priority": 0.6, "tau": 0.02, "dueling": True, "exploration_spread": 3.0, "double": False,
}  # fmt: skip
MASKED = {**BATCHES, "total_steps": 512, "envs": 8, "rollout": 16, "evaluate_every": 2, "opponent": "random"}
NTUPLES = {"game": "threes", "total_steps": 4000, "interval": 1000, "evaluate_games": 4, "tuples": "0145"}
CAROUSEL = {**NTUPLES, "tuples": "0123 4567", "carousel": "24 96", "average_exponent": 2.0, "coherence": True}
BUILT = {
    **SHIPS,
    "total_steps": 8,
    "batch_size": 8,
    "build_every": 2,
    "heuristic_ships": 3,
    "completions": 1,
    "ships": 1,
}
CHANGED = {**SHIPS, "total_steps": 8, "batch_size": 8, "change_every": 2, "ships": 1, "tries": 20, "buffer_size": 50}
PLACED = {**SHIPS, "total_steps": 64, "envs": 2, "rollout": 8, "batch_size": 16, "epochs": 1, "channels": 2}
LEARNERS: dict[str, tuple[Any, type, dict[str, Any]]] = {
    "ntuple-td": (td.NTupleTd, td.Config, CAROUSEL),
    "ntuple-q": (ntuple_q.NTupleQ, ntuple_q.Config, NTUPLES),
    "value-td": (value_td.ValueTd, value_td.Config, {**PLAYED, "td_lambda": 0.5}),
    "selfplay": (selfplay.SelfPlay, selfplay.Config, PLAYED),
    "selfplay, pieces": (selfplay.SelfPlay, selfplay.Config, PIECES),
    "alphazero, pieces": (alphazero.AlphaZero, alphazero.Config, SEARCHED),
    "dqn, actions": (dqn.QLearner, dqn.Config, Q | ACTIONS),
    "dqn, searched actions": (dqn.QLearner, dqn.Config, {**Q, "target_depth": 2, "priority": 0.6}),
    "dqn, states": (dqn.QLearner, dqn.Config, {**Q, "head": "value", "n_step": 2}),
    "dqn, pieces": (dqn.QLearner, dqn.Config, {**Q, "job_size": 500, "staleness": 1}),
    "ppo": (ppo.MaskedPpo, ppo.Config, MASKED),
    "ship-values": (ship_values.ShipValuesLearner, ship_values.Config, BUILT),
    "ship-changes": (ship_changes.ShipChangesLearner, ship_changes.Config, CHANGED),
    "ppo, ships": (ship_ppo.PlacementPpo, ship_ppo.Config, PLACED),
}
TAGS = {
    "ntuple-td": "rollout/ep_rew_mean train/error train/rate eval/score_mean eval/score_ci_low",
    "ntuple-q": "train/exploration_rate train/q_mean train/error time/seconds",
    "selfplay": "rollout/ep_len_mean train/loss train/learning_rate eval/elo",
    "dqn": "train/loss train/td_error train/q_mean rollout/decided eval/score_ci_low",
    "ppo": "rollout/ep_rew_mean train/value_loss train/loss eval/elo",
}


class Dropping(nn.Module):
    """Draws at random what it drops while it learns, and learns how to normalize a batch."""

    def __init__(self, space: Any, outputs: int) -> None:
        super().__init__()
        planes, rows, columns = space.shape
        self.norm, self.drop = nn.BatchNorm2d(planes), nn.Dropout(0.3)
        self.say = nn.Linear(planes * rows * columns, outputs)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.tanh(self.say(self.drop(self.norm(x).flatten(1))))


MODULES: dict[str, tuple[Any, type, dict[str, Any]]] = {
    "dqn, a module's actions": (dqn.QLearner, dqn.Config, {**Q, "network": text_of(Dropping)}),
    "dqn, a module's states": (
        dqn.QLearner, dqn.Config, {**Q, "network": "resnet,blocks=1,channels=4", "head": "value", "tau": 0.1},
    ),
    "alphazero, a module": (alphazero.AlphaZero, alphazero.Config, {**SEARCHED, "network": text_of(Dropping)}),
    "ppo, a module": (
        ppo.MaskedPpo, ppo.Config,
        {**MASKED, "network": "mlp,hidden=16", "opponent": "self", "solver_positions": 20},
    ),
}  # fmt: skip
for _, _, few in MODULES.values():
    del few["hidden"]
LEARNERS |= MODULES
LONG = (
    "ship-values",
    "ship-changes",
    "ppo, ships",
    "alphazero, pieces",
    "alphazero, a module",
    "dqn, a module's states",
)


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.long] * (name in LONG)) for name in LEARNERS])
def test_a_run_that_was_killed_ends_as_one_that_was_not(name: str, tmp_path: Path) -> None:
    make, kind, options = LEARNERS[name]
    whole = run_learner(make(kind(run=str(tmp_path / "whole"), **options)))
    cut_and_compare(make, kind(run=str(tmp_path / "cut"), **options), whole)
    events = Curves(whole).read()
    assert len(events["time/fps"]) == 4
    judged = {"eval/elo"} if name == "ppo, ships" else set()  # these ships are judged by what they are worth
    assert set(TAGS.get(make.method, "").split()) - judged <= events.keys()
    results = json.loads((whole / "results.json").read_text())
    assert results["command"].startswith(f"leafwise train {options['game']} --method {make.method} --no-recipe ")
    assert f" --total-steps {options['total_steps']} " in results["command"]
    assert results["steps"] >= options["total_steps"]
    assert {file.name.split(".")[0] for file in whole.iterdir()} == {
        "config",
        "model",
        "state",
        "results",
        "events",
        "run",
    }
    if name in MODULES:
        metadata = load_tensors(whole / "model.safetensors")[1]
        assert (metadata["network"], metadata["sees"]) == (options["network"].partition(",")[0], "planes")
        game = leafwise.game("trilobite")
        state = game.new(0).play("1").play("1").play("1")  # the column is full
        assert len(set(leafwise.Search(game, leafwise.load(whole), depth=2)(state).values.values())) > 1
        saved = load_tensors(whole / "state.safetensors")[0]
        means = [name for name in saved if name.startswith(("online", "newest")) and name.endswith("running_mean")]
        assert all(saved[name].any() for name in means)  # they are learned in train mode
        if options.get("head") != "value":
            prior = policy(game, str(whole))(state.row[None], None)[0]
            assert (prior[0], prior.sum()) == (0, pytest.approx(1))
    if name.endswith("pieces"):
        assert max(behind for _, behind in events["rollout/staleness"]) == 1
