"""Where a game comes from, so that another process can make it: a module and a name in it, or a piece of a script or notebook."""

from __future__ import annotations

import ast
import dis
import importlib
import importlib.util
import linecache
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from leafwise.envs.core.check.door import python_function
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.textfile import read_text

SHIPPED = "leafwise_checked_main"
"""The module that a script's or notebook's game becomes in the process that checks it."""


class ContractError(UserError):
    """A game breaks its contract; the message names the rule, the position and the number."""


def origin(game: Game, folder: Path) -> dict[str, Any]:
    """Returns how to make a game in another process; raises ContractError in one line where it has no source.

    What a script or a notebook made is written to a file in `folder`, with the statements that the game needs and no others.
    """
    module = sys.modules.get(game.module) or importlib.import_module(game.module)
    found = _place(module, game)
    if found is None:
        told = f"expected a game that its module {game.module!r} holds under a name, got one that it does not hold"
        raise ContractError(f"{game.name}: {told}")
    name, path = game.module, Path(getattr(module, "__file__", None) or "")
    if name != "__main__" and not path.is_file():
        raise ContractError(f"{game.name}: expected a game with source, got module {name!r} without a file")
    if name == "__main__":
        source = needed([read_text(path)] if path.is_file() else list(_cells(module)), found["attribute"])
        if not source.strip():
            raise ContractError(f"{game.name}: expected a game whose source can be read (a file, a notebook), got none")
        name, path = SHIPPED, folder / f"{SHIPPED}.py"
        path.write_text(source, encoding="utf-8")
    return {"module": name, "file": str(path.resolve()), **found}


def load(origin: Mapping[str, Any]) -> Game:
    """Returns the game that an `origin` names."""
    name, file = origin["module"], origin["file"]
    found = getattr(sys.modules.get(name) or _imported(name, file), origin["attribute"])
    for key in origin["keys"]:
        found = found[key]
    game: Game = found.variant(**origin["options"])
    return game


def _imported(name: str, file: str) -> ModuleType:
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


def _cells(main: ModuleType) -> Iterator[str]:
    """Yields what was typed so far: a notebook's cells (IPython keeps them as `In`), or the lines of Python's own prompt."""
    typed = getattr(main, "In", None)
    if isinstance(typed, list) and all(isinstance(cell, str) for cell in typed):
        yield from typed
        return
    for name in [name for name in linecache.cache if name.startswith("<python-input-")]:
        yield "".join(linecache.getlines(name))


def _place(module: ModuleType, game: Game) -> dict[str, Any] | None:
    """Returns where a module holds a game: a name, keys below it, and the options that make its variant; itself first."""
    for name, keys, other in sorted(_held(module), key=lambda held: held[2] is not game):
        options = {**{name: other.defaults[name] for name in other.given_options}, **game.given_options}
        known = other is game or (other.name == game.name and set(other.defaults) == set(game.defaults))
        if known and alike(other if other is game else other.variant(**options), game):
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


def alike(first: Any, second: Any) -> bool:
    """Whether two parts of games are the same thing, made twice."""
    code = getattr(python_function(first), "__code__", None)
    if code is not None:
        other = getattr(python_function(second), "__code__", None)
        return other is not None and code == other and code.co_filename == other.co_filename
    if first is second or type(first) is not type(second):
        return first is second
    if is_dataclass(first) and not isinstance(first, type):
        return all(alike(getattr(first, f.name), getattr(second, f.name)) for f in fields(first))
    if isinstance(first, Mapping):
        return first.keys() == second.keys() and all(alike(first[k], second[k]) for k in first)
    if isinstance(first, (list, tuple)):
        return len(first) == len(second) and all(map(alike, first, second))
    if isinstance(first, np.ndarray):
        return first.dtype == second.dtype and np.array_equal(first, second)
    return bool(first == second)


def needed(cells: Sequence[str], name: str) -> str:
    """Returns the source with only those top-level statements that `name` depends on, each on its old line; none without it.

    `cells` are the parts of the source in the order in which they ran: a notebook's cells, or one script. Statements are kept
    that bind a name which is needed, and those that change the thing: `table[3] = 5`, `names.append(1)`.
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
    """Returns a cell without the lines that only a notebook understands; an unreadable one as empty lines."""
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
    """Yields the names of things that a statement changes: `table[3] = 5`, `names.append(1)`."""
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
