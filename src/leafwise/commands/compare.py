"""Compares sets of training runs: interquartile mean, probability of improvement, performance profiles."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import tyro

from leafwise.cli import OutputFile, Report, command
from leafwise.envs.core.errors import UserError
from leafwise.training.runs import FINAL_SEED


@dataclass(frozen=True)
class Config:
    """Compares sets of training runs by the scores of all their runs.

    A set is a folder with runs in it, as `leafwise train GAME --seeds 5` writes one,
    or with several such folders. All runs play the same games; all sets have the same
    games. The command prints the interquartile mean of each set, the probability that
    a run of one set is better than a run of another, and the share of runs above each
    score. The 95 % intervals come from a bootstrap over runs, stratified by games
    (Agarwal et al. 2021).

    Examples:
      leafwise compare runs/b runs/c --games 20
    """

    most_used: ClassVar[tuple[str, ...]] = ("games", "player", "opponent")
    sets: tyro.conf.Positional[tuple[Path, ...]]
    """Folders of runs."""
    player: str = "search:RUN,depth=1"
    """Player that evaluates a run; RUN stands for its folder."""
    opponent: str = "greedy"
    """Player on the other side, in two-player games."""
    games: int = 200
    """Games of each run; against an opponent half of them from each seat."""
    seed: int = FINAL_SEED
    """Seed of the first game; from 1,000,000 on for final figures."""
    processes: int = 1
    """Processes that play at the same time."""
    cluster: str = ""
    """Ray cluster that plays instead: auto, local or HOST:PORT."""
    picture: OutputFile = ""
    """PNG to draw (needs matplotlib)."""
    overwrite: bool = False
    """Overwrite the picture if it exists."""
    json: bool = False
    """Print one JSON object."""


LEVELS = 9
"""Scores at which a profile is printed."""


def figures(config: Config) -> dict[str, Any]:
    """Returns the figures of a comparison, as `--json` prints them."""
    import numpy as np

    from leafwise.training.evaluation.run_sets import estimate, improvement, interquartile_mean, profile, scores_in
    from leafwise.training.runs.run_options import variant_text

    where: dict[str, Any] = {"processes": config.processes, "cluster": config.cluster}
    by_game = scores_in(config.sets, config.player, config.opponent, config.games, config.seed, **where)
    scores = [list(values) for values in zip(*by_game.values(), strict=True)]
    every = np.concatenate([values for one in scores for values in one])
    levels = np.linspace(every.min(), every.max(), LEVELS + 2)
    sets = [
        {
            "runs": str(path),
            "scores": {repr(game): values.tolist() for game, values in zip(by_game, one, strict=True)},
            "iqm": [float(x) for x in estimate(interquartile_mean, one)],
            "profile": [x.tolist() for x in estimate(profile(levels), one)],
        }
        for path, one in zip(config.sets, scores, strict=True)
    ]
    pairs = [
        {
            "better": str(config.sets[i]),
            "than": str(config.sets[j]),
            "probability": [float(x) for x in estimate(improvement, scores[i], scores[j])],
        }
        for i, j in itertools.combinations(range(len(scores)), 2)
    ]
    opponent = config.opponent if any(game.players == 2 for game in by_game) else None
    settings = {"player": config.player, "opponent": opponent, "games": config.games, "seed": config.seed}
    return {
        **settings,
        "played": [repr(game) for game in by_game],
        "titles": [" ".join(filter(None, (game.name, variant_text(game)))) for game in by_game],
        "sets": sets,
        "pairs": pairs,
        "levels": levels.tolist(),
    }


def lines(comparison: dict[str, Any]) -> Iterator[str]:
    """Yields a comparison as lines of text."""
    form = ",.3f" if max(map(abs, comparison["levels"])) < 10 else ",.0f"
    games = comparison["titles"]
    against = f" against {comparison['opponent']}" if comparison["opponent"] else ""
    yield f"{', '.join(games)}: {comparison['player']}{against}, {comparison['games']} games a run, seeds from {comparison['seed']}"
    width = max(len("runs above"), *(len(one["runs"]) for one in comparison["sets"]))
    for one in comparison["sets"]:
        value, low, high = (format(x, form) for x in one["iqm"])
        count = sum(map(len, one["scores"].values()))
        yield f"  {one['runs']:<{width}}  {count} runs, interquartile mean {value} ({low} to {high})"
    for pair in comparison["pairs"]:
        value, low, high = pair["probability"]
        stands = "a significant difference" if low > 0.5 or high < 0.5 else "no significant difference"
        yield f"  {pair['better']} is better than {pair['than']} with probability {value:.2f} ({low:.2f} to {high:.2f}): {stands}"
    yield f"  {'runs above':<{width}}  {' '.join(f'{x:>7{form}}' for x in comparison['levels'][1:-1])}"
    for one in comparison["sets"]:
        yield f"  {one['runs']:<{width}}  {' '.join(f'{x:>7.0%}' for x in one['profile'][0][1:-1])}"
    how = "a plain bootstrap over the runs of one game" if len(games) == 1 else "a bootstrap stratified by games"
    yield f"  95 % intervals by {how}; with few runs they are too narrow"


def ending(name: str, most: int = 24) -> str:
    """Returns the end of a set's name, short enough for a picture."""
    return name if len(name) <= most else f"...{name[3 - most :]}"


def draw(comparison: dict[str, Any], path: Path) -> None:
    """Draws the interquartile means and the performance profiles."""
    from leafwise.experiments.study import picture

    with picture(path, 1, 2, size=(9, 3.5)) as (means, profiles):
        for k, one in enumerate(comparison["sets"]):
            value, low, high = one["iqm"]
            drawn = means.errorbar(
                [value], [k], xerr=[[max(0.0, value - low)], [max(0.0, high - value)]], fmt="o", capsize=3
            )
            share, below, above = one["profile"]
            colour = drawn[0].get_color()
            profiles.plot(comparison["levels"], share, label=ending(one["runs"]), color=colour)
            profiles.fill_between(comparison["levels"], below, above, color=colour, alpha=0.2)
        means.set_yticks(range(len(comparison["sets"])), [ending(one["runs"]) for one in comparison["sets"]])
        means.set_ylim(-0.5, len(comparison["sets"]) - 0.5)
        means.set_xlabel("interquartile mean")
        profiles.set_xlabel("score")
        profiles.set_ylabel("share of the runs above")
        profiles.legend(fontsize=8)


@command(Config)
def main(config: Config) -> Iterator[Report]:
    """Runs the command."""
    if config.picture and not config.picture.endswith(".png"):
        raise UserError(f"expected a file name that ends with .png for --picture, got {config.picture!r}")
    comparison = figures(config)
    if config.picture:
        draw(comparison, Path(config.picture))
    yield comparison, lines(comparison)
