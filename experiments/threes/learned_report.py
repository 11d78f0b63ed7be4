"""The tables and plots of the study `learned`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from leafwise.experiments.study import Study, bootstrapped, picture, points, table, with_bars, write_page
from leafwise.training.evaluation.intervals import error_half

PUBLISHED = {
    "hand-made, depth 8 (2026)": (3300.0, 321_016),
}
"""Published players whose time is known: (milliseconds a move, mean score)."""
PUBLISHED_SCORES = {
    "CGI network, one decision": 35_763, "CGI network, one decision with chance": 158_151,
    "CGI network, two decisions": 221_326, "hand-made, depth 3 (2026)": 117_000, "hand-made, depth 5 (2026)": 252_000,
    "hand-made, depth 6 (2026)": 301_000,
}  # fmt: skip
"""Mean scores of published players whose time is not known."""
RANKS = {3072: 13, 6144: 14, 12288: 15}
"""Tiles that are told of a player's games, with their ranks."""
Results = dict[str, dict[str, Any]]


def split(name: str) -> tuple[str, int]:
    """Splits `leaf 3` into its leaf and its number."""
    leaf, _, number = name.rpartition(" ")
    return leaf, int(number)


def share_reaching(tile: int, found: dict[str, Any]) -> float:
    """Returns the share of a player's games with a tile; none reaches one that is larger than one that none reaches."""
    told = found["reached"]
    largest = max(told, key=int)
    if str(tile) in told or not told[largest]:
        return float(told.get(str(tile), 0.0))
    return sum(rank >= RANKS[tile] for rank in found["best_cells"]) / found["games"]


def score_table(results: dict[str, Any], unit: str) -> list[str]:
    """Returns the table of a part that compares leaves."""
    measured = unit == "depth"  # the other part is played by a clock of processor time, and measured by the wall's
    rows = []
    for name in sorted(results, key=lambda n: (split(n)[1], -results[n]["mean"])):
        r, (leaf, number) = results[name], split(name)
        reached = (f"{100 * share_reaching(tile, r):.0f} %" for tile in RANKS)
        row = [f"{number}", leaf, f"{r['games']}", *points(r), f"{r['median']:,.0f}", *reached]
        rows.append([*row, f"{1000 * r['seconds_per_move']:.3g}"] if measured else row)
    tiles = " | ".join(f"{tile}:" for tile in RANKS)
    head = f"{unit} | leaf | games: | mean: | 95 % interval: | median: | {tiles}"
    return table(head + " | ms a move:" * measured, rows)


def training_table(results: dict[str, Any]) -> list[str]:
    """Returns the table of a part that trains."""
    rows = []
    for name, r in results.items():
        cost = f"{r['trained_moves'] / 1e6:.1f}", f"{r['trained_seconds']:.0f}"
        rows.append([split(name)[0], f"{r['games']}", *points(r), *cost])
    return table("run | games: | mean: | 95 % interval: | steps, million: | s:", rows)


def ingredient_table(results: dict[str, Any]) -> list[str]:
    """Returns the table of the ingredients: at each depth the mean over runs with several seeds, and that of each run."""
    found: dict[str, dict[int, list[dict[str, Any]]]] = {}
    for name, r in results.items():
        run, depth = split(name)
        found.setdefault(run.rpartition(", seed ")[0], {}).setdefault(depth, []).append(r)
    rows = []
    for name, by_depth in found.items():
        runs = by_depth[1]
        row = [name, f"{len(runs)}"]
        for depth in (1, 2):
            means = [r["mean"] for r in by_depth.get(depth, ())]
            row += [f"{sum(means) / len(means):,.0f}" if means else "", ", ".join(f"{m:,.0f}" for m in means)]
        for unit, of in (("moves", 1e6), ("seconds", 1)):
            row.append(f"{sum(r['trained_' + unit] for r in runs) / len(runs) / of:.1f}")
        rows.append(row)
    return table("run | runs: | depth 1: | each | depth 2: | each | moves, million: | s:", rows)


def ending_table(results: dict[str, Any]) -> list[str]:
    """Returns the table of the endings."""
    rows = []
    for name, r in results.items():
        points_half, moves_half = (error_half(r[name], r["games"]) for name in ("error", "moves_error"))
        scored = f"{r['mean']:,.0f} +- {points_half:,.0f}", f"{r['median']:,.0f}"
        lasted = f"{r['moves']:.0f} +- {moves_half:.0f}", f"{r['points_a_move']:.0f}"
        rows.append([name, f"{r['games']}", *scored, *lasted])
    return table("leaf | games: | points to the end: | median: | moves to the end: | points a move:", rows)


