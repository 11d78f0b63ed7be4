"""How a function is compiled: numba's passes, less what these functions do not need.

Numba optimises every function in full and turns it into machine code before its callers copy it and optimise it again. Where all
callers copy it both are wasted, and most functions of a search are such: `CopiedLibrary` is the code of one.
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

# What callers copy.


class _Nowhere:
    """Takes the environment of a function that has no place in memory: only code that meets Python's objects reads it."""

    def set_env(self, name: str, environment) -> None:
        """Does nothing."""


class CopiedLibrary(JITCodeLibrary):
    """The code of a function, for its callers alone."""

    @property
    def codegen(self):
        """What takes the function's environment."""
        return _Nowhere()

    def _optimize_final_module(self) -> None:
        """Leaves it to the callers."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """Returns 0: there is no machine code."""
        return 0

    def serialize_using_object_code(self):
        """Returns what is kept on disk, as `loaded` takes it."""
        return self.serialize_using_bitcode()


def loaded(codegen, load: Callable[[], Any]):
    """Returns what `load` makes of a kept `CopiedLibrary`: numba asks its code generator which kind to make."""
    before = codegen._library_class
    codegen._library_class = CopiedLibrary
    try:
        return load()
    finally:
        codegen._library_class = before


# The passes.


class _Lower(Lower):
    """Emits code that reads its arguments where they came, without a copy on the stack."""

    def _find_singly_assigned_variable(self) -> None:
        super()._find_singly_assigned_variable()
        if self.context.enable_nrt:  # counts references, and clears what it has given back
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
        """What emits the code."""
        return _Lower


class Pipeline(Compiler):
    """Compiles as numba does, but for what only numba's own tools ask for."""

    def compile_extra(self, func: Callable[..., Any]):
        """Compiles a function."""
        flags = self.state.flags
        if flags.forceinline and flags.no_cpython_wrapper:
            self.state.library = CopiedLibrary(self.state.targetctx.codegen(), func.__qualname__)
        return super().compile_extra(func)

    def define_pipelines(self):
        """Returns the passes: none that writes types beside the source, fuses whole arrays or looks for functions in vain."""
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
    """Flags that are soon compared; numba does so at every operation."""

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
    """Leaves numba's messages as they are: it makes one for each form of an operator that does not fit."""

    def _same(self, message: str) -> str:
        return message

    code = errmsg = filename = indicate = highlight = reset = _same


@contextmanager
def without_colours() -> Iterator[None]:
    """Spares colours in messages that nobody reads."""
    before = errors._termcolor_inst
    errors._termcolor_inst = _NoColours()
    try:
        yield
    finally:
        errors._termcolor_inst = before
