"""Waits to compile, load or unpack are reported where they take long, and nowhere else."""

import io
import logging
import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from leafwise.envs.core import waiting as telling
from leafwise.envs.core.compile import jit
from leafwise.envs.core.waiting import waiting
from running.waiting import until

WHAT = "unpacking the network of Threes"
Reports = list[tuple[str, int]]


@pytest.fixture
def reports(monkeypatch: pytest.MonkeyPatch) -> Reports:
    """Everything lasts long enough to be told, and is counted; what was told, with its seconds."""
    calls: Reports = []
    monkeypatch.setattr(telling, "_reporter", telling._WaitReporter())
    monkeypatch.setattr(telling, "SAID_SECONDS", 0.0)
    monkeypatch.setattr(telling, "TICK_SECONDS", 0.001)
    telling.tell_by(lambda *what: calls.append(what))
    return calls


def test_what_lasts_is_told_once_with_where_it_is_kept_and_counted(
    reports: Reports, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(telling, "COUNTED_SECONDS", 0.0)
    with waiting(WHAT, "there"), waiting("something within"):
        until(lambda: len(reports) > 1)
    assert reports == [(f"{WHAT}, once; kept in there", 0), (f"{WHAT}, once; kept in there", 1), ("", 1)]


def test_pieces_are_one_wait_and_what_follows_is_told_after_it(reports: Reports) -> None:
    for what in (WHAT, WHAT, "another"):
        with waiting(what):
            until(partial(reports.__contains__, (what, 0)))
    assert [line for line, _ in reports if line] == [WHAT, "another"]


def test_what_is_quick_is_not_told(reports: Reports, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(telling, "SAID_SECONDS", 1e9)
    with waiting(WHAT):
        thread = telling._reporter._thread
        monkeypatch.setattr(telling, "GAP_SECONDS", 0.0)
    assert thread
    thread.join()
    assert reports == []


@pytest.mark.parametrize("plain", [False, True])
def test_a_compilation_is_told_by_what_it_is_of(
    reports: Reports, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, plain: bool
) -> None:
    if jit.DISABLED:
        pytest.skip("nothing is compiled")
    monkeypatch.setattr(jit, "PLAIN", plain)
    monkeypatch.setenv("LEAFWISE_CACHE_DIR", str(tmp_path / "cache"))
    (room := tmp_path / "my_game.py").write_text("")

    @jit.bind(room)
    def twice(x: int) -> int:
        return 2 * x

    assert twice(21) == 42
    kept = "" if plain else f" of My game, once; kept in {tmp_path / 'cache'}"
    assert (f"compiling the rules{kept}", 0) in reports


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("stream", "shown"), [(Terminal(), f"{WHAT}\n\r\x1b[K  4 s\r\x1b[K"), (io.StringIO(), f"{WHAT}\n")]
)
def test_seconds_are_counted_on_a_terminal_alone(
    stream: io.StringIO, shown: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("LEAFWISE_QUIET")
    monkeypatch.setattr(logging.Logger, "hasHandlers", lambda logger: False)
    for name in ("stderr", "__stderr__"):
        monkeypatch.setattr(sys, name, stream)
    for what in ((WHAT, 0), (WHAT, 4), ("", 4)):
        telling._show(*what)
    assert stream.getvalue() == shown
    assert capsys.readouterr().out == ""


def test_who_has_set_up_logging_gets_a_record_once_of_what_happens_once(caplog: pytest.LogCaptureFixture) -> None:
    once = f"{WHAT}{telling.ONCE}there"
    for line in (WHAT, once):
        for seconds in (0, 4, 0):
            telling._show(line, seconds)
    reports = [("leafwise", "INFO", line) for line in (WHAT, WHAT, once)]
    assert [(one.name, one.levelname, one.message) for one in caplog.records] == reports


SCRIPT = f"""
import multiprocessing, sys, time
from leafwise.envs.core import waiting
waiting.SAID_SECONDS, waiting.TICK_SECONDS = 0.0, 0.001
def wait(speaks):
    if speaks:
        waiting.speak()
    with waiting.waiting({WHAT!r}):
        time.sleep(0.3)
if __name__ == "__main__":
    print("the result")
    workers = [multiprocessing.Process(target=wait, args=(k == 1,)) for k in range(int(sys.argv[1]))]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    workers or wait(False)
"""


@pytest.mark.parametrize(
    ("workers", "quiet", "lines"), [("0", "", f"{WHAT}\n"), ("0", "1", ""), ("1", "", ""), ("3", "", f"{WHAT}\n")]
)
def test_a_script_tells_it_on_standard_error_and_of_workers_one_does(
    workers: str, quiet: str, lines: str, tmp_path: Path
) -> None:
    (script := tmp_path / "script.py").write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, script, workers], env={**os.environ, "LEAFWISE_QUIET": quiet}, capture_output=True, text=True
    )
    assert (done.stdout, done.stderr) == ("the result\n", lines)
