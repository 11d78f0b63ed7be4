"""Runs the study and writes config.json, results.json, README.md and the pictures.

python -m leafwise.experiments.starship.generator
"""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from leafwise.envs.core.textfile import read_text
from leafwise.envs.starship import PRESETS, Generator
from leafwise.envs.starship.bench import bench
from leafwise.envs.starship.draw import gallery, png_bytes, story
from leafwise.envs.starship.replay import check_stages
from leafwise.envs.starship.survey import survey
from leafwise.experiments.starship.generator.outcomes import outcome_shares, pieces_of, plot, request_shares
from leafwise.experiments.starship.generator.page import page
from leafwise.experiments.study import PlacedStudy, command, write_json, write_page
from leafwise.models.files import write_atomically


@dataclass(frozen=True)
class Config(PlacedStudy):
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
    """Only write the page and the pictures, from the results that are known."""
    rates: bool = False
    """With --redraw: measure the rates again."""


MEASURED = ("classic", "scout", "cruiser")
"""The presets that are measured: those of the rules."""
SIZES = ("classic", "scout", "cruiser", "stories", "requests", "outcomes", "first_seed")


def study(config: Config) -> None:
    """Measures, or only draws again."""
    settings = {name: getattr(config, name) for name in SIZES}
    if config.redraw:
        settings, results = (
            json.loads(read_text(config.needed(name, config.program()))) for name in ("config.json", "results.json")
        )
        if config.rates:
            results["rates"] = _rates()
    else:
        config.target("results.json")  # says at once if there is no folder
        results = _measure(config)
    _pictures(settings["first_seed"], results, config)
    write_json(config, "config.json", settings)
    write_json(config, "results.json", results)
    lines = page(settings, results)
    write_page(config, "README.md", lines)
    print("\n".join(lines))


def _measure(config: Config) -> dict[str, Any]:
    """Returns all figures of the study."""
    started = time.perf_counter()
    results: dict[str, Any] = {"rates": _rates()}
    results["surveys"] = {name: _survey(name, config) for name in MEASURED}
    results["stories"] = {name: _stories(name, config) for name in MEASURED}
    results["requests"] = request_shares(config.requests, config.first_seed)
    results["outcomes"] = outcome_shares(config.outcomes, config.first_seed, config.each)
    results["seconds"] = round(time.perf_counter() - started, 1)
    return results


def _rates() -> dict[str, float]:
    return {name: round(rate, 1) for name, rate in bench().items()}


def _survey(preset: str, config: Config) -> dict[str, Any]:
    ships = getattr(config, preset)
    print(f"{preset}: {ships} ships", file=sys.stderr)
    seeds = range(config.first_seed, config.first_seed + ships)
    return survey(PRESETS[preset], seeds, checked=True, each=config.each)


def _stories(preset: str, config: Config) -> dict[str, Any]:
    """Replays the stages of the first attempts; counts broken rules."""
    pieces = pieces_of(config.first_seed, config.stories)
    broken = sum(config.each(partial(broken_rules, preset), pieces), Counter[str]())
    return {"ships": config.stories, "broken": dict(broken)}


def broken_rules(preset: str, seeds: Sequence[int]) -> Counter[str]:
    """Returns the rules that the stages of some ships break."""
    generator = Generator(preset)
    return Counter(fault.rule for seed in seeds for fault in check_stages(generator.stages(seed)))


def _pictures(first_seed: int, results: dict[str, Any], config: Config) -> None:
    """Draws one ship stage by stage, four ships of each preset, and the distributions."""
    classic = Generator("classic")
    told = classic.stages(first_seed + 3, classic.ship(first_seed + 3).attempt)
    write_atomically(config.target("stages.png"), png_bytes(story(told)))
    ships = [Generator(name).ship(first_seed + k) for name in MEASURED for k in range(4)]
    write_atomically(config.target("gallery.png"), png_bytes(gallery(ships, 2, 0.83)))
    plot(results, config.target("outcomes.png"))


main = command(Config, study)

if __name__ == "__main__":
    raise SystemExit(main())
