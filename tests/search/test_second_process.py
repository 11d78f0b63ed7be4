"""A second process compiles nothing and answers alike, for every game, search and leaf kind; several may be cold at once."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from leafwise.envs.core.compile.jit import DISABLED
from leafwise.envs.registry import games
from twins import everything

TESTS = Path(__file__).parents[1]
PLAY = f"""
import sys
sys.path.insert(0, {str(TESTS)!r})
import json
from numba.core import event
with event.install_recorder("numba:compile") as recorder:
    from twins import everything
    answers = everything.ask(sys.argv[1], fast=sys.argv[2] == "fast")
compiled = [e.data["dispatcher"].py_func.__qualname__ for _, e in recorder.buffer if e.is_start]
print(json.dumps(dict(answers=answers, compiled=sorted(set(compiled)))))
"""

pytestmark = pytest.mark.skipif(DISABLED, reason="nothing is compiled")


def start(name: str, speed: str, cache: Path | None = None) -> subprocess.Popen:
    """Starts a process that asks everything of a game; without `cache` its code is where the other tests' is."""
    environment = {**os.environ} | ({} if cache is None else {"LEAFWISE_CACHE_DIR": str(cache)})
    return subprocess.Popen(
        [sys.executable, "-c", PLAY, name, speed], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def finish(process: subprocess.Popen) -> dict:
    answers, problem = process.communicate()
    assert process.returncode == 0, problem.decode()
    return json.loads(answers)


def test_a_second_process_compiles_nothing(tmp_path: Path) -> None:
    first = finish(start("dice", "fast", tmp_path))
    assert "expand" in " ".join(first["compiled"])
    second = finish(start("dice", "fast", tmp_path))
    assert second["compiled"] == []
    assert second["answers"] == first["answers"]


@pytest.mark.long
@pytest.mark.parametrize("name", [*games(), "dice", "solitaire"])
def test_a_second_process_compiles_nothing_of_any_leaf(name: str) -> None:
    answers = json.loads(json.dumps(everything.ask(name, fast=False)))  # this process is the first
    assert finish(start(name, "whole")) == {"answers": answers, "compiled": []}


@pytest.mark.long
def test_several_cold_processes_at_once_leave_a_cache_that_is_whole(tmp_path: Path) -> None:
    answers = [finish(process) for process in [start("dice", "fast", tmp_path) for _ in range(2)]]
    last = finish(start("dice", "fast", tmp_path))
    assert last["compiled"] == []
    assert all(one["answers"] == last["answers"] for one in answers)
