"""Leaves and games from outside: functions of one name, and edited ones, never meet each other's machine code."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from leafwise.envs.core.compile.jit import DISABLED

TESTS = Path(__file__).parents[1]
LEAF = """
from pathlib import Path
import leafwise
from leafwise.envs.core.compile.jit import jit
from leafwise.envs.core.contract.evaluator import Evaluator

@jit
def value(S, i, T):
    return {worth}

leaf = Evaluator("leaf", value, low=-1.0, high=1.0, room=Path(__file__))
"""
PLAY = """
import sys
sys.path[:0] = {folders!r}
from leafwise.search import Search
from games.dice import GAME as game
for name in {names!r}:
    module = __import__(name)
    own = getattr(module, "GAME", game)
    leaf = getattr(module, "leaf", None) or own.score()
    for options in ({{"pruning": True}}, {{"pruning": False}}, {{"batched": True}}):
        print(Search(own, leaf, 1, **options)(own.new(0)).value)
"""

pytestmark = pytest.mark.skipif(DISABLED, reason="nothing is compiled")


def values(cache: Path | None, folders: list[Path], *names: str) -> list[float]:
    """Returns what three searches with each module's leaf or game say, in a process of its own; without a cache as plain Python."""
    code = PLAY.format(folders=[str(folder) for folder in [*folders, TESTS]], names=names)
    environment = {**os.environ, **({"LEAFWISE_CACHE_DIR": str(cache)} if cache else {"NUMBA_DISABLE_JIT": "1"})}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return [float(line) for line in done.stdout.split()]


@pytest.mark.long
def test_leaves_of_one_name_in_two_modules_and_an_edited_one(tmp_path: Path) -> None:
    for name, worth in (("one", 0.25), ("two", 0.5)):
        (tmp_path / f"{name}.py").write_text(LEAF.format(worth=worth))
    share = 4 / 9  # what chance leaves of the constant worth, one decision on
    assert values(tmp_path / "cache", [tmp_path], "one", "two") == pytest.approx([0.25 * share] * 3 + [0.5 * share] * 3)
    (tmp_path / "one.py").write_text(LEAF.format(worth=0.75))
    assert values(tmp_path / "cache", [tmp_path], "two", "one") == pytest.approx([0.5 * share] * 3 + [0.75 * share] * 3)


@pytest.mark.long
def test_games_of_one_name_in_two_folders(tmp_path: Path) -> None:
    source = (TESTS.parent / "examples" / "race" / "leafwise_race" / "__init__.py").read_text()
    for name, divisor in (("one", 29.0), ("two", 58.0)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "race.py").write_text(source.replace("/ 29.0", f"/ {divisor}"))
    alone = [values(None, [tmp_path / name], "race") for name in ("one", "two")]
    assert alone[0] != pytest.approx(alone[1])
    shared = [values(tmp_path / "cache", [tmp_path / name], "race") for name in ("one", "two", "one")]
    assert np.array(shared) == pytest.approx(np.array([alone[0], alone[1], alone[0]]))
