"""Measures the share of won games of Friday by the time for a decision: a table and curves for every level.

`python -m leafwise.experiments.friday.strength` plays the points of `PLAN` on seeds from 2,000,000 on, without knowledge of
hidden cards, quick ones first. It saves every few games in `strength.json`. Known games of the model are not played again, so a
stopped study continues. `--dry-run` lists the missing games and estimates their time. Monte Carlo tree search with the same leaf
plays too. At 10 ms for a decision the predicted chances are compared with the results.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby, product
from typing import Any, NamedTuple

import numpy as np

from leafwise.envs.core.arrays import Floats
from leafwise.experiments.friday.baselines import (
    COLUMNS,
    LEVELS,
    Entry,
    GameOutcome,
    known_blocks,
    missing_blocks,
    play_block,
    share_won,
    wins_of,
)
from leafwise.experiments.study import (
    DistributedStudy,
    Results,
    command,
    picture,
    results_of,
    section,
    signed,
    table,
    write_page,
)
from leafwise.training.evaluation.calibration import BINS, calibration_test, cross_scaled, tenths_of

FIRST_SEED = 2_000_000
DECISIONS = 370
"""Typical number of decisions of a game."""
ROUNDS = (0.25, 0.5, 1.0)
"""Shares of the games; all levels play one share before any plays the next."""
SEARCHES = {"search": "", "mcts": "MCTS, "}
"""Search -> beginning of its rows."""
BLOCK_SECONDS = 30.0
"""Approximate time between two saves."""


class Point(NamedTuple):
    """Games of a level with a time limit for every decision."""

    milliseconds: int
    level: int
    games: int
    search: str = "search"
    """One of SEARCHES."""
    keep_chances: bool = False
    """Whether to save the predicted chances, by tenths."""

    @property
    def title(self) -> str:
        """Beginning of the names of its blocks."""
        return f"{'' if self.search == 'search' else f'{self.search}, '}{self.milliseconds} ms, level {self.level}"

    @property
    def block(self) -> int:
        """Games between two saves."""
        return max(1, int(BLOCK_SECONDS / self.hours(1) / 3600))

    def hours(self, games: int) -> float:
        """Estimates the processor hours of some games."""
        return games * DECISIONS * self.milliseconds / 3.6e6

    def player(self, model: str) -> str:
        """Returns the player's text."""
        return f"{self.search}:{model},seconds={self.milliseconds / 1000},clock=cpu"


PLAN: tuple[Point, ...] = (
    *(Point(ms, level, 400, keep_chances=ms == 10) for ms in (1, 3, 10) for level in LEVELS),
    *(Point(ms, level, 100, "mcts") for ms in (1, 10) for level in LEVELS),
    *(Point(30, level, 400) for level in LEVELS),
    *(Point(100, level, 100) for level in LEVELS),
    Point(1000, 4, 50),
)


@dataclass(frozen=True)
class Config(DistributedStudy):
    """Plays Friday with more and more time for a decision; writes strength.json, strength.md and strength.png."""

    model: str = "friday"
    """Shipped model, run folder or file."""
    seconds: float = 0.0
    """Time limit, checked after every part (0: none)."""
    dry_run: bool = False
    """List the missing games with their estimated time, and play nothing."""


def figures(outcomes: Sequence[GameOutcome], keep_chances: bool = False) -> dict[str, Any]:
    """Returns the figures of some games; with chances also [won, [tenth, decisions, sum of chances], ...] for each game."""
    return {
        "games": len(outcomes),
        "wins": sum(o.won for o in outcomes),
        "moves": sum(o.moves for o in outcomes),
        "seconds": sum(o.seconds for o in outcomes),
        **({"told": [[int(o.won), *by_tenths(o.values)] for o in outcomes]} if keep_chances else {}),
    }


def by_tenths(values: Sequence[float]) -> list[list[float]]:
    """Returns [tenth, decisions, sum of chances] for each tenth of a game's chances."""
    chances = np.array(values)
    tenths = tenths_of(chances)
    return [[int(k), int((tenths == k).sum()), round(float(chances[tenths == k].sum()), 4)] for k in np.unique(tenths)]


