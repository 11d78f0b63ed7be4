"""Compiled functions that jump to each other: loaded in later processes, called from Python too, blind to the leaf."""

import gc
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from leafwise.envs.core.compile.errors import CompileError
from leafwise.envs.core.compile.jit import DISABLED, jit

MODULE = """
from typing import NamedTuple
import numpy as np
from leafwise.envs.core.compile.jit import jit

class Tables(NamedTuple):
    weight: float
    leaf: object

@jit(ignores_leaf=True)
def inner(S, T):
    S[0] += 1.0
    return S[0] * T.weight

@jit(inline=True)
def between(S, T):
    return inner(S, T) + 1.0

@jit
def outer(S, T):
    return between(S, T) * T.leaf[0]

@jit
def another(S, T):
    return between(S, T) - T.leaf[0]
"""
PLAY = """
import numpy as np
import rules
T = rules.Tables(2.0, (10.0,))
bare = T._replace(leaf=())
print(rules.outer(np.zeros(1), T), rules.between(np.zeros(1), T), rules.inner(np.zeros(1), bare), len(rules.inner.overloads))
for name in ("outer", "between", "inner"):
    print(name, sum(getattr(rules, name)._cache_hits.values()), sum(getattr(rules, name)._cache_misses.values()))
"""


def run(folder: Path, code: str = PLAY) -> list[str]:
    """Returns the lines that a process prints which has the module of rules, and a cache of the folder."""
    if not (rules := folder / "rules.py").exists():  # older numba compiles again what was written anew
        rules.write_text(MODULE)
    environment = {**os.environ, "LEAFWISE_CACHE_DIR": str(folder / "cache"), "PYTHONPATH": str(folder)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.skipif(DISABLED, reason="nothing is compiled")
def test_callers_are_loaded_with_what_they_jump_to(tmp_path: Path) -> None:
    answer = "30.0 3.0 2.0 1"
    # between is compiled for its caller, and once more where Python calls it; inner once, without the leaf, for all
    assert run(tmp_path) == [answer, "outer 0 1", "between 0 2", "inner 0 1"]
    # for its caller between is a part of outer's machine code
    assert run(tmp_path) == [answer, "outer 1 0", "between 1 0", "inner 1 0"]
    # what a caller jumps to is compiled again where its file is gone
    for file in (tmp_path / "cache").rglob("*inner*"):
        file.unlink()
    assert run(tmp_path) == [answer, "outer 1 0", "between 1 0", "inner 0 1"]


COPY = """
import numpy as np
import rules
T = rules.Tables(2.0, (10.0,))
print(getattr(rules, CALLER)(np.zeros(1), T))
print(*(type(made.library).__name__ for made in rules.between.overloads.values()))
print(sum(rules.between._cache_hits.values()), sum(rules.between._cache_misses.values()))
"""


@pytest.mark.skipif(DISABLED, reason="nothing is compiled")
def test_what_is_only_copied_has_no_machine_code_and_is_kept_for_other_callers(tmp_path: Path) -> None:
    for caller, told in ("outer", ["30.0", "CopiedLibrary", "0 1"]), ("another", ["-7.0", "CopiedLibrary", "1 0"]):
        assert run(tmp_path, COPY.replace("CALLER", repr(caller))) == told


TWICE = """
import numpy as np
import rules
from leafwise.envs.core.compile.jit import jit
copied = jit(inline=True)(rules.inner.py_func)
print(rules.outer(np.zeros(1), rules.Tables(2.0, (10.0,))), copied(np.zeros(1), rules.Tables(3.0, ())))
"""


@pytest.mark.skipif(DISABLED, reason="nothing is compiled")
def test_a_function_that_another_module_copies_is_still_the_one_that_callers_jump_to(tmp_path: Path) -> None:
    for _ in range(2):  # compiled, then loaded
        assert run(tmp_path, TWICE) == ["30.0 3.0"]


@pytest.mark.skipif(DISABLED, reason="nothing is compiled")
def test_garbage_is_left_alone_until_all_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    @jit
    def compiled(x):
        return x

    def compile_nothing(*_: Any) -> Any:
        seen.append(gc.isenabled())
        raise NotImplementedError("nothing")

    function: Any = compiled
    monkeypatch.setattr(function._compiler, "compile", compile_nothing)
    with pytest.raises(CompileError):
        compiled(1)
    assert (seen, gc.isenabled()) == ([False], True)
