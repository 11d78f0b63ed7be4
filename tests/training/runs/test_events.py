"""What every learner logs: after kill -9 no step stands twice in TensorBoard, and none is missing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from leafwise.training.dqn import dqn
from leafwise.training.ntuple_td import ntuple_td as td
from leafwise.training.ppo import ppo
from leafwise.training.runs.loop import Learner, run_learner
from leafwise.training.selfplay import selfplay, value_td
from leafwise.training.starship import ppo as ship_ppo
from leafwise.training.starship import ship_values

TWO: dict[str, Any] = {"game": "trilobite", "match_pairs": 100, "judged": 0}
BATCHES: dict[str, Any] = {**TWO, "hidden": (8, 8), "batch_size": 64}
SHIPS: dict[str, Any] = {"game": "starship", "evaluate_games": 2, "evaluate_every": 1}
PLAYED: dict[str, Any] = {**BATCHES, "positions": 200, "buffer_size": 400, "total_steps": 4}
NETWORK: dict[str, Any] = {**PLAYED, "td_lambda": 0.5}
Q: dict[str, Any] = {
    **BATCHES,
    "total_steps": 4000,
    "envs": 50,
    "buffer_size": 1000,
    "learning_starts": 500,
    "interval": 1000,
}
MASKED: dict[str, Any] = {
    **BATCHES,
    "total_steps": 512,
    "envs": 8,
    "rollout": 16,
    "evaluate_every": 2,
    "opponent": "random",
}
NTUPLES: dict[str, Any] = {
    "game": "threes",
    "total_steps": 4000,
    "interval": 1000,
    "evaluate_games": 4,
    "tuples": "0145",
}
BUILT: dict[str, Any] = {
    **SHIPS,
    "total_steps": 8,
    "batch_size": 8,
    "build_every": 2,
    "hand_ships": 3,
    "finishes": 1,
    "ships": 1,
}
PLACED: dict[str, Any] = {
    **SHIPS,
    "total_steps": 64,
    "envs": 2,
    "rollout": 8,
    "batch_size": 16,
    "epochs": 1,
    "channels": 2,
}
LEARNERS: dict[str, tuple[Callable[[Any], Learner], type, dict[str, Any]]] = {
    "ntuple-td": (td.NTupleTd, td.Config, NTUPLES),
    "value-td": (value_td.ValueTd, value_td.Config, NETWORK),
    "selfplay": (selfplay.SelfPlay, selfplay.Config, PLAYED),
    "dqn": (dqn.QLearner, dqn.Config, Q),
    "ppo": (ppo.MaskedPpo, ppo.Config, MASKED),
    "ship-values": (ship_values.Builds, ship_values.Config, BUILT),
    "ppo, ships": (ship_ppo.Placing, ship_ppo.Config, PLACED),
}


class Killed(BaseException):
    """Ends a run as kill -9 does: nothing more is written."""


def killed_after(learner: Learner, steps: int, saved: int) -> None:
    """Runs a learner to its checkpoint after `saved` steps and ends it, without another, as it begins the next after `steps`."""
    taken, step = 0, learner.step

    def counted() -> dict[str, Any]:
        nonlocal taken
        if taken == steps:
            raise Killed
        taken += 1
        return step()

    learner.step = counted  # type: ignore[method-assign]
    learner.folder.checkpoint_due = lambda seconds: taken == saved  # type: ignore[method-assign]
    with pytest.raises(Killed):
        run_learner(learner)


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.long] * (name in ("ship-values", "ppo, ships"))) for name in LEARNERS],
)
def test_no_step_stands_twice_after_a_kill(name: str, tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    make, kind, options = LEARNERS[name]
    config = kind(run=str(tmp_path / "cut"), **options)
    killed_after(make(config), steps=3, saved=1)
    run_learner(make(replace(config, resume=True)))
    whole = replace(config, run=str(tmp_path / "whole"))
    run_learner(make(whole))
    steps = []
    for path in (config.run, whole.run):
        events = EventAccumulator(path)
        events.Reload()
        steps.append({tag: [event.step for event in events.Scalars(tag)] for tag in events.Tags()["scalars"]})
    assert steps[0]["time/fps"] == steps[1]["time/fps"]
    assert len(steps[0]["time/fps"]) == 4
    assert steps[0].keys() == steps[1].keys()
    assert all(seen == sorted(set(seen)) for seen in steps[0].values())
