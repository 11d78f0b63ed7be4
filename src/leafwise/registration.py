"""Registers the environments once Gymnasium is imported, without importing it itself.

Importing Gymnasium takes twice as long as starting a command line, and it finds no plug-ins by itself. If it is not imported yet, a
finder waits at the head of `sys.meta_path`. It lets the usual finders load Gymnasium, and then registers.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING

from leafwise.envs.registry import register_envs

if TYPE_CHECKING:  # takes as long to import as half of leafwise
    from importlib.abc import MetaPathFinder
else:
    MetaPathFinder = object

GYMNASIUM = "gymnasium"


class _GymnasiumFinder(MetaPathFinder):
    """Finds Gymnasium as the other finders do, and registers the environments once it is loaded."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != GYMNASIUM:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        if spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def execute_and_register(module: ModuleType) -> None:
            execute(module)
            register_envs()

        spec.loader.exec_module = execute_and_register  # type: ignore[method-assign]
        return spec


def register_when_there() -> None:
    """Registers the environments now, or when Gymnasium is imported."""
    if GYMNASIUM in sys.modules:
        register_envs()
    else:
        sys.meta_path.insert(0, _GymnasiumFinder())
