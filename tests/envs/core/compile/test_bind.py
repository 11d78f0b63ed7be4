"""Functions made by factories: kept on disk under what they are bound to, and never taken for one another."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from leafwise.envs.core.compile.errors import CompileError
from leafwise.envs.core.compile.jit import DISABLED, Direct, bind, jit

HERE = Path(__file__)
MODULE = """
from pathlib import Path
import numpy as np
from leafwise.envs.core.compile.jit import bind, jit

@jit
def double(x):
    return 2.0 * x

@jit
def triple(x):
    return 3.0 * x

def make(rule, shift):
    @bind(Path(__file__), inline=True)
    def shifted(x):
        return rule(x) + shift

    @bind(Path(__file__))
    def summed(S):
        total = 0.0
        for x in S:
            total += shifted(x)
        return total

    return summed
"""
PLAY = """
import numpy as np
import factory as f
S = np.arange(4.0)
made = [f.make(f.double, 0.0), f.make(f.triple, 1.0)]
print(*(g(S) for g in made))
print(sum(sum(g._cache_hits.values()) for g in made), sum(sum(g._cache_misses.values()) for g in made))
"""


def run(folder: Path, code: str = PLAY) -> list[str]:
    environment = {**os.environ, "LEAFWISE_CACHE_DIR": str(folder / "cache"), "PYTHONPATH": str(folder)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.skipif(DISABLED, reason="nothing is compiled")
@pytest.mark.parametrize(
    ("before", "after", "answer"),
    [
        ("2.0 * x", "5.0 * x", "30.0 22.0"),  # a rule
        pytest.param("rule(x) + shift", "rule(x) - shift", "12.0 14.0", marks=pytest.mark.long),  # what is bound
        pytest.param("total = 0.0", "total = 7.0", "19.0 29.0", marks=pytest.mark.long),  # a constant
    ],
)
def test_a_second_process_compiles_nothing_but_for_an_edited_source(
    tmp_path: Path, before: str, after: str, answer: str
) -> None:
    (tmp_path / "factory.py").write_text(MODULE)
    assert [run(tmp_path) for _ in range(2)] == [["12.0 22.0", "0 2"], ["12.0 22.0", "2 0"]]
    (tmp_path / "factory.py").write_text(MODULE.replace(before, after))
    assert run(tmp_path) == [answer, "0 2"]


@pytest.mark.skipif(DISABLED, reason="nothing is compiled")
def test_an_edit_does_not_trouble_a_process_that_runs(tmp_path: Path) -> None:
    """A training binds the same again when a source of its own, beside the game's, is another on disk already."""
    (tmp_path / "room.py").touch()
    source = MODULE.replace("Path(__file__)", 'Path(__file__).with_name("room.py")')
    (tmp_path / "factory.py").write_text(source)
    edited = """
f.Path(f.__file__).write_text(f.Path(f.__file__).read_text().replace("2.0 * x", "4.0 * x"))
print(f.make(f.double, 0.0)(S))
"""
    assert run(tmp_path, PLAY + edited)[-1] == "12.0"
    assert run(tmp_path) == ["24.0 22.0", "0 2"]


HELPERS = """
from leafwise.envs.core.compile.jit import jit

SCALE = 2.0
SHIFTS = (1.0, 2.0)

@jit(inline=True)
def shift(x):
    return x + 1.0

@jit
def double(x):
    return 2.0 * x
"""
CALLER = """
from pathlib import Path
import helpers
from helpers import SCALE, shift
from leafwise.envs.core.compile.jit import bind

def make():
    @bind(Path(__file__))
    def summed(S):
        total = 0.0
        for x in S:
            total += SCALE * helpers.double(shift(x)) + helpers.SHIFTS[1]
        return total

    return summed
"""


@pytest.mark.skipif(DISABLED, reason="nothing is compiled")
@pytest.mark.parametrize(
    ("before", "after", "answer"),
    [
        ("SCALE = 2.0", "SCALE = 3.0", "68.0"),
        pytest.param("(1.0, 2.0)", "(1.0, 0.0)", "40.0", marks=pytest.mark.long),  # read as an attribute
        pytest.param("x + 1.0", "x", "32.0", marks=pytest.mark.long),
        pytest.param("2.0 * x", "1.0 * x", "28.0", marks=pytest.mark.long),  # called as an attribute
    ],
)
def test_an_edit_of_another_module_is_noticed(tmp_path: Path, before: str, after: str, answer: str) -> None:
    (tmp_path / "factory.py").write_text(CALLER)
    (tmp_path / "helpers.py").write_text(HELPERS)
    one = "import numpy as np, factory as f\ng = f.make()\nprint(g(np.arange(4.0)), sum(g._cache_hits.values()))"
    assert [run(tmp_path, one) for _ in range(2)] == [["48.0 0"], ["48.0 1"]]
    (tmp_path / "helpers.py").write_text(HELPERS.replace(before, after))
    assert run(tmp_path, one) == [f"{answer} 0"]