def predictions_by_game(
    blocks: Sequence[dict[str, Any]],
) -> tuple[Floats, Floats, Floats]:
    """Returns decisions and sums of chances by game and tenth, and which games were won."""
    games = [game for block in blocks for game in block["told"]]
    decisions, chances = np.zeros((len(games), BINS)), np.zeros((len(games), BINS))
    for k, (_, *tenths) in enumerate(games):
        for tenth, n, chance in tenths:
            decisions[k, tenth], chances[k, tenth] = n, chance
    return decisions, chances, np.array([float(game[0]) for game in games])


def together(blocks: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Returns the figures of all games of some blocks, at least one."""
    moves, seconds = (sum(block[name] for block in blocks) for name in ("moves", "seconds"))
    predictions = {"told": predictions_by_game(blocks)} if all("told" in block for block in blocks) else {}
    return {**wins_of(blocks), "moves": moves, "seconds": seconds, **predictions}


def todo_lines(results: dict[str, Any], plan: Sequence[Point]) -> list[str]:
    """Returns the missing games of each point with their estimated time, and the total time."""
    lines, hours = [], 0.0
    for point in plan:
        done = sum(block["games"] for block in known_blocks(point.title, results))
        left = point.hours(max(0, point.games - done))
        hours += left
        lines.append(f"{point.title}, {done} of {point.games} games known, about {left:.2f} hours for the others")
    return [*lines, f"about {hours:.1f} hours of processor time in all"]


def study(config: Config, plan: Sequence[Point] = PLAN) -> None:
    """Plays the missing games within the time limit, and writes page and picture after every point."""
    results = results_of(config, "strength.json", [config.model], config.program())
    if config.dry_run:
        print("\n".join(todo_lines(results, plan)))
        return
    end = time.monotonic() + (config.seconds or float("inf"))
    for _, points in groupby(plan, key=lambda point: (point.search, point.milliseconds)):
        for part, point in product(ROUNDS, tuple(points)):
            play(point._replace(games=round(part * point.games)), results, config, end)
            write(config, results, plan)


def play(point: Point, results: Results, config: Config, end: float) -> None:
    """Plays the missing games of a point until the time is up."""
    entry = Entry(point.player(config.model), point.games, point.level)
    block = point.block * max(config.processes, 1)
    for name, seeds in missing_blocks(point.title, results, point.games, block, FIRST_SEED):
        if time.monotonic() >= end:
            return
        result = figures(play_block(entry, seeds, config.processes, config.cluster), point.keep_chances)
        results.keep(name, result, f"{name}: {result['wins']} of {result['games']} games won")


def write(config: Config, results: Results, plan: Sequence[Point]) -> None:
    """Writes the page and the picture of all points with games."""
    by_point = {point: together(blocks) for point in plan if (blocks := known_blocks(point.title, results))}
    if not by_point:
        return
    write_page(config, "strength.md", signed(config, lines(by_point, config)))
    lowest = min(f["ci_low"] for f in by_point.values())
    with picture(config.target("strength.png"), size=(8, 5)) as axis:
        for search, level in product(SEARCHES, LEVELS):
            of_level = sorted(
                (p.milliseconds, f) for p, f in by_point.items() if (p.search, p.level) == (search, level)
            )
            label, line = (f"level {level}", "-") if search == "search" else (f"level {level}, MCTS", ":")
            if of_level:
                means = [f["mean"] for _, f in of_level]
                errors = [
                    [f["mean"] - f["ci_low"] for _, f in of_level],
                    [f["ci_high"] - f["mean"] for _, f in of_level],
                ]
                style = {"label": label, "linestyle": line, "color": f"C{level - 1}"}
                axis.errorbar([ms for ms, _ in of_level], means, yerr=errors, marker="o", capsize=3, **style)
        axis.set(xscale="log", xlabel="processor time for a decision (ms)")
        axis.set(ylabel="share of games won", ylim=(lowest - 0.02, 1.01))
        axis.legend(fontsize="small", ncols=2)


def lines(by_point: dict[Point, dict[str, Any]], config: Config) -> list[str]:
    """Returns the page."""
    rows = []
    for search, ms in sorted({(p.search, p.milliseconds) for p in by_point}, key=lambda k: (k[0] == "mcts", k[1])):
        by_level = {p.level: f for p, f in by_point.items() if (p.search, p.milliseconds) == (search, ms)}
        cells = [share_won(by_level[n]) if n in by_level else "-" for n in LEVELS]
        moves, seconds = (sum(f[name] for f in by_level.values()) for name in ("moves", "seconds"))
        games = max(f["games"] for f in by_level.values())
        player = Point(ms, 1, games, search).player(config.model)
        again = f"`friday {player} --level N --games {games} --seed {FIRST_SEED}`"
        rows.append([f"{SEARCHES[search]}{ms} ms", *cells, f"{1000 * seconds / max(moves, 1):.3g}", again])
    return [
        "# Friday: strength by the time for a decision",
        "",
        f"The table has the share of games that a search with the network `{config.model}` wins. In brackets are the 95 % interval "
        "(Wilson) and the number of games. The rows",
        "`MCTS` are Monte Carlo tree search, and the other rows are depth-limited search. No search sees hidden cards. The time",
        "limit is for each decision, and the column `measured, ms` has the mean time of a decision. Times are processor time.",
        f"Seeds are from {FIRST_SEED:,} on. To repeat a row at level N, run `leafwise eval` with the text of the last column.",
        "This text has the number of games at level 1. A search can take longer than its limit, because it "
        "looks at the clock only now and then.",
        "",
        "![The table as curves](strength.png)",
        "",
        *table(f"time limit | {COLUMNS} | measured, ms | `leafwise eval`", rows),
        "",
        *calibration_lines(by_point),
    ]


TESTED = "time | level: | games: | calibration error: | 95 % interval: | luck alone: | p:"
"""Columns of tests of chances."""


def calibration_lines(by_point: dict[Point, dict[str, Any]]) -> list[str]:
    """Returns the section on the calibration of predicted chances, also after scaling their log odds."""
    predicted = {point: f for point, f in by_point.items() if "told" in f}
    if not predicted:
        return []
    rows = [test_row(point, *f["told"]) for point, f in predicted.items()]
    what = [
        "At each decision the search predicts the chance to win. We put predictions from 0 to 0.1 into one group, those from 0.1",
        "to 0.2 into the next, and so on. The calibration error is the mean difference between the predicted chance of a group and",
        "its share of games won. Its interval is from a bootstrap over games. Even if all predictions were correct, luck would",
        "make a small error. With probability 95 % that error is below the value in the column `luck alone`. The column `p` has",
        "the probability that luck alone makes an error at least as large as the measured error.",
    ]
    return [
        *section("How accurate are the predicted chances?", what, table(TESTED, rows)),
        *(
            line
            for ms in dict.fromkeys(point.milliseconds for point in predicted)
            for line in scaled_lines(ms, predicted)
        ),
    ]


def scaled_lines(ms: int, predicted: dict[Point, dict[str, Any]]) -> list[str]:
    """Returns the lines on scaled chances at a time limit; [] if too few games were lost."""
    by_point = {point: f["told"] for point, f in predicted.items() if point.milliseconds == ms}
    decisions, chances, outcomes = (np.concatenate(parts) for parts in zip(*by_point.values(), strict=True))
    if any(outcomes[k::2].min() == outcomes[k::2].max() for k in (0, 1)):
        return []
    right = cross_scaled(decisions, chances, outcomes)
    ends = np.cumsum([len(parts_of_level[2]) for parts_of_level in by_point.values()])[:-1]
    levels = zip(*(np.split(array, ends) for array in (decisions, right.chances, outcomes)), strict=True)
    rows = [test_row(point, *parts_of_level) for point, parts_of_level in zip(by_point, levels, strict=True)]
    (a, b), (c, d) = right.lines
    return [
        "For the next table we corrected the predictions first: we multiplied their log odds by a slope and added an offset. "
        "Slope and offset are",
        "the same for all levels. We fitted them on one half of the games and tested them on the other half, then swapped the "
        "halves:",
        "",
        *table(TESTED, rows),
        "",
        f"At {ms} ms one half of the games gives slope {a:.2f} and offset {b:+.2f}. The other half gives slope {c:.2f} and "
        f"offset {d:+.2f}.",
        "",
    ]


def test_row(point: Point, decisions: Floats, chances: Floats, outcomes: Floats) -> list[str]:
    """Returns the row of a calibration test."""
    test = calibration_test(decisions, chances, outcomes)
    interval = f"{test.ci_low:.3f} to {test.ci_high:.3f}"
    cells = f"{test.error:.3f}", interval, f"{test.luck:.3f}", f"{test.p:.2f}"
    return [f"{point.milliseconds} ms", f"{point.level}", f"{len(outcomes):,}", *cells]


main = command(Config, study)

if __name__ == "__main__":
    raise SystemExit(main())
