"""Measures hand-made play of Threes: random, every score at depths 1 to 3, and the two public programs.

`python -m leafwise.experiments.threes.baselines` plays every player of `PLAN` on the same seeds, from 1,000,000 on. It
writes `baselines.json` after every tenth of a player's games. Known games are not played again, so a stopped study
continues. `baselines.md` is the table of the results.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from leafwise.envs.core.errors import UserError
from leafwise.envs.registry import game
from leafwise.experiments.study import DistributedStudy, Results, command, points, table
from leafwise.experiments.study.matches import KeptMatch, Match, MatchStudy, score_figures

GAMES_AT_DEPTH = {1: 1000, 2: 400, 3: 120}
SCORES = ("openness", "openness_wegner", "rows", "rows_cli", "total_score", "empty_spaces")
PLAN: dict[str, int] = (
    {"random": 1000}
    | {f"search:{score},depth={depth}": games for depth, games in GAMES_AT_DEPTH.items() for score in SCORES}
    | {"threesus:openness": 100, "threesus:openness_wegner": 100, "nneonneo": 10}
)
"""Players and their numbers of games."""
PUBLISHED: dict[str, tuple[int, ...]] = {
    "threesus:openness": (10_041, 88_653, 774_996, 100, 98, 92, 27, 3),
    "threesus:openness_wegner": (30_126, 89_436, 717_960, 100, 100, 94, 41, 1),
}
"""Published figures of Threesus for 100 games: lowest, median and highest score, per cent with each milestone."""

MILESTONES = (384, 768, 1536, 3072, 6144)


@dataclass(frozen=True)
class Config(DistributedStudy):
    """Plays the hand-made players of Threes on paired seeds and writes baselines.json and baselines.md."""


def figures(kept: KeptMatch) -> dict[str, Any]:
    """Returns mean, median and the shares of games with each milestone; for some old games only the shares are known."""
    cells, games = np.array(kept.get("best_cells", [])), len(kept["scores"])
    if len(cells) == games:
        values = 3 * 2.0 ** (cells - 3)
        reached = {str(tile): float((values >= tile).mean()) for tile in MILESTONES}
    elif kept["games"] == games:
        reached = kept["reached"]
    else:
        raise UserError(f"expected the highest cells of {games} games, got {len(cells)}; give another --data and --out")
    return {**score_figures(kept), "reached": reached}


def matches(config: Config) -> Iterator[Match]:
    """Yields the games of each player."""
    for name, games in PLAN.items():
        yield Match(name, game("threes"), name, games, block=max(games // 10, 1))


def page(config: Config, results: Results) -> list[str]:
    """Returns the results as a table."""
    rows = []
    for name in PLAN:
        if name in results:
            r = results[name]
            reached = (f"{100 * share:.0f} %" for share in r["reached"].values())
            row = [f"`{name}`", f"{r['games']}", *points(r), f"{r['median']:,.0f}", *reached]
            rows.append([*row, f"{r['seconds_per_move']:.2g}"])
    tiles = " | ".join(f"{tile}:" for tile in MILESTONES)
    lines = [
        "# Threes: hand-made scores and public programs",
        "",
        "The table has the final scores of players without a network. The columns 384 to 6144 have the share of games that reached "
        "a tile of this value. The last column has the processor time per move in seconds. In `search:NAME`, `NAME` is a "
        "[hand-made score](../../docs/terms.md#score). `threesus` and `nneonneo` are the searches of "
        "[public programs](../../docs/howto/others.md).",
        "",
        *table(f"player | games: | mean: | 95 % interval: | median: | {tiles} | s/move:", rows),
    ]
    if not any(name in results for name in PUBLISHED):
        return lines
    beside = [row for name in PUBLISHED if name in results for row in side_by_side(name, results[name])]
    head = f"player | source of the scores | games: | lowest: | median: | highest: | {tiles}"
    return [
        *lines,
        "",
        "We wrote the search of Threesus again for this package. The next table compares its scores with those that the author of "
        "Threesus published for the same settings:",
        "",
        *table(head, beside),
    ]


def side_by_side(name: str, result: dict[str, Any]) -> list[list[str]]:
    """Returns two rows of a player: the published one, and that of this study."""
    scores, reached = result["scores"], result["reached"].values()
    measured = min(scores), result["median"], max(scores), *(100 * share for share in reached)
    return [
        [f"`{name}`", whose, f"{games}", *(f"{n:,.0f}" for n in figures[:3]), *(f"{n:.0f} %" for n in figures[3:])]
        for whose, games, figures in (
            ("published", 100, PUBLISHED[name]),
            ("this package", result["games"], measured),
        )
    ]


main = command(Config, MatchStudy("baselines", matches, page, figures))

if __name__ == "__main__":
    raise SystemExit(main())
