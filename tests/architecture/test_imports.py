"""The house's shape: imports go one way, nothing that plays imports torch, files and functions stay short."""

from __future__ import annotations

import ast
import io
import subprocess
import sys
import tokenize
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FLOORS = ("envs", "search", "models", "training", "experiments", "leafwise")
"""From the ground up: a floor may import itself and the floors below it. The last is the front door."""
TRAINING_ONLY = ("torch", "stable_baselines3", "sb3_contrib", "tensorboard")
LONGEST, LONGEST_FUNCTION = 900, 100
"""Lines of a file, and of a function without those inside it."""
LONG_FUNCTION, LONGEST_UNTOLD = 60, 30
"""Functions with more lines, those inside them counted, tell their blocks: so many lines of code may follow one another without a
comment, a docstring or a function."""


def tracked() -> list[str]:
    listed = subprocess.run(["git", "ls-files", "*.py"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [name for name in listed.splitlines() if (ROOT / name).exists()]


@cache
def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@cache
def tree_of(source: str) -> ast.Module:
    return ast.parse(source)


def broken(names: Iterable[str], fault: Callable[[str], object]) -> dict[str, object]:
    """Returns what is wrong with each file that something is wrong with."""
    return {name: found for name in names if (found := fault(name))}


SOURCES = [name for name in tracked() if name.split("/")[0] in (*FLOORS[:-1], "src")]


def floor_of(name: str) -> str:
    return "leafwise" if name.startswith("src/") else name.split("/")[0]


def nodes(tree: ast.AST, types: bool) -> Iterator[ast.AST]:
    """Yields the nodes of a syntax tree; without `types` not those that only type checkers read."""
    for node in ast.iter_child_nodes(tree):
        if not types and isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        yield node
        yield from nodes(node, types)


def imports(path: Path, *, types: bool = True) -> Iterator[tuple[str, str]]:
    """Yields what a file imports, at its top or inside a function: (a, b) for `from a import b`, (a, "") for `import a`.

    Without `types` those are left out that are imported for type checkers alone.
    """
    for node in nodes(tree_of(text_of(path)), types):
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: expected absolute imports"
            yield from ((node.module or "", alias.name) for alias in node.names)


def imported(path: Path) -> set[str]:
    """Returns every module that a file may import; `from a import b` gives a and a.b."""
    return {name for module, own in imports(path) for name in (module, f"{module}.{own}") if not name.endswith(".")}


def floors_imported(name: str) -> set[str]:
    """Returns the floors that a source file imports from; the front door's own names are the floor `leafwise`."""
    floors = set()
    for module in imported(ROOT / name):
        package, _, rest = module.partition(".")
        if package == "leafwise":
            floor = rest.split(".")[0]
            # `from leafwise import envs` gives leafwise and leafwise.envs; only the second says which floor
            floors.add(floor if floor in FLOORS else "leafwise" if rest else "")
    return floors - {""}


def module_of(name: str) -> str:
    """Returns the import name of a source file."""
    parts = Path(name).with_suffix("").parts
    parts = parts[1:] if parts[0] == "src" else ("leafwise", *parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def test_no_modules_import_one_another() -> None:
    """At run time, imports inside functions included."""
    files = {module_of(name): ROOT / name for name in SOURCES}
    graph = {
        module: {
            next((name for name in (f"{other}.{own}", other) if name in files), module)
            for other, own in imports(path, types=False)
        }
        - {module}
        for module, path in files.items()
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as problem:
        pytest.fail(" imports ".join(reversed(problem.args[1])))


def packages_imported(name: str) -> set[str]:
    return {module.split(".")[0] for module in imported(ROOT / name)}


def test_imports_go_one_way() -> None:
    assert broken(SOURCES, lambda name: floors_imported(name) - {*FLOORS[: FLOORS.index(floor_of(name)) + 1]}) == {}


def test_rooms_do_not_import_each_other() -> None:
    def others(name: str) -> list[str]:
        known = ("core", "registry", "reference", name.split("/")[1])
        modules = [module for module in imported(ROOT / name) if module.startswith("leafwise.envs.")]
        return [module for module in modules if module.split(".")[2] not in known]

    assert broken([n for n in SOURCES if n.count("/") >= 2 and n.startswith("envs/")], others) == {}


def test_only_the_compile_room_knows_numba() -> None:
    others = [name for name in SOURCES if not name.startswith("envs/core/compile/")]
    assert broken(others, lambda name: packages_imported(name) & {"numba", "llvmlite"}) == {}


def says_nothing(name: str) -> bool:
    """Whether a module's name, alone in an editor's tab, does not say what is in it; a command's module is called like it."""
    path = Path(name)
    of_a_room = path.parts[0] == "envs" and path.parts[1] != "core"
    of_a_command = path.parent == Path("src/leafwise/commands")
    only_there = path.stem in {"options", "bench", "tables", "page"} and not of_a_room and not of_a_command
    return only_there or path.stem in {"utils", "common", "helpers", "misc"}


def test_names_of_modules_say_what_is_in_them() -> None:
    assert says_nothing("search/options.py")
    assert says_nothing("envs/threes/utils.py")
    assert not says_nothing("envs/threes/options.py")
    assert [name for name in SOURCES if says_nothing(name)] == []


def test_the_test_sees_imports(tmp_path: Path) -> None:
    source = tmp_path / "a.py"
    source.write_text("import numpy\ndef f():\n    from leafwise.search import engine\n    import torch.nn\n")
    assert imported(source) == {"numpy", "leafwise.search", "leafwise.search.engine", "torch.nn"}


def test_nothing_that_plays_names_torch() -> None:
    playing = [name for name in SOURCES if floor_of(name) in ("envs", "search")]
    assert broken(playing, lambda name: packages_imported(name) & set(TRAINING_ONLY)) == {}


PLAYING = """
import sys
sys.modules.update(dict.fromkeys({banned!r}))  # importing any of these now raises ImportError
import leafwise, leafwise.envs, leafwise.search, leafwise.models
import gymnasium
env = gymnasium.make("leafwise/Threes-v0")
env.reset(seed=0)
env.step(env.unwrapped.action_masks().argmax())
game = leafwise.game("threes")
state = game.new(0)
assert leafwise.Search(game, leafwise.score("threes"), depth=1)(state).action in state.legal_actions
assert leafwise.player("greedy", game).choose(state) in state.legal_actions
print(sorted(m for m in sys.modules if m.split(".")[0] in {banned!r} and sys.modules[m] is not None))
"""


def test_nothing_that_plays_imports_torch() -> None:
    code = PLAYING.format(banned=TRAINING_ONLY)
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert run.stdout.strip() == "[]"


@pytest.mark.parametrize("module", ["leafwise", "leafwise.envs", "leafwise.search", "leafwise.models"])
def test_importing_brings_no_torch(module: str) -> None:
    code = f"import sys, {module}; print(sorted(set({TRAINING_ONLY!r}) & set(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_files_are_short() -> None:
    lengths = {name: len(text_of(ROOT / name).splitlines()) for name in tracked()}
    assert {name: lines for name, lines in lengths.items() if lines > LONGEST} == {}


Function = ast.FunctionDef | ast.AsyncFunctionDef


def lines_of(function: Function) -> int:
    """Returns how many lines a function has, with its decorators and all that is inside it."""
    first = min([function.lineno, *(decorator.lineno for decorator in function.decorator_list)])
    return (function.end_lineno or 0) - first + 1


def lines_inside(node: ast.AST) -> int:
    """Returns how many lines the functions inside a node have."""
    children = ast.iter_child_nodes(node)
    return sum(lines_of(child) if isinstance(child, Function) else lines_inside(child) for child in children)


def long_functions(source: str, most: int) -> list[str]:
    """Returns the functions that have more lines of their own, with how many."""
    functions = [node for node in ast.walk(tree_of(source)) if isinstance(node, Function)]
    lengths = [((node.end_lineno or 0) - node.lineno + 1 - lines_inside(node), node) for node in functions]
    return [f"{node.name}, line {node.lineno}: {length} lines" for length, node in lengths if length > most]


def test_functions_are_short() -> None:
    assert broken(tracked(), lambda name: long_functions(text_of(ROOT / name), LONGEST_FUNCTION)) == {}


def test_the_test_sees_long_functions() -> None:
    source = "def outer():\n    a = 1\n\n    @wraps(a)\n    def inner():\n        b = 2\n        return b\n\n    return inner\n"
    assert long_functions(source, 4) == ["outer, line 1: 5 lines"]
    assert long_functions(source, 2) == ["outer, line 1: 5 lines", "inner, line 5: 3 lines"]


def told_lines(source: str, function: Function) -> set[int]:
    """Returns the lines of a source that hold a comment, or the head of a function inside a function with its docstring."""
    told = {
        token.start[0]
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type == tokenize.COMMENT
    }
    for inner in [node for node in ast.walk(function) if isinstance(node, Function)]:
        body = inner.body[1] if ast.get_docstring(inner) is not None and len(inner.body) > 1 else inner.body[0]
        told |= set(range(inner.lineno, body.lineno))
    return told


def untold_blocks(source: str, least: int, most: int) -> list[str]:
    """Returns where more than `most` lines of code follow one another, in functions of more than `least` lines in all."""
    lines, found = source.splitlines(), []
    for function in [node for node in ast.walk(tree_of(source)) if isinstance(node, Function)]:
        last = function.end_lineno or 0
        if last - function.lineno + 1 > least:
            told = told_lines(source, function)
            block: list[int] = []
            for number in range(function.lineno, last + 1):
                block = [] if number in told else [*block, number] if lines[number - 1].strip() else block
                if len(block) == most + 1 and block[-1] == number:
                    found.append(f"{function.name}, line {block[0]}")
    return found


def test_long_functions_tell_their_blocks() -> None:
    assert broken(SOURCES, lambda name: untold_blocks(text_of(ROOT / name), LONG_FUNCTION, LONGEST_UNTOLD)) == {}


def test_the_test_sees_blocks_that_are_not_told() -> None:
    plain = 'def f(a, b):\n    """Adds."""\n    a += 1\n    b += 1\n\n    c = a + b\n    return c\n'
    assert untold_blocks(plain, 6, 3) == ["f, line 3"]
    assert untold_blocks(plain, 6, 4) == untold_blocks(plain, 7, 3) == []
    assert untold_blocks(plain.replace("    c =", "    # The sum\n    c ="), 6, 3) == []
    assert untold_blocks(plain.replace("    c =", "    def g():\n        return 1\n\n    c ="), 6, 3) == []


def test_every_room_is_installed() -> None:
    statements = tree_of(text_of(ROOT / "setup.py")).body
    (rooms,) = [ast.literal_eval(one.value) for one in statements if ast.unparse(one).startswith("ROOMS = ")]  # type: ignore[attr-defined]
    packages = {name.split("/")[0] for name in tracked() if name.count("/") == 1 and name.endswith("/__init__.py")}
    assert packages == {*rooms} == {*FLOORS[:-1]}


def test_every_folder_is_a_package() -> None:
    """Setuptools does not install a folder that is none."""
    folders = {Path(name).parent for name in SOURCES}
    assert [folder for folder in folders if not (ROOT / folder / "__init__.py").exists()] == []
