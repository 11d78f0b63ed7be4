"""The picture of `leafwise.experiments.friday.insight`: removals, lives, pirates, the course of games."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np

from leafwise.envs.friday.cards import PHASES
from leafwise.models.files import write_atomically

COLOURS = {"green": "#3a8f3a", "yellow": "#c9a000", "red": "#c03030"}


def draw(found: dict[str, Any], path: Path) -> None:
    """Writes the picture."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(2, 2, figsize=(13, 10), layout="constrained")
    cards, life, pirates, course = axes.ravel()
    gains = {(r["card"], r["phase"]): r["gain"] for r in found["removals"]}
    names = sorted({name for name, _ in gains}, key=lambda n: -max(gains.get((n, p), -99) for p in PHASES[:3]))[:14]
    for k, now in enumerate(PHASES[:3]):
        bars = [gains.get((name, now), 0.0) for name in names]
        cards.barh(np.arange(len(names)) + 0.27 * (k - 1), bars, height=0.25, color=COLOURS[now], label=now)
    titles = {r["card"]: f"{r['card']} {r['title']} ({r['value']})" for r in found["removals"]}
    cards.set_yticks(range(len(names)), [titles[name] for name in names])
    cards.invert_yaxis()
    cards.set(title="One card less in the discard", xlabel="chance to win grows by (points of percent)")
    cards.legend()
    for now in PHASES[:3]:
        here = [r for r in found["lives"] if r["phase"] == now]
        life.plot([r["life"] for r in here], [r["gain"] for r in here], marker="o", color=COLOURS[now], label=now)
    life.set(title="One life more", xlabel="life", ylabel="chance to win grows by (points of percent)")
    life.legend()
    pairs = 100 * np.array([[np.nan if x is None else x for x in row] for row in found["pairs"]], dtype=float)
    shown = pirates.imshow(pairs, cmap="viridis")
    numbers = [f"P{k}" for k in range(1, 11)]
    pirates.set_xticks(range(10), numbers)
    pirates.set_yticks(range(10), numbers)
    for a in range(10):
        for b in range(10):
            if a != b:
                pirates.text(b, a, f"{pairs[a, b]:.0f}", ha="center", va="center", color="white", fontsize=8)
    pirates.set(title="Chance told at the first decision, by pirates (%)")
    figure.colorbar(shown, ax=pirates)
    for values in found["examples"]:
        colour = "#7fbf7f" if values[-1] else "#df9f9f"
        course.plot(np.linspace(0, 100, len(values)), 100 * np.array(values), color=colour, linewidth=0.8, zorder=1)
    for name, colour in (("won", "#207020"), ("lost", "#a02020")):
        if name in found["course"]:
            points = found["course"][name]
            course.plot(
                np.linspace(0, 100, len(points)),
                100 * np.array(points),
                color=colour,
                linewidth=2.5,
                label=f"games {name}, mean",
            )
    course.set(title="Chance told through games", xlabel="% of the game's decisions", ylabel="chance to win (%)")
    course.legend()
    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=80)
    pyplot.close(figure)
    write_atomically(path, picture.getvalue())
