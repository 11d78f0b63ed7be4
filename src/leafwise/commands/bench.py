"""Measures speed on this machine: steps, leaves and training moves per second; compares versions."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import tyro

from leafwise.cli import command, print_json, say
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.ranges import Range

if TYPE_CHECKING:
    from leafwise.benchmarks.judging import Compared
    from leafwise.envs.core.contract.game import Game

START, COMPILE = "start", "compile"
"""What is measured of no game."""
PARTS = {
    START: "leafwise.startup",
    "envs": "leafwise.envs.core.gym.bench",
    "search": "leafwise.search.bench",
    "models": "leafwise.models.bench",
    "training": "leafwise.training.bench",
}
"""Part of the house -> the module whose function `bench_<part>(game, seconds)` returns rates by name."""
COMPARED = ("envs", "search", "models", "training", "warmup")
"""Parts in which versions are compared: those of `leafwise.benchmarks.measurements`."""


@dataclass(frozen=True)
class Config:
    """Measures rates per second, each the best of repeats, on one core, after compilation."""

    game: tyro.conf.Positional[str]
    """Name of the game. Alone: `start`, how long leafwise takes to start, as multiples of what it is compared with; `compile`, what
    its own way of compiling saves."""
    part: tyro.conf.Positional[str] = ""
    """What to measure: start, envs, search, models or training (default: all); with --compare envs, search, models, training or
    warmup."""
    seconds: Annotated[float, Range(0, 3600, above=True)] = 0.5
    """Time per measurement, in seconds."""
    save: bool = False
    """Keep the rates in FILE too: one line for each commit and machine."""
    file: str = "bench.jsonl"
    """File for --save, JSON lines."""
    compare: str = ""
    """A commit, or the path of an interpreter or an environment: that version and this one are measured in turns; says what is
    slower by more than the noise."""
    json: bool = False
    """Print one JSON object: rates by name."""

    no_games: ClassVar[tuple[str, ...]] = (START, COMPILE)


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


def keep(config: Config, name: str, rates: Mapping[str, float]) -> None:
    """Adds rates to the file, if that is asked for."""
    if config.save:
        from leafwise.benchmarks.lines import save_rates

        save_rates(Path(config.file), {f"{name}/{rate}": number for rate, number in rates.items()})


def versions(config: Config, game: Game) -> None:
    """Compares another version with this one."""
    from leafwise.benchmarks.comparing import compare

    def tell(name: str, found: Compared | str) -> None:
        if config.json:
            return
        if isinstance(found, str):
            say(f"{name}: {found}")
        else:
            interval = f"{found.low:.3f} to {found.high:.3f}"
            times = f"{found.before * 1e6:,.2f} us before, {found.now * 1e6:,.2f} us now"
            say(f"{found.ratio:8.3f}  ({interval})  {found.verdict:7s} {name}: {times}")

    found = compare(game, config.compare, config.seconds, tell, part=config.part)
    if config.json:
        print_json({name: {**vars(one), "verdict": one.verdict} for name, one in found.items()})
    else:
        slower = [name for name, one in found.items() if one.verdict == "slower"]
        say(f"slower by more than the noise: {', '.join(slower) or 'nothing'}")


def of_no_game(config: Config) -> None:
    """Measures starts, or compilation."""
    if config.game == START:
        from leafwise.startup import start_ratios

        found = start_ratios()
    else:
        from leafwise.benchmarks.linking import bench_compile

        found = bench_compile(partial(print, file=sys.stderr))
    rates = {f"{config.game}/{name}": number for name, number in found.items()}
    keep(config, config.game, rates)
    if config.json:
        print_json(rates)
    else:
        show(rates)


@command(Config)
def main(config: Config, game: Game | None = None) -> None:
    """Runs the command."""
    if game is None:
        if config.compare:
            raise UserError(f"expected a game with --compare, got {config.game}")
        of_no_game(config)
        return
    known = COMPARED if config.compare else tuple(PARTS)
    if config.part not in ("", *known):
        raise UserError(
            f"expected a part among {', '.join(known)}{' with --compare' * bool(config.compare)}, got {config.part!r}"
        )
    if config.compare:
        if config.save:
            raise UserError("expected --compare without --save, got both")
        versions(config, game)
        return
    rates: dict[str, float] = {}
    for part, bench in benches(config.part):
        found = bench(game, config.seconds)
        named = {f"{part}/{name}": rate for name, rate in found.items()}
        rates |= named
        if not config.json:
            show(named)
    options = "".join(f",{option}={value}" for option, value in game.given_options.items())
    keep(config, f"{game.name}{options}", rates)
    if config.json:
        print_json(rates)
