"""The page of what moved: every name of today that it gives is there, and no name of before."""

from __future__ import annotations

import dataclasses
import importlib
import re
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from leafwise.models import named_leaf
from leafwise.training import publish
from leafwise.training.runs.recipes import method_of, methods

PAGE = (Path(__file__).resolve().parents[2] / "docs/moved.md").read_text(encoding="utf-8")
PLAYED = ("selfplay", "value-td", "alphazero", "dqn")
OPTIONS: dict[str, Callable[[], list[type]]] = {
    "`ntuple-td`": lambda: options("threes", "ntuple-td"),
    "`selfplay`, `value-td`": lambda: options("cassis", "selfplay", "value-td"),
    "`dqn`": lambda: options("trap", "dqn"),
    "`ppo`": lambda: [*options("trap", "ppo"), *options("starship", "ppo")],
    "`ppo` in Starship": lambda: options("starship", "ppo"),
    "`ppo` (not in Starship)": lambda: options("trap", "ppo"),
    "`alphazero`": lambda: options("trap", "alphazero"),
    "`selfplay`, `value-td`, `alphazero`, `dqn`": lambda: options("trap", *PLAYED),
    "`selfplay`, `value-td`, `alphazero`, `dqn`, and `ppo` (not in Starship)": lambda: options("trap", *PLAYED, "ppo"),
    "`ship-values`": lambda: options("starship", "ship-values"),
    "`ship-values`, `ship-changes`": lambda: options("starship", "ship-values", "ship-changes"),
    "`leafwise.training.publish`": lambda: [publish.Config],
    "`leafwise ship gen`": lambda: [importlib.import_module("leafwise.ships").Gen],
}
"""The classes of options that the page tells of."""


def options(game: str, *names: str) -> list[type]:
    """Returns the classes of the options of methods."""
    return [method_of(game, name).options for name in names]


def rows(title: str) -> Iterator[list[str]]:
    """Yields the cells of a section's table, without its head."""
    section = re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert section is not None
    lines = [line for line in section[1].splitlines() if line.startswith("|")]
    assert len(lines) > 2
    for line in lines[2:]:
        yield [cell.strip() for cell in line.strip("|").split("|")]


def names(cell: str) -> list[str]:
    """Returns the modules in a cell: those after the first leave out the package that they share with it."""
    first, *more = re.findall("`([^`]+)`", cell)
    return [first, *(f"{first.rpartition('.')[0]}.{name}" for name in more)]


def exists(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # its package is gone too
        return False


def test_methods() -> None:
    known = {name for game in ("trap", "threes", "starship") for name in methods(game)}
    for before, now in rows("Methods"):
        found = set(re.findall("`([a-z-]+)`", now))
        assert found <= known, now
        assert not (set(re.findall("`([a-z-]+)`", before)) - {"dqn"}) & known, before


def test_options() -> None:
    told: list[type[Any]] = []
    for of, before, now in rows("Options"):
        told = OPTIONS[of]() if of else told
        for kind in told:
            known = {"--" + field.name.replace("_", "-") for field in dataclasses.fields(kind)}
            flag, new = (cell.strip("`").partition(" ")[0] for cell in (before, now))
            assert new in known, (kind, new)
            assert flag not in known, (kind, flag)


@pytest.mark.parametrize(("before", "now"), [*rows("Modules")])
def test_modules(before: str, now: str) -> None:
    for module in names(now):
        assert exists(module), module
    for old in names(before):
        assert not exists(old), old


def test_names_in_python() -> None:
    from leafwise import authoring
    from leafwise.envs.core.contract.rules import Chance

    assert {"prefetch", "sibling_values", "cache_values"} <= {f.name for f in dataclasses.fields(authoring.Speed)}
    assert {"speed", "python_only"} <= {f.name for f in dataclasses.fields(authoring.Evaluator)}
    assert "apply_outcome" in {f.name for f in dataclasses.fields(Chance)}
    assert named_leaf.__module__.startswith("leafwise.models")
