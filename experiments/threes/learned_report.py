"""The tables and plots of the study `learned`."""

from __future__ import annotations

import io
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
    lines = [
        f"| {unit} | leaf | games | mean | 95 % interval | median | 3072 | 6144 | ms a move |",
        "|---|---|" + "---:|" * 7,
    ]
    for name in sorted(results, key=lambda n: (split(n)[1], -results[n]["mean"])):
        r, (leaf, number) = results[name], split(name)
        shares = " | ".join(f"{100 * r['reached'][tile]:.0f} %" for tile in ("3072", "6144"))
        lines.append(
            f"| {number} | {leaf} | {r['games']} | {r['mean']:,.0f} | {r['ci_low']:,.0f} to {r['ci_high']:,.0f} "
            f"| {r['median']:,.0f} | {shares} | {1000 * r['seconds_per_move']:.3g} |"
        )
    return lines


def training_table(results: dict[str, Any]) -> list[str]:
    """Returns the table of a part that trains."""
    lines = ["| run | games | mean | 95 % interval | moves, million | s |", "|---|" + "---:|" * 5]
    for name, r in results.items():
        lines.append(
            f"| {name} | {r['games']} | {r['mean']:,.0f} | {r['ci_low']:,.0f} to {r['ci_high']:,.0f} "
            f"| {r['trained_moves'] / 1e6:.1f} | {r['trained_seconds']:.0f} |"
        )
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


def report(results: Results, folder: Path) -> None:
    """Writes learned.md, and the plot of strength against time if there is something to plot."""
    lines = [
        "# Threes: learned leaves against hand-made ones",
        "",
        "Written by `python -m leafwise.experiments.threes.learned`.",
    ]
    sections = {
        "depth": ("Equal depth", lambda r: score_table(r, "depth")),
        "time": ("Equal time per move", lambda r: score_table(r, "ms")),
        "curves": ("Longer runs, at depth 1", training_table),
        "ingredients": ("What each ingredient bought (depth at the end of the name)", training_table),
        "endings": ("The last moves, played on at depth 2 by leaves that learned different things", ending_table),
    }
    for part, (title, table) in sections.items():
        if results[part]:
            lines += ["", f"## {title}", "", *table(results[part])]
    write(folder / "learned.md", "\n".join(lines) + "\n")
    if results["depth"] or results["time"]:
        plot(results, folder / "learned.png")


def plot(results: Results, path: Path) -> None:
    """Draws mean score against milliseconds a move, for every leaf, with published players as points and lines."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(8, 5), layout="constrained")
    leaves: dict[str, list[tuple[float, float, float, float]]] = {}
    for part in ("depth", "time"):
        for name, r in results[part].items():
            mean = r["mean"]
            point = (1000 * r["seconds_per_move"], mean, mean - r["ci_low"], r["ci_high"] - mean)
            leaves.setdefault(split(name)[0], []).append(point)
    for leaf, points in leaves.items():
        x, y, low, high = zip(*sorted(points), strict=True)
        axes.errorbar(
            x, y, yerr=(low, high), marker=".", capsize=2, label=leaf, linewidth=2 if leaf == "learned" else 1
        )
    for name, (ms, mean) in PUBLISHED.items():
        axes.plot(ms, mean, "k*", markersize=10)
        axes.annotate(name, (ms, mean), xytext=(-4, 8), textcoords="offset points", ha="right", fontsize=7)
    for name, mean in PUBLISHED_SCORES.items():
        axes.axhline(mean, color="grey", linewidth=0.5, linestyle=":")
        axes.annotate(
            name, (0.99, mean), xycoords=("axes fraction", "data"), ha="right", va="bottom", fontsize=6, color="grey"
        )
    axes.set(xscale="log", yscale="log", xlabel="ms per move, one core", ylabel="mean score, 95 % interval")
    axes.legend(fontsize=7)
    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=90)
    pyplot.close(figure)
    write_atomically(path, picture.getvalue())
