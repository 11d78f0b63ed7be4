"""The names of `leafwise` and `leafwise.authoring` are public. Code outside the package imports only these."""

from __future__ import annotations

import ast
import inspect
import json
import re
import subprocess
import sys
import typing
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import leafwise
from leafwise import authoring

ROOT = Path(__file__).parents[2]
LEAFWISE = [
    "ContractError", "Dataset", "Evaluation", "Evaluator", "Following", "Game", "GameEnv", "GameRecord", "GameVectorEnv",
    "MaskedObservation", "Mcts", "MctsResult", "Network", "NetworkKind", "Player", "Result", "Search", "State", "Tournament",
    "Units", "UserError", "aec",
    "arena", "check_game", "collect_dataset", "envs", "evaluate", "executor_for", "game", "games", "leaf", "load",
    "load_game", "player", "read_dataset", "reference", "register_game", "register_network", "save_network", "sb3_vec_env",
    "score", "torch_network", "train", "units_of", "write_dataset",
]  # fmt: skip
AUTHORING = [
    "About", "CHANCE", "Canvas", "CellFeatures", "Chance", "Choice", "Companion", "Evaluator", "ExactSolver", "Forfeit",
    "FunctionPlayer", "Game", "GridFeatures", "LINE", "Labels", "NIBBLES", "Observation", "OneOf", "OwnSearch",
    "Programs", "Question", "RULE_ONLY", "Range", "Rules", "SHOWN_ONLY", "SearchDefaults", "Sizes", "SmallTable", "Solution",
    "Speed", "SparseFeatures", "State", "StepInfo",
    "Symmetries", "TERMINAL", "Text", "View", "below", "bind", "cache_root", "copy_row", "count_bits", "flip",
    "from_file", "highest_rank", "jit",
    "listing", "looked_up", "mirror", "mix", "need", "new_stream", "next_u64", "occupied",
    "prefetch", "read_choices", "reads_back", "rectangle_views", "settle_fields", "solver_player", "square_views", "stoppable",
    "sum_of_rows", "symmetric_boards", "transpose", "typed_cells", "u64", "uniform", "whole_number", "words_by_name",
]  # fmt: skip
"""A name leaves these lists, or changes what it means, only with a line in the changelog that says what to write instead."""
OPENSPIEL = ["bot", "evaluator", "position", "register"]
PUBLIC = {
    "leafwise": set(LEAFWISE) | {"authoring", "openspiel"},
    "leafwise.authoring": set(AUTHORING),
    "leafwise.openspiel": set(OPENSPIEL),
}
OF_A_ROOM = "tests/games/planted.py"
"""Games with mistakes, Threes in its own functions too: not a game outside the package."""


