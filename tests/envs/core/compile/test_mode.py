"""Compilation by numba's own means: under a version that linking was not tested with, and where it is asked for."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from leafwise.envs.core.compile.jit import DISABLED

TESTS = Path(__file__).parents[3]
SUM = """
import numpy as np
from leafwise.envs.core.compile.intrinsics import add_runs, add_runs_loops, dense, sum_rows, sum_rows_plain, dense_plain
from leafwise.envs.core.compile.jit import PLAIN, bind, jit
from pathlib import Path

@jit
def layers(out, rows, which, weights):
    sum_rows(out[0], rows[0], rows, which, which.shape[0])
    dense(out[1], out[0], weights, 0, 4, 5)

rows, weights = np.arange(-20, 20, dtype=np.float32).reshape(10, 4), np.arange(25, dtype=np.float32)
out, plain, which = np.zeros((2, 5), np.float32), np.zeros((2, 5), np.float32), np.array([1, 9, 9, 8])
layers(out[:, :], rows, which, weights)
sum_rows_plain(plain[0], rows[0], rows, which, 4)
dense_plain(plain[1], plain[0], weights, 0, 4, 5)

def make_runs(add):
    @bind(Path("."), cache=False)
    def runs(table):
        first, second = (table[0], table[7], table[5], table[2]), (table[6], table[4], table[9], table[1])
        share = 0.1, 0.2, 0.3, 0.4
        return add((1.0, 2.0, 3.0, 4.0), share, table, np.uint64(1), first, np.uint64(6), second, (0.5, 0.6, 0.7, 0.8))

    return runs

table = np.arange(1, 11, dtype=np.float32) / np.float32(7)
same = make_runs(add_runs)(table) == make_runs(add_runs_loops)(table)
print(PLAIN, same and np.array_equal(out, plain), out.any())
"""
EVERYTHING = """
import sys
sys.path.insert(0, sys.argv[1])
from twins import everything
print(everything.ask("dice", fast=True))
"""

pytestmark = pytest.mark.skipif(DISABLED, reason="nothing is compiled")


def run(cache: Path, code: str, **environment: str) -> tuple[str, str]:
    """Returns what a process of its own prints, and its warnings."""
    variables = {**os.environ, "LEAFWISE_CACHE_DIR": str(cache), **environment}
    done = subprocess.run(
        [sys.executable, "-c", code, str(TESTS)], env=variables, capture_output=True, text=True, timeout=1800
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip(), done.stderr


@pytest.mark.parametrize(
    ("before", "plain", "reason"),
    [
        ("", "False", ""),
        ("import numba.core.caching\ndel numba.core.caching.IndexDataCacheFile", "True", "got ImportError"),
        (
            "import numba\nnumba.version_info = numba.version_info._replace(short=(0, 99))",
            "True",
            "tested with 0.65 to 0.68",
        ),
    ],
    ids=["as it is", "a part is missing", "another version"],
)
def test_a_numba_that_linking_does_not_know_compiles_plainly_with_one_warning(
    before: str, plain: str, reason: str, tmp_path: Path
) -> None:
    answer, told = run(tmp_path, before + SUM)
    assert answer == f"{plain} True True"
    assert told.count("UserWarning") == bool(reason)
    assert reason in told


def test_plain_compilation_can_be_asked_for(tmp_path: Path) -> None:
    assert run(tmp_path, SUM, LEAFWISE_PLAIN_NUMBA="1") == ("True True True", "")
    assert not list(tmp_path.iterdir())


@pytest.mark.long
def test_a_game_is_the_same_compiled_plainly(tmp_path: Path) -> None:
    plain = run(tmp_path, EVERYTHING, LEAFWISE_PLAIN_NUMBA="1")
    assert plain == run(tmp_path, EVERYTHING)
