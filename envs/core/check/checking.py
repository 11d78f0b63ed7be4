"""`leafwise.check_game`: plays a game in a separate process and reports the first promise that it breaks.

The process writes to a heartbeat file what it calls, so that a crash or a hang can be explained. `origin` describes how another
process makes the same game: a module and a name in it, or a piece of a script or notebook.
"""

from __future__ import annotations

import ast
import dis
import faulthandler
import importlib
import importlib.util
import json
import linecache
import mmap
import os
import re
import signal
import sys
import tempfile
import traceback
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any, NamedTuple

from leafwise.envs.core.check.inspection import compare_with_twin, game_twin, inspect_game
from leafwise.envs.core.check.rule_caller import CHECKED, PLAIN, PLAYED, RuleFault, is_same_definition
from leafwise.envs.core.contract.game import Game, check_is_game
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.files import read_text
from leafwise.envs.core.programs import Process
from leafwise.envs.core.ranges import Range, ranged

PLAIN_SHARE = 0.4
"""Share of the time for plain Python. It explains faults better, but checks fewer positions."""
INSIDE = "LEAFWISE_CHECKING"
"""Environment variable set in a checking process: `check_game` then starts no further process, for example while a module is
imported.
"""
SWITCHES = ("NUMBA_DISABLE_JIT", "NUMBA_BOUNDSCHECK")
"""Environment variables that decide how code is compiled; a checking process does without them, since it compiles every form."""
JOB, RESULT, HEARTBEAT = "job.json", "result.json", "heartbeat"
SIZE, LONGEST = 8192, 600
"""Bytes of a heartbeat file, and the most letters of a position in it."""
LAST_PRINTED = 200
"""Last lines of output that are searched for what compiled code prints."""
POLL_S = 0.25
COMPILE_S, START_S = 600.0, 120.0
"""Seconds that one rule may take to compile, and the least that importing the game may take."""
NO_INDEX = "index is out of bounds"
"""The text of an IndexError raised by compiled code; the index itself is only printed."""
INDEX_ERROR = re.compile(r"debug: IndexError: (index -?\d+) is out of bounds for (axis \d+ with size \d+)")


@dataclass(frozen=True)
class Checked:
    """A game that kept its contract."""

    positions: int
    """Number of different positions that were checked; 0 inside a checking process."""
    notes: tuple[str, ...] = ()
    """Observations that may be intended, such as two positions that look alike to the player but not to a search."""

    def __str__(self) -> str:
        return "\n".join([f"ok, {self.positions:,} positions", *self.notes])


Seconds = Annotated[float, Range(0.1, 1_000_000)]


@ranged("check_game")
def check_game(
    game: Game,
    seconds: Seconds = 10.0,
    *,
    twin: Any = None,
    positions: Iterable[str] = (),
    gigabytes: Annotated[float, Range(0.5, 1_000_000)] = 4.0,
    call_seconds: Seconds = 60.0,
) -> Checked:
    """Plays a game and checks its contract; prints "ok, 12,345 positions", or raises ContractError for the first broken
    promise.

    It plays enumerated and random lines for about `seconds` of processor time (0.1 to 1,000,000), in a separate process, in
    three forms: as plain Python on arrays that refuse every wrong index, compiled with every index checked, and compiled as in
    play. All three must give the same answers. Compiling takes additional time. A faulty rule cannot write outside the arrays
    of that process. If two positions have the same observation but different rows for a search, it prints a note.

    `twin` is a second implementation: another `Game`, or an object of plain Python. The object has `read(text)`, which returns
    a position. For a position it has `player` ("first", "second", "chance", "nobody"), `legal` (action names), `play(position,
    name)`, `outcomes` (pairs of probability and position), `returns`, and `write`, which returns the text. `positions` are
    texts of further positions to check.

    The process may use `gigabytes` of memory (0.5 or more), and `call_seconds` for one call of a rule. The game must have a
    name in its module, which may be a file, a package, a script or a notebook. Raises ValueError for arguments out of range.
    """
    check_is_game(game, "check_game")
    if not (twin is None or isinstance(twin, Game) or hasattr(twin, "read")):
        raise UserError(f"check_game: expected a twin, a Game or an object with read, got {type(twin).__name__}")
    if os.environ.get(INSIDE):
        return Checked(0)
    times = {PLAIN: PLAIN_SHARE * seconds, CHECKED: (1 - PLAIN_SHARE) * seconds, PLAYED: 0.0}
    task = {"seconds": times, "texts": list(positions), "twins": twin is not None}
    result = inspect_in_process(game, task, gigabytes, call_seconds)
    if twin is not None:
        other = game_twin(twin) if isinstance(twin, Game) else twin
        for answer in result["twins"]:
            try:
                compare_with_twin(answer, other)
            except RuleFault as fault:
                raise ContractError(fault.line(game.name)) from None
    checked = Checked(result["positions"], tuple(result["notes"]))
    print(checked)
    return checked


