"""The tables and plots of the study `learned`."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

from leafwise.experiments.threes.baselines import write
from leafwise.models.files import write_atomically

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
Results = dict[str, dict[str, Any]]


def split(name: str) -> tuple[str, int]:
    """Splits `leaf 3` into its leaf and its number."""
    leaf, _, number = name.rpartition(" ")
    return leaf, int(number)


def score_table(results: dict[str, Any], unit: str) -> list[str]:
    """Returns the table of a part that compares leaves."""
    measured = unit == "depth"  # the other part is played by a clock of processor time, and measured by the wall's
    head = f"| {unit} | leaf | games | mean | 95 % interval | median | 3072 | 6144 |"
    lines = [head + " ms a move |" * measured, "|---|---|" + "---:|" * (6 + measured)]
    for name in sorted(results, key=lambda n: (split(n)[1], -results[n]["mean"])):
        r, (leaf, number) = results[name], split(name)
        shares = " | ".join(f"{100 * r['reached'][tile]:.0f} %" for tile in ("3072", "6144"))
        lines.append(
            f"| {number} | {leaf} | {r['games']} | {r['mean']:,.0f} | {r['ci_low']:,.0f} to {r['ci_high']:,.0f} "
            f"| {r['median']:,.0f} | {shares} |" + f" {1000 * r['seconds_per_move']:.3g} |" * measured
        )
    return lines


def training_table(results: dict[str, Any]) -> list[str]:
    """Returns the table of a part that trains."""
    lines = ["| run | games | mean | 95 % interval | steps, million | s |", "|---|" + "---:|" * 5]
    for name, r in results.items():
        lines.append(
            f"| {split(name)[0]} | {r['games']} | {r['mean']:,.0f} | {r['ci_low']:,.0f} to {r['ci_high']:,.0f} "
            f"| {r['trained_moves'] / 1e6:.1f} | {r['trained_seconds']:.0f} |"
        )
    return lines


def ingredient_table(results: dict[str, Any]) -> list[str]:
    """Returns the table of the ingredients: at each depth the mean over runs with several seeds, and that of each run."""
    found: dict[str, dict[int, list[dict[str, Any]]]] = {}
    for name, r in results.items():
        run, depth = split(name)
        found.setdefault(run.rpartition(", seed ")[0], {}).setdefault(depth, []).append(r)
    lines = [
        "| run | runs | depth 1 | each | depth 2 | each | moves, million | s |",
        "|---|---:" + "|---:|---" * 2 + "|---:" * 2 + "|",
    ]
    for name, by_depth in found.items():
        row = [name, f"{len(by_depth[1])}"]
        for depth in (1, 2):
            means = [r["mean"] for r in by_depth.get(depth, ())]
            row += [f"{sum(means) / len(means):,.0f}" if means else "", ", ".join(f"{m:,.0f}" for m in means)]
        runs = by_depth[1]
        row += [
            f"{sum(r['trained_' + unit] for r in runs) / len(runs) / of:.1f}"
            for unit, of in (("moves", 1e6), ("seconds", 1))
        ]
        lines.append("| " + " | ".join(row) + " |")
    return lines


def ending_table(results: dict[str, Any]) -> list[str]:
    """Returns the table of the endings."""
    lines = ["| leaf | games | points to the end | median | moves to the end | points a move |", "|---|" + "---:|" * 5]
    for name, r in results.items():
        lines.append(
            f"| {name} | {r['games']} | {r['mean']:,.0f} +- {r['error']:,.0f} | {r['median']:,.0f} "
            f"| {r['moves']:.0f} +- {r['moves_error']:.0f} | {r['points_a_move']:.0f} |"
        )
    return lines


SECTIONS: dict[str, tuple[str, str, Callable[[dict[str, Any]], list[str]]]] = {
    "depth": (
        "Equal depth",
        "Decisions less probable than 0.003 are leaves at depths 4 and 5, and than 0.001 with the learned leaf at depth 3: that "
        "costs it little, and makes it two to three times faster. The hand-made leaves to depth 3 are those of `baselines.md`.",
        lambda r: score_table(r, "depth"),
    ),
    "time": (
        "Equal time per move",
        "Processor time; the search deepens until it is up, and decisions less probable than 0.003 are leaves, for every leaf.",
        lambda r: score_table(r, "ms"),
    ),
    "methods": (
        "Three ways to learn a leaf",
        "Short runs (s: processor time), each method with the options of `METHODS`; each run's best model is the leaf "
        "of the search at depth 1. What td makes of a still shorter run stands first under the ingredients.",
        training_table,
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
        "learned a power of the tile scores (0.7), the score itself or survival, and by hand-made leaves.",
        ending_table,
    ),
}
"""Title, what is to be known, and table of each part."""


def report(results: Results, folder: Path) -> None:
    """Writes learned.md, and the plot of strength against time if there is something to plot."""
    lines = ["# Threes: learned leaves against hand-made ones", ""]
    lines += ["Written by `python -m leafwise.experiments.threes.learned`: paired games, seeds from 1,000,000 on."]
    for part, (title, note, table) in SECTIONS.items():
        if results[part]:
            lines += ["", f"## {title}", "", note, "", *table(results[part])]
            if part == "time" and results["depth"]:
                lines += ["", "![Mean score against time per move, with published players](learned.png)"]
    write(folder / "learned.md", "\n".join(lines) + "\n")
    if results["depth"] or results["time"]:
        plot(results, folder / "learned.png")


def plot(results: Results, path: Path) -> None:
    """Draws mean score against milliseconds a move, for every leaf, with published players as points and lines."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(8, 5), layout="constrained")
    colours: dict[str, Any] = {}
    for part, style in (("depth", ".-"), ("time", "s")):
        leaves: dict[str, list[tuple[float, ...]]] = {}
        for name in sorted(results[part], key=split):
            (leaf, number), r = split(name), results[part][name]
            ms = number if part == "time" else 1000 * r["seconds_per_move"]
            leaves.setdefault(leaf, []).append((ms, r["mean"], r["mean"] - r["ci_low"], r["ci_high"] - r["mean"]))
        for leaf, points in leaves.items():
            x, y, *errors = zip(*points, strict=True)
            label = f"{leaf}, equal {part}"
            drawn = axes.errorbar(x, y, yerr=errors, fmt=style, capsize=2, label=label, color=colours.get(leaf))
            colours[leaf] = drawn[0].get_color()
    for name, (ms, mean) in PUBLISHED.items():
        axes.plot(ms, mean, "k*", markersize=10)
        axes.annotate(name, (ms, mean), xytext=(6, 9), textcoords="offset points", ha="right", fontsize=7)
    for name, mean in PUBLISHED_SCORES.items():
        axes.axhline(mean, color="grey", linewidth=0.5, linestyle=":")
        side = "bottom" if name.startswith("hand") else "top"
        axes.annotate(
            name, (0.86, mean), xycoords=("axes fraction", "data"), ha="right", va=side, fontsize=6, color="grey"
        )
    axes.set(xscale="log", yscale="log", xlabel="ms per move, one core", ylabel="mean score, 95 % interval")
    axes.legend(fontsize=7)
    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=90)
    pyplot.close(figure)
    write_atomically(path, picture.getvalue())
