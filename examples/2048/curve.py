"""Draws the README's learning curve from `curve.csv`: `python curve.py` (needs matplotlib)."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

HERE = Path(__file__).parent
PUBLISHED = {
    "Szubert and Jaśkowski 2014": 100_178,
    "ziap/2048-tdl, four 6-tuples, 1 million games": 201_381,
}
"""Mean scores at one ply."""


def main() -> None:
    """Writes `curve.png`."""
    moves, mean, low, high = np.loadtxt(HERE / "curve.csv", delimiter=",", skiprows=1).T
    figure, axis = plt.subplots(figsize=(7, 4))
    axis.fill_between(moves / 1e6, low, high, alpha=0.25)
    axis.plot(moves / 1e6, mean, marker=".", label="td, four 6-tuples (200 games, 95 % intervals)")
    for (name, score), style in zip(PUBLISHED.items(), (":", "--"), strict=True):
        axis.axhline(score, linestyle=style, color="grey", label=f"{name}: {score:,}")
    axis.axvline(703, color="grey", linewidth=0.5)
    axis.set(xlabel="million moves", ylabel="mean score, depth 1", ylim=(0, 240_000), xlim=(0, None))
    axis.legend(loc="lower right", fontsize=8)
    figure.tight_layout()
    figure.savefig(HERE / "curve.png", dpi=110)


if __name__ == "__main__":
    main()