class HeartbeatState(NamedTuple):
    """What a checking process last wrote to its heartbeat file."""

    calls: int = 0
    """Number of calls so far; while it stays the same, the process is busy with one call."""
    compiling: bool = False
    rule: str = ""
    form: str = ""
    position: str = ""


class Heartbeat:
    """A memory-mapped file in which the checking process writes each call before it makes it."""

    def __init__(self, path: Path) -> None:
        if not path.exists():
            path.write_bytes(bytes(SIZE))
        with path.open("r+b") as file:
            self._memory = mmap.mmap(file.fileno(), SIZE)
        self._calls, self._at = 0, b'"",""'

    def set_position(self, form: str, position: str) -> None:
        """Sets the form and the position that later calls are reported with."""
        self._at = f"{json.dumps(form)},{json.dumps(position[:LONGEST])}".encode()

    def record_call(self, rule: str, *, compiling: bool = False) -> None:
        """Writes which rule is called now."""
        self._calls += 1
        line = b"[%d,%d,%s,%s]\0" % (self._calls, compiling, json.dumps(rule).encode(), self._at)
        self._memory[: len(line)] = line

    def read(self) -> HeartbeatState:
        """Returns the latest entry, by any process; an empty one while it is being written."""
        try:
            return HeartbeatState(*json.loads(self._memory[:].partition(b"\0")[0]))
        except ValueError:
            return HeartbeatState()

    def close(self) -> None:
        """Unmaps the file."""
        self._memory.close()


def inspect_in_process(
    game: Game, task: dict[str, Any], gigabytes: float = 4.0, call_s: float = 60.0
) -> dict[str, Any]:
    """Runs `inspect_game` in a separate process and returns its result; `task` holds its keyword arguments.

    Raises ContractError for a fault of the game, its module or its process, and RuntimeError for a fault of the checker.
    """
    with tempfile.TemporaryDirectory(prefix="leafwise-check-") as name:
        folder = Path(name)
        job = {"origin": origin(game, folder), "task": task, "path": sys.path, "gigabytes": gigabytes}
        (folder / JOB).write_text(json.dumps(job))
        environment = {name: value for name, value in os.environ.items() if name not in SWITCHES}
        environment[INSIDE] = "1"
        command = [sys.executable, "-m", "leafwise.envs.core.check.checking", str(folder)]
        heartbeat = Heartbeat(folder / HEARTBEAT)
        with Process(command, environment=environment) as process:
            ended = _end(process, heartbeat, call_s)
            printed = process.last_lines(LAST_PRINTED)
        last = heartbeat.read()
        heartbeat.close()
        result = json.loads(read_text(folder / RESULT)) if (folder / RESULT).exists() else {}
    if not result and not last.rule:
        raise RuntimeError(f"expected a checking process to start, got {ended}: {' '.join(printed[-1:])}")
    if not result:
        result["fault"] = [
            last.rule,
            f"expected an answer from the {last.form or 'first'} build, got {ended}",
            last.position,
        ]
    if "error" in result:
        raise RuntimeError(f"check_game failed:\n{result['error']}")
    if "problem" in result:
        raise ContractError(f"{game.name}: {result['problem']}")
    if "fault" in result:
        line, indices = RuleFault(*result["fault"]).line(game.name), INDEX_ERROR.findall("\n".join(printed))
        raise ContractError(line.replace(NO_INDEX, " of ".join(indices[-1])) if indices else line)
    return result


