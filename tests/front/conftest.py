"""Fixtures of the command line's tests."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from front.console import Shell, make_shell

from games import dice
from leafwise.envs import registry


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Shell:
    """Runs `leafwise` inside the test's process."""
    return make_shell(capsys, monkeypatch)


@pytest.fixture
def dice_game(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes the dice race, a two-player game, known by its name."""
    monkeypatch.setitem(registry._added, "dice", dice.GAME)


EXAMPLES = Path(__file__).parents[2] / "examples"
EXPORTED = {"pig": "pig/leafwise_pig", "dice": "race/leafwise_race", "game2048": "2048/leafwise_2048"}
"""Games of files in the export of the tests, and where they are in `EXAMPLES`."""
PATIENCE = 1200
"""Seconds for an export of another worker."""


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An export of all games that can be and of `EXPORTED`: one for all workers."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    found, lines = shared / "site", shared / "site.txt"
    try:
        (shared / "site.lock").mkdir()
    except FileExistsError:
        for _ in range(PATIENCE):
            if lines.exists():
                break
            time.sleep(1)
    else:
        modules = [word for place in EXPORTED.values() for word in ("--module", str(EXAMPLES / place))]
        command = [sys.executable, "-m", "leafwise", "web", *modules, "--export", str(found)]
        told = subprocess.run(command, stdout=subprocess.PIPE, text=True).stdout
        lines.with_suffix(".part").write_text(told, encoding="utf-8")
        lines.with_suffix(".part").rename(lines)
    assert (found / "index.html").exists()
    return found


@pytest.fixture
def plug_ins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Adds the games of `EXPORTED`, here and in processes that are started from here."""
    for name in ("INHERITED", "NETWORKS"):
        monkeypatch.setenv(getattr(registry, name), "{}")
    monkeypatch.setattr(registry, "_added", {})
    for place in EXPORTED.values():
        registry.add_module(str(EXAMPLES / place))
