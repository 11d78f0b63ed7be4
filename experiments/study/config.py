"""A study as a command: its options, the folders that it reads and writes, its exit status."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, TypeVar

from leafwise.envs.core.commandline import flag_of, parse, quiet_when_unread
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.interrupts import INTERRUPTED, as_command
from leafwise.envs.core.ranges import check_fields
from leafwise.training.execution import executor_for
from leafwise.training.runs.folder import command_of

EXPERIMENTS = Path(__file__).resolve().parents[1]
CHECKOUT = EXPERIMENTS if (EXPERIMENTS.parent / "pyproject.toml").exists() else None
"""The folder of the studies with their data; None where the package is installed, for a wheel holds their code only."""
PLACES = ("processes", "cluster")
"""Options of some studies that say where the work is done, which changes no result."""
P = TypeVar("P")
R = TypeVar("R")


@dataclass(frozen=True)
class Study:
    """What every study is told; its own options are fields of a subclass."""

    out: Path | None = None
    """Folder to write to (default: the study's folder in the checkout)."""
    data: Path | None = None
    """Folder of what is known already, if --out does not hold it (default: the study's folder in the checkout)."""

    @classmethod
    def module(cls) -> str:
        """Returns the module of the study, also while that runs as `__main__`."""
        spec = sys.modules[cls.__module__].__spec__
        return spec.name if spec else cls.__module__

    @classmethod
    def program(cls) -> str:
        """Returns the words that start the study."""
        return f"python -m {cls.module().removesuffix('.__main__')}"

    @property
    def repeated_by(self) -> str:
        """The command that repeats the study: all options but the folders, and where it is worked on."""
        where = {field.name: field.default for field in fields(self) if field.name in PLACES}
        plain: dict[str, Any] = {"out": None, "data": None, **where}
        return command_of(self.program().split(), replace(self, **plain))

    @property
    def home(self) -> Path | None:
        """The study's folder in the checkout."""
        return CHECKOUT and CHECKOUT.joinpath(*self.module().split(".")[2:-1])

    def target(self, name: str) -> Path:
        """Returns a file to write; raises ValueError if there is no folder for it."""
        folder = self.out or self.home
        if folder is None:
            raise UserError(
                "expected --out FOLDER, got none: an installed leafwise holds no folder of the studies' data"
            )
        return folder / name

    def places(self, name: str) -> list[Path]:
        """Returns where a file may be that the study reads, the first first."""
        folders = (self.out or self.home, self.data or self.home)
        return list(dict.fromkeys(folder / name for folder in folders if folder is not None))

    def source(self, name: str) -> Path | None:
        """Returns a file of what is known already; None, with a line on standard error, if there is none."""
        places = self.places(name)
        for place in places:
            if place.exists():
                return place
        where = " or ".join(repr(str(place)) for place in places) or "an installed leafwise; --data names a folder"
        print(f"no {name} in {where}: everything is worked out anew", file=sys.stderr)
        return None

    def needed(self, name: str, maker: str) -> Path:
        """Returns a file that the study cannot do without; raises ValueError that says what would write it."""
        for place in (places := self.places(name)):
            if place.exists():
                return place
        where = " or ".join(repr(str(place)) for place in places) or "an installed leafwise"
        raise UserError(f"expected {name}, found none in {where}; {maker} writes it, --data names its folder")


@dataclass(frozen=True)
class PlacedStudy(Study):
    """A study whose work is done in pieces, by this process or by others; that changes no result."""

    processes: int = 1
    """Processes that work at the same time."""
    cluster: str = ""
    """Ray cluster that works instead: auto, local or HOST:PORT."""

    def each(self, work: Callable[[P], R], pieces: Sequence[P]) -> Iterator[R]:
        """Yields what comes of each piece, in their order; `work` is what `executor_for` takes."""
        with executor_for(work, self.processes, self.cluster, len(pieces)) as executor:
            yield from executor.in_order(enumerate(pieces))


C = TypeVar("C", bound=Study)


def command(config_class: type[C], study: Callable[[C], object]) -> Callable[..., int]:
    """Returns the `main` of a study: it takes the command line's arguments, None for those of the process.

    It returns the exit status; wrong input is one line and status 2.
    """

    def run(arguments: list[str]) -> int:
        config = check_fields(parse(config_class, arguments, config_class.program()), shown=flag_of)
        try:
            with quiet_when_unread():
                study(config)
        except KeyboardInterrupt:
            print("stopped; the same command goes on", file=sys.stderr)
            return INTERRUPTED
        return 0

    def main(arguments: list[str] | None = None) -> int:
        return as_command(run, arguments)

    return main