def _end(process: Process, heartbeat: Heartbeat, call_s: float) -> str:
    """Waits until a process ends, or makes no call for too long; returns what happened, in words."""
    calls, still = -1, 0.0
    while not process.wait(POLL_S):
        state = heartbeat.read()
        still = still + POLL_S if state.calls == calls else 0.0
        calls = state.calls
        starting = calls == 0 or state.rule == "import"
        if still > (COMPILE_S if state.compiling else max(START_S, call_s) if starting else call_s):
            return f"no answer in {call_s:g} s"
    status = process.status or 0
    names = {-number: number.name for number in signal.Signals}
    crash = f"a crash of the process ({names.get(status, f'signal {-status}')})"
    return crash if status < 0 else f"an end of the process (exit status {status})"


def run_job(job: dict[str, Any], heartbeat: Heartbeat) -> dict[str, Any]:
    """Runs one check and returns `positions` and `twins`, or a `fault`, a `problem` of the game's module, or an `error` of the
    checker.
    """
    heartbeat.record_call("import")
    try:
        game = load(job["origin"])
    except (Exception, SystemExit) as problem:
        return {"problem": f"expected a module that a new process can import, got {type(problem).__name__}: {problem}"}
    try:
        return inspect_game(game, heartbeat=heartbeat, **job["task"])
    except RuleFault as fault:
        return {"fault": list(fault.args)}
    except MemoryError:
        state = heartbeat.read()
        return {"fault": [state.rule, "expected less memory to be used, got a MemoryError", state.position, None]}
    except Exception:
        return {"error": traceback.format_exc()}


def main(folder: Path) -> None:
    """Runs the job in a folder and writes its result there; printed output goes to standard error."""
    os.dup2(2, 1)
    job = json.loads(read_text(folder / JOB))
    sys.path[:] = job["path"]
    try:
        import resource
    except ImportError:  # Windows, where nothing limits memory
        pass
    else:
        limit = int(job["gigabytes"] * 2**30)
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    temporary = folder / f"{RESULT}.new"
    temporary.write_text(json.dumps(run_job(job, Heartbeat(folder / HEARTBEAT))))
    os.replace(temporary, folder / RESULT)


SHIPPED = "leafwise_checked_main"
"""Name of the module that a game of a script or notebook becomes in the checking process."""


class ContractError(UserError):
    """A game breaks its contract; the message names the rule, the position and the number."""


def origin(game: Game, folder: Path) -> dict[str, Any]:
    """Returns how another process can make a game; raises ContractError in one line if it has no source.

    For a game of a script or a notebook, the statements that it needs are written to a file in `folder`.
    """
    module = sys.modules.get(game.module) or importlib.import_module(game.module)
    place = _place(module, game)
    if place is None:
        expected = f"expected a game that its module {game.module!r} holds under a name, got one that it does not hold"
        raise ContractError(f"{game.name}: {expected}")
    name, path = game.module, Path(getattr(module, "__file__", None) or "")
    if name != "__main__" and not path.is_file():
        raise ContractError(f"{game.name}: expected a game with source, got module {name!r} without a file")
    if name == "__main__":
        source = needed([read_text(path)] if path.is_file() else list(_cells(module)), place["attribute"])
        if not source.strip():
            raise ContractError(f"{game.name}: expected a game whose source can be read (a file, a notebook), got none")
        name, path = SHIPPED, folder / f"{SHIPPED}.py"
        path.write_text(source, encoding="utf-8")
    return {"module": name, "file": str(path.resolve()), **place}


def load(origin: Mapping[str, Any]) -> Game:
    """Makes the game that an `origin` describes."""
    name, file = origin["module"], origin["file"]
    game = getattr(sys.modules.get(name) or _imported(name, file), origin["attribute"])
    for key in origin["keys"]:
        game = game[key]
    return game.variant(**origin["options"])


def _imported(name: str, file: str) -> ModuleType:
    """Imports a module by name, or from its file if the name leads elsewhere."""
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


