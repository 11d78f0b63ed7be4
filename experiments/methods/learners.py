"""Compares MaskablePPO of sb3-contrib with the settings of `examples/maskable_ppo.yml` and with its defaults, at equal time.

`python -m leafwise.experiments.methods.learners` trains both on one id of each game, for `--minutes` of one core each. Then the
bare policies play final games: against `random`, `greedy` and `level:easy` in two-player games, beside `random` and `greedy` in
single-player games. `learners.json` and `learners.md` are updated after each figure; a stopped study continues, and so do its runs.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import gymnasium as gym

from leafwise.envs.core.ranges import Range, need_among
from leafwise.envs.registry import game as find_game
from leafwise.experiments.methods.__main__ import PLANS, SETTINGS, length_text, stopped_by_sigterm, trained
from leafwise.experiments.study import (
    DistributedStudy,
    Results,
    Study,
    command,
    results_of,
    scored,
    signed,
    table,
    write_page,
)
from leafwise.training.evaluation.statistics import interval_text
from leafwise.training.runs.loop import find_variant

IDS = ("Trilobite7x6", "Cassis", "Threes", "Trap", "Friday", "StarshipPlace")
OWN, DEFAULTS, ALONE = "settings", "defaults", "alone"
SEED, PLIES = 3_000_000, 4
"""First seed of the final games, and the number of random moves of openings."""
MOST_SHARE = 10.0
"""Larger mean scores are points, not shares."""
ADDED: dict[str, Any] = {"ids": IDS, "minutes": 10.0, "runs": "runs/learners"}
"""Options that only add results to the known ones."""


@dataclass(frozen=True)
class Config(DistributedStudy):
    """Trains MaskablePPO by settings and by its defaults, and has the policies play."""

    ids: tuple[str, ...] = IDS
    """Ids of environments, as Threes for leafwise/Threes-v0; none: only write the page."""
    minutes: Annotated[float, Range(0, above=True)] = 10.0
    """Processor time of each run."""
    games: Annotated[int, Range(2, 1e6)] = 200
    """Final games of each figure; even."""
    runs: str = "runs/learners"
    """Folder of the runs."""

    @property
    def bare(self) -> Config:
        """The study without the options that only add results."""
        return replace(self, **ADDED)


def opponents(players: int) -> tuple[str, ...]:
    """Returns the opponents in two-player games, or the players for comparison in single-player games."""
    return ("random", "greedy", "level:easy") if players == 2 else ("random", "greedy")


def run_words(name: str, minutes: float, path: Path, settings: str = "") -> list[str]:
    """Returns the command of a run with a file of settings or the defaults, as a module's name and its arguments."""
    game, options = game_and_options(name)
    words = ["--game", game, "--variant", options, "--algorithm", "MaskablePPO"]
    words += ["--settings", settings] if settings else ["--env", json.dumps(PLANS[game].env)]
    return ["leafwise.experiments.methods.newcomers", *words, "--minutes", f"{minutes:g}", "--run", str(path)]


def game_and_options(name: str) -> tuple[str, str]:
    """Returns the game of an id, and its options as `--variant` takes them."""
    kwargs: dict[str, Any] = dict(gym.spec(f"leafwise/{name}-v0").kwargs)
    return kwargs.pop("game"), ",".join(f"{option}={value}" for option, value in kwargs.items())


def of_id(config: Config, results: Results, name: str) -> None:
    """Trains and evaluates what is missing of an id; updates the page after each run."""
    game = find_variant(*game_and_options(name))
    judge = partial(scored, game, games=config.games, seed=SEED, processes=config.processes, cluster=config.cluster)
    if game.players == 1:
        for other in opponents(1):
            results.find(f"{name}, {other}", partial(judge, other))
    for tuned in (True, False):
        key = f"{name}, {length_text(config.minutes)}, {OWN if tuned else DEFAULTS}"
        path = Path(config.runs) / f"{name}-{config.minutes:g}min-{OWN if tuned else DEFAULTS}"
        results.find(
            f"{key}, run", partial(trained, run_words(name, config.minutes, path, SETTINGS if tuned else ""), path)
        )
        text = f"sb3:{path}/model.zip" + (f",normalize={path}/normalize.pkl" if tuned else "")
        for other in opponents(2) if game.players == 2 else (ALONE,):
            meets = {} if other == ALONE else {"opponent": other, "plies": PLIES}
            results.find(f"{key}, {other}", partial(judge, text, **meets))
        write(config.bare, results)


