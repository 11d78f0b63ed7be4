"""Compares builders on the same hulls and requests; continues after a stop.

python -m leafwise.experiments.starship.learned --seeds 100 --builders hand best:16 build:hopeful
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from leafwise.envs.core.arrays import Floats
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.files import read_text
from leafwise.envs.registry import game
from leafwise.envs.starship.draw import gallery, png_bytes
from leafwise.envs.starship.quality import TERMS
from leafwise.envs.starship.settings import PRESETS, SCOUT
from leafwise.envs.starship.ship import Ship, ship_at
from leafwise.envs.starship.statistics import diversity, entropy
from leafwise.experiments.study import DistributedStudy, command, logged, picture, table, write_json, write_page
from leafwise.models.files import write_atomically
from leafwise.training.evaluation.statistics import bounds, mean_interval
from leafwise.training.starship import builders

SAVED_EVERY = 10
"""Ships in one piece of work, after which the results are saved."""
PICTURED = 6
"""Hulls in the gallery."""


Records = list[dict[str, Any]]


def column(records: Records, name: str) -> Floats:
    """Returns one figure of all ships."""
    return np.array([record[name] for record in records], dtype=float)


def gain(records: Records, base: Records) -> str:
    """Returns the paired gain in quality over other ships of the same seeds, with its 95 % interval; "-" without records."""
    if not records:
        return "-"
    difference = column(records, "quality") - column(base, "quality")
    low, high = mean_interval(difference)
    return f"{difference.mean():+.4f}" + ("" if np.isnan(low) else f" [{low:+.4f}, {high:+.4f}]")


def both_valid(one: Records, other: Records) -> tuple[Records, Records]:
    """Returns the records of the seeds on which both ships are valid."""
    pairs = [(a, b) for a, b in zip(one, other, strict=True) if a["valid"] and b["valid"]]
    return [a for a, _ in pairs], [b for _, b in pairs]


def table_of(results: dict[str, Records]) -> list[str]:
    """Returns the comparison as a table: quality (0 if not valid), paired gain with 95 % interval, terms."""
    first, rows = next(iter(results.values())), []
    for name, figures in summary(results).items():
        shared = gain(*both_valid(results[name], first)).partition(" ")[0]
        terms = [f"{figures[term]:.3f}" if term in figures else "-" for term in TERMS]
        quality, gained = f"{figures['quality']['mean']:.4f}", gain(results[name], first)
        rows.append(
            [f"`{name}`", quality, gained, f"{figures['valid']:.3f}", shared, *terms, f"{figures['seconds']:.4f}"]
        )
    return table(f"builder | quality | gain over the first | valid | both valid | {' | '.join(TERMS)} | s/ship", rows)


def summary(results: dict[str, Records]) -> dict[str, Any]:
    """Returns the figures of the table by builder, quality and gain with their 95 % intervals."""
    first, by_builder = next(iter(results.values())), {}
    for name, records in results.items():
        quality = column(records, "quality")
        figures: dict[str, Any] = {"seeds": len(records), "first_seed": records[0]["seed"]}
        for what, values in (("quality", quality), ("gain", quality - column(first, "quality"))):
            figures[what] = {"mean": float(values.mean()), **bounds(mean_interval(values))}
        valid = column(records, "valid") == 1
        figures |= {term: float(column(records, term)[valid].mean()) for term in TERMS if valid.any()}
        by_builder[name] = figures | {"valid": float(valid.mean()), "seconds": float(column(records, "seconds").mean())}
    return by_builder


def page(sections: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Returns the page: explanations, and for each preset the command, tables and pictures."""
    lines = [
        "# Starship: which builder makes the best ships?",
        "",
        "All [builders](../../../docs/terms.md#builder) get the same hulls and [requests](../../../docs/terms.md#request).",
        "The study can compare these builders:",
        "",
        "- `hand` places parts by the generator's own rules. `best:N` builds N ships with `hand` and keeps the best.",
        "- `build:LEAF` never moves a placed part. It knows only the current request and the next two. It looks two",
        "  placements ahead, or one with `depth=1`, and values ships with the [leaf](../../../docs/terms.md#leaf). `hopeful`",
        "  is the hand-made leaf. The leaf `learned` is the network of the package, which is the same for all",
        "  [presets](../../../docs/terms.md#preset). With `heat` the places of cockpit and reactor are chosen at random among",
        "  places of about the same value.",
        "- `refine:N:BUILDER` tries N random changes of the ship that BUILDER finished. Each change moves one part, and is",
        "  kept if the ship does not get worse.",
        "- `propose:N:BUILDER` tries only the changes that another network finds most likely to help.",
        "  `leafwise train starship --method ship-changes` trains this network. The builder `learned` is",
        "  `propose:450:hand`, and `leafwise ship gen --builder learned` uses it.",
        "- `policy:RUN` is a policy of masked PPO (`--method ppo`). The tables below do not have one.",
        "",
        "`hand`, `build:` and `policy:` place each part once. The other builders may place a part several times.",
        "",
        "Each preset has four tables. A ship that is not valid has [quality](../../../docs/terms.md#quality) 0. A gain is the",
        "mean difference in quality from another builder on the same seeds, with its 95 % interval. In the first table the",
        "other builder is that of the first row. In the second table the column `over` names it. The column `valid` has",
        "the share of valid ships, and `both valid` has the gain for the ships that are valid with both builders. "
        "The columns",
        "`thrust` to `skin` have the six terms of the quality, as means over valid ships. `s/ship` is processor time in seconds.",
        "",
        "The third and the fourth table show how varied the valid ships are. The third has the entropy, in bits, of the",
        "cockpit's rotation, of the reactor's place, and of both together. In brackets is the ratio to the first builder. In",
        "the fourth table `set score` is the share of ships that remain when ships too similar to another ship are dropped.",
        "`mean distance` is the mean share of cells in which two ships differ.",
    ]
    for preset, part in sections.items():
        lines += ["", f"## {preset}", "", "```", part["command"], "```", "", *part["lines"], ""]
        lines += [f"![ships of both builders](gallery-{preset}.png)", ""]
        above, below = part["pictured"]
        lines += [f"*Ships of the same hulls and requests: `{above}` above, `{below}` below.*"]
        if part["curves"]:
            lines += ["", f"![quality, terms and errors while it learned](curves-{preset}.png)"]
    return lines


