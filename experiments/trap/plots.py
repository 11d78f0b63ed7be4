"""The picture of `leafwise.experiments.trap.insight`: where to stand, when to throw far, what is thrown at, when to pass."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from leafwise.experiments.study import picture
from leafwise.experiments.trap.asked import SIDE, STAGES, corner_of

KINDS = ("nearest cell beside him", "another beside him", "elsewhere", "certain pass", "another trap")


def draw(figures: Any, path: Path) -> None:
    """Writes the picture: boards above, two rows of charts below; `figures` are those of `insight`."""
    with picture(path, rows=3, columns=3, size=(10, 10)) as axes:
        for stage, axis in enumerate(axes[0]):
            draw_board(figures, stage, axis)
        draw_stands(figures, "distance", range(1, 7), "king's steps to the opponent", axes[1, 0])
        draw_stands(figures, "free", range(1, 9), "free cells around", axes[1, 1])
        draw_kinds(figures, axes[1, 2])
        free, further = ["1-2", "3-4", "5-6", "7-8"], "a throw further away is better"
        draw_shares(figures, "far free", free, "free cells around him", further, axes[2, 0])
        draw_shares(figures, "far apart", [*free[:3], "7+"], "rows and columns between us", further, axes[2, 1])
        draw_shares(figures, "pass", free, "own free cells", "nothing beats a certain pass", axes[2, 2])


def draw_board(figures: Any, stage: int, axis: Any) -> None:
    """Draws what the cells of a board are worth to stand on."""
    names = [[f"cell {corner_of(row * SIDE + column)} {stage}" for column in range(SIDE)] for row in range(SIDE)]
    gains = np.array([[100 * figures.mean(n)[0] if figures.count(n) else np.nan for n in line] for line in names])
    axis.imshow(gains, cmap="RdYlGn", vmin=-25, vmax=25)
    for row in range(SIDE):
        for column in range(SIDE):
            axis.text(column, row, f"{gains[row, column]:+.0f}", ha="center", va="center", fontsize=8)
    axis.set_title(f"stand here: {STAGES[stage]}", fontsize=9)
    axis.set(xticks=[], yticks=[])


def draw_stands(figures: Any, what: str, groups: range, words: str, axis: Any) -> None:
    """Draws the gains of cells by a property of theirs, a line for each stage."""
    for stage, title in enumerate(STAGES):
        known = [g for g in groups if figures.count(f"{what} {g} {stage}") >= 40]
        told = np.array([figures.mean(f"{what} {g} {stage}") for g in known]).reshape(-1, 3) * 100
        axis.errorbar(known, told[:, 0], yerr=abs(told[:, 1:] - told[:, :1]).T, marker="o", markersize=3, label=title)
    axis.axhline(0, color="#999999", linewidth=0.8)
    axis.set_title("where to stand", fontsize=9)
    axis.set(xlabel=words, ylabel="chance grows by (points of percent)")
    axis.legend(fontsize=7)


def draw_kinds(figures: Any, axis: Any) -> None:
    """Draws how often each kind of throw is the best."""
    shares = [100 * figures.mean("best all", k)[0] for k in range(len(KINDS))]
    axis.barh(range(len(KINDS)), shares, color="#2f6fb2")
    axis.set_yticks(range(len(KINDS)), KINDS, fontsize=7)
    axis.invert_yaxis()
    axis.set_title("the best throw is at", fontsize=9)
    axis.set(xlabel="% of the decisions")


def draw_shares(figures: Any, what: str, groups: list[str], words: str, title: str, axis: Any) -> None:
    """Draws a share by groups, with its intervals."""
    known = [k for k in range(len(groups)) if figures.count(f"{what} {k}") >= 40]
    told = np.array([figures.mean(f"{what} {k}") for k in known]).reshape(-1, 3) * 100
    axis.bar(range(len(known)), told[:, 0], yerr=abs(told[:, 1:] - told[:, :1]).T, color="#d64541", capsize=3)
    axis.set_xticks(range(len(known)), [groups[k] for k in known])
    axis.set_title(title, fontsize=9)
    axis.set(xlabel=words, ylabel="% of the decisions")
