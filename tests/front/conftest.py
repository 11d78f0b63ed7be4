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
    """Registers the dice race, a two-player game, by its name."""
    monkeypatch.setitem(registry._added, "dice", dice.GAME)


EXAMPLES = Path(__file__).parents[2] / "examples"
EXPORTED = {"pig": "pig/leafwise_pig", "dice": "race/leafwise_race", "game2048": "2048/leafwise_2048"}
"""Plug-ins in the export of the tests -> their paths in `EXAMPLES`."""
EXPORT_TIMEOUT = 1200
"""Seconds to wait for the export of another worker."""


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of one export, for all workers, of all games that can be exported and of `EXPORTED`."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    site, lines = shared / "site", shared / "site.txt"
    try:
        (shared / "site.lock").mkdir()
    except FileExistsError:
        for _ in range(EXPORT_TIMEOUT):
            if lines.exists():
                break
            time.sleep(1)
    else:
        modules = [word for path in EXPORTED.values() for word in ("--module", str(EXAMPLES / path))]
        command = [sys.executable, "-m", "leafwise", "web", *modules, "--export", str(site)]
        output = subprocess.run(command, stdout=subprocess.PIPE, text=True).stdout
        lines.with_suffix(".part").write_text(output, encoding="utf-8")
        lines.with_suffix(".part").rename(lines)
    assert (site / "index.html").exists()
    return site


@pytest.fixture
def plug_ins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Adds the games of `EXPORTED`, in this process and in its child processes."""
    for name in ("INHERITED", "NETWORKS"):
        monkeypatch.setenv(getattr(registry, name), "{}")
    monkeypatch.setattr(registry, "_added", {})
    for path in EXPORTED.values():
        registry.add_module(str(EXAMPLES / path))
