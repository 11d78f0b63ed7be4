"""TD(lambda) as in TD-Gammon: trains a value network on its own values of the following positions in self-play.

Source: Tesauro, "Temporal difference learning and TD-Gammon" (1995). The target of a position is the lambda-return of the
network's own values of the next positions and of the outcome. In single-player games with a score it is the return to come. After
a random action the value of the best action replaces what follows. The network is sparse, or with `--network` a torch module.
Games, replay buffer, matches, files and logged figures are those of `leafwise.training.selfplay`, whose targets are root values
of searches.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from leafwise.envs.core.ranges import Share
from leafwise.training.runs.loop import run_learner
from leafwise.training.selfplay import selfplay


@dataclass(frozen=True)
class Config(selfplay.Config):
    """Options of `leafwise train GAME --method value-td`."""

    td_lambda: Share = 0.9
    """Lambda of the targets: 0 uses only the network's value of the next position, 1 only the outcome of the game."""


class ValueTd(selfplay.SelfPlay):
    """One run; the targets are the network's own values instead of root values of searches."""

    method = "value-td"
    leaf_targets = True


def train(config: Config) -> Path:
    """Trains a network by TD(lambda) and returns the run folder; raises ValueError for options that do not fit."""
    return run_learner(ValueTd(config))
