"""Writes a package to begin your own game with: rules, a score, tests, plug-in data; or a player for Trap's course."""

from __future__ import annotations

import keyword
import os
import re
import shlex
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import tyro

from leafwise.cli import Report, command
from leafwise.envs.core.errors import UserError
from leafwise.envs.plugins import NAME
from leafwise.envs.registry import games, listed

STARTER = "trap/baselines/course/starter"
"""Folder of the player for the course, in `leafwise.envs`."""
TEMPLATE = "template"
"""Name of the copied game; the new name replaces it in the files."""


@dataclass(frozen=True)
class Config:
    """Writes a package with a small game whose tests pass: replace its rules with yours.

    With --course it writes a player that runs, for the course that Trap comes from: replace its trees with yours.

    Examples:
      leafwise new nim
    """

    name: tyro.conf.Positional[str] = ""
    """Name of the game: small letters, digits and _."""
    dir: str = "."
    """Parent folder of the package."""
    course: str = ""
    """New or empty folder for a PlayerAI.py by the course's recipe and its modules."""


def check(name: str) -> None:
    """Raises ValueError if a new game cannot have this name."""
    if not re.fullmatch(NAME, name) or keyword.iskeyword(name):
        raise UserError(f"expected a name of small letters, digits and _, beginning with a letter, got {name!r}")
    if name in (*games(), TEMPLATE):
        raise UserError(f"expected a new name, got the game {name!r}")
    taken = {short for game in listed().values() for short in game.fields["ids"]}
    if id_of(name) in taken:
        raise UserError(f"expected a name with a new id, got {name!r}: the id {id_of(name)!r} is taken")


def id_of(name: str) -> str:
    """Returns the Gymnasium id of a game: two_words becomes TwoWords."""
    return "".join(word.capitalize() for word in name.split("_"))


def pages(name: str) -> dict[str, str]:
    """Returns the new package's files: path -> text."""
    source = files("leafwise.template")
    paths = {
        "__init__.py": f"leafwise_{name}/__init__.py",
        "games.json": f"leafwise_{name}/games.json",
        "test_template.txt": f"tests/test_{name}.py",
        "pyproject.toml": "pyproject.toml",
        "README.md": "README.md",
    }
    texts = {path: source.joinpath(file).read_text(encoding="utf-8") for file, path in paths.items()}
    named = {
        path: text.replace(TEMPLATE, name).replace(TEMPLATE.capitalize(), id_of(name)) for path, text in texts.items()
    }
    return named | {".gitignore": "__pycache__/\n*.egg-info/\nbuild/\nruns/\n"}


def write(name: str, parent: Path) -> Path:
    """Writes the package's folder and returns it, or leaves nothing behind; raises ValueError or OSError."""
    check(name)
    if not parent.is_dir():
        raise UserError(f"expected a folder for --dir, got {str(parent)!r}")
    folder = parent / name
    if folder.exists():
        raise UserError(f"expected a new folder, got {str(folder)!r}, which exists")
    draft = parent / f".{name}.{os.getpid()}"
    draft.mkdir()  # here, so that a link in its place is refused
    try:
        for path, text in pages(name).items():
            (draft / path).parent.mkdir(parents=True, exist_ok=True)
            (draft / path).write_text(text, encoding="utf-8")
        draft.rename(folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return folder


def write_starter(folder: Path) -> None:
    """Writes the course's player to a new or empty folder; raises ValueError for another."""
    content = sorted(folder.iterdir()) if folder.is_dir() else []
    if content or (folder.exists() and not folder.is_dir()):
        what = f"one with {content[0].name}" if content else "a file"
        raise UserError(f"expected a new or an empty folder for --course, got {what}: {str(folder)!r}")
    folder.mkdir(parents=True, exist_ok=True)
    for file in files("leafwise.envs").joinpath(STARTER).iterdir():
        if file.name.endswith((".py", ".md")) and not file.name.startswith("__"):
            (folder / file.name).write_text(file.read_text(encoding="utf-8"), encoding="utf-8")


def starter_lines(folder: Path) -> Iterator[str]:
    """Yields the commands to run, play and measure the player."""
    program = folder / "PlayerAI.py"
    shown = f'course:"{program}"' if re.search("[,:]", str(program)) else f"course:{program}"
    player = shlex.quote(shown)
    yield f"{program}: two trees of moves and throws, and three heuristics"
    yield f"  run it      python {shlex.quote(str(program))}"
    yield f"  play it     leafwise play trap --opponent {player}"
    yield f"  measure it  leafwise eval trap {player} --opponent course:easy --games 20"


@command(Config)
def main(config: Config) -> Iterator[Report]:
    """Runs the command."""
    if bool(config.name) == bool(config.course):
        given = "both" if config.name else "neither"
        raise UserError(f"expected the name of a game, or --course FOLDER, got {given}")
    if config.course:
        write_starter(Path(config.course))
        yield from starter_lines(Path(config.course))
        return
    folder = write(config.name, Path(config.dir))
    module = folder / f"leafwise_{config.name}"
    yield f"{folder}: the rules are in {module / '__init__.py'}"
    yield f"  check it   cd {folder} && pytest"
    yield f"  play it    leafwise play {config.name} --module {module}"
    yield f"  keep it    pip install -e {folder}   (then you can leave out --module)"
