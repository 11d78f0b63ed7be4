"""A user's own game and the package's games share one cache of machine code, and neither needs the other's module."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from leafwise.envs.core.compile.cache import PACKAGE, _folder, _package_digest, cache_folder
from leafwise.envs.core.compile.jit import DISABLED, PLAIN

TESTS = Path(__file__).parents[3]
PLAY = """
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
    def run(first: str, **extra: str) -> None:
        environment = {**os.environ, "LEAFWISE_CACHE_DIR": str(tmp_path), **extra}
        done = subprocess.run([sys.executable, "-c", first + PLAY], env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr

    run("from games.dice import GAME as game", PYTHONPATH=str(TESTS))
    run("import leafwise; game = leafwise.game('threes')")


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
    """Runs a process that compiles a function; returns its answer, how many it compiled, and its warnings."""
    script = tmp_path / "script.py"
    script.write_text(COMPILE)
    environment = {**os.environ, "LEAFWISE_CACHE_DIR": str(cache)}
    done = subprocess.run([sys.executable, str(script), *most], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.split(), [
        line.partition("UserWarning: ")[2] for line in done.stderr.splitlines() if "UserWarning" in line
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


@pytest.mark.skipif(DISABLED or PLAIN, reason="nothing is kept")
def test_a_game_outside_is_kept_and_compiled_anew_after_an_edit(tmp_path: Path) -> None:
    script, environment = tmp_path / "script.py", {**os.environ, "LEAFWISE_CACHE_DIR": str(tmp_path / "cache")}

    def run(source: str) -> list[str]:
        script.write_text(source)
        done = subprocess.run([sys.executable, str(script)], env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout.split()

    edited = OUTSIDE.replace("FACTOR = 3", "FACTOR = 5")
    answers = [run(source) for source in (OUTSIDE, OUTSIDE, edited, edited)]
    assert answers == [["12", "True"], ["12", "False"], ["18", "True"], ["18", "False"]]


@pytest.mark.skipif(DISABLED or PLAIN, reason="nothing is kept")
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


@pytest.mark.skipif(DISABLED or PLAIN or sys.platform == "win32", reason="nothing is kept, or files have no limit")
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
    found = cache_folder(first, "a")
    assert found is not None
    assert found.parent == cache
    read: list[Path] = []

    def rglob(folder: Path, pattern: str) -> Iterator[Path]:
        read.append(folder)
        return iter(())

    monkeypatch.setattr(Path, "rglob", rglob)
    assert cache_folder(other, "a") == found
    assert cache_folder(first, "b") not in (found, None)
    assert read == []
    cache_folder(PACKAGE / "envs/trap/rules.py", "a")
    assert read == [PACKAGE / "envs/trap"]


def test_a_game_outside_the_package_that_was_edited_has_another_folder(cache: Path, tmp_path: Path) -> None:
    room = tmp_path / "plug_in"
    room.mkdir()
    (room / "__init__.py").write_text("")
    (room / "rules.py").write_text("x = 1\n")
    found = [cache_folder(room / "__init__.py", "a")]
    (room / "rules.py").write_text("x = 2\n")
    os.utime(room / "rules.py", (5, 5))
    found += [cache_folder(room / "__init__.py", "a") for _ in range(2)]
    assert found[0] != found[1] == found[2]
    assert cache_folder(PACKAGE / "envs/threes/rules.py", "a") not in found
