"""Measures speed on this machine: steps, leaves and training moves per second."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import tyro

from leafwise.cli import fail, one_line_errors, parse_with_game, patiently, print_json, say

PARTS = {
    "start": "leafwise.startup",
    "envs": "leafwise.envs.core.gym.bench",
    "search": "leafwise.search.bench",
    "training": "leafwise.training.bench",
}
"""Part of the house -> the module whose function `bench_<part>(game, seconds)` returns rates by name."""


@dataclass(frozen=True)
class Config:
    """Measures rates per second, each the best of repeats, on one core, after compilation."""

    game: tyro.conf.Positional[str]
    """Name of the game."""
    part: tyro.conf.Positional[str] = ""
    """What to measure: start, envs, search or training (default: all)."""
    seconds: float = 0.5
    """Time per measurement, in seconds."""
    json: bool = False
    """Print one JSON object: rates by name."""


Bench = Callable[..., dict[str, float]]


def benches(part: str) -> Iterator[tuple[str, Bench]]:
    """Yields the benchmarks asked for, by part."""
    for name, module in PARTS.items():
        if part in ("", name):
            yield name, getattr(importlib.import_module(module), f"bench_{name}")


def main(arguments: list[str]) -> int:
    """Runs the command."""
    config, game = parse_with_game(Config, arguments, "leafwise bench")
    if config.part not in ("", *PARTS):
        fail(f"expected a part among {', '.join(PARTS)}, got {config.part!r}")
    with one_line_errors():
        if not 0 < config.seconds <= 3600:
            raise ValueError(f"expected --seconds above 0 and at most 3600, got {config.seconds!r}")
    rates: dict[str, float] = {}
    for part, bench in benches(config.part):
        found = patiently(lambda bench=bench: bench(game, config.seconds))  # type: ignore[misc]
        for name, rate in found.items():
            rates[f"{part}/{name}"] = rate
            if not config.json:
                say(f"{rate:16,.2f}  {part}/{name}" if rate < 100 else f"{rate:16,.0f}  {part}/{name}")
    if config.json:
        print_json(rates)
    return 0
