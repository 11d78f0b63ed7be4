"""Arenas and studies use evaluation without what learns: it imports no method, no network of torch, no torch."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOM = Path(__file__).parents[3] / "training" / "evaluation"
BANNED = (
    "leafwise.training.alphazero",
    "leafwise.training.dqn",
    "leafwise.training.ntuple_td",
    "leafwise.training.ppo",
    "leafwise.training.selfplay",
    "leafwise.training.networks",
    "leafwise.training.publish",
    "torch",
    "stable_baselines3",
)


@pytest.mark.parametrize("path", sorted(ROOM.glob("*.py")), ids=lambda path: path.stem)
def test_evaluation_imports_nothing_that_learns(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            names = [str(node.module), *(f"{node.module}.{alias.name}" for alias in node.names)]
        assert not [name for name in names if name.startswith(BANNED)], path


def test_importing_it_brings_none_of_them_by_a_detour() -> None:
    modules = ", ".join(f"leafwise.training.evaluation.{path.stem}" for path in sorted(ROOM.glob("[a-z]*.py")))
    code = f"import sys, {modules}; print([name for name in sys.modules if name.startswith({BANNED!r})])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300)
    assert run.stdout.strip() == "[]"
