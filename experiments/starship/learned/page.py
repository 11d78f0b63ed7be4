"""The study's page: the table of builders, the curves of a training run, a gallery of the same hulls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.errors import UserError
from leafwise.envs.starship.quality import TERMS
from leafwise.envs.starship.ship import Ship
from leafwise.envs.starship.statistics import entropy, pairwise_distances, set_score
from leafwise.experiments.study import logged, picture, table
from leafwise.training.evaluation.statistics import bounds, mean_interval

Records = list[dict[str, Any]]


def column(records: Records, name: str) -> NDArray[np.float64]:
    """Returns one figure of all ships."""
    return np.array([record[name] for record in records], dtype=float)


def gain(records: Records, base: Records) -> str:
    """Returns the paired gain in quality over other ships of the same seeds, with its 95 % interval."""
    difference = column(records, "quality") - column(base, "quality")
    low, high = mean_interval(difference)
    return f"{difference.mean():+.4f}" + ("" if np.isnan(low) else f" [{low:+.4f}, {high:+.4f}]")


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
            own[what] = {"mean": float(found.mean()), **bounds(mean_interval(found))}
        valid = column(records, "valid") == 1
        own |= {term: float(column(records, term)[valid].mean()) for term in TERMS if valid.any()}
        told[name] = own | {"valid": float(valid.mean()), "seconds": float(column(records, "seconds").mean())}
    return told


def page(sections: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Returns the page: what the words mean, and for each preset how its part was made, the tables, the pictures."""
    lines = [
        "# Who builds the best ships of given hulls and requests?",
        "",
        "`hand` is the generator's own choice of places; `best:N` the best of N hand-made ships. `build:LEAF` looks two",
        "placements ahead over the requests in sight, `depth=1` one: in one pass, which knows no request beyond those. `hopeful`",
        "is the hand-made leaf, `learned` the shipped network, one for all presets; with `heat` cockpit and reactor are drawn",
        "among places about as good. `refine:N:` puts N parts of a finished ship elsewhere, one at a time, and keeps what is no",
        "worse; `learned` is what `leafwise ship gen --builder learned` does. `best:`, `refine:` and `learned` may try the same",
        "requests again and again. `policy:RUN` is what masked PPO learned (`leafwise train starship --method ppo`).",
        "",
        "Quality counts 0 where a ship is not valid; gains are paired, with 95 % intervals; the terms are means over",
        'valid ships; "both valid" is the gain where both ships are valid; seconds are processor time a ship. The layout of the',
        "core is the rotation of the cockpit and where the reactor stands off it, over the valid ships.",
    ]
    for preset, own in sections.items():
        lines += ["", f"## {preset}", "", "```", own["command"], "```", "", *own["lines"], ""]
        lines += [f"![ships of both builders](gallery-{preset}.png)", ""]
        lines += [f"The same hulls and requests: above by `{own['pictured'][0]}`, below by `{own['pictured'][1]}`."]
        if own["curves"]:
            lines += ["", f"![quality, terms and errors while it learned](curves-{preset}.png)"]
    return lines


def paired(results: dict[str, Records], pairs: Sequence[str]) -> list[str]:
    """Returns what each pair "A > B" of builders comes to: A's paired gain over B, over all ships and where both are valid."""
    rows = []
    for pair in pairs:
        one, _, other = (word.strip() for word in pair.partition(">"))
        if one not in results or other not in results:
            raise UserError(f"expected pairs A > B of builders that are compared, got {pair!r}")
        times = " against ".join(f"{column(results[name], 'seconds').mean():.4f}" for name in (one, other))
        both = [(a, b) for a, b in zip(results[one], results[other], strict=True) if a["valid"] and b["valid"]]
        shared = gain([a for a, _ in both], [b for _, b in both]) if both else "-"
        rows.append([f"`{one}`", f"`{other}`", gain(results[one], results[other]), shared, times])
    return table("builder | over | gain, paired | both valid | s/ship", rows)


def layouts(results: dict[str, Records]) -> list[str]:
    """Returns how many ways of laying out the core each builder has: entropies, and what share they are of the first one's."""
    rows: list[list[str]] = []
    first = np.zeros(0)
    for name, records in results.items():
        cores = [tuple(record["core"]) for record in records if record["valid"]]
        if not cores:
            continue
        found = np.array([entropy(c[0] for c in cores), entropy(c[1:] for c in cores), entropy(cores)])
        first = found if not rows else first
        cells = [
            f"{own:.2f} ({own / most:.2f})" if most else f"{own:.2f}" for own, most in zip(found, first, strict=True)
        ]
        rows.append([f"`{name}`", *cells])
    return table("builder | cockpit's rotation, bits | reactor's place | both", rows)


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
