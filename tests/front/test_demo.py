"""The demo on a small scale: what it writes, and that the commands work that it ends with."""

import json
import shlex
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from leafwise.commands import demo

pytestmark = pytest.mark.long

SMALL = ["--moves", "200000", "--games", "20", "--timed-games", "2", "--processes", "1"]


def test_it_learns_compares_records_and_says_how_to_go_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = tmp_path / "run"
    assert demo.main(["--run", str(run), *SMALL]) in (0, 1)  # so short a run may not win
    rows = json.loads((run / "comparison.json").read_text())
    assert [(row["limit"], row["leaf"], row["games"]) for row in rows] == [
        ("depth 1", "openness", 20),
        ("depth 1", "learned", 20),
        ("1 ms", "rows", 2),
        ("1 ms", "learned", 2),
    ]
    assert "seconds=0.001,clock=cpu" in rows[-1]["player"]
    assert (run / "game.gif").read_bytes().startswith(b"GIF8")
    watch, play, train = (line.split(":  ")[1].strip() for line in capsys.readouterr().out.splitlines()[-3:])
    assert watch.endswith(f"--logdir {run}")
    answer = subprocess.run(shlex.split(play), input="h\nq\n", capture_output=True, text=True)
    assert (answer.returncode, answer.stderr) == (0, "")
    assert "up" in answer.stdout
    answer = subprocess.run([*shlex.split(train), "--help"], capture_output=True, text=True)
    assert answer.returncode == 0


def test_equal_time_is_in_the_processors_and_programs_are_called_as_they_can_be_from_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    *_, last = demo.matches(replace(demo.Config(), milliseconds=2.5))
    assert (last.title, last.limit, last.hand_made) == ("2.5 ms", "seconds=0.0025,clock=cpu,cutoff=0.003", "rows")
    (tmp_path / ".venv").mkdir()
    beside = tmp_path / ".venv" / "leafwise"
    monkeypatch.setattr(sys, "executable", str(beside.with_name("python")))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert demo.program("leafwise", "leafwise") == f"{sys.executable} -m leafwise"
    beside.touch(mode=0o755)
    assert demo.program("leafwise", "leafwise") == str(beside)
    monkeypatch.chdir(tmp_path)
    assert demo.program("leafwise", "leafwise") == ".venv/leafwise"
    monkeypatch.setenv("PATH", str(beside.parent))
    assert demo.program("leafwise", "leafwise") == "leafwise"
