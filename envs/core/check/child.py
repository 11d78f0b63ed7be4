"""The process that checks: `python -m leafwise.envs.core.check.child FOLDER`, with a job in the folder, and its results."""

from __future__ import annotations

import faulthandler
import importlib
import importlib.util
import json
import os
import sys
import traceback
from pathlib import Path
from typing import Any

from leafwise.envs.core.textfile import read_text

JOB, RESULTS, NOTE = "job.json", "results.json", "note"


def load(origin: dict[str, Any]) -> Any:
    """Returns the game that a job names."""
    name, file = origin["module"], origin["file"]
    module = sys.modules.get(name) or _imported(name, file)
    found = getattr(module, origin["attribute"])
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


def limit_memory(gigabytes: float) -> None:
    """Lets the process have so much memory, where the system can say so."""
    try:
        import resource
    except ImportError:  # Windows
        return
    most = int(gigabytes * 2**30)
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))


def check_one(job: dict[str, Any], note: Any) -> dict[str, Any]:
    """Returns what came of one game."""
    from leafwise.envs.core.check.fault import RuleFault
    from leafwise.envs.core.check.inspection import Task, inspect_game

    note.position("")
    note.calling("import")
    try:
        game = load(job["origin"])
    except (Exception, SystemExit) as problem:
        return {"problem": f"expected a module that a new process can import, got {type(problem).__name__}: {problem}"}
    try:
        found = inspect_game(game, Task(**job["task"]), note)
    except RuleFault as fault:
        return {"fault": fault.as_json()}
    except MemoryError:
        said = note.read()
        return {
            "fault": RuleFault(said.rule, "expected less memory to be used, got a MemoryError", said.position).as_json()
        }
    except Exception:
        return {"error": traceback.format_exc()}
    return {"positions": found.positions, "answers": found.answers, "twins": found.twins}


def main(folder: Path) -> None:
    """Carries out the jobs of a folder; after each, its result is written."""
    job = json.loads(read_text(folder / JOB))
    sys.path[:] = job["path"]
    os.environ[job["inside"]] = "1"
    limit_memory(job["gigabytes"])
    from leafwise.envs.core.check.note import Note

    note, results = Note(folder / NOTE), []
    for one in job["jobs"]:
        results.append(check_one(one, note))
        temporary = folder / f"{RESULTS}.new"
        temporary.write_text(json.dumps(results))
        os.replace(temporary, folder / RESULTS)


if __name__ == "__main__":
    faulthandler.enable()
    main(Path(sys.argv[1]))