def study(config: Config) -> None:
    """Runs the study; raises ValueError for unknown names."""
    for name in config.ids:
        need_among(name, IDS, "ids")
    results = results_of(config, "learners.json", command=config.bare.repeated_by, anew=False)
    with stopped_by_sigterm():
        for name in config.ids:
            of_id(config, results, name)
    write(config.bare, results)


def cell(figures: Mapping[str, Any] | None, players: int) -> str:
    """Formats a share of the points or a mean score with its interval; "-" for None."""
    if figures is None:
        return "-"
    form = ".0%" if players == 2 else ",.0f" if figures["mean"] > MOST_SHARE else ".3f"
    interval = interval_text(figures["ci_low"], figures["ci_high"], form)
    return f"{figures['mean']:{form}}" + (f" ({interval})" if interval != "-" else "")


def tables(results: Results) -> list[str]:
    """Returns the lines of two tables: two-player games, and single-player games."""
    rows: dict[int, list[list[str]]] = {1: [], 2: []}
    for name in IDS:
        players = find_game(game_and_options(name)[0]).players
        runs = dict.fromkeys(
            key.rpartition(", ")[0] for key in results if key.startswith(f"{name}, ") and key.endswith(", run")
        )
        for key in runs:
            _, minutes, by = key.split(", ")
            others = [f"{key}, {other}" for other in opponents(2)] if players == 2 else [f"{key}, {ALONE}"]
            others += [f"{name}, {other}" for other in opponents(1)] if players == 1 else []
            cells = [cell(results.get(other), players) for other in others]
            rows[players].append([f"`leafwise/{name}-v0`", by, minutes, f"{results[f'{key}, run']['steps']:,}", *cells])
    heads = {
        2: "against random: | against greedy: | against level:easy:",
        1: "mean score: | score of random: | score of greedy:",
    }
    return [
        line for k in (2, 1) if rows[k] for line in (*table(f"id | options | time: | steps: | {heads[k]}", rows[k]), "")
    ]


def write(study: Study, results: Results) -> None:
    """Writes the page with the known results."""
    lines = [
        "# MaskablePPO with tuned settings and with its defaults", "",
        "We trained MaskablePPO of sb3-contrib in two ways, for the same processor time on one core. With",
        f"`settings` the training used [settings for each environment](../../{SETTINGS}) and many games side by "
        "side, in [one batch](../../docs/howto/speed.md). With",
        "`defaults` it used the defaults of sb3-contrib and eight games side by side. The policies play "
        "without a search, and choose",
        "the most probable action. The first table has the share of the [points](../../docs/terms.md#points) that the policy wins",
        "in two-player games. These games begin with up to four random moves, and each opening is played from both seats. The",
        "second table has the mean score in Threes, the share of games won in Friday, and the mean",
        "[quality](../../docs/terms.md#quality) in Starship. Intervals are 95 % intervals.",
        "",
        "The players for comparison are `random`, `greedy` and `level:easy`. `random` chooses at random, and `greedy` chooses the",
        "best action one decision ahead with the hand-made [leaf](../../docs/terms.md#leaf). `level:easy` is the weakest",
        "[level](../levels.md).", "",
        *tables(results),
    ]  # fmt: skip
    write_page(study, "learners.md", signed(study, lines))


main = command(Config, study)

if __name__ == "__main__":
    raise SystemExit(main())