def tracked(*patterns: str) -> list[str]:
    listed = subprocess.run(["git", "ls-files", *patterns], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [name for name in listed.splitlines() if (ROOT / name).exists() and name != OF_A_ROOM]


INSIDE = ("envs/", "search/", "models/", "training/", "experiments/", "src/")
OUTSIDE = tracked(
    "README.md", "docs/*.md", "docs/*.ipynb", "examples/*.py", "src/leafwise/template/*", "tests/games/*.py"
)


def code_of(path: Path) -> Iterator[str]:
    """Yields the Python of a module, of a page's blocks or of a notebook's cells; a block that writes a module is two."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
            yield block
            yield from re.findall(r'write_text\("""\n(.*?)"""\)', block, re.DOTALL)
    elif path.suffix == ".ipynb":
        for cell in json.loads(text)["cells"]:
            if cell["cell_type"] == "code":
                yield re.sub(r"^( *)[%!].*$", r"\1pass", "".join(cell["source"]), flags=re.MULTILINE)
    elif path.suffix in (".py", ".txt"):
        yield text


def reached(code: str) -> set[tuple[str, str]]:
    """Returns what code imports of leafwise, and the attributes that it reads of the module: a module and a name in it each."""
    found: set[tuple[str, str]] = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "leafwise":
            found |= {(node.module or "", alias.name) for alias in node.names}
        elif isinstance(node, ast.Import):
            dotted = [alias.name.rpartition(".") for alias in node.names if alias.name.startswith("leafwise.")]
            found |= {(module, name) for module, _, name in dotted}
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "leafwise":
            found.add(("leafwise", node.attr))
    return found


def test_the_lists_are_those_of_the_modules() -> None:
    assert leafwise.__all__ == sorted(LEAFWISE)
    assert sorted(authoring.__all__) == sorted(AUTHORING)
    assert [name for name in leafwise.__all__ if not hasattr(leafwise, name)] == []


def test_the_reference_has_each_name_once() -> None:
    pages = [(ROOT / f"docs/{name}.md").read_text(encoding="utf-8") for name in ("api", "search")]
    described = [
        name for page in pages for name in re.findall(r"^::: (leafwise(?:\.authoring|\.openspiel)?\.\w+)$", page, re.M)
    ]
    names = [name.rpartition(".")[2] for name in described]
    assert sorted(names) == sorted({*LEAFWISE, *AUTHORING, *OPENSPIEL} - {"envs"})
    assert [name for name in described if name.rpartition(".")[2] not in PUBLIC[name.rpartition(".")[0]]] == []


@pytest.mark.parametrize("name", OUTSIDE)
def test_code_outside_imports_public_names(name: str) -> None:
    for code in code_of(ROOT / name):
        assert [(module, what) for module, what in sorted(reached(code)) if what not in PUBLIC.get(module, ())] == []


def test_the_test_sees_imports() -> None:
    assert sum(bool(reached(code)) for name in OUTSIDE for code in code_of(ROOT / name)) > 50
    assert reached("import leafwise.envs.threes\nfrom leafwise.search import Search\nleafwise.training") == {
        ("leafwise.envs", "threes"),
        ("leafwise.search", "Search"),
        ("leafwise", "training"),
    }


@pytest.mark.parametrize(
    "name", tracked("envs/*.py", "search/*.py", "models/*.py", "training/*.py", "experiments/*.py", "src/*.py")
)
def test_the_package_does_not_import_authoring(name: str) -> None:
    if not name.startswith("src/leafwise/template/"):
        assert "leafwise.authoring" not in {module for module, _ in reached((ROOT / name).read_text(encoding="utf-8"))}


@pytest.mark.parametrize("module", [leafwise, authoring], ids=lambda module: module.__name__)
def test_public_functions_and_classes_are_described(module: typing.Any) -> None:
    for name in module.__all__:
        thing = getattr(module, name)
        if callable(thing) and name != "u64":
            assert getattr(thing, "__doc__", None), name


def functions_of(thing: Any) -> Iterator[Any]:
    """Yields a public function, or what a public class checks its parts by and its public methods."""
    if inspect.isclass(thing):
        for name, member in vars(thing).items():
            member = getattr(member, "fget", None) or getattr(member, "func", member)
            written = inspect.isfunction(member) and member.__code__.co_filename != "<string>"  # by a dataclass
            if written and (name[0] != "_" or name in ("__init__", "__post_init__", "__call__")):
                yield inspect.unwrap(member)
    elif inspect.isfunction(thing):
        yield inspect.unwrap(thing)


@pytest.mark.parametrize("module", [leafwise, authoring], ids=lambda module: module.__name__)
def test_what_a_public_function_raises_is_in_its_docstring(module: typing.Any) -> None:
    silent, raising = [], 0
    for name in module.__all__:
        thing = getattr(module, name)
        for function in functions_of(thing):
            if "raise UserError(" in inspect.getsource(function) or "raise ContractError(" in inspect.getsource(
                function
            ):
                said = f"{function.__doc__}{thing.__doc__ if function.__name__.startswith('__') else ''}"
                raising += 1
                silent += [] if re.search(r"\b[Rr]aises\b", said) else [f"{name}.{function.__name__}"]
    assert raising > 5
    assert silent == []


def test_public_names_bring_no_torch() -> None:
    code = "import sys, leafwise, leafwise.authoring; [getattr(leafwise, name) for name in leafwise.__all__]"
    told = "print(sorted({'torch', 'stable_baselines3', 'ray', 'pettingzoo'} & set(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", f"{code}; {told}"], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


TAKES_A_NAME: dict[str, Callable[[Any], Any]] = {
    "GameEnv": lambda game: leafwise.GameEnv(game),
    "GameVectorEnv": lambda game: leafwise.GameVectorEnv(2, game),
    "aec": lambda game: leafwise.aec(game),
    "arena": lambda game: leafwise.arena(game, ["random", "greedy"], 2),
    "collect_dataset": lambda game: leafwise.collect_dataset(game, "random", 1),
    "evaluate": lambda game: leafwise.evaluate(game, "random", 2, 900_000, opponent="greedy"),
    "leaf": lambda game: leafwise.leaf(game, lambda seen: np.zeros(len(seen))),
    "load": lambda game: leafwise.load("cassis", game),
    "player": lambda game: leafwise.player("random", game),
    "sb3_vec_env": lambda game: leafwise.sb3_vec_env(game, 2),
    "torch_network": lambda game: leafwise.torch_network(game),
    "units_of": lambda game: leafwise.units_of(game, "learned"),
}
"""Calls of the public functions that take a game or its name."""
TAKES_A_GAME: dict[str, Callable[[Any], Any]] = {
    "Following": lambda game: leafwise.Following(game),
    "Mcts": lambda game: leafwise.Mcts(game, leafwise.score("cassis"), simulations=1),
    "Search": lambda game: leafwise.Search(game, leafwise.score("cassis"), depth=1),
    "State": lambda game: leafwise.State(game, np.zeros(2, dtype=np.uint64)),
    "check_game": lambda game: leafwise.check_game(game),
    "register_game": lambda game: leafwise.register_game(game),
}
"""Calls of those that take a game only."""


def test_every_function_of_a_game_is_among_those_below() -> None:
    public = {name: getattr(leafwise, name) for name in LEAFWISE if name not in ("ContractError", "UserError", "envs")}
    takes = {name: inspect.signature(it).parameters.get("game") for name, it in public.items()}
    takes["register_game"] = inspect.signature(leafwise.register_game).parameters["new"]
    by_type = {
        kind: {name for name, parameter in takes.items() if parameter and parameter.annotation == kind}
        for kind in ("str | Game", "Game")
    }
    assert by_type["str | Game"] == {*TAKES_A_NAME, "train"}  # `train` takes long: tests/training/runs/test_options.py
    assert by_type["Game"] == {*TAKES_A_GAME, "Tournament"}  # which `arena` returns


@pytest.mark.parametrize("name", TAKES_A_NAME)
def test_a_game_goes_by_its_name(name: str) -> None:
    TAKES_A_NAME[name]("cassis")
    with pytest.raises(leafwise.UserError, match=r"^expected a game among .*, got 3$"):
        TAKES_A_NAME[name](3)


@pytest.mark.parametrize("name", TAKES_A_GAME)
def test_what_is_no_game_gets_one_line(name: str) -> None:
    expected = r": expected a Game, as leafwise.game\(name\) returns, got 'cassis'$"
    with pytest.raises(leafwise.UserError, match=expected):
        TAKES_A_GAME[name]("cassis")
