"""A genetic algorithm and an evolution strategy against builders: the same hulls and requests, the same processor time a ship.

python -m leafwise.experiments.starship.evolution
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.contract.state import FIRST
from leafwise.envs.core.contract.stream import mix, new_stream
from leafwise.envs.core.textfile import read_text
from leafwise.envs.registry import game
from leafwise.envs.starship.hand import finish_by_hand
from leafwise.envs.starship.problem import ShipProblem
from leafwise.experiments.study import Study, command, table, write_json, write_page
from leafwise.training.evaluation.intervals import interval_text, mean_interval
from leafwise.training.starship.builders import Build, builder

POPULATION, PARENTS = 20, 5
Content = NDArray[np.int64]
Found = tuple[float, int]
"""The quality of the best ship, 0 if none is valid, and how many were tried."""


@dataclass(frozen=True)
class Config(Study):
    """How much is measured."""

    preset: str = "scout"
    """Whose ships."""
    hulls: int = 40
    """Hulls with their requests; every method has the same."""
    seconds: float = 0.2
    """Processor time a ship."""
    builders: tuple[str, ...] = ("refine:2400:build:learned,depth=1,heat=0.002", "learned", "build:hopeful,depth=1")
    """Builders, each of which builds one ship and takes what time it takes."""
    first_seed: int = 2_600_000
    """First seed of the hulls."""
    redraw: bool = False
    """Only write the page, from the results that are known."""


class Trials:
    """Values contents of one problem until the time is over; remembers the best ship."""

    def __init__(self, problem: ShipProblem, seconds: float) -> None:
        self.problem, self.end = problem, time.process_time() + seconds
        self.best, self.count = 0.0, 0

    @property
    def over(self) -> bool:
        """Whether the time is over."""
        return time.process_time() >= self.end

    def __call__(self, content: Content) -> float:
        info = self.problem.info(content)
        self.best, self.count = max(self.best, info["quality"]), self.count + 1
        return self.problem.quality(info)


def at_random(trials: Trials, rng: np.random.Generator) -> None:
    """Tries random content."""
    while not trials.over:
        trials(drawn(trials.problem, rng))


def drawn(problem: ShipProblem, rng: np.random.Generator) -> Content:
    """Returns random content."""
    span = problem.content_range()
    return rng.integers(span["min"], span["max"], endpoint=True)


def genetic(trials: Trials, rng: np.random.Generator) -> None:
    """A genetic algorithm: parents by tournaments of three, uniform crossover, a few genes drawn anew; the best one stays."""
    members = [drawn(trials.problem, rng) for _ in range(POPULATION)]
    worth = [trials(member) for member in members]
    while not trials.over:
        children = [members[int(np.argmax(worth))]]
        while len(children) < POPULATION:
            mother, father = (members[max(rng.integers(POPULATION, size=3), key=worth.__getitem__)] for _ in range(2))
            child = np.where(rng.random(len(mother)) < 0.5, mother, father)
            children.append(np.where(rng.random(len(child)) < 2 / len(child), drawn(trials.problem, rng), child))
        members = children
        worth = [worth[int(np.argmax(worth))], *(trials(child) for child in children[1:])]


def strategy(trials: Trials, rng: np.random.Generator) -> None:
    """An evolution strategy (5 + 20): normal steps of a tenth of each gene's range, in about every eighth gene."""
    span = trials.problem.content_range()
    low, high = span["min"], span["max"]
    members = [(trials(first), first) for first in (drawn(trials.problem, rng) for _ in range(PARENTS))]
    while not trials.over:
        for _ in range(POPULATION):
            parent = members[int(rng.integers(PARENTS))][1]
            steps = rng.normal(0.0, 0.1, len(parent)) * (high - low) * (rng.random(len(parent)) < 0.125)
            child = np.clip(parent + np.rint(steps).astype(np.int64), low, high)
            members.append((trials(child), child))
        members = sorted(members, key=lambda member: -member[0])[:PARENTS]


METHODS: dict[str, Callable[[Trials, np.random.Generator], None]] = {
    "random places": at_random,
    "genetic algorithm": genetic,
    "evolution strategy": strategy,
}


