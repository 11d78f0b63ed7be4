"""What the shipped player of Trap tells players: where to stand, when to throw far, when to pass.

`python -m leafwise.experiments.trap.insight` lets searches with the network play games against themselves, with seeds from
2,600,000 on, and asks them at every turn what else could be done (`asked`): what every free cell would be worth to stand
on, and every throw. Ten games are a piece of work; what is known of each stands in `insight.json` and is not worked out
again. It writes `insight.md` and `insight.png`. Intervals take pieces for units, since positions of a game are not
independent.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from leafwise.envs.core.ranges import Range
from leafwise.experiments.study import PlacedStudy, command, results_of, section, signed, table, write_page
from leafwise.experiments.trap.asked import LAST_TURN, RANDOM_TURNS, STAGES, Asked, Stand, Throw, stage_of
from leafwise.experiments.trap.plots import draw
from leafwise.training.evaluation.statistics import interval_text, ratio_interval

FIRST_SEED = 2_600_000
PIECE = 10
"""Games of a piece of work."""
DECIDED = 0.01, 0.99
"""Chances to win beyond which it hardly matters where is thrown: such throws are not counted."""
LEAST = 40
"""Cases that a row of a table needs."""
Sums = dict[str, list[float]]
"""Name of a group -> how many cases there are, then sums over them."""
FREE = ("1 or 2", "3 or 4", "5 or 6", "7 or 8")
APART = ("1 or 2", "3 or 4", "5 or 6", "7 and more")
FEW, MANY = 3, 6
"""Free cells around that the page's summary compares."""
KINDS = ("near", "behind", "elsewhere", "certain", "trap")


@dataclass(frozen=True)
class Config(PlacedStudy):
    """Asks the shipped player of Trap what players would like to know."""

    model: str = "trap"
    """Shipped model, run folder or file."""
    games: Annotated[int, Range(1)] = 200
    """Games that it plays."""
    depth: int = 4
    """Decisions that are searched below what is asked about, two a turn."""


@dataclass(frozen=True)
class Games:
    """Plays the games of some seeds: a piece of work."""

    model: str
    depth: int

    def warm(self) -> None:
        """Loads the compiled code."""
        Asked(self.model, self.depth).warm()

    def __call__(self, seeds: Sequence[int]) -> dict[str, Any]:
        """Returns what was asked in the games, added up."""
        ask, sums = Asked(self.model, self.depth), Sums()
        games = [ask(seed) for seed in seeds]
        for told in games:
            for stand in told.stands:
                add_stand(sums, stand)
            for throw in told.throws:
                add_throw(sums, throw)
        return {
            "games": len(games),
            "turns": sum(told.turns for told in games),
            "long": sum(told.turns > LAST_TURN for told in games),
            "first": sum(told.first for told in games),
            "boards": [sum(told.boards[k] for told in games) for k in range(len(STAGES))],
            "throws": sum(len(told.throws) for told in games),
            "sums": {name: [round(x, 4) for x in entry] for name, entry in sorted(sums.items())},
        }


def add(sums: Sums, name: str, *amounts: float) -> None:
    """Counts a case of a group."""
    entry = sums.setdefault(name, [0.0] * (1 + len(amounts)))
    for k, amount in enumerate((1.0, *amounts)):
        entry[k] += amount


def add_stand(sums: Sums, stand: Stand) -> None:
    """Counts a cell where a player could stand."""
    stage = stage_of(stand.traps)
    for what, group in (("cell", stand.cell), ("distance", stand.distance), ("free", stand.free)):
        add(sums, f"{what} {group} {stage}", stand.gain)


def add_throw(sums: Sums, throw: Throw) -> None:
    """Counts a decision where to throw."""
    values = {kind: value for kind in KINDS if (value := getattr(throw, kind)) is not None}
    best = max(values, key=values.__getitem__)
    if not DECIDED[0] < values[best] < DECIDED[1]:
        return add(sums, "decided")
    theirs, apart = (throw.their_free - 1) // 2, min((throw.apart - 1) // 2, len(APART) - 1)
    for name in (f"best {theirs}", "best all"):
        add(sums, name, *(float(kind == best) for kind in KINDS), throw.hit, float(throw.steps))
    if throw.near is not None and throw.behind is not None:
        gain = throw.behind - throw.near
        for name in (f"far free {theirs}", f"far apart {apart}", "far all"):
            add(sums, name, float(gain > 0), gain, max(gain, 0.0))
    if throw.certain is not None:
        lost = max(value for kind, value in values.items() if kind != "certain") - throw.certain
        for name in (f"pass {(throw.own_free - 1) // 2}", "pass all"):
            add(sums, name, float(lost <= 0), max(lost, 0.0))