def _cells(main: ModuleType) -> Iterator[str]:
    """Yields what was typed so far: the cells of a notebook (IPython keeps them as `In`), or the lines of Python's own prompt."""
    typed = getattr(main, "In", None)
    if isinstance(typed, list) and all(isinstance(cell, str) for cell in typed):
        yield from typed
        return
    for name in [name for name in linecache.cache if name.startswith("<python-input-")]:
        yield "".join(linecache.getlines(name))


def _place(module: ModuleType, game: Game) -> dict[str, Any] | None:
    """Finds a game in a module: a name, keys below it, and the options that make its variant. The game itself comes first."""
    for name, keys, other in sorted(_held(module), key=lambda held: held[2] is not game):
        options = {**{name: other.defaults[name] for name in other.given_options}, **game.given_options}
        known = other is game or (other.name == game.name and set(other.defaults) == set(game.defaults))
        if known and is_same_definition(other if other is game else other.variant(**options), game):
            return {"attribute": name, "keys": keys, "options": {} if other is game else options}
    return None


def _held(module: ModuleType) -> Iterator[tuple[str, list[Any], Game]]:
    for name, thing in list(vars(module).items()):
        if name.startswith("_"):
            continue
        if isinstance(thing, Game):
            yield name, [], thing
        elif isinstance(thing, (dict, list, tuple)):
            parts = thing.items() if isinstance(thing, dict) else enumerate(thing)
            yield from (
                (name, [key], part) for key, part in parts if isinstance(part, Game) and type(key) in (str, int)
            )


def needed(cells: Sequence[str], name: str) -> str:
    """Returns the source with only the top-level statements that `name` depends on, each on its old line; empty if nothing
    binds `name`.

    `cells` are the parts of the source in the order in which they ran: the cells of a notebook, or one script. Kept are
    statements that bind a needed name or change its object, such as `table[3] = 5` and `names.append(1)`.
    """
    source = "\n".join(_readable(cell) for cell in cells)
    lines, kept, wanted, is_bound = source.splitlines(), set[int](), {name}, False
    for statement in reversed(ast.parse(source).body):
        if isinstance(statement, ast.If) and "'__main__'" in ast.unparse(statement.test):
            continue
        bound = _bound(statement)
        is_bound |= name in bound
        imported = statement if isinstance(statement, ast.ImportFrom) else None
        always = imported and (imported.module == "__future__" or imported.names[0].name == "*")
        if always or wanted & {*bound, *_changed(statement)}:
            wanted |= {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}
            first = min([statement.lineno, *(d.lineno for d in getattr(statement, "decorator_list", []))])
            kept |= set(range(first, (statement.end_lineno or first) + 1))
    return "\n".join(line if k in kept else "" for k, line in enumerate(lines, 1)) + "\n" if is_bound else ""


def _readable(cell: str) -> str:
    """Returns a cell without notebook commands; a cell that does not parse becomes empty lines."""
    lines = ["" if line.lstrip().startswith(("%", "!", "?")) else line for line in cell.splitlines()]
    text = "\n".join(lines)
    try:
        ast.parse(text)
    except (SyntaxError, ValueError):
        return "\n" * max(0, len(lines) - 1)
    return text


def _bound(statement: ast.stmt) -> set[str]:
    """Returns the names that a top-level statement binds."""
    code = compile(ast.Module([statement], []), "", "exec")
    return {step.argval for step in dis.get_instructions(code) if step.opname == "STORE_NAME"}


def _changed(statement: ast.stmt) -> Iterator[str]:
    """Yields the names of objects that a statement changes: `table[3] = 5`, `names.append(1)`."""
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return
    for node in ast.walk(statement):
        target: ast.AST = node.value.func if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) else node
        if target is node and not isinstance(getattr(node, "ctx", None), ast.Store):
            continue
        while isinstance(target, (ast.Subscript, ast.Attribute)):
            target = target.value
            if isinstance(target, ast.Name):
                yield target.id


if __name__ == "__main__":
    faulthandler.enable()
    main(Path(sys.argv[1]))
