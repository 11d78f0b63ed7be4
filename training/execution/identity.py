"""What must be the same wherever a piece of work is worked on: versions, the sources of the package and of games from outside."""

from __future__ import annotations

import functools
import hashlib
import importlib
import json
import os
import platform
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path

from leafwise.envs.core.errors import UserError
from leafwise.training.execution.executor import Unfit

PACKAGE = Path(__file__).resolve().parents[2]
"""The folder that holds envs, search, models, ... (a checkout, or the installed leafwise package)."""
FOLDERS = ("envs", "search", "models", "training", "experiments")


def sources(*places: Path) -> str:
    """Returns a hash of the Python sources in folders, or of files."""
    digest = hashlib.sha256()
    for place in places:
        files = sorted(place.rglob("*.py")) if place.is_dir() else [place]
        for file in files:
            digest.update(file.relative_to(place.parent).as_posix().encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()[:12]


@functools.cache
def _own() -> dict[str, str]:
    packages = {name: version(name) for name in ("leafwise", "numpy", "numba")}
    return {"Python": platform.python_version(), **packages, "sources": sources(*(PACKAGE / name for name in FOLDERS))}


def identity() -> dict[str, str]:
    """Returns what runs here, by name: versions, and hashes of sources."""
    from leafwise.envs.registry import INHERITED, listed

    added = json.loads(os.environ.get(INHERITED, "{}"))
    games = {name: told["module"] for name, told in added.items()}
    games |= {name: told.module for name, told in listed().items() if told.plugin}
    return _own() | {f"game {name}": _source_of(module) for name, module in games.items()}


def _source_of(module: str) -> str:
    """Returns a hash of a game's sources, without importing it."""
    spec = importlib.util.find_spec(module.partition(".")[0])
    if spec is None or spec.origin is None:
        return "nowhere"
    file = Path(spec.origin)
    return sources(file.parent if file.name == "__init__.py" else file)


def take_games(added: str, where: str) -> None:
    """Makes games that the driver's command line added known here, as it found them; they lie in the same place on each machine.

    Raises Unfit where one does not.
    """
    from leafwise.envs.plugins import module_name
    from leafwise.envs.registry import INHERITED, listed

    if os.environ.get(INHERITED, "{}") != added:
        os.environ[INHERITED] = added
        listed.cache_clear()
    for told in json.loads(added).values():
        try:
            module_name(told["source"])
        except UserError as problem:
            raise Unfit(f"{problem}, on {where}") from None


def check_identity(expected: Mapping[str, str], where: str) -> None:
    """Raises Unfit, in one line, where something else runs here than on the driver; `where` says what machine this is."""
    own = identity()
    for name, wanted in expected.items():
        if own.get(name) != wanted:
            raise Unfit(f"expected {name} {wanted} on {where} as on the driver, got {own.get(name, 'none')}")
