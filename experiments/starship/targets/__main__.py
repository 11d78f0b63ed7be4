"""Measures how many ships meet their targets, over a grid of targets.

python -m leafwise.experiments.starship.targets
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from leafwise.envs.starship import PRESETS, Generator
from leafwise.envs.starship.draw import gallery, png_bytes
from leafwise.envs.starship.settings import FRIGATE, Parameters
from leafwise.envs.starship.targets import asked_errors, with_targets
from leafwise.experiments.study import Study, command, table, write_json, write_page
from leafwise.models.files import write_atomically

GRID: dict[str, dict[str, list[Any]]] = {
    "classic": {
        "thrust": [10, 20, 30, 40, 50, 60, 70],
        "seats": [12, 24, 36, 48, 72, 96],
        "firepower": [4, 8, 12, 16, {"north": 10}, {"east": 5, "west": 5}, {"south": 10}],
    },
    "scout": {
        "thrust": [4, 8, 12, 16],
        "seats": [4, 8, 12, 16],
        "firepower": [2, 4, 6, {"north": 4}, {"east": 2, "west": 2}, {"south": 4}],
    },
}
"""Single targets by preset."""
TOGETHER: dict[str, list[dict[str, Any]]] = {
    "classic": [
        {"thrust": thrust, "seats": seats, "firepower": {"north": fire // 2, "east": fire // 4, "west": fire // 4}}
        for thrust in (20, 50)
        for seats in (24, 48)
        for fire in (8, 12)
    ],
    "scout": [
        {"thrust": thrust, "seats": seats, "firepower": {"north": 2, "east": 1, "west": 1}}
        for thrust in (6, 12)
        for seats in (6, 12)
    ],
}
"""Combined targets by preset."""
PICTURED: list[dict[str, Any]] = [{"thrust": 16}, {"seats": 96}, {"firepower": {"south": 8}}]
"""Targets of the frigates in the picture."""


@dataclass(frozen=True)
class Config(Study):
    """Measures how many ships meet their targets."""

    ships: int = 200
    """Number of ships for each target."""
    first_seed: int = 2_500_000
    """First seed of every target."""


def study(config: Config) -> None:
    """Measures, and writes the page."""
    config.target("results.json")  # fails at once without a folder
    started, rows = time.process_time(), []
    for preset in GRID:
        single = [{name: value} for name, values in GRID[preset].items() for value in values]
        rows += [measure(PRESETS[preset], targets, config) for targets in [*single, *TOGETHER[preset]]]
    results = {"rows": rows, "seconds": round(time.process_time() - started, 1)}
    write_json(config, "results.json", results)
    write_atomically(config.target("gallery.png"), pictures(config))
    lines = page(config, results)
    write_page(config, "README.md", lines)
    print("\n".join(lines))


def measure(parameters: Parameters, targets: dict[str, Any], config: Config) -> dict[str, Any]:
    """Returns the shares of ships that are valid and meet their targets, and the errors."""
    generator = Generator(with_targets(parameters, targets))
    outcomes: list[tuple[float, ...]] = []
    quality: list[float] = []
    for seed in range(config.first_seed, config.first_seed + config.ships):
        first = generator.attempt(seed, 0)
        ship = first if first.valid else generator.ship(seed)
        errors, last = (sum(asked_errors(one, targets).values()) for one in (first, ship))
        outcomes.append((first.valid and errors == 0, errors, ship.valid and last == 0, last))
        quality += [ship.stats["quality"]] if ship.valid else []
    means = zip(("first", "first_error", "met", "error"), np.mean(outcomes, axis=0).tolist(), strict=True)
    figures = {name: round(mean, 4) for name, mean in means}
    figures["quality"] = round(float(np.mean(quality or [0.0])), 4)
    return {"preset": parameters.preset, "targets": targets, **figures}


def pictures(config: Config) -> bytes:
    """Draws frigates: three without targets and three with one."""
    plain = Generator(FRIGATE)
    ships = [plain.ship(config.first_seed + k) for k in range(len(PICTURED))]
    ships += [Generator(with_targets(FRIGATE, targets)).ship(config.first_seed) for targets in PICTURED]
    return png_bytes(gallery(ships, 3, 0.5))


def in_words(targets: dict[str, Any]) -> str:
    """Returns targets in a few words."""
    return ", ".join(
        f"{name} " + ("+".join(f"{n} {way}" for way, n in value.items()) if isinstance(value, dict) else str(value))
        for name, value in targets.items()
    )


def page(config: Config, results: dict[str, Any]) -> list[str]:
    """Returns the page of the study."""
    rows = [
        [row["preset"], in_words(row["targets"]), f"{row['first']:.3f}", f"{row['first_error']:.2f}"]
        + [f"{row['met']:.3f}", f"{row['error']:.2f}", f"{row['quality']:.3f}"]
        for row in results["rows"]
    ]
    head = (
        "preset | targets | share met, 1 attempt | mean error, 1 attempt | share met, up to 8 attempts | "
        "mean error, up to 8 attempts | mean quality, up to 8 attempts"
    )
    return [
        "# Starship: ships with given targets",
        "",
        "The table shows how often the generator builds a ship that meets its targets, such as 24 seats, with one attempt "
        "and with up to eight attempts. "
        f"`python -m leafwise.experiments.starship.targets` made this page in {results['seconds']:.0f} s of processor time. "
        f"Each row has {config.ships} ships, with seeds from {config.first_seed:,} on.",
        "",
        "A ship meets its targets if it is valid and its values are equal to the targets. Its seats may also be up to five more "
        "than the target, because each crew room adds two or six seats. The error of a ship is the sum of the "
        "differences between its "
        "values and the targets. The table has the mean error of all ships, valid or not, and the mean "
        "[quality](../../../docs/terms.md#quality) of the valid ships. The quality is highest if 40 % of the weapons' "
        "firepower is directed forward (north). Firepower targets with another share in this direction lower the quality.",
        "",
        *table(head, rows),
        "",
        "![Six ships of the preset frigate](gallery.png)",
        "",
        "*Ships of the preset `frigate`. The upper three have no targets. The lower three have one target each: thrust 16, 96 "
        "seats, and firepower 8 south.*",
    ]


main = command(Config, study)

if __name__ == "__main__":
    raise SystemExit(main())
