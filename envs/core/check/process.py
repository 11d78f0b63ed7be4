"""The process that checks: started with jobs, watched by a note that it leaves, and explained in one line if it dies."""

from __future__ import annotations

import faulthandler
import importlib
import importlib.util
import json
import mmap
import os
import re
import signal
import subprocess
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from leafwise.envs.core.textfile import read_text

INSIDE = "LEAFWISE_CHECKING"
"""Set in a process that checks: a module that calls `check_game` while it is imported starts no other."""
SWITCHES = ("NUMBA_DISABLE_JIT", "NUMBA_BOUNDSCHECK")
"""What an environment may say of how code is compiled; a process that checks has every form of it."""
JOB, RESULTS, NOTE, OUTPUT = "job.json", "results.json", "note", "output.txt"
LOOK_S = 0.25
COMPILE_S, START_S = 600.0, 120.0
"""Seconds that one rule may take to compile, and that importing the game may take at least."""
UNTOLD = "index is out of bounds"
"""What compiled code says in its exception; the numbers it prints."""
OUTSIDE = re.compile(r"debug: IndexError: (index -?\d+) is out of bounds for (axis \d+ with size \d+)")
SIZE, LONGEST = 8192, 600
"""Bytes of a note, and letters of a position in it."""


class Limits(NamedTuple):
    """What a checking process may use."""

    gigabytes: float = 4.0
    call_s: float = 60.0
    """Seconds for one call of a rule, and for importing the game."""


class Died(Exception):
    """The process ended; `fault` is what a RuleFault is made of, `done` are the results of the jobs before."""

    def __init__(self, fault: list[Any], done: list[dict[str, Any]]) -> None:
        super().__init__(fault)
        self.fault, self.done = fault, done


class Said(NamedTuple):
    """What a note says."""

    calls: int = 0
    """Calls so far; where it stands still, nothing happens."""
    compiling: bool = False
    rule: str = ""
    form: str = ""
    position: str = ""


class Note:
    """A file as memory, in which the checking process says what it calls before it does: so its death can be explained."""

    def __init__(self, path: Path) -> None:
        if not path.exists():
            path.write_bytes(bytes(SIZE))
        with path.open("r+b") as file:
            self._memory = mmap.mmap(file.fileno(), SIZE)
        self._calls, self._at = 0, b'"",""'

    def stand(self, form: str, position: str) -> None:
        """Says in which form, and at which position, rules are called from now on."""
        self._at = f"{json.dumps(form)},{json.dumps(position[:LONGEST])}".encode()

    def calling(self, rule: str, *, compiling: bool = False) -> None:
        """Says which rule is called now."""
        self._calls += 1
        said = b"[%d,%d,%s,%s]\0" % (self._calls, compiling, json.dumps(rule).encode(), self._at)
        self._memory[: len(said)] = said

    def read(self) -> Said:
        """Returns what was said last, by whatever process; nothing where it is being written."""
        try:
            return Said(*json.loads(self._memory[:].partition(b"\0")[0]))
        except ValueError:
            return Said()

    def close(self) -> None:
        """Lets go of the file."""
        self._memory.close()


def run(jobs: Sequence[dict[str, Any]], folder: Path, limits: Limits) -> list[dict[str, Any]]:
    """Returns the result of every job, in as few processes as do not die; a death is a fault of the job it came from."""
    results: list[dict[str, Any]] = []
    while len(results) < len(jobs):
        try:
            results += _run(jobs[len(results) :], folder, limits)
        except Died as death:
            results += [*death.done, {"fault": death.fault}]
    return results


