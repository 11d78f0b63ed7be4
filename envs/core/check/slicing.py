"""What of a script's or notebook's source one name needs: so that another process makes it, and nothing else runs there."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence


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
