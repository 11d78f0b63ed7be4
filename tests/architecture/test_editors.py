"""An editor finds the package's modules from a checkout, though an editable install hides them behind an import hook."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import playwright
import pytest

ROOT = Path(__file__).parents[2]
NODE = Path(playwright.__file__).with_name("driver")
"""Pyright runs on node, which playwright brings along: nothing is downloaded."""
SEEN = {
    "leafwise.Search": "type[Search]",
    "leafwise.Search.__call__": "(self: Search, state: State) -> Result",
    "leafwise.train": '(game: str | Game, method: str = "", **options: Any) -> Path',
    "authoring.Game": "type[Game]",
    "rules.current_player": "(S: Unknown, i: Unknown, T: Unknown) -> int",
    "td.Config.tuples": "str",
}
PROBE = """
import leafwise
from leafwise import authoring
from leafwise.envs.threes import rules
from leafwise.search.engine import Search
from leafwise.training.ntuple_td import ntuple_td as td

"""


@pytest.mark.skipif(sys.platform != "linux", reason="the links are laid by make, and found on any system the same")
def test_pyright_follows_imports_and_checks_calls_of_kernels(tmp_path: Path) -> None:
    subprocess.run(["make", "--silent", "links"], cwd=ROOT, check=True)
    probe = tmp_path / "probe.py"
    probe.write_text(PROBE + "".join(f"reveal_type({name})\n" for name in SEEN) + "rules.apply_action(1, 2)\n")
    environment = {
        **os.environ,
        "PATH": f"{NODE}{os.pathsep}{os.environ['PATH']}",
        "PYRIGHT_PYTHON_IGNORE_WARNINGS": "1",
    }
    command = [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable, str(probe)]
    told = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    found = [line["message"] for line in json.loads(told.stdout)["generalDiagnostics"]]
    assert found == [
        *(f'Type of "{name}" is "{kind}"' for name, kind in SEEN.items()),
        'Arguments missing for parameters "a", "j", "T"',
    ]


def test_no_link_is_tracked() -> None:
    listed = subprocess.run(["git", "ls-files", "--stage"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    assert [line for line in listed.splitlines() if line.startswith("120000")] == []
