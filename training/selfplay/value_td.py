"""Temporal differences as in TD-Gammon: a network learns what it says itself of the positions that follow in its own games.

Tesauro, "Temporal difference learning and TD-Gammon" (1995), in any game. The target of a position is the lambda-return of the
network's own values of the next positions, and of the outcome; in single-player games with a score it is the return to come. Where
an action was drawn at random, the value of the best one stands in for what follows. A network with a sparse first layer learns it,
or with `--network` a torch module. Games, replay, matches, files and what is logged are those of `leafwise.training.selfplay`,
which learns what searches say instead.
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
    """One run with a network that learns what it says itself instead of what a search says."""

    method = "value-td"
    own = True


def train(config: Config) -> Path:
    """Trains a network by TD(lambda) and returns the run folder; raises ValueError for options that do not fit."""
    return run_learner(ValueTd(config))
