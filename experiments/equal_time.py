"""Compares hand-made and learned leaves with equal processor time for each decision, in all six games: one chart.

`python -m leafwise.experiments.equal_time` writes `equal_time.json`, `equal_time.png` and `equal_time.md`. The figures of four
games come from their own studies. This study plays Cassis and Starship, on seeds from 2,400,000 on, unless the results are known.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from leafwise.envs.registry import game
from leafwise.experiments.starship.learned.__main__ import summary
from leafwise.experiments.study import (
    DistributedStudy,
    Results,
    command,
    leaves,
    picture,
    results_of,
    signed,
    table,
    write_page,
)
from leafwise.training.evaluation.arena import BATCH
from leafwise.training.evaluation.statistics import share_interval
from leafwise.training.execution import in_pieces
from leafwise.training.starship.builders import records

FIRST_SEED = 2_400_000
POINTS = "share of the points"
CASSIS_SECONDS = 0.005
COLOURS = {"hand-made leaf": "#9a9a9a", "learned leaf": "#2f6db5", "best of 170 hand-made ships": "#d8b365"}
SHIPS = {
    "hand-made leaf": "build:hopeful,depth=3,width=4",
    "learned leaf": "build:learned",
    "best of 170 hand-made ships": "best:170",
}
"""Builders of ships that take no longer than the learned leaf. Depth and width of the hand-made leaf's search built the best ships
of selection seeds in that time; wider or deeper searches are no better."""


@dataclass(frozen=True)
class Config(DistributedStudy):
    """Draws hand-made and learned leaves at equal time."""

    games: int = 400
    """Games of Cassis, half of them from each seat."""
    ships: int = 400
    """Hulls that each builder builds on."""


class Bar(NamedTuple):
    """One leaf's result: a mean with its 95 % interval."""

    who: str
    mean: float
    low: float
    high: float
    label: str = ""
    """Label of the bar in a panel with several pairs."""

    @classmethod
    def of(cls, who: str, figures: Mapping[str, float]) -> Bar:
        """Returns the bar of a study's figures."""
        return cls(who, figures["mean"], figures["ci_low"], figures["ci_high"])


class Panel(NamedTuple):
    """One game: bars, time and unit."""

    title: str
    unit: str
    time: str
    leaves: str
    """Name of the hand-made leaf, or the builders."""
    bars: Sequence[Bar]
    games: str


def read(config: Config, folder: str, name: str = "learned.json") -> Any:
    """Returns the results of another study."""
    maker = f"python -m leafwise.experiments.{folder}.{name.removesuffix('.json').partition('_')[0]}"
    return json.loads(config.needed(f"{folder}/{name}", maker).read_bytes())


def of_match(title: str, result: Any, time: str, leaf: str) -> Panel:
    """Returns the panel of a match; both shares sum to 1."""
    share, low, high = (result[key] for key in ("share", "ci_low", "ci_high"))
    bars = [Bar("hand-made leaf", 1 - share, 1 - high, 1 - low), Bar("learned leaf", share, low, high)]
    return Panel(title, POINTS, time, leaf, bars, f"{result.get('games') or len(result['scores'])} games")


def threes(config: Config) -> Panel:
    """Returns the panel of Threes at 1 ms a move."""
    results = read(config, "threes")
    rows, learned = (results[f"time, {leaf} 1"] for leaf in ("rows", "learned"))
    bars = [Bar.of("hand-made leaf", rows), Bar.of("learned leaf", learned)]
    return Panel("Threes", "mean score", "1 ms a move", "rows", bars, f"{rows['games']} games each")


def friday(config: Config) -> Panel:
    """Returns the panel of Friday at 1 ms a decision, all levels."""
    by_hand = read(config, "friday", "learned_by_hand.json")["results"]
    learned = read(config, "friday")["results"]
    bars, games = [], {}
    for level in range(1, 5):
        for who, leaf, results in (("hand-made leaf", "pirates", by_hand), ("learned leaf", "learned", learned)):
            parts = [block for name, block in results.items() if name.startswith(f"1 ms, level {level}, {leaf}")]
            won, games[who] = (sum(part[key] for part in parts) for key in ("wins", "games"))
            bars.append(Bar(who, won / games[who], *share_interval(won, games[who]), f"level {level}"))
    counts = " and ".join(f"{n} ({who.removesuffix(' leaf')})" for who, n in games.items())
    return Panel("Friday", "share of games won", "1 ms a decision", "pirates", bars, f"{counts} games per level")


