"""What numba makes of a function that is only ever copied into its callers: no machine code, and nothing optimised twice.

Numba optimises every function in full and turns it into machine code before its callers copy it and optimise it again. Where all
callers copy it both are wasted, and most functions of a search are such.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler


class _Nowhere:
    """Takes the environment of a function that has no place in memory: only code that meets Python's objects reads it."""

    def set_env(self, name: str, environment: Any) -> None:
        """Does nothing."""


class CopiedLibrary(JITCodeLibrary):
    """The code of a function, for its callers alone."""

    @property
    def codegen(self) -> Any:
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

    def serialize_using_object_code(self) -> Any:
        """Returns what is kept on disk, as `loaded` takes it."""
        return self.serialize_using_bitcode()


class Pipeline(Compiler):
    """Compiles as numba does, but for functions that only compiled callers ask for, and copy."""

    def compile_extra(self, func: Callable[..., Any]) -> Any:
        """Compiles a function."""
        flags = self.state.flags
        if flags.forceinline and flags.no_cpython_wrapper:
            self.state.library = CopiedLibrary(self.state.targetctx.codegen(), func.__qualname__)
        return super().compile_extra(func)


def is_copied(kept: Any) -> bool:
    """Whether what numba keeps of a compiled function is a `CopiedLibrary`."""
    return bool(kept[0][1] == "bitcode")


def loaded(codegen: Any, load: Callable[[], Any]) -> Any:
    """Returns what `load` makes of a kept `CopiedLibrary`: numba asks its code generator which kind to make."""
    before = codegen._library_class
    codegen._library_class = CopiedLibrary
    try:
        return load()
    finally:
        codegen._library_class = before
