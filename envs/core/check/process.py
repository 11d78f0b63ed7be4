"""Runs checks in a process of their own, and says in one line how it died if it did."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from leafwise.envs.core.check.child import JOB, NOTE, RESULTS
from leafwise.envs.core.check.fault import RuleFault
from leafwise.envs.core.check.note import Note
from leafwise.envs.core.textfile import read_text

INSIDE = "LEAFWISE_CHECKING"
"""Set in a process that checks: a module that calls `check_game` while it is imported starts no other."""
BUILDS: Mapping[str, Mapping[str, str]] = {
    "plain": {"NUMBA_DISABLE_JIT": "1"},
    "checked": {"NUMBA_BOUNDSCHECK": "1", "NUMBA_FULL_TRACEBACKS": "1"},
    "compiled": {},
}
"""What an environment says of each build: plain Python, compiled with every index checked, and as it is played."""
SWITCHES = ("NUMBA_DISABLE_JIT", "NUMBA_BOUNDSCHECK", "NUMBA_FULL_TRACEBACKS")
LOOK_S = 0.25
COMPILE_S, START_S = 600.0, 120.0
"""Seconds that one rule may take to compile, and that importing the game may take at least."""
UNTOLD = "index is out of bounds"
"""What compiled code says in its exception; the numbers it prints."""
OUTSIDE = re.compile(r"debug: IndexError: (index -?\d+) is out of bounds for (axis \d+ with size \d+)")


class Limits(NamedTuple):
    """What a checking process may use."""

    gigabytes: float = 4.0
    call_s: float = 60.0
    """Seconds for one call of a rule, and for importing the game."""


class Died(Exception):
    """The process ended; `done` are the results of the jobs before the one that it died of."""

    def __init__(self, fault: RuleFault, done: list[dict[str, Any]]) -> None:
        super().__init__(fault.told)
        self.fault, self.done = fault, done


def run(jobs: Sequence[dict[str, Any]], build: str, folder: Path, limits: Limits) -> list[dict[str, Any]]:
    """Returns the result of every job, in as few processes as do not die; a death is a fault of the job it came from."""
    results: list[dict[str, Any]] = []
    while len(results) < len(jobs):
        try:
            results += _run(jobs[len(results) :], build, folder, limits)
        except Died as death:
            results += [*death.done, {"fault": death.fault.as_json()}]
    return results


def _run(jobs: Sequence[dict[str, Any]], build: str, folder: Path, limits: Limits) -> list[dict[str, Any]]:
    """Runs one process; raises Died if it does not answer all jobs."""
    for name in (RESULTS, NOTE):
        (folder / name).unlink(missing_ok=True)
    job = {"jobs": list(jobs), "path": sys.path, "inside": INSIDE, "gigabytes": limits.gigabytes}
    (folder / JOB).write_text(json.dumps(job))
    environment = {name: value for name, value in os.environ.items() if name not in SWITCHES} | dict(BUILDS[build])
    command = [sys.executable, "-m", "leafwise.envs.core.check.child", str(folder)]
    note = Note(folder / NOTE)
    with (folder / "said.txt").open("wb") as said:
        process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=said, stderr=said)
        try:
            late = _wait(process, note, limits)
        finally:
            process.kill()
            process.wait()
    done = _results(folder)
    last, words = note.read(), read_text(folder / "said.txt", errors="replace")
    note.close()
    outside = iter(OUTSIDE.findall(words))  # one for each fault of an index, in their order
    for told in (result["fault"] for result in done if "fault" in result):
        if UNTOLD in told["told"] and (found := next(outside, None)):
            told["told"] = told["told"].replace(UNTOLD, " of ".join(found))
    if len(done) == len(jobs):
        return done
    if not last.rule:
        tail = " ".join(words.strip().splitlines()[-1:])
        raise RuntimeError(f"expected a checking process to start, got exit status {process.returncode}: {tail}")
    ended = f"no answer in {limits.call_s:g} s" if late else _ending(process.returncode)
    told = f"expected an answer from the {build} build, got {ended}"
    raise Died(RuleFault(last.rule, told, last.position), done)


def _wait(process: subprocess.Popen[bytes], note: Note, limits: Limits) -> bool:
    """Waits for the end of a process; returns whether it stood still for too long instead."""
    calls, still = -1, 0.0
    while True:
        try:
            process.wait(LOOK_S)
        except subprocess.TimeoutExpired:
            pass
        else:
            return False
        said = note.read()
        still = still + LOOK_S if said.calls == calls else 0.0
        calls = said.calls
        starting = said.calls == 0 or said.rule == "import"
        most = COMPILE_S if said.compiling else max(START_S, limits.call_s) if starting else limits.call_s
        if still > most:
            return True


def _results(folder: Path) -> list[dict[str, Any]]:
    path = folder / RESULTS
    return json.loads(read_text(path)) if path.exists() else []


def _ending(status: int) -> str:
    """Returns how a process ended, in words."""
    if status >= 0:
        return f"an end of the process (exit status {status})"
    try:
        name = signal.Signals(-status).name
    except ValueError:
        name = f"signal {-status}"
    return f"a crash of the process ({name})"
