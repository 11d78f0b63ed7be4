"""Makes compiled functions again in another form, in the same process: as plain Python, or with every index checked.

Everything that a function reaches is made again, each object once: names of its module, its closure, its defaults, and
functions in tuples and dicts of these. The plain Python functions of a game, such as its text functions, are made again too, so
that the compiled functions that they call have the new form.
"""

from __future__ import annotations

import dis
import functools
import sys
from collections.abc import Callable, Iterator, Mapping
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from leafwise.envs.core.compile import emitted, intrinsics
from leafwise.envs.core.compile.jit import index_checked

EMITTED = ("prefetch", "sum_rows", "dense", "add_runs", "extract_bits")
"""Instructions that plain Python lacks, and that check no index."""
FOREIGN_PACKAGES = {*sys.stdlib_module_names, "numpy", "numba", "gymnasium"}
"""Packages that contain no function of a game."""


class Forms:
    """Makes functions that call each other in one form; a subclass defines the form."""

    replaced: Mapping[str, Any]
    """The replacement of each function in `EMITTED`."""

    def __init__(self, module: str = "", made: Mapping[Any, Any] | None = None) -> None:
        self.module = module
        """The module or package of the game, whose plain Python functions are made again."""
        self._known: dict[Any, Any] = dict(made or {})
        self._replaced = {
            id(getattr(module, name)): self.replaced[name]
            for module in (emitted, intrinsics)
            for name in EMITTED
            if name in self.replaced
        }

    def _make(self, form: FunctionType, source):
        """Returns the function to call, for the copy `form` of the compiled function `source`."""
        raise NotImplementedError

    def of(self, thing):
        """Returns the new form of any object that compiled code names; objects in the constructor's `made` have theirs already."""
        thing = self._replaced.get(id(thing), thing)
        if isinstance(thing, tuple):
            parts = [self.of(part) for part in thing]
            unlike = any(new is not old for new, old in zip(parts, thing, strict=True))
            return thing if not unlike else thing._make(parts) if hasattr(thing, "_make") else tuple(parts)
        if isinstance(thing, dict):
            return {key: self.of(part) for key, part in thing.items()}
        source = getattr(thing, "py_func", thing if self._is_of_game(thing) else None)
        if not isinstance(source, FunctionType):
            return thing
        return self._known.get(thing) or self._remake(thing, source)

    def called(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Returns the new form of a function as Python calls it."""
        return self.of(function)

    def _is_of_game(self, thing) -> bool:
        """Whether an object is a plain Python function of the game that keeps no state in its module.

        A function that the package made of functions of the game, such as `reads_back`, counts too.
        """
        if not isinstance(thing, FunctionType):
            return False
        module = f"{thing.__module__}."
        if not module.startswith(f"{self.module}.") and not (module.startswith("leafwise.") and thing.__closure__):
            return False
        return not any(step.opname == "STORE_GLOBAL" for step in dis.get_instructions(thing))

    def _remake(self, thing, source: FunctionType):
        cells = tuple(CellType() for _ in source.__closure__ or ())
        namespace = source.__globals__
        scope: dict[str, Any] = {
            name: namespace[name] for name in ("__builtins__", "__name__", "__file__") if name in namespace
        }
        form = FunctionType(source.__code__, scope, source.__name__, None, cells or None)
        form.__qualname__, form.__module__ = source.__qualname__, source.__module__
        form.__defaults__, form.__kwdefaults__ = self.of(source.__defaults__), self.of(source.__kwdefaults__)
        made = self._known[thing] = form if thing is source else self._make(form, thing)
        codes = list(codes_of(source.__code__))
        names = {name for code in codes for name in code.co_names}
        for name in names & namespace.keys():
            value = namespace[name]
            scope[name] = self._module(value, names) if isinstance(value, ModuleType) else self.of(value)
        for cell, original in zip(cells, source.__closure__ or (), strict=True):
            cell.cell_contents = self.of(original.cell_contents)
        return made

    def _module(self, module: ModuleType, names: set[str]) -> ModuleType:
        """Returns a copy of a module with the names that are read, in the new form."""
        if module.__name__.partition(".")[0] in FOREIGN_PACKAGES:
            return module
        twin = ModuleType(module.__name__)
        for name in names & vars(module).keys():
            thing = getattr(module, name)
            setattr(twin, name, self._module(thing, names) if isinstance(thing, ModuleType) else self.of(thing))
        return twin


class PlainForms(Forms):
    """Makes functions plain Python, so that guarded arrays can check every access."""

    replaced = {  # noqa: RUF012
        "prefetch": intrinsics.prefetch_nothing,
        "sum_rows": intrinsics.sum_rows_plain,
        "dense": intrinsics.dense_plain,
        "add_runs": intrinsics.add_runs_loops,
        "extract_bits": intrinsics.extract_bits_plain,
    }

    def __init__(self, module: str = "", made: Mapping[Any, Any] | None = None) -> None:
        super().__init__(module, made)
        self.codes: set[CodeType] = set()
        """The code objects of all functions made so far."""
        self._called: dict[Any, Callable[..., Any]] = {}

    def _make(self, form: FunctionType, source):
        self.codes.update(codes_of(form.__code__))
        return form

    def called(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Returns the new form of a function as Python calls it: numbers wrap around and divide as in compiled code."""
        if function not in self._called:
            form = self.of(function)

            @functools.wraps(form)
            def plain(*arguments):
                with np.errstate(all="ignore"):
                    return form(*arguments)

            self._called[function] = plain
        return self._called[function]


class CheckedForms(Forms):
    """Makes functions compiled code that checks every index and refuses negative ones."""

    replaced = {  # noqa: RUF012
        "prefetch": intrinsics.prefetch_and_check,
        "sum_rows": intrinsics.sum_rows_loops,
        "dense": intrinsics.dense_loops,
        "add_runs": intrinsics.add_runs_loops,
    }

    def _make(self, form: FunctionType, source):
        return index_checked(form, source)


def codes_of(code: CodeType) -> Iterator[CodeType]:
    """Yields the code of a function and of the functions inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from codes_of(constant)
