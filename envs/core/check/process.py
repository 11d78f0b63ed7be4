"""The process that checks: it takes the game from its source, checks it, and leaves a note of what it calls in case it dies."""

from __future__ import annotations

import faulthandler
import importlib
import importlib.util
import json
import mmap
import os
import sys
import traceback
from pathlib import Path
from typing import Any, NamedTuple

from leafwise.envs.core.check.door import RuleFault
from leafwise.envs.core.check.inspection import inspect_game
from leafwise.envs.core.textfile import read_text

JOB, RESULT, NOTE = "job.json", "result.json", "note"
SIZE, LONGEST = 8192, 600
"""Bytes of a note, and letters of a position in it."""


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


def check(job: dict[str, Any], note: Note) -> dict[str, Any]:
    """Returns what came of a game: `positions` and `twins`, or a `fault`, a `problem` of its module, or an `error` of ours."""
    note.calling("import")
    try:
        game = load(job["origin"])
    except (Exception, SystemExit) as problem:
        return {"problem": f"expected a module that a new process can import, got {type(problem).__name__}: {problem}"}
    try:
        return inspect_game(game, note=note, **job["task"])
    except RuleFault as fault:
        return {"fault": list(fault.args)}
    except MemoryError:
        said = note.read()
        return {"fault": [said.rule, "expected less memory to be used, got a MemoryError", said.position, None]}
    except Exception:
        return {"error": traceback.format_exc()}


def main(folder: Path) -> None:
    """Carries out the job of a folder and writes what came of it."""
    job = json.loads(read_text(folder / JOB))
    sys.path[:] = job["path"]
    try:
        import resource
    except ImportError:  # Windows, where nothing limits memory
        pass
    else:
        most = int(job["gigabytes"] * 2**30)
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    temporary = folder / f"{RESULT}.new"
    temporary.write_text(json.dumps(check(job, Note(folder / NOTE))))
    os.replace(temporary, folder / RESULT)


if __name__ == "__main__":
    faulthandler.enable()
    main(Path(sys.argv[1]))
