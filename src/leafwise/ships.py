"""The commands of `leafwise ship`: make ships, check ship files, measure many ships, draw a contact sheet.

Every parameter of every stage is an option, for instance `--thrusters.min-score 30`; `--config FILE` reads them from
TOML, `gen --save-config FILE` writes them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self

import tyro

from leafwise.cli import OutputFile, OutputPath, WithStatus, command
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.files import read_small_text
from leafwise.envs.core.ranges import Range
from leafwise.envs.starship import (
    CLASSIC,
    Generator,
    Parameters,
    Ship,
    dump,
    from_toml,
    preset,
    read,
    ship_hash,
    switched,
    to_toml,
)
from leafwise.envs.starship import check as faults_of
from leafwise.envs.starship.hull import lines_of
from leafwise.envs.starship.ship import write_bytes
from leafwise.envs.starship.targets import read_targets, with_targets
from leafwise.training.runs.run_options import take_option

MOST_PICTURED = 400
AllParameters = Annotated[Parameters, tyro.conf.arg(name="")]


@dataclass
class ParameterOptions:
    """Source of the parameters."""

    config: Path | None = None
    """TOML file of parameters; its `preset` names the preset that it changes."""
    disable: tuple[str, ...] = ()
    """Stages to switch off, by name, for instance "Exterior Armour"."""
    enable: tuple[str, ...] = ()
    """Stages to switch on, for instance Carve."""
    targets: str = ""
    """Targets of each ship, as JSON: {"thrust": 40, "seats": 48, "firepower": {"north": 6, "east": 2}}."""
    parameters: AllParameters = field(default_factory=lambda: CLASSIC)
    markers: ClassVar[tuple[Any, ...]] = ()
    """Markers of tyro. None, so that --thrusters.no-enabled exists even where it is the default."""

    @classmethod
    def defaults(cls, words: Sequence[str]) -> Self:
        """Returns the default options, with the parameters of --config or --preset."""
        (name, _), (file, _) = (take_option(words, flag) for flag in ("--preset", "--config"))
        if name and file:
            raise UserError("expected --preset or --config, got both: the file names its preset")
        return cls(parameters=from_toml(read_small_text(Path(file))) if file else preset(name or "classic"))

    def chosen(self) -> Parameters:
        """Returns the parameters with stages switched on or off, and with the targets."""
        parameters = switched(switched(self.parameters, self.enable, True), self.disable, False)
        return with_targets(parameters, read_targets(self.targets))


@dataclass
class Gen(ParameterOptions):
    """Makes the ship of a seed; prints it as text unless there is a file option."""

    seed: int = 0
    """Seed, from 0 to 2**64 - 1."""
    json: OutputPath = None
    """File for the ship as JSON."""
    png: OutputPath = None
    """File for the picture as PNG."""
    svg: OutputPath = None
    """File for the picture as SVG."""
    story: OutputPath = None
    """File for the picture of the ship after each stage, as PNG."""
    scale: Annotated[float, Range(0.05, 8)] = 1.0
    """Size of the pictures; 1 means 12 pixels a cell."""
    lanes: bool = False
    """Show the lanes that thrusters and weapons need clear."""
    hull: Path | None = None
    """Text file of the hull ("." and space, a row a line), used instead of stage 1."""
    strict: bool = False
    """Fail if no attempt gives a valid ship."""
    builder: str = "hand"
    """Builder of the ship: hand (the generator), best:N, learned, or a player such as build:hopeful,depth=1; one attempt."""
    save_config: OutputPath = None
    """File for all parameters as TOML."""
    overwrite: bool = False
    """Overwrite existing files."""


@dataclass
class Check:
    """Checks ship files against the rules; prints each broken rule and its place."""

    files: tyro.conf.Positional[tuple[Path, ...]]
    """Ship files (JSON)."""


@dataclass
class Stats(ParameterOptions):
    """Makes the ships of many seeds and prints validity, quality and its terms, diversity and speed."""

    seeds: str = "0:1000"
    """Seeds FIRST:END, END not included."""
    check: bool = False
    """Check every ship against the rules too (about 15 ms a classic ship)."""
    json: bool = False
    """Print the figures as JSON."""
    processes: int = 1
    """Processes that make ships at the same time."""
    cluster: str = ""
    """Ray cluster that makes the ships instead: auto (the one this machine belongs to), local (--processes cores of this machine,
    1: all) or HOST:PORT."""


@dataclass
class Gallery(ParameterOptions):
    """Draws the ships of several seeds on one contact sheet."""

    seeds: str = "0:12"
    """Seeds FIRST:END, END not included."""
    png: OutputFile = "gallery.png"
    """File for the picture."""
    overwrite: bool = False
    """Overwrite the picture if it exists."""
    columns: Annotated[int, Range(1, MOST_PICTURED)] = 4
    """Ships in a row."""
    scale: Annotated[float, Range(0.05, 4)] = 0.4
    """Size; 1 means 12 pixels a cell."""


@command(Gen, "leafwise ship gen")
def gen(options: Gen) -> WithStatus:
    """Makes one ship."""
    parameters = options.chosen()
    generator = Generator(
        parameters, hull=lines_of(read_small_text(options.hull), parameters.grid) if options.hull else None
    )
    if options.builder == "hand":
        ship = generator.ship(options.seed, strict=options.strict)
    else:
        ship = built(options, parameters)
    if options.save_config:
        write_bytes(to_toml(parameters).encode(), options.save_config)
    if not save_files(options, generator, ship):
        yield from (line.rstrip() for line in ship.text.splitlines() if line.strip())
    state = "valid" if ship.valid else "not valid: " + ", ".join(ship.reasons)
    summary = f"{state}, quality {ship.stats['quality']:.3f}, {ship_hash(ship)[:16]}"
    yield f"{ship.parameters.preset} seed {ship.seed} attempt {ship.attempt}: {summary}"
    return int(not ship.valid)


def built(options: Gen, parameters: Parameters) -> Ship:
    """Returns the ship of a builder, on the hull and requests of the seed's first attempt."""
    from leafwise.envs.registry import game
    from leafwise.envs.starship.ship import reported
    from leafwise.training.starship.builders import builder

    if options.story or options.strict:
        raise UserError("expected --builder without --story and --strict, got them together")
    building_game = game("starship", parameters=parameters, targets=options.targets, hull=options.hull or "")
    row = builder(options.builder, building_game)(options.seed).row
    return reported(row, building_game.tables().ship, parameters, options.seed)


