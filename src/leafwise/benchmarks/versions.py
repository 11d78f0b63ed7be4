"""Versions of leafwise to measure: this one, that of another environment, or that of a commit."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from leafwise.envs.core.compile.cache import PACKAGE
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.files import read_text

INTERPRETERS = ("", "bin/python", ".venv/bin/python", "Scripts/python.exe", ".venv/Scripts/python.exe")
"""Where below a path that is named the interpreter may be."""


@dataclass(frozen=True)
class Version:
    """How to start Python with a version of leafwise."""

    interpreter: str
    path: str = ""
    """Folder that has the package, before all others ("": what is installed)."""

    @property
    def environment(self) -> dict[str, str]:
        """Environment variables of its processes."""
        return {**os.environ, "PYTHONPATH": self.path} if self.path else dict(os.environ)


@contextlib.contextmanager
def version_of(what: str) -> Iterator[Version]:
    """Yields the version that a path (an interpreter, an environment, a checkout that has one) or a commit names.

    A commit's files stand in a temporary folder meanwhile, and are run by this interpreter, with its packages. Raises ValueError
    for what is neither.
    """
    found = [Path(what) / place for place in INTERPRETERS if (Path(what) / place).is_file()]
    if found:
        if not os.access(found[0], os.X_OK):
            raise UserError(f"expected a commit, or the path of an interpreter or an environment, got {what!r}")
        yield Version(str(found[0].absolute()))
        return
    files = files_of(what)
    with tempfile.TemporaryDirectory(prefix="leafwise-") as folder:
        yield Version(sys.executable, lay_out(files, Path(folder)))


def files_of(commit: str) -> bytes:
    """Returns a commit of this checkout as a tar archive; raises ValueError where there is none."""
    top = PACKAGE if (PACKAGE / ".git").exists() else None
    if top is None:
        raise UserError(
            f"expected the path of an interpreter or an environment (no checkout, no commits), got {commit!r}"
        )
    known = git(top, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{commit}^{{commit}}")
    if known is None:
        raise UserError(f"expected a commit, or the path of an interpreter or an environment, got {commit!r}")
    files = git(top, "archive", "--format=tar", known.decode().strip())
    if files is None:
        raise UserError(f"git: cannot read the files of commit {commit!r}")
    return files


def git(top: Path, *words: str) -> bytes | None:
    """Returns what a command of git prints, None if it fails."""
    try:
        done = subprocess.run(["git", "-C", str(top), *words], capture_output=True, check=False)
    except FileNotFoundError:
        raise UserError("expected git, to read a commit, got none") from None
    return done.stdout if done.returncode == 0 else None


def lay_out(files: bytes, folder: Path) -> str:
    """Writes the files of a checkout as they are installed; returns the folder that then has the package."""
    with tarfile.open(fileobj=io.BytesIO(files)) as archive:
        archive.extractall(folder / "checkout", filter="data")
    configuration = tomllib.loads(read_text(folder / "checkout" / "pyproject.toml"))
    places: dict[str, str] = configuration["tool"]["setuptools"]["package-dir"]
    for package in sorted(places, key=lambda name: name.count(".")):
        to = folder / "packages" / package.replace(".", "/")
        if not to.exists():
            to.parent.mkdir(parents=True, exist_ok=True)
            (folder / "checkout" / places[package]).rename(to)
    return str(folder / "packages")
