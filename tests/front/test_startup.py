"""What a fresh process imports, and what is known of games without importing them."""

import pkgutil
import subprocess
import sys

import pytest

import leafwise
from leafwise.__main__ import command_names
from leafwise.benchmarks import processes
from leafwise.envs import registry

HEAVY = ("gymnasium", "numba", "numpy", "scipy", "scipy.linalg", "torch", "rich")
ROOMS = tuple(f"leafwise.envs.{name}" for name in (*registry.listed(), "core.contract.game"))
LINES = """
import contextlib, io, sys
from leafwise.__main__ import run
for line in {lines!r}:
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        try:
            status = run(line.split())
        except SystemExit as exit:
            status = exit.code
    assert (status or 0) == {status}, (line, said.getvalue())
"""
NAMING_A_GAME = ("analyze", "arena", "bench", "dataset", "eval", "play", "record", "solve")


def heavy_after(code: str) -> str:
    """Returns which heavy packages and rooms a fresh process has imported after running some code."""
    seen = f"import sys; print([m for m in sys.modules if m in {HEAVY} or m.startswith({ROOMS})])"
    return subprocess.run(
        [sys.executable, "-c", f"{code}\n{seen}"], capture_output=True, text=True, check=True
    ).stdout.splitlines()[-1]


@pytest.mark.parametrize(
    "code", ["import leafwise; leafwise.games()", "from leafwise.__main__ import run; run(['--help'])"]
)
def test_little_is_imported_before_it_is_needed(code: str) -> None:
    assert heavy_after(code) == "[]"


def test_a_search_imports_neither_gymnasium_nor_what_only_compiling_needs() -> None:
    search = "import leafwise; g = leafwise.game('cassis'); leafwise.Search(g, g.score(), depth=1)(g.new(1))"
    subprocess.run([sys.executable, "-c", search], check=True)  # compiles
    seen = heavy_after(search)
    assert "numba" in seen
    assert not any(name in seen for name in ("gymnasium", "scipy.linalg", "rich"))


WRONG = "games warmup demo train ship"


@pytest.mark.parametrize(
    ("lines", "status"),
    [
        ([f"{name} --help" for name in command_names()], 0),
        ([f"{name} threse x" for name in (*NAMING_A_GAME, "train", "games", "warmup")], 2),
        ([f"{name} threes --wrong 1" for name in NAMING_A_GAME], 2),
        (["nothing", "eval threes x --games y", *(f"{name} --wrong" for name in WRONG.split())], 2),
    ],
)
def test_a_command_helps_and_refuses_before_it_imports_anything(lines: list[str], status: int) -> None:
    assert heavy_after(LINES.format(lines=lines, status=status)) == "[]"


def test_starts_are_compared_in_one_run(monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = {"nothing / tyro": (("-c", "pass"), ("-c", "import tyro")), "itself": (("-c", "pass"), ("-c", "pass"))}
    monkeypatch.setattr(processes, "COMPARED", pairs)
    monkeypatch.setattr(processes, "ROUNDS", 2)
    ratios = processes.start_ratios()
    assert ratios["nothing / tyro"] < ratios["itself"] == 1


@pytest.mark.parametrize(
    "order", [("leafwise", "gymnasium"), ("gymnasium", "leafwise"), ("leafwise", "gymnasium.envs")]
)
def test_the_environments_are_registered_whatever_is_imported_first(order: tuple[str, str]) -> None:
    code = f"import {order[0]}\nimport {order[1]}\nimport gymnasium\n"
    code += "print(gymnasium.make('leafwise/Cassis-v0').spec.id, sum(i.startswith('leafwise/') for i in gymnasium.registry))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    ids = sum(len(game.fields["ids"]) for game in registry.listed().values())
    assert done.stdout.split() == ["leafwise/Cassis-v0", str(ids)]


@pytest.mark.parametrize("name", sorted(registry.listed()))
def test_what_is_listed_is_what_the_games_say(name: str) -> None:
    assert registry.listed()[name].fields == registry.listing(leafwise.game(name))
    rooms = {module.name for module in pkgutil.iter_modules(leafwise.envs.__path__) if module.ispkg}
    assert rooms - {"core"} == set(registry.listed())


def test_public_names_load_when_they_are_used() -> None:
    for name in leafwise.__all__:
        assert getattr(leafwise, name) is not None
    assert sorted(leafwise.__all__) == dir(leafwise)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = leafwise.nothing
