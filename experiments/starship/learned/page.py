"""The study's page: the table of builders, the curves of a training run, a gallery of the same hulls."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.starship.diversity import pairwise_distances, set_score
from leafwise.envs.starship.quality import TERMS
from leafwise.envs.starship.ship import Ship
from leafwise.experiments.study import logged, picture, table
from leafwise.training.evaluation.arena import bootstrap_interval

Records = list[dict[str, Any]]


def column(records: Records, name: str) -> NDArray[np.float64]:
    """Returns one figure of all ships."""
    return np.array([record[name] for record in records], dtype=float)


def gain(records: Records, base: Records) -> str:
    """Returns the paired gain in quality over other ships of the same seeds, with its 95 % interval."""
    difference = column(records, "quality") - column(base, "quality")
    low, high = bootstrap_interval(difference)
    return f"{difference.mean():+.4f} [{low:+.4f}, {high:+.4f}]"


def table_of(results: dict[str, Records]) -> list[str]:
    """Returns the comparison as a table: quality (0 if not valid), paired gain with 95 % interval, terms."""
    first, rows = next(iter(results.values())), []
    for name, records in results.items():
        quality, valid = column(records, "quality"), column(records, "valid") == 1
        both = valid & (column(first, "valid") == 1)
        shared = f"{(quality - column(first, 'quality'))[both].mean():+.4f}" if both.any() else "-"
        terms = [f"{column(records, term)[valid].mean():.3f}" if valid.any() else "-" for term in TERMS]
        row = [f"`{name}`", f"{quality.mean():.4f}", gain(records, first), f"{valid.mean():.3f}", shared, *terms]
        rows.append([*row, f"{column(records, 'seconds').mean():.4f}"])
    return table(f"builder | quality | gain over the first | valid | both valid | {' | '.join(TERMS)} | s/ship", rows)


def summary(results: dict[str, Records]) -> dict[str, Any]:
    """Returns the figures of the table by builder, quality and gain with their 95 % intervals."""
    first, told = next(iter(results.values())), {}
    for name, records in results.items():
        quality = column(records, "quality")
        own: dict[str, Any] = {"seeds": len(records), "first_seed": records[0]["seed"]}
        for what, found in (("quality", quality), ("gain", quality - column(first, "quality"))):
            low, high = bootstrap_interval(found)
            own[what] = {"mean": float(found.mean()), "ci_low": low, "ci_high": high}
        valid = column(records, "valid") == 1
        own |= {term: float(column(records, term)[valid].mean()) for term in TERMS if valid.any()}
        told[name] = own | {"valid": float(valid.mean()), "seconds": float(column(records, "seconds").mean())}
    return told


def page(command: str, lines: Sequence[str], names: tuple[str, str], has_curves: bool) -> list[str]:
    """Returns the page: how it was made, what the words mean, the tables, the pictures."""
    pictured = (
        ["## Training", "", "![quality, terms and errors while it learned](curves.png)", ""] if has_curves else []
    )
    return [
        "# Who builds the best ships of given hulls and requests?",
        "",
        "```",
        command,
        "```",
        "",
        "builds the ships of the same seeds with each builder and writes this page; stopped, it goes on where it was.",
        "`hand` is the generator's own choice of places; `best:N` the best of N hand-made ships, which may see all",
        "requests beforehand; `build:LEAF` searches two placements ahead, eight places wide, over the requests in sight,",
        "`depth=1` one placement. `hopeful` is the hand-made leaf, `learned` the shipped network. `valid:16:` builds again,",
        "with ever more noise in the values, while the ship is not valid, 16 at most, and then with places drawn at random,",
        "as `leafwise ship gen --builder learned` does; it may so try the same requests again, as `best:N` does. `policy:RUN`",
        "is what masked PPO learned (`leafwise train starship --method ppo`), a policy and no leaf. Quality counts 0 where a",
        "ship is not valid; gains are paired, with 95 % bootstrap intervals; the terms are means over valid ships;",
        '"both valid" is the gain where the first builder\'s ship is valid too; seconds are processor time a ship, on one core',
        "of a machine that was busy otherwise.",
        "",
        *lines,
        "",
        *pictured,
        "## The same hulls and requests",
        "",
        "![ships of both builders](gallery.png)",
        "",
        f"The upper half is built by `{names[0]}`, the lower by `{names[1]}`.",
    ]


def paired(results: dict[str, Records], pairs: Sequence[str]) -> list[str]:
    """Returns what each pair "A > B" of builders comes to: A's paired gain over B."""
    rows = []
    for pair in pairs:
        one, _, other = (word.strip() for word in pair.partition(">"))
        if one not in results or other not in results:
            raise ValueError(f"expected pairs A > B of builders that are compared, got {pair!r}")
        times = " against ".join(f"{column(results[name], 'seconds').mean():.4f}" for name in (one, other))
        rows.append([f"`{one}`", f"`{other}`", gain(results[one], results[other]), times])
    return table("builder | over | gain, paired | s/ship", rows)


def diversity(sets: dict[str, list[Ship]]) -> list[str]:
    """Returns how different the ships of each set are, over as many ships of each as the smallest set has."""
    n = min(map(len, sets.values()))
    rows = []
    for name, ships in sets.items():
        distances = pairwise_distances(ships[:n])
        rows.append([f"`{name}`", f"{set_score(distances):.3f}", f"{distances.sum() / (n * (n - 1)):.3f}"])
    return table(f"builder, {n} ships | set score | mean distance", rows)


def curves(run: Path, path: Path) -> None:
    """Draws what a training run logged: quality, the six terms, the error of the values."""
    interval = ("eval/score_ci_low", "eval/score_ci_high")
    panels = (
        {"quality": "eval/score_mean", "valid": "eval/valid"},
        {term: f"eval/{term}" for term in TERMS},
        {"mean error of the values": "eval/absolute_error", "loss": "train/loss"},
    )
    found = logged(run, [*interval, *(tag for panel in panels for tag in panel.values())])
    with picture(path, columns=3, size=(10, 4)) as axes:
        for axis, panel in zip(axes, panels, strict=True):
            for label, tag in panel.items():
                axis.plot(list(found[tag]), list(found[tag].values()), label=label)
            axis.set_xlabel("updates")
            axis.legend(fontsize=9)
        low, high = (found[tag] for tag in interval)
        axes[0].fill_between(list(low), list(low.values()), list(high.values()), alpha=0.2)
        axes[2].set_yscale("log")
