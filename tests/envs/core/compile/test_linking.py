"""Functions stored on disk: linked, bound, loaded by later processes, or compiled by numba's own means."""

import gc
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from leafwise.envs.core.compile.cache import PACKAGE, _folder, _package_digest, cache_folder
from leafwise.envs.core.compile.errors import CompileError
from leafwise.envs.core.compile.jit import DISABLED, PLAIN, ResolvedEntry, bind, jit
from running import forked

HERE, TESTS = Path(__file__), Path(__file__).parents[3]
pytestmark = pytest.mark.skipif(DISABLED, reason="nothing is compiled")


def ran(folder: Path, *command: str, **environment: str) -> tuple[str, str]:
    """Returns what a process prints, and its warnings, that finds modules in a folder and has its cache there."""
    defaults = {"LEAFWISE_CACHE_DIR": str(folder / "cache"), "PYTHONPATH": str(folder)}
    return forked.ran(*command, **{**defaults, **environment})


def write_source(file: Path, source: str) -> None:
    """Writes a source if it differs, since older numba compares times and would compile it again."""
    if not file.exists() or file.read_text() != source:
        file.write_text(source)


@pytest.fixture(scope="module", autouse=True)
def _ended() -> Iterator[None]:
    yield
    forked.end()


def run(folder: Path, code: str, **environment: str) -> list[str]:
    """Returns the lines that some code prints in such a process."""
    return ran(folder, "-c", code, **environment)[0].splitlines()


# Compiled functions that jump to each other: loaded in later processes, called from Python too, blind to the leaf.


RULES = """
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
PLAY_RULES = """
import numpy as np
import rules
T = rules.Tables(2.0, (10.0,))
bare = T._replace(leaf=())
print(rules.outer(np.zeros(1), T), rules.between(np.zeros(1), T), rules.inner(np.zeros(1), bare), len(rules.inner.overloads))
for name in ("outer", "between", "inner"):
    print(name, sum(getattr(rules, name)._cache_hits.values()), sum(getattr(rules, name)._cache_misses.values()))
"""


def run_rules(folder: Path, code: str = PLAY_RULES) -> list[str]:
    """Returns the lines that a process prints which has the module of rules."""
    write_source(folder / "rules.py", RULES)
    return run(folder, code)


def test_callers_are_loaded_with_what_they_jump_to(tmp_path: Path) -> None:
    answer = "30.0 3.0 2.0 1"
    # between is compiled for its caller, and once more where Python calls it; so is inner, both times without the leaf
    assert run_rules(tmp_path) == [answer, "outer 0 1", "between 0 2", "inner 0 2"]
    # for its caller between is a part of outer's machine code
    assert run_rules(tmp_path) == [answer, "outer 1 0", "between 1 0", "inner 2 0"]
    # what a caller jumps to is compiled again where its file is gone
    for file in (tmp_path / "cache").rglob("*inner*"):
        file.unlink()
    assert run_rules(tmp_path) == [answer, "outer 1 0", "between 1 0", "inner 0 2"]


COPY = """
import numpy as np
import rules
T = rules.Tables(2.0, (10.0,))
print(getattr(rules, CALLER)(np.zeros(1), T))
print(*(type(made.library).__name__ for made in rules.between.overloads.values()))
print(sum(rules.between._cache_hits.values()), sum(rules.between._cache_misses.values()))
"""


def test_what_is_only_copied_has_no_machine_code_and_is_kept_for_other_callers(tmp_path: Path) -> None:
    for caller, expected in ("outer", ["30.0", "CopiedLibrary", "0 1"]), ("another", ["-7.0", "CopiedLibrary", "1 0"]):
        assert run_rules(tmp_path, COPY.replace("CALLER", repr(caller))) == expected


TWICE = """
import numpy as np
import rules
from leafwise.envs.core.compile.jit import jit
copied = jit(inline=True)(rules.inner.py_func)
print(rules.outer(np.zeros(1), rules.Tables(2.0, (10.0,))), copied(np.zeros(1), rules.Tables(3.0, ())))
"""


def test_a_function_that_another_module_copies_is_still_the_one_that_callers_jump_to(tmp_path: Path) -> None:
    for _ in range(2):  # compiled, then loaded
        assert run_rules(tmp_path, TWICE) == ["30.0 3.0"]


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


# Functions made by factories: kept on disk under what they are bound to, and never taken for one another.


FACTORY = """
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
MAKE = """
import numpy as np
import factory as f
S = np.arange(4.0)
made = [f.make(f.double, 0.0), f.make(f.triple, 1.0)]
print(*(g(S) for g in made))
print(sum(sum(g._cache_hits.values()) for g in made), sum(sum(g._cache_misses.values()) for g in made))
"""


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
    (tmp_path / "factory.py").write_text(FACTORY)
    assert [run(tmp_path, MAKE) for _ in range(2)] == [["12.0 22.0", "0 2"], ["12.0 22.0", "2 0"]]
    (tmp_path / "factory.py").write_text(FACTORY.replace(before, after))
    assert run(tmp_path, MAKE) == [answer, "0 2"]