class Figures:
    """Means over the cases of a group, with 95 % intervals over pieces."""

    def __init__(self, pieces: Sequence[dict[str, Any]]) -> None:
        self.pieces = pieces

    def total(self, name: str) -> int:
        """Returns a sum over the pieces: games, turns, throws."""
        return sum(piece[name] for piece in self.pieces)

    def count(self, name: str) -> int:
        """Returns how many cases a group has."""
        return int(sum(piece["sums"].get(name, [0])[0] for piece in self.pieces))

    def mean(self, name: str, k: int = 0) -> tuple[float, float, float]:
        """Returns the mean of the k-th amount of a group's cases, and its interval."""
        entries = [piece["sums"].get(name) for piece in self.pieces]
        counts, sums = np.array([(e[0], e[1 + k]) if e else (0.0, 0.0) for e in entries]).T
        return float(sums.sum() / counts.sum()), *ratio_interval(sums, counts)

    def points(self, name: str, k: int = 0) -> str:
        """Returns a mean in points of percent for a table."""
        return self.told(name, k, "+.1f", 100)

    def share(self, name: str, k: int = 0) -> str:
        """Returns a share for a table."""
        return self.told(name, k, ".0%")

    def told(self, name: str, k: int, form: str, scale: float = 1) -> str:
        """Returns a mean, times `scale`, and its interval for a table."""
        mean, low, high = (scale * x for x in self.mean(name, k))
        return f"{mean:{form}} ({interval_text(low, high, form)})"


def lines(figures: Figures, config: Config) -> list[str]:
    """Returns the page."""
    boards = [sum(piece["boards"][k] for piece in figures.pieces) for k in range(len(STAGES))]
    games, turns, throws = (figures.total(what) for what in ("games", "turns", "throws"))
    return [
        "# Trap: what good play is",
        "",
        f"{games} games of the shipped player against itself, seeds from {FIRST_SEED:,} on,",
        f"{turns / games:.0f} turns each on average, the first {RANDOM_TURNS} of them at random.",
        f"At {sum(boards):,} turns it was asked what every free cell would be worth to stand on, and at {throws:,}",
        f"throws ({figures.count('decided'):,} of them in games as good as won or lost, which are left out below) what every",
        f"throw would be worth, each by a search {config.depth} decisions ({config.depth // 2} turns) deep",
        "below it with the network at its leaves. Gains are points of percent of the chance to win, with",
        "95 % intervals. It tells what wins with its own play.",
        "",
        f"Of the games, {figures.total('long')} lasted more than {LAST_TURN} turns, after which nothing was asked.",
        f"Whoever begins took {figures.total('first') / games:.0%} of the points.",
        "",
        *short_lines(figures),
        "![Where to stand, when to throw far, what is thrown at, when to pass](insight.png)",
        "",
        *stand_lines(figures, boards),
        *far_lines(figures),
        *pass_lines(figures),
    ]


def short_lines(figures: Figures) -> list[str]:
    """Returns the page in short."""
    few, many = (figures.points(f"free {free} 0") for free in (FEW, MANY))
    beside, away = ([figures.points(f"distance {k} {stage}") for stage in (0, 1)] for k in (1, 2))
    told = [
        "- **Where to stand**: where many cells around are free. As the opponent's turn begins, a cell with",
        f"  {FEW} of them is worth {few}, one with {MANY} {many} ({STAGES[0]}).",
        "  The map below has corners, borders and the middle.",
        f"  A cell beside the opponent is worth {beside[0]}, one two steps from him {away[0]};",
        f"  with {STAGES[1]} {beside[1]} and {away[1]}.",
        "- **When to throw far**: of the free cells beside the opponent, one further away than the nearest is the better",
        f"  target in {figures.share('far all')} of the decisions, and worth {figures.points('far all', 1)} on average.",
        "- **When to pass**: where a certain pass is possible, no other throw is better in"
        f" {figures.share('pass all')} of the decisions.",
    ]
    return section("In short", told)


def rows_of(figures: Figures, groups: Iterable[tuple[str, str]], cells: Any) -> list[list[str]]:
    """Returns the rows of groups, (words, name), with cases enough."""
    return [[words, *cells(name), f"{figures.count(name):,}"] for words, name in groups if figures.count(name) >= LEAST]


