"""The examples' own tests pass, and those of what `leafwise new` writes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from leafwise.__main__ import run
from leafwise.commands.new import main

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
EXAMPLE_NAMES = ("2048", "backgammon", "pig", "race", "ur")


def run_tests(project: Path) -> None:
    """Runs the tests of a project's folder in a process of its own, as its author would."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(project)]
    done = subprocess.run(command, cwd=project, capture_output=True, text=True, env=dict(os.environ))
    assert done.returncode == 0, done.stdout


@pytest.mark.long
@pytest.mark.parametrize("name", EXAMPLE_NAMES)
def test_an_examples_tests_pass(name: str) -> None:
    run_tests(EXAMPLES / name)


@pytest.mark.long
def test_what_is_written_anew_passes_its_tests(tmp_path: Path) -> None:
    assert main(["two_stones", "--dir", str(tmp_path)]) == 0
    run_tests(tmp_path / "two_stones")


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["Stones"], "expected a name of small letters, digits and _, beginning with a letter, got 'Stones'"),
        (["class"], "expected a name of small letters"),
        (["threes"], "expected a new name, got the game 'threes'"),
        (["template"], "expected a new name, got the game 'template'"),
        (["starship_place"], "expected a name with a new id, got 'starship_place': the id 'StarshipPlace' is"),
        (["there"], "expected a new folder, got"),
        (["stones", "--dir", "nowhere"], "expected a folder for --dir, got 'nowhere'"),
        ([], "expected the name of a game, or --course FOLDER, got neither"),
    ],
)
def test_a_name_that_cannot_be_is_refused(
    words: list[str], problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there").mkdir()
    assert run(["new", *words]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert problem in error
    assert [path.name for path in tmp_path.iterdir()] == ["there"]