def test_an_edit_does_not_trouble_a_process_that_runs(tmp_path: Path) -> None:
    """A training binds the same again when a source of its own, beside the game's, is another on disk already."""
    (tmp_path / "room.py").touch()
    source = FACTORY.replace("Path(__file__)", 'Path(__file__).with_name("room.py")')
    (tmp_path / "factory.py").write_text(source)
    edited = """
f.Path(f.__file__).write_text(f.Path(f.__file__).read_text().replace("2.0 * x", "4.0 * x"))
print(f.make(f.double, 0.0)(S))
"""
    assert run(tmp_path, MAKE + edited)[-1] == "12.0"
    assert run(tmp_path, MAKE) == ["24.0 22.0", "0 2"]


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


def test_the_same_things_are_bound_once_and_others_apart(tmp_path: Path) -> None:
    (tmp_path / "factory.py").write_text(FACTORY)
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


def test_what_is_copied_into_its_callers_is_another_function():
    one, copied = make_tripled(False), make_tripled(True)
    assert one is not copied
    assert one(2.0) == copied(2.0) == 6.0


def test_what_cannot_be_bound_is_named() -> None:
    thing = {"a": 1}
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
    direct = ResolvedEntry(scaled_sum)
    x = np.arange(4.0)
    assert [direct(x, factor) for factor in (1.0, 2.0)] == [6.0, 12.0]
    assert direct(np.ones(3), 2.0) == scaled_sum(np.ones(3), 2.0)
    with pytest.raises(TypeError):
        direct("no array", 1.0)
    with pytest.raises(CompileError, match="Unknown attribute 'nothing'"):
        ResolvedEntry(unknown_field)(1.0)


# A user's own game and the package's games share one cache of machine code, and neither needs the other's module.


SEARCH = """
from leafwise.envs.core.gym.env import GameEnv
from leafwise.search import Search

for pruning in (False, True):
    Search(game, game.score(), 1, pruning=pruning)(game.new(0))
env = GameEnv(game)
_, info = env.reset(seed=0)
env.step(int(info["action_mask"].argmax()))
"""


@pytest.mark.long
def test_a_user_s_game_leaves_nothing_that_later_processes_cannot_read(tmp_path: Path) -> None:
    run(tmp_path, "from games.dice import GAME as game" + SEARCH, PYTHONPATH=str(TESTS))
    run(tmp_path, "import leafwise; game = leafwise.game('threes')" + SEARCH)


COMPILE = """
import sys, warnings
from pathlib import Path
from numba.core import event
warnings.simplefilter("always")
from leafwise.envs.core.compile.jit import jit
if len(sys.argv) > 1:
    import resource
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), resource.RLIM_INFINITY))

@jit
def twice(x):
    return 2 * x

with event.install_recorder("numba:compile") as recorder:
    print(twice(21), sum(e.is_start for _, e in recorder.buffer))
"""


def compiled(tmp_path: Path, cache: Path, *most: str) -> tuple[list[str], list[str]]:
    """Runs a process that compiles a function; returns its answer, how many functions it compiled, and its warnings."""
    write_source(tmp_path / "script.py", COMPILE)
    printed, warned = ran(tmp_path, str(tmp_path / "script.py"), *most, LEAFWISE_CACHE_DIR=str(cache))
    return printed.split(), [
        line.partition("UserWarning: ")[2] for line in warned.splitlines() if "UserWarning" in line
    ]


OUTSIDE = """
from numba.core import event
import leafwise.authoring as authoring
from leafwise.authoring import bind, count_bits, jit, u64
from pathlib import Path

FACTOR = 3

@jit
def bits(x):
    return FACTOR * count_bits(x)

def make(counted):
    @bind(Path(__file__))
    def more(x):
        return counted(x) + authoring.count_bits(x)
    return more

with event.install_recorder("numba:compile") as recorder:
    print(make(bits)(u64(7)), any(e.is_start for _, e in recorder.buffer))
"""


@pytest.mark.skipif(PLAIN, reason="nothing is kept")
def test_a_game_outside_is_kept_and_compiled_anew_after_an_edit(tmp_path: Path) -> None:
    def run(source: str) -> list[str]:
        write_source(tmp_path / "script.py", source)
        return ran(tmp_path, str(tmp_path / "script.py"))[0].split()

    edited = OUTSIDE.replace("FACTOR = 3", "FACTOR = 5")
    answers = [run(source) for source in (OUTSIDE, OUTSIDE, edited, edited)]
    assert answers == [["12", "True"], ["12", "False"], ["18", "True"], ["18", "False"]]


