"""Ctrl-C at the command line: a line says so, what was done is kept, and the line tells how to go on."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from front.console import shows

from leafwise.envs.core.interrupts import ANNOUNCEMENT
from running.killing import alive, workers
from running.waiting import until

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
LONG = "search:depth=15,pruning=0,table_mb=0"
"""A search that lasts for years."""
BEGUN_SECONDS = 3.0
"""Processor time after which a command has begun."""


def started(*words: str, ignoring: bool = False) -> subprocess.Popen[str]:
    """Starts a command; `ignoring`: as a shell's background job."""
    return subprocess.Popen(
        [sys.executable, *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=(lambda: signal.signal(signal.SIGINT, signal.SIG_IGN)) if ignoring else None,
    )


def pressed(process: subprocess.Popen[str]) -> tuple[str, str]:
    """Presses Ctrl-C; returns what the process said on both streams by its end."""
    os.kill(process.pid, signal.SIGINT)
    out, error = process.communicate(timeout=300)
    assert "Traceback" not in error, error
    return out, error


@pytest.mark.parametrize("processes", [1, 2])
def test_eval_keeps_its_games_and_goes_on(tmp_path: Path, processes: int) -> None:
    file = tmp_path / "games.json"
    words = ["-m", "leafwise", "eval", "cassis", "random", "--opponent", "random", "--file", str(file)]
    process = started(*words, "--games", "1000000", "--processes", str(processes))
    until(file.exists, process)
    helpers = workers(process.pid)
    out, error = pressed(process)
    assert (process.returncode, out) == (130, "")
    assert error.splitlines()[-1] == f"interrupted; continue with --file {file} --resume"
    batches = json.loads(file.read_text())["batches"]
    assert len(batches) >= 1
    until(lambda: not any(map(alive, helpers)))
    if processes == 1:  # the file of several is the same
        games = str(2 * 5 * len(batches))
        again = subprocess.run([sys.executable, *words, "--games", games, "--resume"], capture_output=True, text=True)
        assert (again.returncode, again.stderr) == (0, "")


def test_eval_without_a_file_names_it() -> None:
    process = started("-m", "leafwise", "eval", "cassis", LONG, "--opponent", "random", "--games", "1000")
    until(lambda: computes(process), process)
    _, error = pressed(process)
    assert process.returncode == 130
    assert error.splitlines()[-1] == "interrupted; nothing was saved: --file FILE saves games"


def computes(process: subprocess.Popen[str]) -> bool:
    """Whether a process has computed for some seconds: it has begun by then."""
    with contextlib.suppress(psutil.NoSuchProcess):
        times = psutil.Process(process.pid).cpu_times()
        return times.user + times.system > BEGUN_SECONDS
    return False


@pytest.mark.parametrize("method", ["selfplay", "dqn"])
def test_train_saves_what_was_done_within_a_long_step(tmp_path: Path, method: str) -> None:
    long = {"selfplay": ["--positions", "90000000"], "dqn": ["--interval", "900000000", "--total-steps", "900000000"]}
    words = ["-m", "leafwise", "train", "cassis", "--method", method, "--run", str(tmp_path)]
    process = started(*words, *long[method])
    until((tmp_path / "config.toml").exists, process)
    time.sleep(2.0)
    out, _ = pressed(process)
    if process.returncode == 0:  # the step had begun
        shows(out, "stopped after 0", f"continue with --run {tmp_path} --resume")
        assert (tmp_path / "state.safetensors").exists()
    if method == "dqn":  # what reads a run is the same for all
        again = started(*words, *long[method], "--resume")
        until(lambda: computes(again), again)
        pressed(again)
        assert again.returncode in (0, 130), again.args


def test_sigint_is_ignored_where_it_was(tmp_path: Path) -> None:
    file = tmp_path / "games.json"
    words = f"-m leafwise eval cassis random --opponent random --games 1000000 --file {file}"
    process = started(*words.split(), ignoring=True)
    until(file.exists, process)
    for _ in range(3):
        time.sleep(0.1)
        os.kill(process.pid, signal.SIGINT)
    time.sleep(0.5)
    assert process.poll() is None
    process.kill()
    process.communicate()


DEAF = """
import os, signal, threading
from leafwise.envs.core import interrupts
{begin}
interrupts.stoppable(lambda: None)
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])  # a call of the main thread goes on, as in a compiler
for seconds in {presses}:
    threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT)).start()
lock = threading.Lock()
lock.acquire()
try:
    interrupts.stoppable(lambda: lock.acquire(timeout={lasts}))
except KeyboardInterrupt:
    print("raised")
"""


@pytest.mark.parametrize("begin", ["", "interrupts.at_command_line()"], ids=["program", "command"])
@pytest.mark.parametrize(
    ("presses", "lasts", "status", "out", "errors"),
    [
        ([0.1], 4.0, 0, "raised\n", [ANNOUNCEMENT]),
        ([0.1, 0.2], 4.0, 0, "raised\n", [ANNOUNCEMENT]),
        ([0.1, 3.0], 600.0, 130, "", [ANNOUNCEMENT, "ended at once"]),
    ],
    ids=["once", "twice, the second ignored", "twice"],
)
def test_what_hears_nothing_is_announced_and_a_second_press_ends_it(
    begin: str, presses: list[float], lasts: float, status: int, out: str, errors: list[str]
) -> None:
    process = started("-c", DEAF.format(begin=begin, presses=presses, lasts=lasts))
    output, error = process.communicate(timeout=300)
    assert (process.returncode, output, error.splitlines()) == (status, out, errors)


LATE = """
import os, signal
from leafwise.envs.core import interrupts
class Late:
    def __del__(self, kill=os.kill, pid=os.getpid(), number=signal.SIGINT):
        kill(pid, number)
late = Late()
interrupts.at_command_line()
interrupts.leave(3)
"""


def test_a_status_outlives_ctrl_c_while_the_interpreter_ends() -> None:
    process = started("-c", LATE)
    assert (process.communicate(), process.returncode) == (("", ""), 3)
