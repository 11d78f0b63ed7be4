"""Runs the study and writes config.json, results.json, README.md and the pictures.

python -m leafwise.experiments.starship.generator
"""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import tyro

from leafwise.envs.starship import PRESETS, Generator
from leafwise.envs.starship.bench import bench
from leafwise.envs.starship.draw import gallery, png_bytes, story
from leafwise.envs.starship.files import write_bytes
from leafwise.envs.starship.replay import check_stages
from leafwise.envs.starship.survey import survey
from leafwise.experiments.starship.generator.outcomes import outcome_shares, outcome_table, plot, request_shares
from leafwise.experiments.starship.generator.page import page


@dataclass
class Config:
    """How much is measured."""

    classic: int = 10_000
    """Classic ships, each checked against the rules."""
    scout: int = 10_000
    """Scout ships, each checked against the rules."""
    cruiser: int = 2_000
    """Cruiser ships, each checked against the rules."""
    stories: int = 500
    """Ships of each preset whose stages are replayed (V11, V12)."""
    requests: int = 200_000
    """Requests drawn to compare with the weights."""
    outcomes: int = 2_000
    """Classic ships whose thrusters and weapons are counted."""
    first_seed: int = 1_000_000
    """First seed of every set."""
    redraw: bool = False
    """Only measure the rates again, and write the page and the pictures from the results in the folder."""
    out: Path = Path(__file__).parent
    """Folder for the results."""


def main(arguments: list[str]) -> int:
    """Runs the study, or only draws it again."""
    config = tyro.cli(Config, args=arguments, prog="leafwise.experiments.starship.generator")
    settings = {name: value for name, value in asdict(config).items() if isinstance(value, int)}
    if config.redraw:
        settings = json.loads((config.out / "config.json").read_text())
        results = json.loads((config.out / "results.json").read_text())
        results["rates"] = _rates()
    else:
        results = _measure(config)
    settings.pop("redraw", None)
    _pictures(settings["first_seed"], results, config.out)
    text = page(settings, results, outcome_table(results))
    write_bytes((json.dumps(settings, indent=1) + "\n").encode(), config.out / "config.json")
    write_bytes((json.dumps(results, indent=1) + "\n").encode(), config.out / "results.json")
    write_bytes(text.encode(), config.out / "README.md")
    print(text)
    return 0


def _measure(config: Config) -> dict[str, Any]:
    """Returns all figures of the study."""
    started = time.perf_counter()
    results: dict[str, Any] = {"rates": _rates()}
    results["surveys"] = {name: _survey(name, getattr(config, name), config.first_seed) for name in PRESETS}
    results["stories"] = {name: _stories(name, config.stories, config.first_seed) for name in PRESETS}
    results["requests"] = request_shares(config.requests, config.first_seed)
    results["outcomes"] = outcome_shares(config.outcomes, config.first_seed)
    results["seconds"] = round(time.perf_counter() - started, 1)
    return results


def _rates() -> dict[str, float]:
    return {name: round(rate, 1) for name, rate in bench().items()}


def _survey(preset: str, ships: int, first_seed: int) -> dict[str, Any]:
    print(f"{preset}: {ships} ships", file=sys.stderr)
    return survey(PRESETS[preset], range(first_seed, first_seed + ships), checked=True)


def _stories(preset: str, ships: int, first_seed: int) -> dict[str, Any]:
    """Replays the stages of the first attempts; counts broken rules."""
    generator, broken = Generator(preset), Counter[str]()
    for seed in range(first_seed, first_seed + ships):
        broken.update(fault.rule for fault in check_stages(generator.stages(seed)))
    return {"ships": ships, "broken": dict(broken)}


def _pictures(first_seed: int, results: dict[str, Any], out: Path) -> None:
    """Draws one ship stage by stage, six ships of each preset, and the distributions."""
    classic = Generator("classic")
    told = classic.stages(first_seed + 3, classic.ship(first_seed + 3).attempt)
    write_bytes(png_bytes(story(told)), out / "stages.png")
    ships = [Generator(name).ship(first_seed + k) for name in PRESETS for k in range(6)]
    write_bytes(png_bytes(gallery(ships, 6, 0.5)), out / "gallery.png")
    plot(results, out / "outcomes.png")


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