@pytest.mark.skipif(PLAIN, reason="nothing is kept")
@pytest.mark.parametrize("damage", ["flipped", *(pytest.param(x, marks=pytest.mark.long) for x in ("cut", "empty"))])
def test_damaged_code_is_compiled_anew_with_a_word(tmp_path: Path, damage: str) -> None:
    cache = tmp_path / "cache"
    assert compiled(tmp_path, cache) == (["42", "1"], [])
    assert compiled(tmp_path, cache) == (["42", "0"], [])
    for file in cache.rglob("script-*/**/*.nbc"):
        data = bytearray(file.read_bytes())
        data[len(data) // 2] ^= 1
        file.write_bytes({"flipped": bytes(data), "cut": bytes(data[:-9]), "empty": b""}[damage])
    answer, warned = compiled(tmp_path, cache)
    assert answer == ["42", "1"]
    assert len(warned) == 1
    assert "was damaged and is compiled anew" in warned[0]
    assert compiled(tmp_path, cache) == (["42", "0"], [])


@pytest.mark.skipif(PLAIN or sys.platform == "win32", reason="nothing is kept, or files have no limit")
def test_a_full_disk_or_a_folder_that_is_none_costs_the_time_of_compiling(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    compiled(tmp_path, cache)
    for folder in cache.glob("script-*"):
        shutil.rmtree(folder)
    answer, warned = compiled(tmp_path, cache, "1000")
    assert answer == ["42", "1"]
    assert warned == ["compiled code is not kept, every start compiles it again: File too large"]
    assert not [*cache.rglob("script-*/**/*.nbc*")]
    (tmp_path / "file").write_text("in the way")
    answer, warned = compiled(tmp_path, tmp_path / "file")
    assert answer == ["42", "1"]
    assert warned == ["compiled code is not kept, every start compiles it again: Not a directory"]


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A cache of its own, for a process that has asked for no folder yet."""
    monkeypatch.setenv("LEAFWISE_CACHE_DIR", str(tmp_path / "cache"))
    for cached in (_folder, _package_digest):
        cached.cache_clear()
    yield tmp_path / "cache"
    for cached in (_folder, _package_digest):
        cached.cache_clear()


def test_the_package_is_read_once_a_process(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, other = (PACKAGE / "envs/threes" / name for name in ("rules.py", "scores.py"))
    first_folder = cache_folder(first, "a")
    assert first_folder is not None
    assert first_folder.parent == cache
    read: list[Path] = []

    def rglob(folder: Path, pattern: str) -> Iterator[Path]:
        read.append(folder)
        return iter(())

    monkeypatch.setattr(Path, "rglob", rglob)
    assert cache_folder(other, "a") == first_folder
    assert cache_folder(first, "b") not in (first_folder, None)
    assert read == []
    cache_folder(PACKAGE / "envs/trap/rules.py", "a")
    assert read == [PACKAGE / "envs/trap"]


def test_a_game_outside_the_package_that_was_edited_has_another_folder(cache: Path, tmp_path: Path) -> None:
    room = tmp_path / "plug_in"
    room.mkdir()
    (room / "__init__.py").write_text("")
    (room / "rules.py").write_text("x = 1\n")
    folders = [cache_folder(room / "__init__.py", "a")]
    (room / "rules.py").write_text("x = 2\n")
    os.utime(room / "rules.py", (5, 5))
    folders += [cache_folder(room / "__init__.py", "a") for _ in range(2)]
    assert folders[0] != folders[1] == folders[2]
    assert cache_folder(PACKAGE / "envs/threes/rules.py", "a") not in folders


# Compilation by numba's own means: under a version that linking was not tested with, and where it is asked for.


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
    answer, warned = ran(tmp_path, "-c", before + SUM)
    assert answer == f"{plain} True True"
    assert warned.count("UserWarning") == bool(reason)
    assert reason in warned


def test_plain_compilation_can_be_asked_for(tmp_path: Path) -> None:
    assert ran(tmp_path, "-c", SUM, LEAFWISE_PLAIN_NUMBA="1") == ("True True True", "")
    assert not list(tmp_path.iterdir())


@pytest.mark.long
def test_a_game_is_the_same_compiled_plainly(tmp_path: Path) -> None:
    from twins import everything

    answers = str(everything.ask("dice", fast=True))  # of this process
    assert ran(tmp_path, "-c", EVERYTHING, str(TESTS), LEAFWISE_PLAIN_NUMBA="1") == (answers, "")
