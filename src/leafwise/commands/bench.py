"""Measures speed on this machine: steps, leaves and training moves per second."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import tyro

from leafwise.cli import fail, one_line_errors, parse, parse_with_game, patiently, print_json, say

START = "start"
PARTS = {
    START: "leafwise.startup",
    "envs": "leafwise.envs.core.gym.bench",
    "search": "leafwise.search.bench",
    "training": "leafwise.training.bench",
}
"""Part of the house -> the module whose function `bench_<part>(game, seconds)` returns rates by name."""


@dataclass(frozen=True)
class Config:
    """Measures rates per second, each the best of repeats, on one core, after compilation."""

    game: tyro.conf.Positional[str]
    """Name of the game; `start` alone: how long leafwise takes to start, as multiples of what it is compared with."""
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


def show(rates: Mapping[str, float]) -> None:
    """Prints rates by name."""
    for name, rate in rates.items():
        say(f"{rate:16,.2f}  {name}" if rate < 100 else f"{rate:16,.0f}  {name}")


def starts(config: Config) -> int:
    """Measures starts, which are those of no game."""
    from leafwise.startup import start_ratios

    with one_line_errors():
        rates = {f"start/{name}": ratio for name, ratio in start_ratios().items()}
    if config.json:
        print_json(rates)
    else:
        show(rates)
    return 0


def main(arguments: list[str]) -> int:
    """Runs the command."""
    if arguments[:1] == [START]:
        return starts(parse(Config, arguments, "leafwise bench"))
    config, game = parse_with_game(Config, arguments, "leafwise bench")
    if config.part not in ("", *PARTS):
        fail(f"expected a part among {', '.join(PARTS)}, got {config.part!r}")
    with one_line_errors():
        if not 0 < config.seconds <= 3600:
            raise ValueError(f"expected --seconds above 0 and at most 3600, got {config.seconds!r}")
    rates: dict[str, float] = {}
    for part, bench in benches(config.part):
        found = patiently(lambda bench=bench: bench(game, config.seconds))  # type: ignore[misc]
        named = {f"{part}/{name}": rate for name, rate in found.items()}
        rates |= named
        if not config.json:
            show(named)
    if config.json:
        print_json(rates)
    return 0
