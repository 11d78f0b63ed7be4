"""Plain temporal differences with a sparse network: it learns what it says itself of the positions that follow in its own games.

TD(lambda) as in Tesauro, "Temporal difference learning and TD-Gammon" (1995): games of one-ply play, whose targets are the
lambda-return of the network's own values of the next positions and of the outcome. Games, replay, evaluation, files and what is
logged are those of the method `selfplay`, which learns the values of searches instead. Where an action was drawn at random,
the value of the best one stands in for what follows.

It is what `--method td` does in games whose rooms have sparse features and no cells; n-tuples: `td`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from leafwise.training.methods import selfplay
from leafwise.training.runs.folder import need_train_extra, run_main
from leafwise.training.runs.loop import run_learner


@dataclass(frozen=True)
class Config(selfplay.Config):
    """Options of `leafwise train GAME --method td` where networks are sparse."""

    decay: float = 0.9
    """Lambda: 0 learns the network's value of the next position, 1 the outcome alone."""


class SparseTd(selfplay.SelfPlay):
    """One run of TD(lambda)."""

    method = "td"
    own = True


def train(config: Config) -> Path:
    """Trains a sparse network by TD(lambda) and returns its run folder; raises ValueError for options that do not fit."""
    need_train_extra()
    return run_learner(SparseTd(config), f"td {config.game}")


def main(arguments: list[str] | None = None) -> int:
    """Runs the command line."""
    return run_main("td", Config, train, arguments)


if __name__ == "__main__":
    raise SystemExit(main())