@pytest.mark.skipif(DISABLED, reason="nothing is compiled")
def test_a_function_that_calls_itself_is_bound(tmp_path: Path) -> None:
    source = """
from pathlib import Path
from leafwise.envs.core.compile.jit import bind

def make(step):
    @bind(Path(__file__))
    def count(n):
        if n <= 0:
            return 0
        return 1 + count(n - step)

    return count
"""
    (tmp_path / "factory.py").write_text(source)
    calls = "import factory as f\ng = [f.make(1), f.make(2)]\nprint(g[0](10), g[1](10), g[0]._cache_hits.values())"
    assert run(tmp_path, calls) == ["10 5 dict_values([])"]
    assert run(tmp_path, calls) == ["10 5 dict_values([1])"]


@pytest.mark.skipif(DISABLED, reason="nothing is compiled")
def test_the_same_things_are_bound_once_and_others_apart(tmp_path: Path) -> None:
    (tmp_path / "factory.py").write_text(MODULE)
    bound = """
import numpy as np
import factory as f
S = np.arange(4.0)
one, others = f.make(f.double, 1.0), [f.make(f.triple, 1.0), f.make(f.double, 2.0)]
print(one(S), *(g(S) for g in others))
print(f.make(f.double, 1.0) is one, any(g is one for g in others), one(S))
"""
    for _ in range(2):
        assert run(tmp_path, bound) == ["16.0 22.0 20.0", "True False 16.0"]


def make_tripled(inline):
    @bind(HERE, inline=inline)
    def tripled(x):
        return 3.0 * x

    return tripled


@pytest.mark.skipif(DISABLED, reason="nothing is compiled")
def test_what_is_copied_into_its_callers_is_another_function():
    one, copied = make_tripled(False), make_tripled(True)
    assert one is not copied
    assert one(2.0) == copied(2.0) == 6.0


def test_what_cannot_be_bound_is_named() -> None:
    thing = {"a": 1}
    if DISABLED:
        pytest.skip("nothing is compiled")
    with pytest.raises(TypeError, match=r"expected compiled functions, numbers, .* got {'a': 1}"):

        @bind(HERE)
        def use(x):
            return thing


def test_arrays_and_tuples_are_bound_by_their_contents() -> None:
    def make(table, pair):
        @bind(HERE)
        def look(k):
            return table[k] + pair[0]

        return look

    one = make(np.array([1, 2]), (10, 20))
    assert one(1) == 12
    if not DISABLED:
        assert make(np.array([1, 2]), (10, 20)) is one
        other = make(np.array([1, 3]), (10, 20))
        assert other is not one
        assert (one(1), other(1)) == (12, 13)


def test_what_is_not_kept_on_disk_can_be_bound() -> None:
    namespace: dict = {"jit": jit}
    exec("@jit\ndef typed(x):\n    return x + 1", namespace)  # as at a prompt: without a source file
    typed = namespace["typed"]

    @bind(HERE)
    def use(x):
        return typed(x) * 2

    assert use(1) == 4


@jit
def scaled_sum(x, factor):
    total = 0.0
    for k in range(x.shape[0]):
        total += factor * x[k]
    return total


@jit
def unknown_field(x):
    return x.nothing


def test_a_direct_call_answers_as_any_and_asks_for_types_once():
    direct = Direct(scaled_sum)
    x = np.arange(4.0)
    assert [direct(x, factor) for factor in (1.0, 2.0)] == [6.0, 12.0]
    assert direct(np.ones(3), 2.0) == scaled_sum(np.ones(3), 2.0)
    if not DISABLED:
        with pytest.raises(TypeError):
            direct("no array", 1.0)
        with pytest.raises(CompileError, match="Unknown attribute 'nothing'"):
            Direct(unknown_field)(1.0)
