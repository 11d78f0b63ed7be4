"""Tells people what is compiled or loaded while they wait, from numba's events (see `leafwise.envs.core.waiting`)."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from numba.core import event

from leafwise.envs.core.compile.cache import PACKAGE, cache_root, room_of
from leafwise.envs.core.waiting import waiting

PARTS = {
    "gym": "environment",
    "solver": "solver",
    "search": "search",
    "models": "network",
    "training": "training",
    "experiments": "study",
}
"""A part of a module's name -> what people call its functions; all others are rules."""


def named(function: Any) -> str:
    """Returns what people call a compiled function: `the search of Threes`."""
    part = next((PARTS[word] for word in (function.py_func.__module__ or "").split(".") if word in PARTS), "rules")
    room = room_of(function.room) if function.room else PACKAGE
    is_of_no_game = room.parent == PACKAGE or room in (PACKAGE, PACKAGE / "envs/core")
    return f"the {part}" + ("" if is_of_no_game else f" of {room.stem.replace('_', ' ').capitalize()}")


class _CompileListener(event.Listener):
    """Reports what numba compiles; only one thread at a time does."""

    def __init__(self) -> None:
        self._blocks: list[AbstractContextManager[None]] = []

    def on_start(self, event: Any) -> None:
        function = event.data["dispatcher"]
        if hasattr(function, "room"):  # one of those that `jit` compiles
            kept = cache_root() if getattr(function, "ident", None) else None
            self._blocks.append(waiting(f"compiling {named(function)}", kept))
            self._blocks[-1].__enter__()

    def on_end(self, event: Any) -> None:
        if hasattr(event.data["dispatcher"], "room"):
            self._blocks.pop().__exit__(None, None, None)


def tell_compilation() -> None:
    """Starts to report compilation to people."""
    event.register("numba:compile", _CompileListener())
