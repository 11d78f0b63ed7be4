"""The same rules as plain Python, and compiled with every index checked, answer the same."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from contract.cases import CASES
from contract.playthrough import listing

TESTS = Path(__file__).parents[1]


@cache
def compiled_listings() -> list[str]:
    """Returns the lines that the compiled build prints: the same for both switches."""
    return "".join(listing(case) for case in CASES).splitlines()


@pytest.mark.long
@pytest.mark.parametrize("switch", ["NUMBA_DISABLE_JIT", "NUMBA_BOUNDSCHECK"])
def test_other_builds_play_the_same_games(switch: str) -> None:
    run = subprocess.run(
        [sys.executable, "-W", "error", "-m", "contract.playthrough"],
        env={**os.environ, switch: "1", "PYTHONPATH": str(TESTS)},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.splitlines() == compiled_listings()


@pytest.mark.parametrize("switch", ["NUMBA_DISABLE_JIT", "NUMBA_BOUNDSCHECK"])
def test_the_switch_is_thrown(switch: str) -> None:
    code = (
        "import numpy as np\n"
        "from games import dice\n"
        "from leafwise.envs.core.compile import jit\n"
        "print(jit.DISABLED, jit.BOUNDSCHECK)\n"
        "S = dice.GAME.rows(1)\n"
        "dice.GAME.rules.stage(S, np.uint64(1), dice.GAME.tables())\n"
    )
    environment = {**os.environ, switch: "1", "PYTHONPATH": str(TESTS)}
    run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    is_plain = switch == "NUMBA_DISABLE_JIT"
    # Compiled code prints the index that it refuses, whether it was kept by such a process or by `check_game`.
    index = "" if is_plain else "debug: IndexError: index 1 is out of bounds for axis 0 with size 1\n"
    assert run.stdout == f"{is_plain} {not is_plain}\n{index}"
    assert "IndexError" in run.stderr
