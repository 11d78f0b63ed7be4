"""Numba's passes without those that Leafwise's functions do not need.

Numba optimises every function and turns it into machine code before callers copy it and optimise it again. If all callers copy
it, both steps are wasted, and most functions of a search are such: `CopiedLibrary` skips them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType
from typing import Any

from numba.core import errors as numba_errors
from numba.core import ir
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, DefaultPassBuilder, Flags
from numba.core.compiler_machinery import register_pass
from numba.core.lowering import Lower
from numba.core.typed_passes import AnnotateTypes, BaseNativeLowering, NativeLowering, NopythonRewrites
from numba.core.untyped_passes import InlineClosureLikes

# Code that callers copy.


class _Nowhere:
    """Accepts the environment of a function without an address; only code for Python's objects would read it."""

    def set_env(self, name: str, environment) -> None:
        """Does nothing."""


class CopiedLibrary(JITCodeLibrary):
    """The code of a function that only its callers use, as a copy."""

    @property
    def codegen(self):
        """Returns the object that takes the function's environment."""
        return _Nowhere()

    def _optimize_final_module(self) -> None:
        """Does nothing: the callers optimise their copies."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """Returns 0: there is no machine code."""
        return 0

    def serialize_using_object_code(self):
        """Returns what the cache stores, as `loaded` takes it."""
        return self.serialize_using_bitcode()


def loaded(codegen, load: Callable[[], Any]):
    """Runs `load` with numba set to make a `CopiedLibrary`, and returns the result."""
    before = codegen._library_class
    codegen._library_class = CopiedLibrary
    try:
        return load()
    finally:
        codegen._library_class = before


# The passes.


class _Lower(Lower):
    """Emits code that reads arguments where they are passed, without a copy on the stack."""

    def _find_singly_assigned_variable(self) -> None:
        super()._find_singly_assigned_variable()
        if self.context.enable_nrt:  # reference counting clears arguments
            return
        written = [written for block in self.blocks.values() for written in block.find_insts(ir.Assign)]
        times = Counter(each.target.name for each in written)
        arguments = {each.target.name for each in written if isinstance(each.value, ir.Arg)}
        self._singly_assigned_vars |= {name for name in arguments if times[name] == 1}


@register_pass(mutates_CFG=True, analysis_only=False)
class _Lowering(BaseNativeLowering):
    _name: Any = "leafwise_lowering"

    @property
    def lowering_class(self):
        """Returns the class that emits code."""
        return _Lower


class Pipeline(Compiler):
    """Compiles as numba does, without the parts that only numba's own tools use."""

    def compile_extra(self, func: Callable[..., Any]):
        """Compiles a function."""
        flags = self.state.flags
        if flags.forceinline and flags.no_cpython_wrapper:
            self.state.library = CopiedLibrary(self.state.targetctx.codegen(), func.__qualname__)
        return super().compile_extra(func)

    def define_pipelines(self):
        """Returns the passes, without annotating types, fusing array expressions, and searching for closures in vain."""
        needless = {AnnotateTypes, NopythonRewrites}
        if not any(isinstance(part, CodeType) for part in self.state.func_id.code.co_consts):
            needless.add(InlineClosureLikes)
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.passes = [
            (_Lowering if each is NativeLowering else each, name)
            for each, name in passes.passes
            if each not in needless
        ]
        passes.finalize()
        return [passes]


class QuickFlags(Flags):
    """Compiler flags that compare quickly; numba compares them at every operation."""

    __slots__ = ()

    def values(self) -> dict[str, Any]:
        """Returns all options."""
        return {**_DEFAULTS, **self._values}

    def __hash__(self) -> int:
        return hash(type(self))

    def __eq__(self, other) -> bool:
        return self._values == other._values if isinstance(other, QuickFlags) else super().__eq__(other)


_DEFAULTS = {name: option.default for name, option in Flags.options.items()}


# Messages.

errors: Any = numba_errors


class _NoColours:
    """Leaves numba's messages unchanged; numba makes one for each form of an operator that does not fit."""

    def _same(self, message: str) -> str:
        return message

    code = errmsg = filename = indicate = highlight = reset = _same


@contextmanager
def without_colours() -> Iterator[None]:
    """Turns off colours in numba's messages, which nobody reads."""
    before = errors._termcolor_inst
    errors._termcolor_inst = _NoColours()
    try:
        yield
    finally:
        errors._termcolor_inst = before