def paired(results: dict[str, Records], pairs: Sequence[str]) -> list[str]:
    """Returns the table of pairs "A > B" of builders: A's paired gain over B, over all ships and over ships valid with both."""
    rows = []
    for pair in pairs:
        one, _, other = (word.strip() for word in pair.partition(">"))
        if one not in results or other not in results:
            raise UserError(f"expected pairs A > B of builders that are compared, got {pair!r}")
        times = " against ".join(f"{column(results[name], 'seconds').mean():.4f}" for name in (one, other))
        shared = gain(*both_valid(results[one], results[other]))
        rows.append([f"`{one}`", f"`{other}`", gain(results[one], results[other]), shared, times])
    return table("builder | over | gain, paired | both valid | s/ship", rows)


def gains(results: dict[str, Records], pairs: Sequence[str]) -> dict[str, Any]:
    """Returns the paired gains over all ships, with their 95 % intervals, by "A over B"."""
    by_pair = {}
    for pair in pairs:
        one, _, other = (word.strip() for word in pair.partition(">"))
        difference = column(results[one], "quality") - column(results[other], "quality")
        by_pair[f"{one} over {other}"] = {"mean": float(difference.mean()), **bounds(mean_interval(difference))}
    return by_pair


def layouts(results: dict[str, Records]) -> list[str]:
    """Returns the table of core layouts: entropies of each builder, and their ratio to the first builder's."""
    rows: list[list[str]] = []
    first = np.zeros(0)
    for name, records in results.items():
        cores = [tuple(record["core"]) for record in records if record["valid"]]
        if not cores:
            continue
        bits = np.array([entropy(c[0] for c in cores), entropy(c[1:] for c in cores), entropy(cores)])
        first = bits if not rows else first
        cells = [
            f"{value:.2f} ({value / base:.2f})" if base else f"{value:.2f}"
            for value, base in zip(bits, first, strict=True)
        ]
        rows.append([f"`{name}`", *cells])
    return table("builder | cockpit's rotation, bits | reactor's place | both", rows)


def diversities(sets: dict[str, list[Ship]]) -> list[str]:
    """Returns the table of diversity, over as many ships of each set as the smallest set has."""
    n, rows = min(map(len, sets.values())), []
    for name, ships in sets.items():
        figures = diversity(ships[:n])
        rows.append([f"`{name}`", f"{figures['set_score']:.3f}", f"{figures['mean_distance']:.3f}"])
    return table(f"builder, {n} ships | set score | mean distance", rows)