def save_files(options: Gen, generator: Generator, ship: Ship) -> bool:
    """Writes the ship and its pictures to the files of the options; returns whether there are any."""
    from leafwise.envs.starship import draw

    def story() -> bytes:
        return draw.png_bytes(draw.story(generator.stages(ship.seed, ship.attempt), scale=options.scale / 2))

    files: list[tuple[Path | None, Callable[[], bytes]]] = [
        (options.json, lambda: (dump(ship) + "\n").encode("ascii")),
        (options.png, lambda: draw.png(ship, lanes=options.lanes, scale=options.scale)),
        (options.svg, lambda: draw.svg(ship, lanes=options.lanes, scale=options.scale).encode("utf-8")),
        (options.story, story),
    ]
    for path, content in files:
        if path:
            write_bytes(content(), path)
    return any(path for path, _ in files)


@command(Check, "leafwise ship check")
def check(options: Check) -> WithStatus:
    """Checks ship files."""
    if not options.files:
        raise UserError("expected one ship file or more, got none")
    wrong = False
    for path in options.files:
        try:
            ship = read(path)
        except UserError as problem:
            raise UserError(f"{path}: {problem}") from None
        broken = [str(fault) for fault in faults_of(ship)]
        if not ship.valid:
            broken = broken or [f"not valid: {', '.join(ship.reasons)}"]
        wrong |= bool(broken)
        yield from (f"{path}: {fault}" for fault in broken or ["ok"])
    return int(wrong)


@command(Stats, "leafwise ship stats")
def stats(options: Stats) -> WithStatus:
    """Measures the ships of many seeds."""
    from leafwise.envs.starship.statistics import survey
    from leafwise.training.execution import executor_for

    def each(work: Callable[[Sequence[int]], Any], pieces: Sequence[Sequence[int]]) -> Iterator[Any]:
        with executor_for(work, options.processes, options.cluster, len(pieces)) as executor:
            yield from executor.in_order(enumerate(pieces))

    targets = read_targets(options.targets)
    figures = survey(options.chosen(), seed_range(options.seeds), checked=options.check, targets=targets, each=each)
    yield figures, (f"{name:24} {_shown(value)}" for name, value in figures.items())
    return int(figures["valid"] < 1 or bool(figures.get("broken")))


@command(Gallery, "leafwise ship gallery")
def gallery(options: Gallery) -> WithStatus:
    """Draws a contact sheet."""
    from leafwise.envs.starship import draw

    seeds = seed_range(options.seeds)
    if len(seeds) > MOST_PICTURED:
        raise UserError(f"expected at most {MOST_PICTURED} seeds for a gallery, got {len(seeds)}")
    generator = Generator(options.chosen())
    ships = [generator.ship(seed) for seed in seeds]
    write_bytes(draw.png_bytes(draw.gallery(ships, options.columns, options.scale)), Path(options.png))
    valid = sum(ship.valid for ship in ships)
    yield f"{options.png}: {len(ships)} ships, {valid} valid"
    return int(valid < len(ships))


def seed_range(text: str) -> range:
    """Returns the seeds of "FIRST:END"."""
    first, _, end = text.partition(":")
    if re.fullmatch("[0-9]{1,19}:[0-9]{1,19}", text) and int(first) < int(end) < 1 << 63:
        return range(int(first), int(end))
    raise UserError(f"expected --seeds FIRST:END with FIRST below END, for instance 0:1000, got {text[:60]!r}")


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return "  ".join(f"{name} {entry}" for name, entry in value.items()) or "none"
    return ":".join(map(str, value)) if isinstance(value, list) else str(value)
