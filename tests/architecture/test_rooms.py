"""Rooms bring what is theirs: neither the core nor the searches nor the front door import one."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import leafwise

ROOT = Path(__file__).parents[2]
OWN_COMMANDS = {"ships.py"}
"""Commands of one game."""
ENGINE = [
    path
    for folder in ("envs/core", "search", "src/leafwise")
    for path in sorted((ROOT / folder).rglob("*.py"))
    if path.name not in OWN_COMMANDS
]


def rooms_imported(source: str) -> set[str]:
    """Returns the rooms that a source file imports from, at its top or inside a function."""
    rooms = set()
    for node in ast.walk(ast.parse(source)):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        rooms |= {name.split(".")[2] for name in names if name.startswith("leafwise.envs.") and name.count(".") > 1}
    return rooms & set(leafwise.games())


@pytest.mark.parametrize("path", ENGINE, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_engine_imports_no_room(path: Path) -> None:
    assert not rooms_imported(path.read_text())


def test_the_test_sees_rooms() -> None:
    assert rooms_imported("def f():\n    from leafwise.envs.threes.bench import POSITIONS\n") == {"threes"}
    assert rooms_imported("from leafwise.envs import trap\nimport leafwise.envs.core.gym.env") == {"trap"}
