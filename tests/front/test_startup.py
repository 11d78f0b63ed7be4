"""What a fresh process imports, and what is known of games without importing them."""

from __future__ import annotations

import subprocess
import sys

import pytest

import leafwise
from leafwise.envs import registry
from leafwise.envs.core.contract.options import types_of

HEAVY = ("gymnasium", "numba", "numpy", "torch")


def heavy_after(code: str) -> str:
    """Returns which heavy packages and rooms a fresh process has imported after running some code."""
    seen = f"import sys; print([m for m in sys.modules if m in {HEAVY} or m.startswith('leafwise.envs.threes')])"
    return subprocess.run(
        [sys.executable, "-c", f"{code}\n{seen}"], capture_output=True, text=True, check=True
    ).stdout.splitlines()[-1]


@pytest.mark.parametrize(
    "code",
    [
        "import leafwise",
        "import leafwise; leafwise.games()",
        "from leafwise.__main__ import run; run(['--help'])",
        "from leafwise.__main__ import run; run(['nothing'])",
    ],
)
def test_little_is_imported_before_it_is_needed(code: str) -> None:
    assert heavy_after(code) == "[]"


@pytest.mark.parametrize(
    "order", [("leafwise", "gymnasium"), ("gymnasium", "leafwise"), ("leafwise", "gymnasium.envs")]
)
def test_the_environments_are_registered_whatever_is_imported_first(order: tuple[str, str]) -> None:
    code = f"import {order[0]}\nimport {order[1]}\nimport gymnasium\n"
    code += "print(gymnasium.make('leafwise/Cassis-v0').spec.id, sum(i.startswith('leafwise/') for i in gymnasium.registry))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    ids = sum(len(told["ids"]) for told in registry.listed().values())
    assert done.stdout.split() == ["leafwise/Cassis-v0", str(ids)]


@pytest.mark.parametrize("name", sorted(registry.listed()))
def test_what_is_listed_is_what_the_games_say(name: str) -> None:
    game = leafwise.game(name)
    told = {"title": game.title, "options": dict(game.defaults), "position_words": dict(game.text.words)}
    told["option_types"] = types_of(game.options)
    told["ids"] = {k: dict(v) for k, v in game.ids.items()}
    assert registry.listed()[name] == told


def test_every_room_is_listed() -> None:
    import pkgutil

    import leafwise.envs

    rooms = {module.name for module in pkgutil.iter_modules(leafwise.envs.__path__) if module.ispkg}
    assert rooms - {"core"} == set(registry.listed())


def test_public_names_load_when_they_are_used() -> None:
    for name in leafwise.__all__:
        assert getattr(leafwise, name) is not None
    assert set(leafwise.__all__) <= set(dir(leafwise))
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = leafwise.nothing
