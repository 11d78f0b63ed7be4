"""The common parts of studies: options, folders, command, saved results, pages, pictures, trained runs.

matches.py  one runner for studies of matches
leaves.py   learned leaves against hand-made ones: choices checked by a solver, games from given openings

The module below is a study of matches. `python -m leafwise.experiments.trap.mine` plays the missing games and writes `mine.json`
and `mine.md` beside it. No registration is needed. `experiments/trap/sizes.py` is a short study.

    @dataclass(frozen=True)
    class Config(DistributedStudy):
        '''Plays two leaves of Trap against each other.'''

        games: int = 200
        '''Games, each seed from both seats.'''


    def matches(config: Config) -> Iterator[Match]:
        players = (f"search:{leaf},depth=2" for leaf in ("learned", "reach_open"))
        yield Match("two decisions deep", game("trap"), next(players), config.games, opponent=next(players))


    def page(config: Config, results: Results) -> list[str]:
        return ["# Two leaves", "", *points_table(results)]


    main = command(Config, MatchStudy("mine", matches, page))

    if __name__ == "__main__":
        raise SystemExit(main())
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import shlex
import sys
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, TypeVar

from leafwise.envs.core import programs
from leafwise.envs.core.commandline import flag_of, parse, quiet_when_unread
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.interrupts import INTERRUPTED, as_command
from leafwise.envs.core.ranges import check_fields
from leafwise.models.files import model_path, write_atomically
from leafwise.training.evaluation.arena import arena, evaluate
from leafwise.training.evaluation.match_workers import from_text
from leafwise.training.evaluation.results import GameStore
from leafwise.training.evaluation.statistics import bounds, interval_text
from leafwise.training.execution import map_pieces
from leafwise.training.runs.folder import command_of, need_train_extra

EXPERIMENTS = Path(__file__).resolve().parents[1]
CHECKOUT = EXPERIMENTS if (EXPERIMENTS.parent / "pyproject.toml").exists() else None
"""Folder of the studies with their data; None in an installed package, since a wheel has only their code."""
WHERE = ("processes", "cluster")
"""Options of where the work runs, which change no result."""
P = TypeVar("P")
R = TypeVar("R")


@dataclass(frozen=True)
class Study:
    """Options of every study; a subclass adds its own."""

    out: Path | None = None
    """Folder to write to (default: the study's folder in the checkout)."""
    data: Path | None = None
    """Folder of known results, if they are not in --out (default: the study's folder in the checkout)."""

    @classmethod
    def module(cls) -> str:
        """Returns the module of the study, even while it runs as `__main__`."""
        spec = sys.modules[cls.__module__].__spec__
        return spec.name if spec else cls.__module__

    @classmethod
    def program(cls) -> str:
        """Returns the command that starts the study."""
        return f"python -m {cls.module().removesuffix('.__main__')}"

    @property
    def repeated_by(self) -> str:
        """Command that repeats the study, with all options but the folders and the places of work."""
        where = {field.name: field.default for field in fields(self) if field.name in WHERE}
        plain: dict[str, Any] = {"out": None, "data": None, **where}
        return command_of(self.program().split(), replace(self, **plain))

    @property
    def home(self) -> Path | None:
        """The study's folder in the checkout."""
        return CHECKOUT and CHECKOUT.joinpath(*self.module().split(".")[2:-1])

    def target(self, name: str) -> Path:
        """Returns the path of a file to write; raises ValueError if there is no folder for it."""
        folder = self.out or self.home
        if folder is None:
            raise UserError(
                "expected --out FOLDER, got none: an installed leafwise holds no folder of the studies' data"
            )
        return folder / name

    def find_file(self, name: str) -> tuple[Path | None, str]:
        """Returns a file that the study reads (None if there is none), and its possible places in words."""
        folders = (self.out or self.home, self.data or self.home)
        paths = list(dict.fromkeys(folder / name for folder in folders if folder is not None))
        where = " or ".join(repr(str(path)) for path in paths) or "an installed leafwise"
        return next(filter(Path.exists, paths), None), where

    def source(self, name: str) -> Path | None:
        """Returns a file of known results; None, with a line on standard error, if there is none."""
        file, where = self.find_file(name)
        if file is None:
            print(f"no {name} in {where} (--data names another folder): everything is computed again", file=sys.stderr)
        return file

    def needed(self, name: str, maker: str) -> Path:
        """Returns a file that the study needs; raises ValueError with the command that writes it."""
        file, where = self.find_file(name)
        if file is None:
            raise UserError(f"expected {name}, found none in {where}; {maker} writes it, --data names its folder")
        return file


@dataclass(frozen=True)
class DistributedStudy(Study):
    """A study whose work runs in pieces, in this process or in others, with the same results."""

    processes: int = 1
    """Processes that work at the same time."""
    cluster: str = ""
    """Ray cluster that runs the work instead: auto, local or HOST:PORT."""

    def each(self, work: Callable[[P], R], pieces: Sequence[P]) -> Iterator[R]:
        """Yields the result of each piece, in order; `work` is that of `executor_for`."""
        return map_pieces(work, pieces, self.processes, self.cluster)


C = TypeVar("C", bound=Study)


def command(config_class: type[C], study: Callable[[C], object]) -> Callable[..., int]:
    """Returns the `main` of a study, which takes the command line's arguments (None: those of the process).

    It returns the exit status; wrong input gives one line and status 2.
    """

    def run(arguments: list[str]) -> int:
        config = check_fields(parse(config_class, arguments, config_class.program()), shown=flag_of)
        try:
            with quiet_when_unread():
                study(config)
        except KeyboardInterrupt:
            print("stopped; the same command continues", file=sys.stderr)
            return INTERRUPTED
        return 0

    def main(arguments: list[str] | None = None) -> int:
        return as_command(run, arguments)

    return main


Results = GameStore[str, Any]
"""Results by name; a known result is not computed again."""


def known_results(
    study: Study,
    name: str,
    about: Mapping[str, Any] | None = None,
    *,
    under: str = "results",
    indent: int | None = None,
    anew: bool = True,
    encode: Callable[[Mapping[str, Any]], Any] = dict,
) -> Results:
    """Returns the saved results of a study's file.

    `about` describes the conditions of the results and is saved with them. Results with other conditions are ignored, and
    overwritten by the first new result; without `anew` they raise ValueError. `encode` converts results to JSON. Raises ValueError
    if there is no folder for the file, unless the study has the option `dry_run`.
    """
    file = None if getattr(study, "dry_run", False) else study.target(name)
    results: Results = GameStore(file, about, under=under if about else "", indent=indent, encode=encode)
    if path := study.source(name):
        results.read(path, anew=anew)
    return results


def digest_of(model: str) -> str:
    """Returns a short hash of a model's file."""
    return hashlib.sha256(model_path(model).read_bytes()).hexdigest()[:16]


def results_of(study: Study, name: str, models: Sequence[str] = (), command: str = "", *, anew: bool = True) -> Results:
    """Returns the saved results for a command (default: the study's) and the current model files."""
    digests = {model: digest_of(model) for model in models}
    return known_results(study, name, {"command": command or study.repeated_by, "models": digests}, indent=1, anew=anew)


def write_json(study: Study, name: str, content: Any, indent: int | None = 1) -> None:
    """Writes a JSON file to the study's folder."""
    write_atomically(study.target(name), (json.dumps(content, indent=indent) + "\n").encode())


def table(head: str, rows: Iterable[Sequence[str]]) -> list[str]:
    """Returns the lines of a table; in a `head` like `leaf | games: | mean:` a colon aligns a column to the right."""
    columns = head.split("|")
    rule = "".join("---:|" if column.rstrip().endswith(":") else "---|" for column in columns)
    lines = [f"| {re.sub(r':(?= [|]|$)', '', head)} |", f"|{rule}"]
    return lines + [f"| {' | '.join(row)} |" for row in rows]


def section(title: str, *parts: str | list[str]) -> list[str]:
    """Returns the lines of a section: the title, then paragraphs and tables with empty lines."""
    lines = [[part] if isinstance(part, str) else part for part in (f"## {title}", *parts)]
    return [line for part in lines for line in (*part, "")]


def share(figures: Mapping[str, Any], name: str = "mean", more: str = "") -> str:
    """Formats a share with its 95 % interval; `more` follows inside the parentheses."""
    return f"{figures[name]:.1%} ({interval_text(figures['ci_low'], figures['ci_high'], '.1%')}{more})"


def points(figures: Mapping[str, Any]) -> list[str]:
    """Returns two cells: a mean score, its 95 % interval."""
    return [f"{figures['mean']:,.0f}", interval_text(figures["ci_low"], figures["ci_high"], ",.0f")]


def bootstrapped(figures: Iterable[Mapping[str, Any]]) -> list[str]:
    """Returns a page's note on figures whose `interval` is "bootstrap"; [] if there are none.

    They are older than the intervals of `leafwise.training.evaluation.statistics`, and their samples were not saved.
    """
    with_intervals = [one for one in figures if "ci_low" in one]
    old = sum(one.get("interval") == "bootstrap" for one in with_intervals)
    if not old:
        return []
    count = "All" if old == len(with_intervals) else f"{old} of the {len(with_intervals)}"
    others = (
        "" if old == len(with_intervals) else " The other intervals are Student's t intervals, or Wilson's for shares."
    )
    return [
        f"{count} intervals are bootstrap intervals, which older versions of the study computed. Newer intervals "
        f"need the result of every game or decision, which older versions did not keep.{others}",
        "",
    ]


def write_page(study: Study, name: str, lines: Iterable[str]) -> None:
    """Writes a page to the study's folder."""
    write_atomically(study.target(name), ("\n".join(lines) + "\n").encode())


def signed(study: Study, lines: Iterable[str]) -> list[str]:
    """Returns the lines of a page that ends with the study's command."""
    return [*lines, "This command writes the page:", "", f"    {study.repeated_by}"]


DPI = 100
"""Pixels an inch; text of 8 points is then 11 pixels high."""


@contextmanager
def picture(path: Path, rows: int = 1, columns: int = 1, *, size: tuple[float, float] = (8, 4)) -> Iterator[Any]:
    """Yields the axes of a picture, one or an array, then writes it as PNG; `size` is in inches.

    Raises ValueError if matplotlib is not installed.
    """
    try:
        import matplotlib
    except ImportError:
        raise UserError(
            f"expected matplotlib for {path.name}, found none: pip install 'leafwise[experiments]'"
        ) from None

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(rows, columns, figsize=size, layout="constrained")
    try:
        yield axes
        file = io.BytesIO()
        figure.savefig(file, format="png", dpi=DPI, metadata={"Software": None})
    finally:
        pyplot.close(figure)
    write_atomically(path, file.getvalue())


def with_bars(
    axis: Any, x: Sequence[float], y: Sequence[float], low: Sequence[float], high: Sequence[float], **style: Any
) -> Any:
    """Draws points with interval bars, and joins neighbours whose intervals do not overlap; returns the colour."""
    below, above = ([b - a for a, b in zip(low, y, strict=True)], [b - a for a, b in zip(y, high, strict=True)])
    drawn = axis.errorbar(x, y, yerr=(below, above), **{"fmt": "o", "markersize": 4, "capsize": 2, **style})
    colour = drawn[0].get_color()
    for k in range(len(x) - 1):
        if high[k] < low[k + 1] or high[k + 1] < low[k]:
            axis.plot(x[k : k + 2], y[k : k + 2], color=colour, linewidth=1)
    return colour


class LineProgram(programs.Program):
    """A program that answers each line of text with a line, the name of an action.

    `seconds` is its wall time so far. Its standard error is shown.
    """

    def __init__(self, command: str, timeout: float = 60.0) -> None:
        """Starts it; raises ValueError if it cannot be started. An answer may take `timeout` seconds."""
        self.text, self.timeout, self.seconds = command, timeout, 0.0
        try:
            super().__init__(shlex.split(command), shows=True)
        except (OSError, ValueError, IndexError) as problem:
            raise UserError(f"expected a command that starts, got {command!r} ({problem})") from None

    def choose(self, line: str, names: Collection[str], what: str = "an action") -> str:
        """Returns its answer to a line; raises ValueError for no answer, or one that is not among `names`."""
        wanted, begun = f"expected {what} from {self.text!r} at {line or 'an empty line'}", time.perf_counter()
        try:
            name = self.ask_line(line, self.timeout).strip()
        except programs.TimedOut:
            raise UserError(f"{wanted} within {self.timeout:g} s, got none") from None
        except programs.Ended:
            raise UserError(f"{wanted}, got the end of the program") from None
        self.seconds += time.perf_counter() - begun
        if name not in names:
            raise UserError(f"{wanted}, got {name[:80]!r}")
        return name


def finished(path: Path) -> Path:
    """Returns the folder of a finished run; raises KeyboardInterrupt if the run was stopped, which stops the study."""
    if not (path / "results.json").exists():
        raise KeyboardInterrupt
    return path


def logged(run: Path, tags: Sequence[str]) -> dict[str, dict[int, float]]:
    """Returns the logged values of a run by tag and step; raises ValueError if a tag is missing."""
    need_train_extra()
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(run), size_guidance={"scalars": 0})
    events.Reload()
    missing = set(tags) - set(events.Tags()["scalars"])
    if missing:
        raise UserError(f"expected a run that logged {', '.join(tags)}, got {str(run)!r}")
    return {tag: {event.step: event.value for event in events.Scalars(tag)} for tag in tags}


