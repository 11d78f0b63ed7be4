"""The picture of `leafwise.experiments.friday.insight`: removals, lives, pirates, the course of games."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from leafwise.envs.friday.cards import PHASES
from leafwise.experiments.study import picture

COLOURS = {"green": "#3a8f3a", "yellow": "#c9a000", "red": "#c03030"}


def draw(found: dict[str, Any], path: Path) -> None:
    """Writes the picture: four figures, one below the other."""
    with picture(path, rows=4, size=(8, 21)) as (cards, life, pirates, course):
        draw_removals(found, cards)
        draw_lives(found, life)
        draw_pirates(found, pirates)
        draw_course(found, course)


def draw_removals(found: dict[str, Any], axis: Any) -> None:
    """Draws what one card less in the discard is worth, for the cards that are worth most."""
    gains = {(r["card"], r["phase"]): r["gain"] for r in found["removals"]}
    names = sorted({name for name, _ in gains}, key=lambda n: -max(gains.get((n, p), -99) for p in PHASES[:3]))[:14]
    for k, now in enumerate(PHASES[:3]):
        bars = [gains.get((name, now), 0.0) for name in names]
        axis.barh(np.arange(len(names)) + 0.27 * (k - 1), bars, height=0.25, color=COLOURS[now], label=now)
    titles = {r["card"]: f"{r['card']} {r['title']} ({r['value']})" for r in found["removals"]}
    axis.set_yticks(range(len(names)), [titles[name] for name in names])
    axis.invert_yaxis()
    axis.set(title="One card less in the discard", xlabel="chance to win grows by (points of percent)")
    axis.legend()


def draw_lives(found: dict[str, Any], axis: Any) -> None:
    """Draws what one life more is worth."""
    for now in PHASES[:3]:
        here = [r for r in found["lives"] if r["phase"] == now]
        axis.plot([r["life"] for r in here], [r["gain"] for r in here], marker="o", color=COLOURS[now], label=now)
    axis.set(title="One life more", xlabel="life", ylabel="chance to win grows by (points of percent)")
    axis.legend()


def draw_pirates(found: dict[str, Any], axis: Any) -> None:
    """Draws the chance at the first decision by pirates."""
    pairs = 100 * np.array([[np.nan if x is None else x for x in row] for row in found["pairs"]], dtype=float)
    shown = axis.imshow(pairs, cmap="viridis")
    numbers = [f"P{k}" for k in range(1, 11)]
    axis.set_xticks(range(10), numbers)
    axis.set_yticks(range(10), numbers)
    for a in range(10):
        for b in range(10):
            if a != b:
                axis.text(b, a, f"{pairs[a, b]:.0f}", ha="center", va="center", color="white")
    axis.set(title="Chance told at the first decision, by pirates (%)")
    axis.figure.colorbar(shown, ax=axis)


def draw_course(found: dict[str, Any], axis: Any) -> None:
    """Draws the chance through some games, and its mean through those that were won or lost."""
    for values in found["examples"]:
        colour = "#7fbf7f" if values[-1] else "#df9f9f"
        axis.plot(np.linspace(0, 100, len(values)), 100 * np.array(values), color=colour, linewidth=0.8, zorder=1)
    for name, colour in (("won", "#207020"), ("lost", "#a02020")):
        if name in found["course"]:
            points = 100 * np.array(found["course"][name])
            axis.plot(
                np.linspace(0, 100, len(points)), points, color=colour, linewidth=2.5, label=f"games {name}, mean"
            )
    axis.set(title="Chance told through games", xlabel="% of the game's decisions", ylabel="chance to win (%)")
    axis.legend()
