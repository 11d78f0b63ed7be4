"""All ways to learn, in all six games: what each makes of the same processor time.

`python -m leafwise.experiments.methods` trains every method of `plans` where it applies, for so many minutes of one core each, and
beside them DQN and PPO of Stable-Baselines3 (`--dry-run` tells how many hours that is, and does nothing). Then what was learned
plays final games: as the leaf of searches one and two decisions deep, against the best hand-made leaf in the same search or in
games for one beside it, and as a bare policy where there is one. `methods.json`, `methods.md` and `methods.png` are written as
soon as a figure is known; a study that was stopped goes on, runs too. Runs of other lengths (`--minutes`) stand beside each other,
those as long as their recipes say (`--minutes 0`) among them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from leafwise.envs.core.ranges import Range, need_among
from leafwise.experiments.methods import page
from leafwise.experiments.methods.plans import PLANS, Plan, Way
from leafwise.experiments.methods.runs import key_of, stopped_by_sigterm, trained, words_of
from leafwise.experiments.study import PlacedStudy, Results, command, results_of, scored
from leafwise.training.evaluation.statistics import bounds, mean_interval
from leafwise.training.runs.loop import find_variant
from leafwise.training.runs.recipes import method_of, recipe

SEED = 2_000_000
"""First seed of the final games."""
HAND_MADE = "hand-made"
BARE = "policy"
ADDED = ("games", "ways", "minutes", "newcomer_minutes", "runs")
"""Options with which results are added to those that there are."""


@dataclass(frozen=True)
class Config(PlacedStudy):
    """Compares all ways to learn in all games."""

    games: tuple[str, ...] = tuple(PLANS)
    """Games; none: only the page is made again."""
    ways: tuple[str, ...] = ()
    """Ways to learn, as td or "SB3 PPO" (default: all)."""
    minutes: Annotated[float, Range(0)] = 30.0
    """Processor time of each run, in minutes of one core, about (0: as long as its recipe says)."""
    newcomer_minutes: Annotated[float, Range(0, above=True)] = 15.0
    """The same of Stable-Baselines3's."""
    share: Annotated[float, Range(0, above=True)] = 1.0
    """Share of the final games that is played, above 0."""
    runs: str = "runs/methods"
    """Folder of the runs."""
    dry_run: bool = False
    """Tell what would be trained, and for how long; do nothing."""

    def minutes_of(self, way: Way) -> float:
        """Returns how long a way to learn has."""
        return self.newcomer_minutes if way.algorithm else self.minutes

    @property
    def bare(self) -> Config:
        """The study without the options with which results are added."""
        added: dict[str, Any] = {name: getattr(Config, name) for name in ADDED}
        return replace(self, **added)

    def ways_of(self, name: str) -> dict[str, Way]:
        """Returns the ways to learn a game that were asked for."""
        return {word: way for word, way in PLANS[name].ways.items() if word in (self.ways or PLANS[name].ways)}


def judged(plan: Plan, way: Way | None) -> Iterator[tuple[str, str, str, int]]:
    """Yields what is judged of a way to learn (None: the hand-made leaf): its name, the texts of the player and of the hand-made
    opponent, how many games; RUN stands for the folder of the run."""
    for depth, games in plan.games.items():
        opponent = f"search:{plan.hand},depth={depth}{plan.limits}"
        if way is None:
            yield f"depth {depth}", opponent, opponent, games
        elif way.leaf:
            limits = plan.limits if way.limits is None else way.limits
            yield f"depth {depth}", way.leaf.format(run="RUN", depth=depth) + limits, opponent, games
    if way is not None and way.policy:
        yield BARE, way.policy.format(run="RUN"), f"search:{plan.hand},depth=1{plan.limits}", plan.games[1]


def measured(config: Config, name: str, plan: Plan, text: str, opponent: str, games: int, file: Path) -> dict[str, Any]:
    """Plays final games; returns the mean, its 95 % interval and the seconds of a move.

    Raises ValueError where a player fails in one of them.
    """
    game, games = find_variant(name, plan.variant), max(2, 2 * round(config.share * games / 2))
    where: dict[str, Any] = {"processes": config.processes, "cluster": config.cluster, "file": file, "resume": True}
    if name == "starship":
        return built(config, plan, text, games)
    against = None if game.players == 1 else opponent
    return scored(game, text, games, SEED, against, plan.plies, **where)


def built(config: Config, plan: Plan, text: str, ships: int) -> dict[str, Any]:
    """Builds ships; returns their mean quality, its interval and the seconds of a ship."""
    from leafwise.training.starship.builders import records

    game = find_variant("starship", plan.variant)
    work = partial(records, game, text.replace("search:", "build:"))
    seeds = range(SEED, SEED + ships)
    found = [one for part in config.each(work, [seeds[k : k + 10] for k in range(0, ships, 10)]) for one in part]
    quality = np.array([one["quality"] for one in found])
    spent = sum(one["seconds"] for one in found) / ships
    return {"mean": float(quality.mean()), **bounds(mean_interval(quality)), "games": ships, "seconds": spent}


def of_game(config: Config, results: Results, name: str) -> None:
    """Trains and judges what is not known of a game; the page is written anew after every way to learn it."""
    plan = PLANS[name]
    ways: dict[str, Way | None] = {**config.ways_of(name)}
    if find_variant(name, plan.variant).players == 1:
        ways = {HAND_MADE: None, **ways}
    for way_name, way in ways.items():
        minutes = config.minutes_of(way) if way else None
        known = partial(key_of, name, way_name, minutes)
        length = [] if minutes is None else [f"{minutes:g}min" if minutes else "recipe"]
        path = Path(config.runs) / "-".join([name, *way_name.split(), *length])
        if way is not None and minutes is not None:
            words = words_of(name, plan, way_name, way, path, minutes)
            results.find(known("run"), partial(trained, words, path))
        for what, text, opponent, games in judged(plan, way):
            file = path.with_name(f"{path.name}-{what.replace(' ', '')}.json")
            file.parent.mkdir(parents=True, exist_ok=True)
            told = text.replace("RUN", str(path)), opponent, games, file
            results.find(known(what), partial(measured, config, name, plan, *told))
        page.write(config.bare, results)


def dry_run(config: Config) -> None:
    """Prints every run, about how many minutes it takes, and the hours of all."""
    minutes = []
    for name in config.games:
        for word, way in config.ways_of(name).items():
            minutes.append(config.minutes_of(way) or recipe_minutes(name, word, way))
            print(f"{name}: {word}, {minutes[-1]:.3g} minutes")
    print(f"{len(minutes)} runs, {sum(minutes) / 60:.1f} processor hours of training; the final games come on top")


def recipe_minutes(name: str, word: str, way: Way) -> float:
    """Returns about how many minutes a run takes that is as long as its game's recipe says."""
    usual: Any = method_of(name, word).options
    steps: float = recipe(name, word, PLANS[name].variant).get("total_steps", usual.total_steps)
    return steps / way.steps


def study(config: Config) -> None:
    """Works the page out; raises ValueError for what there is not."""
    for name in config.games:
        need_among(name, PLANS, "games")
    for way in config.ways:
        need_among(way, dict.fromkeys(way for plan in PLANS.values() for way in plan.ways), "ways")
    if config.dry_run:
        dry_run(config)
        return
    results = results_of(config, "methods.json", command=config.bare.repeated_by, anew=False)
    with stopped_by_sigterm():
        for name in config.games:
            of_game(config, results, name)
    if results:
        page.write(config.bare, results)


main = command(Config, study)

if __name__ == "__main__":
    raise SystemExit(main())