def cassis(config: Config) -> dict[str, Any]:
    """Plays Cassis on 8 points from random openings, each from both seats."""
    eight = game("cassis", n=8)
    starts = leaves.openings(eight, config.games // 2, (4, 8), FIRST_SEED)
    options = {"seconds": CASSIS_SECONDS, "clock": "cpu"}
    return leaves.play_match(leaves.LeafMatch(eight, (("cassis8", options), ("", options))), starts, config.each)


def starship(config: Config, results: Results) -> Panel:
    """Builds ships on the same hulls and requests; returns the panel."""
    ships = game("starship")

    def build(text: str) -> dict[str, Any]:
        pieces = in_pieces(range(FIRST_SEED, FIRST_SEED + config.ships), BATCH)
        built = config.each(partial(records, ships, text), pieces)
        return summary({text: [one for part in built for one in part]})[text]

    bars, seconds = [], []
    for who, text in SHIPS.items():
        result = results.find(f"starship, {text}, {config.ships} ships", partial(build, text))
        bars.append(Bar.of(who, result["quality"]))
        seconds.append(1000 * result["seconds"])
    return Panel(
        "Starship", "mean quality", f"{min(seconds):.0f} to {max(seconds):.0f} ms a ship", ", ".join(SHIPS.values()), bars,
        f"{config.ships} ships each",
    )  # fmt: skip


def written(value: float, unit: str) -> str:
    """Formats a mean in the unit of its panel."""
    return f"{value:,.0f}" if value > 1 else f"{value:.3f}" if "quality" in unit else f"{100 * value:.1f} %"


def draw(axis: Any, panel: Panel) -> None:
    """Draws one game: bars with intervals, the numbers above them."""
    top = max(bar.high for bar in panel.bars)
    pairs = len({bar.label for bar in panel.bars})
    for k, bar in enumerate(panel.bars):
        x = k + (k // 2) * 0.5 * (pairs > 1)
        error = [[bar.mean - bar.low], [bar.high - bar.mean]]
        axis.bar(x, bar.mean, 0.8, yerr=error, capsize=3, color=COLOURS[bar.who], label=bar.who)
        number = written(bar.mean, panel.unit) if pairs == 1 or bar.who == "learned leaf" else ""
        axis.text(x, bar.high + 0.03 * top, number, ha="center", va="bottom", fontsize=8)
        if pairs > 1 and k % 2:
            axis.text(x - 0.5, -0.03 * top, bar.label, ha="center", va="top", fontsize=8)
    if panel.unit == POINTS:
        axis.axhline(0.5, color="#444444", linewidth=0.8, linestyle=":")
    is_share = panel.unit.startswith("share")
    axis.set_ylim(0, 1.18 * max(top, 0.9 * is_share))
    axis.set_xticks([])
    axis.set_yticks([0, 0.25, 0.5, 0.75, 1] if is_share else axis.get_yticks()[:-1])
    axis.tick_params(labelsize=8)
    axis.yaxis.set_major_formatter(
        lambda y, _: f"{100 * y:.0f} %" if is_share else f"{y / 1000:,.0f}k" if top > 1 else f"{y:.1f}"
    )
    axis.set_title(f"{panel.title}\n{panel.unit}, {panel.time}", fontsize=9)
    axis.spines[["top", "right"]].set_visible(False)


def page(config: Config, panels: Sequence[Panel]) -> list[str]:
    """Returns the page: the chart, and its numbers."""
    rows = []
    for panel in panels:
        for bar in panel.bars:
            figures = [written(x, panel.unit) for x in (bar.mean, bar.low, bar.high)]
            game = panel.title + ", " * bool(bar.label) + bar.label
            rows.append(
                [game, bar.who, panel.unit, figures[0], f"{figures[1]} to {figures[2]}", panel.time, panel.games]
            )
    by_hand = ", ".join(f"`{panel.leaves}` in {panel.title.partition(',')[0]}" for panel in panels[:5])
    return [
        "# Hand-made against learned leaf at equal time", "",
        "This page compares two [leaves](../docs/terms.md#leaf) of each game in the same search: a hand-made one, and the network",
        "of the package (learned). Both have the same processor time (column `time`). In Starship the times are only about "
        "the same.",
        "Intervals are 95 % intervals. In two-player games the two leaves play a match, and the table has their shares of the",
        "[points](../docs/terms.md#points).", "",
        "![Bars for hand-made and learned leaf in six games, with their intervals](equal_time.png)", "",
        *table("game | leaf or builder | unit | mean: | interval | time | games", rows), "",
        f"The hand-made leaf of each game is the strongest at this time limit: {by_hand}.",
        "Each player of a match plays every opening from both seats. This study played the games of Cassis and built the ships.",
        "The other games are from the pages of [Threes](threes/learned.md), [Trilobite](trilobite/learned.md),",
        "[Trap](trap/turns.md) and [Friday](friday/learned.md).",
        "",
        "Starship compares three [builders](../docs/terms.md#builder): "
        f"{', '.join(f'`{text}`' for text in SHIPS.values())}. The first has",
        "the hand-made leaf. The second has the learned leaf. Depth and width of the first were chosen on "
        "other seeds: they were the",
        "best among the settings that are not slower than the second builder. The third (`best of 170 "
        "hand-made ships`) needs no leaf. It knows all",
        "[requests](../docs/terms.md#request) beforehand, builds 170 ships by hand-made rules, and keeps the best.",
        "",
    ]  # fmt: skip


def study(config: Config) -> None:
    """Plays the missing games, draws the chart and writes the page."""
    results = results_of(config, "equal_time.json", ("cassis8", "starshipplace"))
    connect_four = read(config, "trilobite")["results"]["7x6, games, 10 ms a move"]
    turns = read(config, "trap", "turns.json")["5 ms a turn, against `reach_open` searched by whole turns"]
    time = f"{1000 * CASSIS_SECONDS:g} ms a move"
    sim = results.find(f"cassis, n = 8, {time}, {config.games} games", partial(cassis, config))
    panels = [
        threes(config),
        of_match("Trilobite 7x6", connect_four, "10 ms a move", "lines"),
        of_match("Cassis, n=8", sim, time, "safe_edges"),
        of_match("Trap", turns, "5 ms a turn", "reach_open"),
        friday(config),
        starship(config, results),
    ]
    with picture(config.target("equal_time.png"), 2, 3, size=(8, 4.8)) as axes:
        for axis, panel in zip(axes.flat, panels, strict=True):
            draw(axis, panel)
        shown = axes.flat[-1].get_legend_handles_labels()
        axes.flat[-1].figure.legend(*shown, loc="outside lower center", ncols=3, fontsize=9, frameon=False)
    write_page(config, "equal_time.md", signed(config, page(config, panels)))


main = command(Config, study)

if __name__ == "__main__":
    raise SystemExit(main())