def best_by_hand(preset: str, seed: int, seconds: float) -> Found:
    """Builds ships by hand, ties falling otherwise each time, until the time is over."""
    place = game("starship", preset=preset)
    stream = new_stream(seed)
    T, start, rows = place.tables().ship, place.start().settle(stream), place.rows(1)
    best, count, end = 0.0, 0, time.process_time() + seconds
    while time.process_time() < end:
        rows[0] = start.row
        best = max(best, float(finish_by_hand(rows, FIRST, stream.copy(), np.uint64(mix(np.uint64(seed + count))), T)))
        count += 1
    return best, count


def study(config: Config) -> None:
    """Measures, or takes what is known, and writes the page."""
    if config.redraw:
        results = json.loads(read_text(config.needed("results.json", config.program())))
    else:
        results = measured(config)
        write_json(config, "results.json", results)
    lines = page(replace(config, redraw=False), results)
    write_page(config, "README.md", lines)
    print("\n".join(lines))


def measured(config: Config) -> dict[str, Any]:
    """Returns what every method makes of every hull."""
    config.target("results.json")  # says at once if there is no folder
    seeds = range(config.first_seed, config.first_seed + config.hulls)
    found: dict[str, list[dict[str, float]]] = {}
    runs: dict[str, Callable[[int, float], Found]] = {
        name: partial(evolved, config.preset, method) for name, method in METHODS.items()
    }
    runs["best by hand"] = partial(best_by_hand, config.preset)
    for text in config.builders:
        runs[text] = partial(built, builder(text, game("starship", preset=config.preset)))
    for name, run in runs.items():
        run(config.first_seed - 1, 0.01)  # loads the machine code, which is no part of a ship's time
        found[name] = [timed(run, seed, config.seconds) for seed in seeds]
    return {"methods": found}


def built(build: Build, seed: int, seconds: float) -> Found:
    """Builds one ship, in whatever time that takes."""
    return float(build(seed).returns), 1


def evolved(preset: str, method: Callable[[Trials, np.random.Generator], None], seed: int, seconds: float) -> Found:
    """Lets a method try contents on the hull and requests of a seed."""
    trials = Trials(ShipProblem(preset, seed=seed), seconds)
    method(trials, np.random.default_rng(seed))
    return trials.best, trials.count


def timed(run: Callable[[int, float], Found], seed: int, seconds: float) -> dict[str, float]:
    """Returns what a run found, and its processor time."""
    started = time.process_time()
    quality, tries = run(seed, seconds)
    taken = time.process_time() - started
    return {"seed": seed, "quality": round(quality, 6), "tries": tries, "seconds": round(taken, 4)}


def page(config: Config, results: dict[str, Any]) -> list[str]:
    """Returns the page of the study."""
    rows = []
    for name, ships in sorted(
        results["methods"].items(), key=lambda item: -np.mean([ship["quality"] for ship in item[1]])
    ):
        quality = np.array([ship["quality"] for ship in ships])
        tries, seconds = (np.mean([ship[key] for ship in ships]) for key in ("tries", "seconds"))
        rows.append(
            [
                name,
                f"{quality.mean():.3f}",
                interval_text(*mean_interval(quality), ".3f"),
                f"{(quality > 0).mean():.2f}",
            ]
        )
        rows[-1] += [f"{tries:.0f}", f"{seconds:.3f}"]
    return [
        "# Evolution against builders",
        "",
        f"`{config.repeated_by}` made this page: {len(ships)} hulls of {config.preset} with their requests, seeds from "
        f"{config.first_seed:,} on, {config.seconds:g} s of processor time for each ship; of the ships tried the best one counts.",
        "",
        *table("method | quality | 95 % interval | valid | ships tried | seconds a ship", rows),
        "",
        "The first three search the content of `ShipProblem` (`leafwise.envs.starship.problem`), which has the methods of the "
        "PCG Benchmark's problems: a gene for each part says which of its legal places it takes. By hand: the generator's own "
        "places, ties falling otherwise each time. A builder builds one ship; `refine:N` then tries N changes to it, as "
        "`learned` does 500.",
    ]


main = command(Config, study)

if __name__ == "__main__":
    raise SystemExit(main())
