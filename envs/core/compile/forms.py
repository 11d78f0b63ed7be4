"""Compiled functions in another form, in the process that compiles them: as plain Python, or with every index checked.

Whatever a function reaches is made again in that form, each thing once: what its module names, what it closes over, its
defaults, and functions in tuples and dicts of these. A game's own functions of plain Python, such as those that read and write
texts, are made again too, so that the compiled ones that they call have this form.
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
"""Instructions of which plain Python has none, and which check no index."""
AS_THEY_ARE = {*sys.stdlib_module_names, "numpy", "numba", "gymnasium"}
"""Packages that hold no function of a game."""


class Forms:
    """The forms of some functions that call each other; the others are those of a subclass."""

    replaced: Mapping[str, Any]
    """What stands in for each of `EMITTED`."""

    def __init__(self, module: str = "", made: Mapping[Any, Any] | None = None) -> None:
        self.module = module
        """The module or package of the game, whose functions of plain Python are made again."""
        self._known: dict[Any, Any] = dict(made or {})
        self._replaced = {
            id(getattr(module, name)): self.replaced[name]
            for module in (emitted, intrinsics)
            for name in EMITTED
            if name in self.replaced
        }

    def _make(self, form: FunctionType, source):
        """Returns what callers call, for the function of a compiled one, `source`, that is made again."""
        raise NotImplementedError

    def of(self, thing):
        """Returns the form of whatever a name in compiled code stands for; `made` of the constructor has some already."""
        thing = self._replaced.get(id(thing), thing)
        if isinstance(thing, tuple):
            parts = [self.of(part) for part in thing]
            unlike = any(new is not old for new, old in zip(parts, thing, strict=True))
            return thing if not unlike else thing._make(parts) if hasattr(thing, "_make") else tuple(parts)
        if isinstance(thing, dict):
            return {key: self.of(part) for key, part in thing.items()}
        source = getattr(thing, "py_func", thing if self._is_own(thing) else None)
        if not isinstance(source, FunctionType):
            return thing
        return self._known.get(thing) or self._again(thing, source)

    def called(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Returns the form of a function as Python calls it."""
        return self.of(function)

    def _is_own(self, thing) -> bool:
        """Whether something is a function of the game's in plain Python, which keeps no state in its module.

        So is one that the package made of functions of the game, like `reads_back`.
        """
        if not isinstance(thing, FunctionType):
            return False
        module = f"{thing.__module__}."
        if not module.startswith(f"{self.module}.") and not (module.startswith("leafwise.") and thing.__closure__):
            return False
        return not any(step.opname == "STORE_GLOBAL" for step in dis.get_instructions(thing))

    def _again(self, thing, source: FunctionType):
        cells = tuple(CellType() for _ in source.__closure__ or ())
        own = source.__globals__
        scope: dict[str, Any] = {name: own[name] for name in ("__builtins__", "__name__", "__file__") if name in own}
        form = FunctionType(source.__code__, scope, source.__name__, None, cells or None)
        form.__qualname__, form.__module__ = source.__qualname__, source.__module__
        made = self._known[thing] = form if thing is source else self._make(form, thing)
        form.__defaults__, form.__kwdefaults__ = self.of(source.__defaults__), self.of(source.__kwdefaults__)
        codes = list(codes_of(source.__code__))
        names = {name for code in codes for name in code.co_names}
        for name in names & own.keys():
            scope[name] = self._module(own[name], names) if isinstance(own[name], ModuleType) else self.of(own[name])
        for cell, original in zip(cells, source.__closure__ or (), strict=True):
            cell.cell_contents = self.of(original.cell_contents)
        return made

    def _module(self, module: ModuleType, names: set[str]) -> ModuleType:
        """Returns a module with those of its names that are read, in this form."""
        if module.__name__.partition(".")[0] in AS_THEY_ARE:
            return module
        twin = ModuleType(module.__name__)
        for name in names & vars(module).keys():
            thing = getattr(module, name)
            setattr(twin, name, self._module(thing, names) if isinstance(thing, ModuleType) else self.of(thing))
        return twin


class PlainForms(Forms):
    """Plain Python, so that arrays of Python can check what they are asked for."""

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
        """The code of all functions made so far, as frames show it."""
        self._called: dict[Any, Callable[..., Any]] = {}

    def _make(self, form: FunctionType, source):
        self.codes.update(codes_of(form.__code__))
        return form

    def called(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Returns the form of a function as Python calls it: numbers wrap around and divide as in compiled code."""
        if function not in self._called:
            form = self.of(function)

            @functools.wraps(form)
            def plain(*arguments):
                with np.errstate(all="ignore"):
                    return form(*arguments)

            self._called[function] = plain
        return self._called[function]


class CheckedForms(Forms):
    """Compiled code that checks every index, and takes a negative one for a mistake."""

    replaced = {  # noqa: RUF012
        "prefetch": intrinsics.prefetch_and_check,
        "sum_rows": intrinsics.sum_rows_loops,
        "dense": intrinsics.dense_loops,
        "add_runs": intrinsics.add_runs_loops,
    }

    def _make(self, form: FunctionType, source):
        return index_checked(form, source)


def codes_of(code: CodeType) -> Iterator[CodeType]:
    """Yields a function's code and that of the functions inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from codes_of(constant)
