"""Games are found again wherever they were written: a file, a package, a script, a notebook; else one line says so."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import leafwise
from games import coins, planted
from leafwise.envs.core.check import checking
from leafwise.envs.core.check.checking import ContractError, load

RACE = """
import sys
from games.coins import make, returns
TITLES = []
TITLES.append("race")
SIZE = 3
SIZE += 0
def sized(size):
    return dict(max_actions=size)
if __name__ == "__main__":
    print("the guarded part")
print("the loose part")
"""
CHECKED = """
from games.coins import Game, TERMINAL, WIDTH, jit
from games import coins
@jit
def returns(S, i, T):
    return float(S[i, 0] + S[i, 1]) + 0 * SIZE
GAME = coins.Game(**{**{f: getattr(coins.GAME, f) for f in coins.GAME.__dataclass_fields__}, "module": __name__})
"""
CHECK = '''
import leafwise
print("before the check")
leafwise.check_game(GAME, seconds=0.2)
'''  # fmt: skip


def run(code: str, *arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Runs a script in a process of its own, in which nothing is compiled."""
    path = folder / "script.py"
    path.write_text(code)
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
    return subprocess.run(
        [sys.executable, "-W", "error", str(path), *arguments], env=environment, capture_output=True, text=True
    )


def test_a_script_is_not_run_again_but_for_what_its_game_needs(tmp_path: Path) -> None:
    done = run(RACE + CHECKED + CHECK, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[:3] == ["the guarded part", "the loose part", "before the check"]
    assert lines[3].startswith("ok, ")


NOTEBOOK = """
import linecache, sys, types
main = types.ModuleType("__main__")
sys.modules["__main__"] = main
main.In = [""]
for k, cell in enumerate(open(sys.argv[1]).read().split("# cell")):
    main.In.append(cell)
    if not cell.lstrip().startswith("%"):
        exec(compile(cell, f"<ipython-input-{k}>", "exec"), main.__dict__)
"""


@pytest.mark.long
def test_a_notebook(tmp_path: Path) -> None:
    cells = tmp_path / "cells.txt"
    cells.write_text("# cell".join([RACE, "%matplotlib inline\n", CHECKED, CHECK]))
    done = run(NOTEBOOK, str(cells), folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1].startswith("ok, ")


def test_without_source_it_is_refused_in_one_line(tmp_path: Path) -> None:
    cells = tmp_path / "cells.txt"
    cells.write_text("# cell".join([RACE, CHECKED, CHECK]))
    done = run(NOTEBOOK.replace("    main.In.append(cell)\n", ""), str(cells), folder=tmp_path)
    last = done.stderr.splitlines()[-1]
    assert last.endswith("coins: expected a game whose source can be read (a file, a notebook), got none")


def test_a_game_of_a_package_and_its_variants(tmp_path: Path) -> None:
    for game in (leafwise.game("trilobite"), leafwise.game("trilobite", board="7x6", k=4)):
        found = checking.origin(game, tmp_path)
        assert (found["module"], found["attribute"]) == ("leafwise.envs.trilobite", "GAME")
        assert load(found) == game


def test_a_game_below_a_name(tmp_path: Path) -> None:
    found = checking.origin(planted.GAMES["descending"], tmp_path)
    assert (found["attribute"], found["keys"]) == ("GAMES", ["descending"])
    assert load(found) is planted.GAMES["descending"]


def test_a_game_that_no_name_holds_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ContractError, match=r"coins: expected a game that its module 'games.coins' holds under a name"):
        checking.origin(coins.make(max_outcomes=17), tmp_path)


def test_a_game_made_again_is_found(tmp_path: Path) -> None:
    assert checking.origin(coins.make(), tmp_path)["attribute"] == "GAME"


SOURCE = """
from __future__ import annotations
import numpy, os
os.remove("everything")
table = [1]
other = [2]
table.append(3)
other.append(4)
for k in range(3):
    table[0] = k
def score():
    return table, numpy
def idle():
    return other
GAME = score()
GAME2 = idle()
"""


def test_only_what_a_name_needs_is_kept() -> None:
    kept = checking.needed([SOURCE], "GAME")
    assert len(kept.splitlines()) == len(SOURCE.splitlines())
    statements = [ast.unparse(statement).splitlines()[0] for statement in ast.parse(kept).body]
    assert statements == [
        "from __future__ import annotations",
        "import numpy, os",
        "table = [1]",
        "table.append(3)",
        "for k in range(3):",
        "def score():",
        "GAME = score()",
    ]
