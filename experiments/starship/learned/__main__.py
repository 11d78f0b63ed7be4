"""Compares builders on the same hulls and requests; goes on where it was stopped.

python -m leafwise.experiments.starship.learned --seeds 100 --builders hand best:16 build:hopeful
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from leafwise.envs.core.errors import UserError
from leafwise.envs.core.files import read_text
from leafwise.envs.registry import game
from leafwise.envs.starship.draw import gallery, png_bytes
from leafwise.envs.starship.options import ship_at
from leafwise.envs.starship.presets import PRESETS, SCOUT
from leafwise.envs.starship.ship import Ship
from leafwise.experiments.starship.learned.page import (
    Records,
    curves,
    diversity,
    layouts,
    page,
    paired,
    summary,
    table_of,
)
from leafwise.experiments.study import PlacedStudy, command, write_json, write_page
from leafwise.models.files import write_atomically
from leafwise.training.starship.builders import builder, records

SAVED_EVERY = 10
"""Ships that are built as one piece of work; then the results so far are written."""
PICTURED = 6
"""Hulls in the gallery."""


@dataclass(frozen=True)
class Config(PlacedStudy):
    """What is compared; the first builder is the one the others are compared with."""

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
    """Further pairs that are compared, like "build:learned,depth=1 > best:64"."""
    few: tuple[str, ...] = ()
    """Slower builders, compared with the first one on the first `few_seeds` seeds only."""
    few_seeds: int = 100
    """Seeds of those."""
    preset: str = "scout"
    """scout, classic or cruiser."""
    seeds: int = 100
    """Hulls with their requests."""
    first_seed: int = 1_000_000
    """First of the seeds."""
    diversity: int = 0
    """Ships of the first and of the last builder whose diversity is measured (0: none)."""
    curves: str = ""
    """Run folder whose curves are drawn on the page."""
    records: Path = Path("runs/starship-builders")
    """Folder of what was built: one file for each builder, to which a later run adds."""
    page: bool = False
    """Write this preset's part of the page, its figures as JSON and the pictures to --out."""


def measure(config: Config) -> dict[str, Records]:
    """Returns the records of each builder, those that the folder has already included."""
    place, results = game("starship", preset=config.preset), {}
    wanted = range(config.first_seed, config.first_seed + config.seeds)
    for name in config.builders:
        path = config.records / f"{config.preset}-{''.join(c if c.isalnum() else '_' for c in name)}.json"
        done = {r["seed"]: r for r in json.loads(read_text(path))} if path.exists() else {}
        missing = [seed for seed in wanted if seed not in done]
        pieces = [missing[k : k + SAVED_EVERY] for k in range(0, len(missing), SAVED_EVERY)]
        for part in config.each(partial(records, place, name), pieces):
            done |= {one["seed"]: one for one in part}
            rows = [done[s] for s in sorted(done)]
            write_atomically(path, ("[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n").encode())
        results[name] = [done[seed] for seed in wanted]
    return results


def ships(config: Config, name: str, count: int) -> list[Ship]:
    """Returns the ships that a builder makes of the first seeds."""
    place = game("starship", preset=config.preset)
    build = builder(name, place)
    seeds = range(config.first_seed, config.first_seed + count)
    return [ship_at(build(seed).row, place.tables(), seed) for seed in seeds]


def report(config: Config) -> None:
    """Measures, writes the page if it is wanted, and prints the tables."""
    if config.seeds < 1 or not config.builders:
        raise UserError(f"expected at least one seed and one builder, got {config.seeds!r}")
    results = measure(config)
    lines = [f"{config.seeds:,} seeds from {config.first_seed:,}:", "", *table_of(results)]
    if config.pairs:
        lines += ["", *paired(results, config.pairs)]
    if config.few:
        some = replace(config, builders=(config.builders[0], *config.few), seeds=config.few_seeds)
        lines += ["", f"The first {some.seeds} seeds:", "", *table_of(measure(some))]
    lines += ["", *layouts(results)]
    names = (config.builders[0], config.builders[-1])
    sets: dict[str, list[Ship]] = {}
    if config.diversity:
        sets = {name: ships(config, name, config.diversity) for name in names}
        lines += ["", *diversity(sets)]
    if config.page:
        both = [ship for name in names for ship in (sets.get(name) or ships(config, name, PICTURED))[:PICTURED]]
        scale = SCOUT.grid / PRESETS[config.preset].grid
        write_atomically(config.target(f"gallery-{config.preset}.png"), png_bytes(gallery(both, PICTURED, scale)))
        if config.curves:
            curves(Path(config.curves), config.target(f"curves-{config.preset}.png"))
        own = {"command": config.repeated_by, "lines": lines, "pictured": names, "curves": bool(config.curves)}
        write_sections(config, own | {"builders": summary(results)})
    print("\n".join(lines))


def write_sections(config: Config, own: dict[str, Any]) -> None:
    """Writes the page with this preset's part, and those of the others as they were."""
    path = config.target("results.json")
    old = json.loads(read_text(path)) if path.exists() else {}
    sections = {preset: own if preset == config.preset else old.get(preset) for preset in PRESETS}
    known = {preset: section for preset, section in sections.items() if section}
    write_page(config, "README.md", page(known))
    write_json(config, "results.json", known)


main = command(Config, report)

if __name__ == "__main__":
    raise SystemExit(main())