OWN, OTHER = "own", "other"


def scored(
    game: Game, text: str, games: int, seed: int, opponent: str | None = None, plies: int = 0, **where: Any
) -> dict[str, Any]:
    """Plays games; in two-player games from openings of up to `plies` random moves, each from both seats.

    `where` are further options of `evaluate` and `arena`. Returns the mean return, or in a two-player game the share of the points
    (0 to 1), with a 95 % interval over seeds or openings. Other fields are the number of games and the seconds per move. Raises
    ValueError if a player fails in a game, since that is not a result.
    """
    if opponent is None:
        played = evaluate(game, text, games, seed, **where)
        for fault in played.faults:
            raise UserError(f"expected players without faults, got {fault.kind} of {fault.player}: {fault.what}")
        figures_of_player = {"mean": played.mean, **bounds(played.interval()), "games": games}
        return {**figures_of_player, "seconds": played.seconds_per_move}
    tournament = arena(game, {OWN: from_text(text), OTHER: from_text(opponent)}, games, plies=plies, seed=seed, **where)
    figures = tournament.figures()
    for fault in figures["faults"]:
        name = text if fault["player"] == OWN else opponent
        raise UserError(f"expected players without faults, got {fault['kind']} of {name}: {fault['what']}")
    tally = tournament.tally(OWN, OTHER)
    line_of_player = next(line for line in figures["standings"] if line["player"] == OWN)
    share = {name: (1 + tally[name]) / 2 for name in ("mean", "ci_low", "ci_high")}
    return {**share, "games": tally["games"], "seconds": line_of_player["seconds_per_move"]}
