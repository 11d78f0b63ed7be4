"""Writes a package with a game of your own to begin with: rules, a score, tests, what makes it a plug-in."""

from __future__ import annotations

import keyword
import os
import re
import shutil
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import tyro

from leafwise.cli import one_line_errors, parse, say
from leafwise.envs.plugins import NAME
from leafwise.envs.registry import games, listed

TEMPLATE = "template"
"""The name of the game that is copied, which its files say where yours belongs."""


@dataclass(frozen=True)
class Config:
    """Writes a package of its own with a small game whose tests pass: change its rules to yours."""

    name: tyro.conf.Positional[str]
    """Name of the game: small letters, digits and _."""
    dir: str = "."
    """Folder in which the package's folder is made."""


def check(name: str) -> None:
    """Raises ValueError for a name that no new game can have."""
    if not re.fullmatch(NAME, name) or keyword.iskeyword(name):
        raise ValueError(f"expected a name of small letters, digits and _, beginning with a letter, got {name!r}")
    if name in (*games(), TEMPLATE):
        raise ValueError(f"expected a name that no game has, got {name!r}")
    taken = {short for told in listed().values() for short in told.told["ids"]}
    if id_of(name) in taken:
        raise ValueError(f"expected a name whose id is not taken, got {name!r}: {id_of(name)!r} is")


def id_of(name: str) -> str:
    """Returns the Gymnasium id of a game: two_words becomes TwoWords."""
    return "".join(word.capitalize() for word in name.split("_"))


def pages(name: str) -> dict[str, str]:
    """Returns the new package's files: path -> text."""
    source = files("leafwise.template")
    places = {
        "__init__.py": f"leafwise_{name}/__init__.py",
        "games.json": f"leafwise_{name}/games.json",
        "test_template.txt": f"tests/test_{name}.py",
        "pyproject.toml": "pyproject.toml",
        "README.md": "README.md",
    }
    texts = {place: source.joinpath(file).read_text(encoding="utf-8") for file, place in places.items()}
    named = {
        place: text.replace(TEMPLATE, name).replace(TEMPLATE.capitalize(), id_of(name)) for place, text in texts.items()
    }
    return named | {".gitignore": "__pycache__/\n*.egg-info/\nbuild/\nruns/\n"}


def write(name: str, parent: Path) -> Path:
    """Writes the package's folder and returns it, or leaves nothing behind; raises ValueError or OSError if it cannot be."""
    check(name)
    if not parent.is_dir():
        raise ValueError(f"expected a folder for --dir, got {str(parent)!r}")
    folder = parent / name
    if folder.exists():
        raise ValueError(f"expected a folder that is not there yet, got {str(folder)!r}")
    draft = parent / f".{name}.{os.getpid()}"
    try:
        for place, text in pages(name).items():
            (draft / place).parent.mkdir(parents=True, exist_ok=True)
            (draft / place).write_text(text, encoding="utf-8")
        draft.rename(folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return folder


def main(arguments: list[str]) -> int:
    """Runs the command."""
    config = parse(Config, arguments, "leafwise new")
    with one_line_errors():
        folder = write(config.name, Path(config.dir))
    module = folder / f"leafwise_{config.name}"
    say(f"{folder}: the rules are in {module / '__init__.py'}")
    say(f"  check it   cd {folder} && pytest")
    say(f"  play it    leafwise play {config.name} --module {module}")
    say(f"  keep it    pip install -e {folder}   (then without --module)")
    return 0
