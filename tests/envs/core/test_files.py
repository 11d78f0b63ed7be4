"""Files are written where others may have put links: no link is followed, except for a file that a person named."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import pytest

from leafwise.envs.core.compile.cache import _folder
from leafwise.envs.core.compile.errors import _write_log
from leafwise.envs.core.files import is_stream, open_itself, own_folder, write_atomically, write_named
from leafwise.training.execution.processes import LOCK, warm

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="makes links")


@pytest.fixture
def own_file(tmp_path: Path) -> Path:
    """A file that nobody else can write."""
    path = tmp_path / "own"
    path.write_bytes(b"mine")
    return path


@pytest.mark.parametrize("no_follow", [True, False])
@pytest.mark.parametrize("kind", ["file", "dangling", "chain", "folder", "pipe"])
def test_what_is_no_file_itself_is_not_opened(
    kind: str, no_follow: bool, own_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not no_follow:
        monkeypatch.delattr(os, "O_NOFOLLOW")
    path, none = tmp_path / "run.lock", tmp_path / "none"
    (tmp_path / "link").symlink_to(own_file)
    if kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to({"file": own_file, "dangling": none, "chain": tmp_path / "link", "folder": tmp_path}[kind])
    for flags in (os.O_RDWR | os.O_CREAT, os.O_RDWR | os.O_CREAT | os.O_TRUNC):
        with pytest.raises(
            OSError, match=r"expected a file of its own, got a link or a device; remove it: '.*run.lock'"
        ):
            open_itself(path, flags)
    assert own_file.read_bytes() == b"mine"
    assert not none.exists()
    path.unlink()
    os.close(open_itself(path))
    os.close(open_itself(path))  # one that is there


def test_a_link_that_comes_while_a_file_is_opened_is_seen(own_file: Path, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.delattr(os, "O_NOFOLLOW")
    monkeypatch.setattr(Path, "is_symlink", lambda path: False)  # it was none a moment ago
    (tmp_path / "run.lock").symlink_to(own_file)
    with pytest.raises(OSError, match="expected a file of its own, got a link"):
        open_itself(tmp_path / "run.lock")


def test_links_where_a_file_is_renamed_to_are_not_followed(own_file: Path, tmp_path: Path) -> None:
    for name in ("results.json", f".results.json.{os.getpid()}"):
        (tmp_path / name).symlink_to(own_file)
    write_atomically(tmp_path / "results.json", b"new")
    assert own_file.read_bytes() == b"mine"
    assert (tmp_path / "results.json").read_bytes() == b"new"
    assert {path.name for path in tmp_path.iterdir()} == {"own", "results.json"}


def test_a_file_that_a_person_names_may_be_a_link(own_file: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(own_file)
    write_named(link, b"new")
    assert link.is_symlink()
    assert own_file.read_bytes() == b"new"
    assert not is_stream(link)
    assert is_stream(Path(os.devnull))
    write_named(Path(os.devnull), b"gone")
    assert not Path(os.devnull).is_file()


SAVE = """
import sys
from pathlib import Path
from leafwise.envs.core.files import write_named
print("before", flush=len(sys.argv) > 2)
write_named(Path(sys.argv[1]), b"told\\n")
print("after")
"""


@pytest.mark.parametrize("place", ["/dev/stdout", "/proc/self/fd/1"])
def test_standard_output_has_a_name(place: str, tmp_path: Path) -> None:
    if not Path(place).exists():
        pytest.skip("no such name here")
    words = [sys.executable, "-c", SAVE, place]
    assert subprocess.run(words, capture_output=True, check=True, text=True).stdout == "before\ntold\nafter\n"
    with (tmp_path / "out").open("wb") as out:
        subprocess.run(words, stdout=out, check=True)
    assert (tmp_path / "out").read_text() == "before\ntold\nafter\n"


def test_a_command_writes_to_standard_output_once() -> None:
    words = ["arena", "trilobite", "random", "greedy", "--games", "2"]
    command = [sys.executable, "-m", "leafwise", *words, "--json", "/dev/stdout"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done
    assert done.stdout.startswith("{")
    assert done.stdout.count('"played"') == 1


def test_the_lock_of_a_cache_is_no_link(own_file: Path, tmp_path: Path, monkeypatch) -> None:
    cache, loaded = tmp_path / "cache", []
    monkeypatch.setenv("LEAFWISE_CACHE_DIR", str(cache))
    cache.mkdir()

    class Work:
        def warm(self) -> None:
            loaded.append(1)

    (cache / LOCK).symlink_to(own_file)
    with pytest.warns(UserWarning, match=rf"workers compile at the same time: .*got a link.*{LOCK}"):
        warm(Work())
    (cache / LOCK).unlink()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warm(Work())
    assert len(loaded) == 2
    assert own_file.read_bytes() == b"mine"


def test_what_the_compiler_said_is_written_through_no_link(own_file: Path, tmp_path: Path, monkeypatch) -> None:
    cache, other, temporary = (tmp_path / name for name in ("cache", "other", "temporary"))
    for folder in (cache, other, temporary):
        folder.mkdir()
    monkeypatch.setenv("LEAFWISE_CACHE_DIR", str(cache))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "link"))
    (tmp_path / "link").symlink_to(temporary)  # which the system names
    written = Path(_write_log("x", "said"))
    assert written.parent == cache / "errors"
    written.unlink()
    written.symlink_to(own_file)
    assert Path(_write_log("x", "said")).read_text() == "said\n"
    assert own_file.read_bytes() == b"mine"
    shutil.rmtree(cache / "errors")
    (cache / "errors").symlink_to(other)
    assert Path(_write_log("x", "said")).parent == tmp_path / "link"
    assert not list(other.iterdir())


def test_a_folder_of_a_cache_is_no_link(tmp_path: Path, monkeypatch) -> None:
    cache, other, source = tmp_path / "cache", tmp_path / "other", tmp_path / "game.py"
    monkeypatch.setenv("LEAFWISE_CACHE_DIR", str(cache))
    source.write_text("x = 1")
    other.mkdir()
    folder = _folder(source, "a", (1,))
    assert folder is not None
    folder.rmdir()
    folder.symlink_to(other)
    with pytest.warns(UserWarning, match="compiled code is not kept.*: expected a folder of its own, got a link"):
        assert _folder(source, "a", (2,)) is None
    with pytest.raises(OSError, match="expected a folder of its own, got a link"):
        own_folder(folder)
    assert not list(other.iterdir())
