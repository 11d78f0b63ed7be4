"""The notebooks begin by installing the package, keep small outputs, and run."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).parents[2] / "docs/notebooks").glob("*.ipynb"))
MOST = 64 * 1024
"""Bytes of a notebook with its outputs."""


def cells(notebook: Path) -> list[dict]:
    return json.loads(notebook.read_text(encoding="utf-8"))["cells"]


def test_there_are_four() -> None:
    assert [notebook.stem for notebook in NOTEBOOKS] == ["chance", "friday", "game", "train"]


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_first_cell_installs_the_package(notebook: Path) -> None:
    first = cells(notebook)[0]
    assert first["cell_type"] == "code"
    assert '%pip install --quiet "leafwise[' in "".join(first["source"])


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_outputs_are_kept_small_and_are_no_errors(notebook: Path) -> None:
    assert notebook.stat().st_size <= MOST
    outputs = [output for cell in cells(notebook) for output in cell.get("outputs", [])]
    assert outputs
    assert not [output for output in outputs if output["output_type"] == "error" or output.get("name") == "stderr"]


@pytest.mark.long
@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_runs(notebook: Path, tmp_path: Path) -> None:
    shutil.copy(notebook, tmp_path / "own.ipynb")
    command = [sys.executable, "-c", "from nbclient.cli import main; main()", "--timeout=600", "--inplace", "own.ipynb"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    kept, found = ([cell.get("outputs") for cell in cells(path)] for path in (notebook, tmp_path / "own.ipynb"))
    assert list(map(bool, kept)) == list(map(bool, found))  # what prints still prints
