"""How often Friday is won by the time for a decision: a strength curve for every level, as a table and a picture.

`python -m leafwise.experiments.friday.strength` plays the points of `PLAN` on seeds from 2,000,000 on, fair play, the quick ones
first, and keeps every few games in `strength.json`; what is known for the model is not played again, so a stopped study goes on.
`--dry-run` tells what is missing and about how long it takes.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from leafwise.experiments.friday.baselines import Entry, Outcome, play_block
from leafwise.experiments.study import (
    PlacedStudy,
    Results,
    command,
    missing_seeds,
    picture,
    results_of,
    share,
    signed,
    table,
    write_page,
)
from leafwise.training.evaluation.elo import share_interval

FIRST_SEED = 2_000_000
LEVELS = (1, 2, 3, 4)
DECISIONS = 130
"""About so many decisions has a game."""
BLOCK_SECONDS = 30.0
"""About how long the games take that are kept at a time."""


class Point(NamedTuple):
    """Games of a level with some time for every decision."""

    milliseconds: int
    level: int
    games: int

    @property
    def begins(self) -> str:
        """What the names of its parts begin with."""
        return f"{self.milliseconds} ms, level {self.level}, "

    @property
    def block(self) -> int:
        """Games that are kept at a time."""
        return max(1, int(BLOCK_SECONDS / self.hours(1) / 3600))

    def hours(self, games: int) -> float:
        """Returns about how many hours of processor time so many games take."""
        return games * DECISIONS * self.milliseconds / 3.6e6

    def player(self, model: str) -> str:
        """Returns the player's text."""
        return f"search:{model},seconds={self.milliseconds / 1000},clock=cpu"

    def known(self, results: dict[str, Any]) -> list[dict[str, Any]]:
        """Returns its parts that are known."""
        return [found for name, found in results.items() if name.startswith(self.begins)]


PLAN: tuple[Point, ...] = (
    *(Point(ms, level, 400) for ms in (1, 3, 10, 30) for level in LEVELS),
    *(Point(100, level, 100) for level in LEVELS),
    Point(1000, 4, 50),
)


@dataclass(frozen=True)
class Config(PlacedStudy):
    """Plays Friday with more and more time for a decision; writes strength.json, strength.md and strength.png."""

    model: str = "friday"
    """Shipped model, run folder or file."""
    seconds: float = 0.0
    """Time to play, checked after every part (0: no limit)."""
    dry_run: bool = False
    """Tell what is missing, and about how long it takes, and play nothing."""


def figures(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Returns what is kept of some games."""
    return {
        "games": len(outcomes),
        "wins": sum(o.won for o in outcomes),
        "moves": sum(o.moves for o in outcomes),
        "seconds": sum(o.seconds for o in outcomes),
    }


def together(parts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Returns the figures of all games of some parts, at least one."""
    sums = {name: sum(part[name] for part in parts) for name in ("games", "wins", "moves", "seconds")}
    low, high = share_interval(sums["wins"], sums["games"])
    ms = 1000 * sums["seconds"] / max(sums["moves"], 1)
    return sums | {"mean": sums["wins"] / sums["games"], "ci_low": low, "ci_high": high, "ms": ms}


def todo_lines(results: dict[str, Any], plan: Sequence[Point]) -> list[str]:
    """Returns what is missing of each point, with the time that it takes, and the sum of both."""
    lines, hours = [], 0.0
    for point in plan:
        done = sum(part["games"] for part in point.known(results))
        left = max(0, point.games - done)
        hours += point.hours(left)
        lines.append(
            f"{point.begins}{done} of {point.games} games known, about {point.hours(left):.2f} hours for the others"
        )
    return [*lines, f"about {hours:.1f} hours of processor time in all"]


def study(config: Config, plan: Sequence[Point] = PLAN) -> None:
    """Plays what is missing, for about as long as it may take, and writes the page and the picture after every point."""
    results = results_of(config, "strength.json", [config.model], config.program())
    if config.dry_run:
        print("\n".join(todo_lines(results, plan)))
        return
    end = time.monotonic() + (config.seconds or float("inf"))
    for point in plan:
        play(point, results, config, end)
        write(config, results, plan)


def play(point: Point, results: Results, config: Config, end: float) -> None:
    """Plays the games of a point that are missing, until the time is up."""
    done = sum(part["games"] for part in point.known(results))
    entry = Entry(point.player(config.model), point.games, point.level)
    for seeds in missing_seeds(done, point.games, point.block * max(config.processes, 1), FIRST_SEED):
        if time.monotonic() >= end:
            return
        name = f"{point.begins}from {seeds[0] - FIRST_SEED}"
        results.find(name, lambda seeds=seeds: figures(play_block(entry, seeds, config.processes, config.cluster)))  # type: ignore[misc]


def write(config: Config, results: Results, plan: Sequence[Point]) -> None:
    """Writes the page and the picture of the points of which something is known."""
    found = {point: together(parts) for point in plan if (parts := point.known(results))}
    if not found:
        return
    write_page(config, "strength.md", signed(config, lines(found, config)))
    with picture(config.target("strength.png"), size=(8, 5)) as axis:
        for level in LEVELS:
            here = [(point.milliseconds, f) for point, f in found.items() if point.level == level]
            means = [f["mean"] for _, f in here]
            errors = [[f["mean"] - f["ci_low"] for _, f in here], [f["ci_high"] - f["mean"] for _, f in here]]
            axis.errorbar([ms for ms, _ in here], means, yerr=errors, marker="o", capsize=3, label=f"level {level}")
        axis.set(
            xscale="log", xlabel="processor time for a decision (ms)", ylabel="share of games won", ylim=(0.5, 1.0)
        )
        axis.legend()


def lines(found: dict[Point, dict[str, Any]], config: Config) -> list[str]:
    """Returns the page."""
    rows = []
    for ms in dict.fromkeys(point.milliseconds for point in found):
        here = {point.level: (point, f) for point, f in found.items() if point.milliseconds == ms}
        cells = [share(here[n][1], more=f"; {here[n][1]['games']:,}") if n in here else "-" for n in LEVELS]
        point = next(iter(here.values()))[0]
        spent = sum(f["seconds"] for _, f in here.values()) / max(sum(f["moves"] for _, f in here.values()), 1)
        again = f"`friday {point.player(config.model)} --level N --games {point.games} --seed {FIRST_SEED}`"
        rows.append([f"{ms} ms", *cells, f"{1000 * spent:.3g}", again])
    levels = " | ".join(f"level {level}" for level in LEVELS)
    return [
        "# Friday: strength by the time for a decision",
        "",
        f"Share of games won by the network `{config.model}` in our search, fair play, with its 95 % interval (Wilson) and the",
        f"games played; seeds {FIRST_SEED:,} and the following. Times are of the processor; the last column is what",
        "`leafwise eval` is told to play a row again at level N.",
        "",
        "![The table as curves](strength.png)",
        "",
        *table(f"time | {levels} | measured, ms | `leafwise eval`", rows),
        "",
    ]


main = command(Config, study)

if __name__ == "__main__":
    raise SystemExit(main())
