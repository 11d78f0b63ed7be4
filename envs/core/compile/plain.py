"""Compiled functions as plain Python in a process that compiles, so that arrays of Python can check what they are asked for."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from leafwise.envs.core.compile import emitted, intrinsics

REPLACED = {
    id(emitted.prefetch): intrinsics.prefetch_nothing,
    id(emitted.sum_rows): intrinsics.sum_rows_plain,
    id(emitted.dense): intrinsics.dense_plain,
    id(emitted.add_runs): intrinsics.add_runs_loops,
}
"""What stands in for instructions that plain Python does not have."""
AS_THEY_ARE = ("numpy", "math")
"""Packages that hold no function of a game."""


class PlainForms:
    """The plain forms of some functions that call each other; each is made once."""

    def __init__(self) -> None:
        self._known: dict[Any, Callable[..., Any]] = {}
        self.codes: set[CodeType] = set()
        """The code of all functions made so far, as frames show it."""

    def of(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Returns a function in plain Python, with all that it calls; numbers wrap around and divide as in compiled code."""
        form = self._form(function)

        @functools.wraps(form)
        def plain(*arguments: Any) -> Any:
            with np.errstate(all="ignore"):
                return form(*arguments)

        return plain

    def _form(self, thing: Any) -> Any:
        """Returns the plain form of whatever a name in compiled code stands for."""
        thing = REPLACED.get(id(thing), thing)
        if isinstance(thing, ModuleType):
            return thing if thing.__name__.partition(".")[0] in AS_THEY_ARE else _PlainModule(self._form, thing)
        source = getattr(thing, "py_func", None)
        if not isinstance(source, FunctionType):
            return thing
        return self._known.get(source) or self._made(source)

    def _made(self, source: FunctionType) -> Callable[..., Any]:
        cells = tuple(CellType() for _ in source.__closure__ or ())
        scope: dict[str, Any] = {"__builtins__": source.__globals__.get("__builtins__", __builtins__)}
        form = FunctionType(source.__code__, scope, source.__name__, source.__defaults__, cells or None)
        self._known[source] = form
        for code in _codes(source.__code__):
            self.codes.add(code)
            scope |= {
                name: self._form(source.__globals__[name]) for name in code.co_names if name in source.__globals__
            }
        for cell, original in zip(cells, source.__closure__ or (), strict=True):
            cell.cell_contents = self._form(original.cell_contents)
        return form


class _PlainModule:
    """A module whose functions are plain."""

    def __init__(self, form: Callable[[Any], Any], module: ModuleType) -> None:
        self._form, self._module = form, module

    def __getattr__(self, name: str) -> Any:
        return self._form(getattr(self._module, name))


def _codes(code: CodeType) -> Iterator[CodeType]:
    """Yields a function's code and that of the functions inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)