def curves(run: Path, path: Path) -> None:
    """Draws the curves of a training run: quality, the six terms, the error of the values."""
    interval = ("eval/score_ci_low", "eval/score_ci_high")
    panels = (
        {"quality": "eval/score_mean", "valid": "eval/valid"},
        {term: f"eval/{term}" for term in TERMS},
        {"mean error of the values": "eval/absolute_error", "loss": "train/loss"},
    )
    series = logged(run, [*interval, *(tag for panel in panels for tag in panel.values())])
    with picture(path, columns=3, size=(10, 4)) as axes:
        for axis, panel in zip(axes, panels, strict=True):
            for label, tag in panel.items():
                axis.plot(list(series[tag]), list(series[tag].values()), label=label)
            axis.set_xlabel("updates")
            axis.legend(fontsize=9)
        low, high = (series[tag] for tag in interval)
        axes[0].fill_between(list(low), list(low.values()), list(high.values()), alpha=0.2)
        axes[2].set_yscale("log")


@dataclass(frozen=True)
class Config(DistributedStudy):
    """Compares builders with the first one."""

    builders: tuple[str, ...] = (
        "hand",
        "random",
        "best:16",
        "best:64",
        "build:hopeful,depth=1",
        "build:learned,depth=1",
    )
    """Builders, as `leafwise.training.starship.builders.builder` names them."""
    pairs: tuple[str, ...] = ()
    """Further pairs to compare, like "build:learned,depth=1 > best:64"."""
    preset: str = "scout"
    """scout, classic or cruiser."""
    seeds: int = 100
    """Hulls with their requests."""
    first_seed: int = 1_000_000
    """First of the seeds."""
    diversity: int = 0
    """Number of ships of the first and of the last builder to measure diversity (0: none)."""
    curves: str = ""
    """Run folder with the curves for the page."""
    records: Path = Path("runs/starship-builders")
    """Folder of the records: one file for each builder, which later calls extend."""
    page: bool = False
    """Write this preset's section of the page, its figures as JSON and the pictures to --out."""


def measure(config: Config) -> dict[str, Records]:
    """Returns the records of each builder, known ones from the folder and new ones."""
    building_game, results = game("starship", preset=config.preset), {}
    wanted = range(config.first_seed, config.first_seed + config.seeds)
    for name in config.builders:
        path = config.records / f"{config.preset}-{''.join(c if c.isalnum() else '_' for c in name)}.json"
        done = {r["seed"]: r for r in json.loads(read_text(path))} if path.exists() else {}
        missing = [seed for seed in wanted if seed not in done]
        pieces = [missing[k : k + SAVED_EVERY] for k in range(0, len(missing), SAVED_EVERY)]
        for part in config.each(partial(builders.records, building_game, name), pieces):
            done |= {one["seed"]: one for one in part}
            rows = [done[s] for s in sorted(done)]
            write_atomically(path, ("[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n").encode())
        results[name] = [done[seed] for seed in wanted]
    return results


def ships(config: Config, name: str, count: int) -> list[Ship]:
    """Returns the ships of a builder for the first seeds."""
    building_game = game("starship", preset=config.preset)
    build = builders.builder(name, building_game)
    seeds = range(config.first_seed, config.first_seed + count)
    return [ship_at(build(seed).row, building_game.tables(), seed) for seed in seeds]


def report(config: Config) -> None:
    """Measures, writes the page if requested, and prints the tables."""
    if config.seeds < 1 or not config.builders:
        raise UserError(f"expected at least one seed and one builder, got {config.seeds!r}")
    results = measure(config)
    lines = [f"{config.seeds:,} seeds from {config.first_seed:,}:", "", *table_of(results)]
    if config.pairs:
        lines += ["", *paired(results, config.pairs)]
    lines += ["", *layouts(results)]
    names = (config.builders[0], config.builders[-1])
    sets: dict[str, list[Ship]] = {}
    if config.diversity:
        sets = {name: ships(config, name, config.diversity) for name in names}
        lines += ["", *diversities(sets)]
    if config.page:
        both = [ship for name in names for ship in (sets.get(name) or ships(config, name, PICTURED))[:PICTURED]]
        scale = SCOUT.grid / PRESETS[config.preset].grid
        write_atomically(config.target(f"gallery-{config.preset}.png"), png_bytes(gallery(both, PICTURED, scale)))
        if config.curves:
            curves(Path(config.curves), config.target(f"curves-{config.preset}.png"))
        part = {"command": config.repeated_by, "lines": lines, "pictured": names, "curves": bool(config.curves)}
        path = config.target("results.json")
        old = json.loads(read_text(path)) if path.exists() else {}
        old[config.preset] = part | {"builders": summary(results), "pairs": gains(results, config.pairs)}
        sections = {preset: old[preset] for preset in PRESETS if preset in old}
        write_page(config, "README.md", page(sections))
        write_json(config, "results.json", sections)
    print("\n".join(lines))


main = command(Config, report)

if __name__ == "__main__":
    raise SystemExit(main())
