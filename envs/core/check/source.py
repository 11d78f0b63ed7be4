"""Where a game comes from, so that another process can make it: a module and a name in it, or a piece of a script or notebook."""

from __future__ import annotations

import ast
import importlib
import linecache
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import partial
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
    found = next(_places(module, game), None)
    if found is None:
        told = f"expected a game that its module {game.module!r} holds under a name, got one that it does not hold"
        raise ContractError(f"{game.name}: {told}")
    attribute, keys, options = found
    file = getattr(module, "__file__", None)
    named = {"attribute": attribute, "keys": keys, "options": options}
    if game.module != "__main__":
        if file is None or not Path(file).exists():
            raise ContractError(f"{game.name}: expected a game with source, got module {game.module!r} without a file")
        return {"module": game.module, "file": str(Path(file).resolve()), **named}
    cells = [read_text(file)] if file and Path(file).exists() else list(_cells(module))
    if not any(binds([cell], attribute) for cell in cells if _parses(cell)):
        raise ContractError(f"{game.name}: expected a game whose source can be read (a file, a notebook), got none")
    path = folder / f"{SHIPPED}.py"
    path.write_text(needed(cells, attribute), encoding="utf-8")
    return {"module": SHIPPED, "file": str(path.resolve()), **named}


def _parses(cell: str) -> bool:
    try:
        compile(cell, "cell", "exec")
    except (SyntaxError, ValueError):
        return False
    return True


def _cells(main: ModuleType) -> Iterator[str]:
    """Yields what was typed so far: a notebook's cells (IPython keeps them as `In`), or the lines of Python's own prompt."""
    typed = getattr(main, "In", None)
    if isinstance(typed, list) and all(isinstance(cell, str) for cell in typed):
        yield from typed
        return
    for name in [name for name in linecache.cache if name.startswith("<python-input-")]:
        yield "".join(linecache.getlines(name))


def _places(module: ModuleType, game: Game) -> Iterator[tuple[str, list[Any], dict[str, Any]]]:
    """Yields where a module holds a game: a name, keys below it, and the options that make its variant; itself first."""
    held = list(_held(module))
    for name, keys, other in held:
        if other is game:
            yield name, keys, {}
    for name, keys, other in held:
        if other.name == game.name and set(other.defaults) == set(game.defaults):
            options = {**{name: other.defaults[name] for name in other.given_options}, **game.given_options}
            if alike(other.variant(**options), game):
                yield name, keys, options


def _held(module: ModuleType) -> Iterator[tuple[str, list[Any], Game]]:
    for name, thing in list(vars(module).items()):
        if name.startswith("_"):
            continue
        if isinstance(thing, Game):
            yield name, [], thing
        elif isinstance(thing, dict):
            yield from (
                (name, [key], part) for key, part in thing.items() if isinstance(part, Game) and isinstance(key, str)
            )
        elif isinstance(thing, (list, tuple)):
            yield from ((name, [k], part) for k, part in enumerate(thing) if isinstance(part, Game))


def alike(first: Any, second: Any) -> bool:
    """Whether two parts of games are the same thing, made twice."""
    if first is second:
        return True
    if hasattr(first, "py_func") or (
        callable(first) and not isinstance(first, (type, partial)) and not is_dataclass(first)
    ):
        return callable(second) and _code(first) == _code(second)
    if type(first) is not type(second):
        return False
    if is_dataclass(first) and not isinstance(first, type):
        return all(alike(getattr(first, f.name), getattr(second, f.name)) for f in fields(first))
    if isinstance(first, Mapping):
        return first.keys() == second.keys() and all(alike(first[k], second[k]) for k in first)
    if isinstance(first, (list, tuple)):
        return len(first) == len(second) and all(map(alike, first, second))
    if isinstance(first, np.ndarray):
        return first.dtype == second.dtype and np.array_equal(first, second)
    return bool(first == second)


def _code(function: Any) -> Any:
    code = getattr(python_function(function), "__code__", None)
    if code is None:
        return function
    return code.co_filename, code.co_firstlineno, code.co_code, repr(code.co_consts)[:500].split(" at 0x")[0]


def needed(cells: Sequence[str], name: str) -> str:
    """Returns the source with only those top-level statements that `name` depends on, each on its old line.

    `cells` are the parts of the source in the order in which they ran: a notebook's cells, or one script. Statements are kept
    that bind a name which is needed, and those that call a method of one that was made here.
    """
    source = "\n".join(_readable(cell) for cell in cells)
    lines, kept = source.splitlines(), set[int]()
    wanted, own = {name}, set[str]()
    for statement in reversed(ast.parse(source).body):
        bound = set(_bound(statement))
        changed = set(_changed(statement))
        future = isinstance(statement, ast.ImportFrom) and statement.module == "__future__"
        if not (bound & wanted or changed & wanted or future or _is_star(statement)):
            continue
        own |= bound
        wanted |= set(_loaded(statement))
        first = min([statement.lineno, *(d.lineno for d in getattr(statement, "decorator_list", []))])
        kept |= set(range(first, (statement.end_lineno or first) + 1))
    return "\n".join(line if k in kept else "" for k, line in enumerate(lines, 1)) + "\n"


def binds(cells: Sequence[str], name: str) -> bool:
    """Whether some top-level statement binds a name."""
    trees = [ast.parse(_readable(cell)) for cell in cells]
    return any(name in _bound(statement) for tree in trees for statement in tree.body)


def _readable(cell: str) -> str:
    """Returns a cell without the lines that only a notebook understands; an unreadable one as empty lines."""
    lines = ["" if line.lstrip().startswith(("%", "!", "?")) else line for line in cell.splitlines()]
    text = "\n".join(lines)
    try:
        ast.parse(text)
    except SyntaxError:
        return "\n" * max(0, len(lines) - 1)
    return text


def _is_star(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.ImportFrom) and any(alias.name == "*" for alias in statement.names)


def _bound(statement: ast.stmt) -> Iterator[str]:
    """Yields the names that a statement binds at the top level."""
    if isinstance(statement, (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)):
        yield statement.name
        return
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        for alias in statement.names:
            yield alias.asname or alias.name.partition(".")[0]
        return
    if isinstance(statement, ast.If) and _is_main_guard(statement.test):
        return
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            yield from _bound(node)


def _is_main_guard(test: ast.expr) -> bool:
    return any(isinstance(node, ast.Constant) and node.value == "__main__" for node in ast.walk(test))


def _changed(statement: ast.stmt) -> Iterator[str]:
    """Yields the names of things that a statement changes: `table[3] = 5`, `names.append(1)`."""
    targets: list[ast.expr] = []
    if isinstance(statement, ast.Assign):
        targets = statement.targets
    elif isinstance(statement, (ast.AugAssign, ast.AnnAssign)):
        targets = [statement.target]
    elif (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Call)
        and isinstance(statement.value.func, ast.Attribute)
    ):
        targets = [statement.value.func]
    elif isinstance(statement, (ast.For, ast.While)):
        for inner in statement.body:
            yield from _changed(inner)
    for target in targets:
        while isinstance(target, (ast.Subscript, ast.Attribute)):
            target = target.value
            if isinstance(target, ast.Name):
                yield target.id


def _loaded(statement: ast.stmt) -> Iterator[str]:
    """Yields the names that a statement, or a function in it, reads."""
    for node in ast.walk(statement):
        if isinstance(node, ast.Name):
            yield node.id
