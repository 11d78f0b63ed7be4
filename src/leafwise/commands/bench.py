"""Measures speed on this machine: steps, leaves and training moves per second; compares versions."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, ClassVar

import tyro

from leafwise.cli import Report, command
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.ranges import Range

if TYPE_CHECKING:
    from leafwise.benchmarks.comparing import Comparison
    from leafwise.envs.core.contract.game import Game

START, COMPILE, WEB, ONNX = "start", "compile", "web", "onnx"
"""Measurements without a game."""
PARTS = ("start", "envs", "search", "models", "training")
"""Parts of the package with rates in `leafwise.benchmarks.rates`."""
COMPARED = ("envs", "search", "models", "training", "warmup")
"""Parts that `leafwise.benchmarks.comparing` compares between versions."""


@dataclass(frozen=True)
class Config:
    """Measures rates per second, each the best of repeats, on one core, after compilation.

    Examples:
      leafwise bench threes envs
      leafwise bench start
    """

    game: tyro.conf.Positional[str]
    """Name of the game. Or, without a game: `start`, the time of starts as multiples of other imports; `compile`, what the
    package's own linking saves; `web`, how long the page of `leafwise web` waits; `onnx`, the speed of an ONNX leaf as a share of
    ONNX Runtime's own."""
    part: tyro.conf.Positional[str] = ""
    """What to measure: start, envs, search, models or training (default: all); with --compare envs, search, models, training or
    warmup."""
    seconds: Annotated[float, Range(0, 3600, above=True)] = 0.5
    """Time per measurement, in seconds."""
    compare: str = ""
    """A commit, or the path of an interpreter or an environment. That version and this one are measured in turns, and the report
    names what is slower by more than the noise."""
    json: bool = False
    """Print one JSON object: rates by name."""

    no_games: ClassVar[tuple[str, ...]] = (START, COMPILE, WEB, ONNX)


def lines(rates: Mapping[str, float]) -> Iterator[str]:
    """Yields rates by name as lines of text."""
    for name, rate in rates.items():
        yield f"{rate:16,.2f}  {name}" if rate < 100 else f"{rate:16,.0f}  {name}"


def versions(config: Config, game: Game) -> Iterator[Report]:
    """Compares another version with this one."""
    from leafwise.benchmarks.comparing import compare

    compared: dict[str, Comparison] = {}
    for name, one in compare(game, config.compare, config.seconds, part=config.part):
        if isinstance(one, str):
            yield f"{name}: {one}"
            continue
        compared[name] = one
        times = f"{one.before * 1e6:,.2f} us before, {one.now * 1e6:,.2f} us now"
        yield f"{one.ratio:8.3f}  ({one.low:.3f} to {one.high:.3f})  {one.verdict:7s} {name}: {times}"
    slower = ", ".join(name for name, one in compared.items() if one.verdict == "slower")
    as_json = {name: {**vars(one), "verdict": one.verdict} for name, one in compared.items()}
    yield as_json, [f"slower by more than the noise: {slower or 'nothing'}"]


@command(Config)
def main(config: Config, game: Game | None = None) -> Iterator[Report]:
    """Runs the command."""
    if game is None:
        if config.compare:
            raise UserError(f"expected a game with --compare, got {config.game}")
        from leafwise.benchmarks.onnx import onnx_ratios
        from leafwise.benchmarks.processes import compile_costs, start_ratios
        from leafwise.benchmarks.web import web_waits

        tell = partial(print, file=sys.stderr)
        works = {START: start_ratios, COMPILE: lambda: compile_costs(tell), WEB: web_waits, ONNX: onnx_ratios}
        measured = works[config.game]()
        rates = {f"{config.game}/{name}": rate for name, rate in measured.items()}
        yield rates, lines(rates)
        return
    known = COMPARED if config.compare else PARTS
    if config.part not in ("", *known):
        raise UserError(
            f"expected a part among {', '.join(known)}{' with --compare' * bool(config.compare)}, got {config.part!r}"
        )
    if config.compare:
        yield from versions(config, game)
        return
    from leafwise.benchmarks.rates import rates_of

    rates = {}
    for part in PARTS:
        if config.part in ("", part):
            measured = {f"{part}/{name}": rate for name, rate in rates_of(game, part, config.seconds).items()}
            yield from lines(measured)
            rates |= measured
    yield rates, ()
