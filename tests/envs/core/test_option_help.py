"""Help of a dataclass of options: the most important first, then groups, no wider than the terminal."""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

import pytest
import tyro

from leafwise.envs.core.commandline import parse


@dataclass(frozen=True)
class Base:
    """Options of all."""

    game: tyro.conf.Positional[str]
    """Name of the game."""
    seed: int = 3
    """Key of the
    streams."""
    secret: tyro.conf.Suppress[str] = ""
    """Not told."""


@dataclass(frozen=True)
class Options(Base):
    """Does something that takes a sentence to say, which is longer than a line of a terminal of eighty columns.

    Examples:
      program game --sizes 1 2
    """

    most_used: ClassVar[tuple[str, ...]] = ("sizes", "out")
    sizes: tuple[int, ...] = (32, 16)
    """Sizes."""
    out: Path | None = None
    """A file (default: none is written)."""
    open: bool = True
    """Open the page."""
    quiet: bool = False
    """Say nothing."""
    rate: float = 0.5
    """A rate."""
    kind: Literal["all", "best"] = "all"
    """Which."""


EXPECTED = """\
Does something that takes a sentence to say, which is longer than a line of a
terminal of eighty columns.

Examples:
  program game --sizes 1 2

usage: program GAME [OPTIONS]

Arguments:
  GAME  Name of the game.

Most used:
  --sizes [INT ...]  Sizes. (default: 32 16)
  --out PATH         A file (default: none is written).

Options of all:
  --seed INT  Key of the streams. (default: 3)

Does something that takes a sentence to say, which is longer than a line of a terminal of eighty columns:
  --no-open          Switches this off: open the page.
  --quiet            Say nothing.
  --rate FLOAT       A rate. (default: 0.5)
  --kind {all,best}  Which. (default: all)

Other options:
  -h, --help  Shows this help.

More.
"""


def test_help_says_what_matters_first_then_groups(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit) as end:
        parse(Options, ["x", "--help"], "program", more_help=["More."])
    assert end.value.code == 0
    assert capsys.readouterr().out == EXPECTED
    assert parse(Options, ["x", "--no-open", "--sizes", "1", "2"], "program") == Options("x", sizes=(1, 2), open=False)


@dataclass(frozen=True)
class Few:
    """Does little."""

    to: str
    """Where to."""


def test_few_options_are_one_group_and_what_must_be_given_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse(Few, ["-h"], "program")
    options = "Options:\n  --to STR    Where to. (required)\n  -h, --help  Shows this help."
    assert capsys.readouterr().out == f"Does little.\n\nusage: program [OPTIONS]\n\n{options}\n"
