"""The notebooks begin by installing the package, keep small outputs, and run."""

import json
import re
import shlex
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


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_installs_the_package_and_keeps_small_outputs_that_are_no_errors(notebook: Path) -> None:
    assert [one.stem for one in NOTEBOOKS] == ["chance", "friday", "game", "network", "train"]
    first, *_ = told = cells(notebook)
    assert first["cell_type"] == "code"
    assert '%pip install --quiet "leafwise[' in "".join(first["source"])
    assert re.search(r"It takes about \d+ s on two cores", "".join(told[1]["source"]))
    assert notebook.stat().st_size <= MOST
    outputs = [output for cell in told for output in cell.get("outputs", [])]
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


# The page for a course's students does what it says, from an empty folder to a learned leaf; with fewer games than it names


PAGE = Path(__file__).parents[2] / "docs/howto/course.md"
FEWER = {"--games": "2", "--total-steps": "1", "--positions": "2000", "--match-pairs": "100"}
"""Numbers that are made small."""


def steps() -> list[str]:
    """Returns the commands and blocks of Python of the page, in order."""
    text = PAGE.read_text(encoding="utf-8")
    parts = re.findall(r"```python\n(.*?)```|^    (leafwise [^\n]*)$", text, re.DOTALL | re.MULTILINE)
    return [code or command for code, command in parts]


def quick(command: str) -> list[str]:
    """Returns the words of a command with smaller numbers."""
    words = shlex.split(command)
    return [FEWER.get(before, word) for before, word in zip(["", *words], words, strict=False)]


def test_the_page_has_commands_and_blocks() -> None:
    found = steps()
    assert sum(step.startswith("leafwise ") for step in found) >= 10
    assert sum("\n" in step for step in found) == 2
    assert quick("leafwise eval trap random --games 20") == ["leafwise", "eval", "trap", "random", "--games", "2"]


@pytest.mark.long
def test_the_page_can_be_followed(tmp_path: Path) -> None:
    def run(*words: str) -> str:
        command = [sys.executable, "-W", "ignore", *words]
        done = subprocess.run(command, cwd=tmp_path, input="q\n", capture_output=True, text=True)
        assert done.returncode == 0, (words, done.stdout, done.stderr)
        return done.stdout

    for step in steps():
        if "\n" in step:
            run("-c", step)
        else:
            run("-m", *quick(step))
    program = tmp_path / "mine/PlayerAI.py"
    source = program.read_text(encoding="utf-8")
    learned = next(step for step in steps() if "def learned_score" in step)
    changed = re.sub(r"^HEURISTIC = .*$", lambda _: f"{learned}\nHEURISTIC = learned_score", source, flags=re.MULTILINE)
    program.write_text(changed, encoding="utf-8")
    asked = (
        "eval",
        "trap",
        "course:mine/PlayerAI.py",
        "--opponent",
        "course:drawn/PlayerAI.py",
        "--games",
        "2",
        "--json",
    )
    told = json.loads(run("-m", "leafwise", *asked))
    assert (told["wins"], told["faults"]) == (2, [])
