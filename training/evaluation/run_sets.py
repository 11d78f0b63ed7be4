"""Compares sets of training runs by the scores of all their runs, not of a single seed.

Source: Agarwal et al., "Deep reinforcement learning at the edge of the statistical precipice", NeurIPS 2021. The interquartile mean
is the mean of the middle half of all scores. The probability of improvement is the probability that a run of one set beats a run of
the other in the same game. A performance profile is the share of the runs above each score. All have 95 % intervals by a bootstrap
stratified by games: the runs of each game are resampled. With one game this is a plain bootstrap over its runs, that is over
training seeds. With few runs the intervals cover less than 95 %.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from leafwise.envs.core.arrays import Floats
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.errors import UserError
from leafwise.training.evaluation.arena import evaluate
from leafwise.training.evaluation.statistics import sampled_interval
from leafwise.training.runs.files import CONFIG, options_of
from leafwise.training.runs.loop import find_variant

Scores = Sequence[Floats]
"""For each game the scores of its runs, [..., runs]."""
SAMPLES = 2000
QUARTER = 0.25
"""Share of the scores that the interquartile mean omits at either end."""


class Estimate(NamedTuple):
    """An estimate with its 95 % interval."""

    value: Any
    low: Any
    high: Any


def interquartile_mean(scores: Scores) -> Floats:
    """Returns the mean of the middle half of all scores."""
    from scipy.stats import trim_mean  # slow to import

    return np.asarray(trim_mean(np.concatenate(scores, axis=-1), QUARTER, axis=-1))


def improvement(first: Scores, second: Scores) -> Floats:
    """Returns the probability that a run of the first set beats one of the second in the same game; ties count half."""
    signs = [np.sign(a[..., :, None] - b[..., None, :]) for a, b in zip(first, second, strict=True)]
    return np.asarray((1 + np.mean([sign.mean(axis=(-2, -1)) for sign in signs], axis=0)) / 2)


def profile(levels: Floats) -> Callable[[Scores], Floats]:
    """Returns a function from scores to the share of the runs above each level, [..., levels]."""
    return lambda scores: (np.concatenate(scores, axis=-1)[..., None] > levels).mean(axis=-2)


def estimate(statistic: Callable[..., Floats], *sets: Scores, seed: int = 0) -> Estimate:
    """Returns a statistic of sets of runs, with its interval by the stratified bootstrap."""
    rng = np.random.default_rng(seed)
    drawn = [[runs[rng.integers(len(runs), size=(SAMPLES, len(runs)))] for runs in scores] for scores in sets]
    return Estimate(statistic(*sets), *sampled_interval(statistic(*drawn)))


def runs_in(folder: Path) -> dict[Game, list[Path]]:
    """Returns the finished runs below a folder, by game; raises ValueError for no run and for an unfinished one."""
    runs: dict[Game, list[Path]] = {}
    for path in sorted(file.parent for file in folder.rglob(CONFIG)):
        if not (path / "results.json").exists():
            raise UserError(
                f"expected finished runs in {str(folder)!r}, got {path.name}, which is not finished: continue it with --resume"
            )
        options = options_of(path)
        runs.setdefault(find_variant(options.get("game", ""), options.get("variant", "")), []).append(path)
    if not runs:
        raise UserError(f"expected a folder with runs in it, as leafwise train --seeds writes one, got {str(folder)!r}")
    return runs


def played(game: Game, player: str, games: int, seed: int, **where: Any) -> float:
    """Returns the score of a player in a number of games: mean return, or share of the points in two-player games.

    `where` are the other options of `evaluate`. Raises ValueError for a player that fails in one of them.
    """
    evaluation = evaluate(game, player, games, seed, **where)
    for fault in evaluation.faults:
        raise UserError(f"expected players without faults, got {fault.kind} of {fault.player}: {fault.what}")
    return (1 + evaluation.mean) / 2 if game.players == 2 else evaluation.mean


def scores_in(
    folders: Sequence[Path], player: str, opponent: str, *games: int, **where: Any
) -> dict[Game, list[Floats]]:
    """Returns for each game the scores of the runs in each folder, all in the same games; RUN in `player` stands for a run.

    Scores of several games are normalized: `random` has 0, `greedy` has 1. `games` is the number of games and the first seed.
    Raises ValueError for folders whose runs learned different games.
    """
    sets = [runs_in(folder) for folder in folders]
    if not sets or any(one.keys() != sets[0].keys() for one in sets):
        names = " and ".join(" with ".join(sorted(map(repr, one))) for one in sets) or "none"
        raise UserError(f"expected sets of runs that learned the same games, got {names}")
    scores_by_game = {}
    for game in sets[0]:
        options = {**where, "opponent": opponent if game.players == 2 else None}
        scores = [
            np.array([played(game, player.replace("RUN", str(run)), *games, **options) for run in one[game]])
            for one in sets
        ]
        if len(sets[0]) > 1 and game.players == 1:
            low, high = (played(game, name, *games, **options) for name in ("random", "greedy"))
            scores = [(run_scores - low) / (high - low) for run_scores in scores]
        scores_by_game[game] = scores
    return scores_by_game