def by_stage(figures: Figures, what: str, groups: Iterable[int], words: Any = str) -> list[list[str]]:
    """Returns the rows of a table with a column for each stage."""
    rows = []
    for group in groups:
        names = [f"{what} {group} {stage}" for stage in range(len(STAGES))]
        counts = [figures.count(name) for name in names]
        if max(counts) >= LEAST:
            told = [figures.points(n) if count >= LEAST else "-" for n, count in zip(names, counts, strict=True)]
            rows.append([words(group), *told, f"{sum(counts):,}"])
    return rows


def stand_lines(figures: Figures, boards: list[int]) -> list[str]:
    """Returns what the page says of where to stand."""
    columns = " | ".join([f"{stage} ({count:,} turns):" for stage, count in zip(STAGES, boards, strict=True)])

    def by(what: str, words: str, groups: Iterable[int], told: Any = str) -> list[str]:
        return table(f"{words} | {columns} | cells:", by_stage(figures, what, groups, told))

    return section(
        "Where to stand",
        "What a cell is worth as the opponent's turn begins, less the mean of all free cells of the position; the opponent and "
        "the\ntraps are where they are. By king's steps to the opponent:",
        by("distance", "steps", range(1, 7)),
        "By the free cells around:",
        by("free", "free cells", range(1, 9)),
        "By the place on the board (row, column, from a corner; mirrored cells are counted together):",
        by("cell", "place", range(49), lambda k: f"{k // 7},{k % 7}"),
    )


def far_lines(figures: Figures) -> list[str]:
    """Returns what the page says of throws."""
    bests = [(f"{words} free", f"best {k}") for k, words in enumerate(FREE)] + [("all", "best all")]
    free = [(f"{words} free", f"far free {k}") for k, words in enumerate(FREE)]
    apart = [(f"{words} apart", f"far apart {k}") for k, words in enumerate(APART)]

    def kinds(name: str) -> list[str]:
        shares = [figures.share(name, k) for k in range(len(KINDS))]
        return [*shares, f"{figures.mean(name, len(KINDS))[0]:.0%}"]

    def worth(name: str) -> list[str]:
        return [figures.share(name), figures.points(name, 1)]

    head = "around him | nearest: | behind: | elsewhere: | pass: | trap: | hits: | throws:"
    further = "position | further is better: | worth on average: | decisions:"
    return section(
        "What to throw at",
        "Which throw is the best of all 47, by the free cells around the opponent: at the free cell beside him that is nearest to\n"
        "the thrower (or one of those equally near), at another beside him, at a free cell elsewhere, at a trap right beside the\n"
        "thrower (a certain pass), at another trap; and how likely the best throw hits.",
        table(head, rows_of(figures, bests, kinds)),
    ) + section(
        "When to throw far",
        "Of the free cells beside the opponent, the nearest is the surest to be hit. How often one further away is the better\n"
        "target, and what the best of those is worth above (or below) the nearest; by the free cells around him, and by the rows\n"
        "and columns between the players.",
        table(further, rows_of(figures, [*free, *apart, ("all", "far all")], worth)),
    )


def pass_lines(figures: Figures) -> list[str]:
    """Returns what the page says of passing."""
    groups = [(f"{words} free", f"pass {k}") for k, words in enumerate(FREE)]

    def lost(name: str) -> list[str]:
        return [figures.share(name), figures.told(name, 1, ".1f", 100)]

    head = "around the thrower | nothing is better: | loses on average: | throws:"
    return section(
        "When to pass",
        "A throw at a trap right beside oneself changes nothing, for certain. Of the throws where there is such a trap: how often\n"
        "no other throw is better, and what it loses against the best other throw on average; by the free cells around the\n"
        "thrower.",
        table(head, rows_of(figures, [*groups, ("all", "pass all")], lost)),
    )


def study(config: Config) -> None:
    """Plays the games that are missing, and writes the page."""
    about = f"{config.program()} --depth {config.depth}"
    results = results_of(config, "insight.json", [config.model], about)
    seeds = range(FIRST_SEED, FIRST_SEED + config.games)
    parts = [seeds[k : k + PIECE] for k in range(0, config.games, PIECE)]
    missing = [part for part in parts if results.get(str(part[0]), {"games": 0})["games"] != len(part)]
    for part, found in zip(missing, config.each(Games(config.model, config.depth), missing), strict=True):
        results.keep(str(part[0]), found, f"games {part[0]:,} to {part[-1]:,}: {found['throws']} throws")
    figures = Figures([results[str(part[0])] for part in parts])
    draw(figures, config.target("insight.png"))
    write_page(config, "insight.md", signed(config, lines(figures, config)))


main = command(Config, study)

if __name__ == "__main__":
    raise SystemExit(main())