SECTIONS: dict[str, tuple[str, str, Callable[[dict[str, Any]], list[str]]]] = {
    "depth": (
        "Equal depth",
        "Decisions less probable than 0.003 are leaves at depths 4 and 5, and than 0.001 with the learned leaf at depth 3: that "
        "costs it little, and makes it two to three times faster. The hand-made leaves to depth 3 are those of `baselines.md`.",
        lambda r: score_table(r, "depth"),
    ),
    "time": (
        "Equal time per move",
        "Processor time; the search deepens until it is up, and decisions less probable than 0.003 are leaves, for every leaf. "
        "mcts: Monte Carlo tree search with the learned leaf.",
        lambda r: score_table(r, "ms"),
    ),
    "curves": ("Longer runs", "Each is annealed to its end; depth 1.", training_table),
    "ingredients": (
        "What each ingredient bought",
        "Short runs that differ from the first in one of them, which says what helps early; mean scores of each seed's run.",
        ingredient_table,
    ),
    "endings": (
        "The last moves",
        "Positions 40 moves before the learned leaf's games at depth 1 ended, played on at depth 2: by short runs of `td` that "
        "learned a power of the tile scores (0.7), the score itself or survival, and by hand-made leaves. 95 % intervals.",
        ending_table,
    ),
}
"""Title, what is to be known, and table of each part."""


def report(results: Results, study: Study) -> None:
    """Writes learned.md, and the plot of strength against time if there is something to plot."""
    lines = ["# Threes: learned leaves against hand-made ones", ""]
    lines += ["Written by `python -m leafwise.experiments.threes.learned`: paired games, seeds from 1,000,000 on; of"]
    lines += ["the learned leaf at equal depth and time from 2,000,000 on."]
    for part, (title, note, lines_of) in SECTIONS.items():
        if results[part]:
            lines += ["", f"## {title}", "", note, "", *lines_of(results[part])]
            if part != "ingredients" and (
                told := bootstrapped(results[part].values())
            ):  # those have no interval on the page
                lines += ["", *told[:-1]]
            if part == "time" and results["depth"]:
                lines += ["", "![Mean score against time per move, with published players](learned.png)"]
    write_page(study, "learned.md", lines)
    if results["depth"] or results["time"]:
        plot(results, study.target("learned.png"))


def plot(results: Results, path: Path) -> None:
    """Draws mean score against milliseconds a move, for every leaf, with published players as points and lines."""
    colours: dict[str, Any] = {}
    with picture(path, size=(8, 6)) as axes:
        for part, marker, unit in (("depth", "o", "depth {} to {}"), ("time", "s", "{} to {} ms")):
            leaves: dict[str, list[tuple[float, ...]]] = {}
            for name in sorted(results[part], key=split):
                (leaf, number), r = split(name), results[part][name]
                ms = number if part == "time" else 1000 * r["seconds_per_move"]
                leaves.setdefault(leaf, []).append((ms, r["mean"], r["ci_low"], r["ci_high"]))
            numbers = [split(name)[1] for name in results[part]]
            for leaf, found in leaves.items():
                label, colour = f"{leaf}, {unit.format(min(numbers), max(numbers))}", colours.get(leaf)
                colours[leaf] = with_bars(axes, *zip(*found, strict=True), fmt=marker, label=label, color=colour)
        for name, (ms, mean) in PUBLISHED.items():
            axes.plot(ms, mean, "k*", markersize=10)
            axes.annotate(name, (ms, mean), xytext=(6, 9), textcoords="offset points", ha="right", fontsize=8)
        for name, mean in PUBLISHED_SCORES.items():
            axes.axhline(mean, color="grey", linewidth=0.5, linestyle=":")
            side = "bottom" if name.startswith("hand") else "top"
            axes.annotate(
                name, (0.99, mean), xycoords=("axes fraction", "data"), ha="right", va=side, fontsize=8, color="grey"
            )
        axes.set(xscale="log", yscale="log", ylabel="mean score, 95 % interval")
        axes.set(xlabel="ms per move, one core", xlim=(None, 1e6))
        axes.legend(fontsize=8)
