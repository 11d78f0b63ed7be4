"""Has two models of one game play each other until a sequential test says which is better.

`python -m leafwise.experiments.versus --game trilobite --variant board=7x6,k=4 --models NEW OLD --depth 4` plays random openings
from both seats, and writes nothing. It ends when "not better" and "better by 10 Elo" can be told apart, each with an error of
5 %, or after `--pairs` openings. For games for two without chance. Seeds from 2,970,000 on.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from leafwise.envs.core.errors import UserError
from leafwise.experiments.study import Study, command, leaves
from leafwise.training.evaluation.agreement import random_positions
from leafwise.training.evaluation.statistics import SequentialTest, elo_difference, points_interval
from leafwise.training.runs.loop import find_variant

FIRST_SEED = 2_970_000
LOOK = 50
"""Openings between two looks at the test."""
VERDICTS = {True: "better", False: "not better", None: "not settled"}


@dataclass(frozen=True)
class Config(Study):
    """Has two models of one game play each other."""

    game: str = "trilobite"
    """Game of both."""
    variant: str = "board=7x6,k=4"
    """Its variant."""
    models: tuple[str, str] = ("trilobite7x6", "trilobite7x6")
    """Shipped models' names, run folders or files; figures are the first one's."""
    depth: int = 4
    """Decisions that both look ahead, without a clock."""
    seconds: float = 0.0
    """Processor seconds a move instead (0: the depth)."""
    candidates: str = ""
    """Actions that searches consider (default: all legal ones)."""
    plies: tuple[int, int] = (4, 10)
    """Least and most random actions of an opening."""
    pairs: int = 2000
    """Most openings, drawn with repetition."""


def options(config: Config) -> dict[str, Any]:
    """Returns how both search."""
    found: dict[str, Any] = {"depth": config.depth}
    if config.seconds:
        found = {"seconds": config.seconds, "clock": "cpu"}
    return found | ({"candidates": config.candidates} if config.candidates else {})


def study(config: Config) -> None:
    """Plays until it is settled."""
    game, test = find_variant(config.game, config.variant), SequentialTest()
    if game.players != 2 or game.max_stages:
        raise UserError(f"expected a game for two without chance, got {game.name!r}")
    starts = list(islice(random_positions(game, FIRST_SEED, config.plies), config.pairs))
    one, other = config.models
    match = leaves.Match(game, ((one, options(config)), (other, options(config))))
    points, better = np.zeros((0, 2)), None
    while better is None and len(points) < len(starts):
        points = np.concatenate([points, match(starts[len(points) : len(points) + LOOK])[0]])
        better = test.decision(points.mean(axis=1))
        low, high = points_interval(points.mean(axis=1))
        mean = float(points.mean())
        told = f"{mean:.1%} ({low:.1%} to {high:.1%}) of {points.size} games, {elo_difference(mean):+.0f} Elo"
        print(f"{one} against {other}: {told}; {VERDICTS[better]}", flush=True)


main = command(Config, study)

if __name__ == "__main__":
    raise SystemExit(main())
