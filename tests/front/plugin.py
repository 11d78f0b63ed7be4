"""Installs an example's package, and runs command lines in a process where nothing is compiled."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
DRIVE = """
import io, sys, traceback
from leafwise.__main__ import run

if __name__ == "__main__":
    sys.stdin = io.StringIO({typed!r})
    for words in {lines!r}:
        try:
            status = run(words)
        except SystemExit as exit:
            status = exit.code
        print(f"[{{' '.join(words)}}: {{status}}]", flush=True)
"""


def install(example: str, site: Path) -> Path:
    """Puts an example's package into a folder as pip would, with what its pyproject.toml announces; returns the folder."""
    project = EXAMPLES / example
    told = tomllib.loads((project / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for package in project.glob("leafwise_*"):
        shutil.copytree(package, site / package.name, ignore=shutil.ignore_patterns("__pycache__"))
    announce(site, told["name"].replace("-", "_"), told["entry-points"]["leafwise.games"])
    return site


def announce(site: Path, distribution: str, points: dict[str, str]) -> None:
    """Writes a distribution's metadata with entry points of the group `leafwise.games`."""
    folder = site / f"{distribution}-0.1.0.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 0.1.0\n")
    lines = [
        "[console_scripts]",
        "other = other:main",
        "",
        "[leafwise.games]",
        *(f"{k} = {v}" for k, v in points.items()),
    ]
    (folder / "entry_points.txt").write_text("\n".join([*lines, "", "[other.games]", "no = no:no.json", ""]))


def drive(
    lines: Sequence[Sequence[str]], folder: Path, sites: Sequence[Path] = (), typed: str = ""
) -> subprocess.CompletedProcess[str]:
    """Runs command lines one after the other in a process of its own, in a folder, with packages of other folders."""
    script = folder / "drive.py"
    script.write_text(DRIVE.format(typed=typed, lines=[list(words) for words in lines]))
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": os.pathsep.join(map(str, sites))}
    command = [sys.executable, str(script)]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