def _run(jobs: Sequence[dict[str, Any]], folder: Path, limits: Limits) -> list[dict[str, Any]]:
    """Runs one process; raises Died if it does not answer all jobs."""
    for name in (RESULTS, NOTE):
        (folder / name).unlink(missing_ok=True)
    job = {"jobs": list(jobs), "path": sys.path, "gigabytes": limits.gigabytes}
    (folder / JOB).write_text(json.dumps(job))
    environment = {name: value for name, value in os.environ.items() if name not in SWITCHES}
    environment |= {INSIDE: "1", "NUMBA_FULL_TRACEBACKS": "1"}  # with which numba prints the indices that it refuses
    command = [sys.executable, "-m", "leafwise.envs.core.check.process", str(folder)]
    note = Note(folder / NOTE)
    with (folder / OUTPUT).open("wb") as output:
        process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
        try:
            late = _wait(process, note, limits)
        finally:
            process.kill()
            process.wait()
    done = json.loads(read_text(folder / RESULTS)) if (folder / RESULTS).exists() else []
    last, printed = note.read(), read_text(folder / OUTPUT, errors="replace")
    note.close()
    indices = iter(OUTSIDE.findall(printed))  # one for each fault of an index, in their order
    for fault in (result["fault"] for result in done if "fault" in result):
        if UNTOLD in fault[1] and (found := next(indices, None)):
            fault[1] = fault[1].replace(UNTOLD, " of ".join(found))
    if len(done) == len(jobs):
        return done
    if not last.rule:
        tail = " ".join(printed.strip().splitlines()[-1:])
        raise RuntimeError(f"expected a checking process to start, got exit status {process.returncode}: {tail}")
    ended = f"no answer in {limits.call_s:g} s" if late else _ending(process.returncode)
    told = f"expected an answer from the {last.form or 'first'} build, got {ended}"
    raise Died([last.rule, told, last.position, None], done)


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


def _ending(status: int) -> str:
    """Returns how a process ended, in words."""
    if status >= 0:
        return f"an end of the process (exit status {status})"
    try:
        name = signal.Signals(-status).name
    except ValueError:
        name = f"signal {-status}"
    return f"a crash of the process ({name})"


def load(origin: dict[str, Any]) -> Any:
    """Returns the game that a job names."""
    name, file = origin["module"], origin["file"]
    found = getattr(sys.modules.get(name) or _imported(name, file), origin["attribute"])
    for key in origin["keys"]:
        found = found[key]
    return found.variant(**origin["options"])


def _imported(name: str, file: str) -> Any:
    """Imports a module by its name, or from its file where its name leads elsewhere."""
    try:
        module = importlib.import_module(name)
        if Path(module.__file__ or "").resolve() == Path(file).resolve():
            return module
    except ModuleNotFoundError as problem:
        if problem.name is None or not f"{name}.".startswith(f"{problem.name}."):
            raise
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise ModuleNotFoundError(f"no module {name!r} in {file}")
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def check_one(job: dict[str, Any], note: Note) -> dict[str, Any]:
    """Returns what came of one game: `positions` and `twins`, or a `fault`, a `problem` of its module, or an `error` of ours."""
    from leafwise.envs.core.check.door import RuleFault
    from leafwise.envs.core.check.inspection import Task, inspect_game

    note.stand("", "")
    note.calling("import")
    try:
        game = load(job["origin"])
    except (Exception, SystemExit) as problem:
        return {"problem": f"expected a module that a new process can import, got {type(problem).__name__}: {problem}"}
    try:
        return inspect_game(game, Task(**job["task"]), note)._asdict()
    except RuleFault as fault:
        return {"fault": list(fault.args)}
    except MemoryError:
        said = note.read()
        return {"fault": [said.rule, "expected less memory to be used, got a MemoryError", said.position, None]}
    except Exception:
        return {"error": traceback.format_exc()}


def main(folder: Path) -> None:
    """Carries out the jobs of a folder; after each, its result is written."""
    job = json.loads(read_text(folder / JOB))
    sys.path[:] = job["path"]
    try:
        import resource
    except ImportError:  # Windows, where nothing limits memory
        pass
    else:
        most = int(job["gigabytes"] * 2**30)
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    note, results = Note(folder / NOTE), []
    for one in job["jobs"]:
        results.append(check_one(one, note))
        temporary = folder / f"{RESULTS}.new"
        temporary.write_text(json.dumps(results))
        os.replace(temporary, folder / RESULTS)


if __name__ == "__main__":
    faulthandler.enable()
    main(Path(sys.argv[1]))
