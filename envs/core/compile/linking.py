"""Links compiled functions by name instead of copying the code of each into all its callers.

For every caller, numba optimises a called function again, with everything that it calls. A `Function` keeps its machine code to
itself, and callers jump to a symbol. The name of the symbol identifies the sources, the function and its argument types. The
cache file of a caller lists the symbols that it needs, and these functions are loaded (or compiled) first.

A function that only compiled code calls needs no wrapper for Python's objects, which for a large `T` would be most of its code.
It is compiled again, with a wrapper, when Python first calls it. Rules that Python calls (`called_from_python`) get it at once.

Rules do not read the weights in `T.leaf`. Compiled callers pass them a `T` without weights, so that they are compiled once for
all leaves.
"""

from __future__ import annotations

import gc
import hashlib
import pickle
import warnings
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
from numba import config
from numba.core import cgutils, types
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile, UserProvidedCacheLocator
from numba.core.compiler_lock import global_compiler_lock
from numba.core.errors import NumbaError
from numba.core.event import trigger_event
from numba.core.funcdesc import ExternalFunctionDescriptor
from numba.core.registry import CPUDispatcher
from numba.core.runtime import rtsys
from numba.core.sigutils import normalize_signature
from numba.extending import lower_cast

from leafwise.envs.core.compile.cache import warn_not_kept
from leafwise.envs.core.compile.emitted import BoundArguments
from leafwise.envs.core.compile.errors import explained_error
from leafwise.envs.core.compile.pipeline import Pipeline, QuickFlags, loaded, without_colours
from leafwise.envs.core.interrupts import uninterrupted
from leafwise.envs.core.waiting import loading

PREFIX = "leafwise."
"""Prefix of all symbols."""
CHECKSUM = 4
"""Bytes of a file's checksum."""

Ident = tuple[str, str, str]
"""Cache folder, module and qualified name of a function."""

_FUNCTIONS: dict[Ident, Function] = {}
_KEPT: list[Any] = []
"""Versions that callers may jump to; they live as long as the process."""
_SYMBOLS: dict[str, tuple[Ident, tuple[Any, ...]]] = {}
"""The function and the argument types behind each symbol of this process."""


class _Locator(UserProvidedCacheLocator):
    """Finds the cache folder of a function; whether it is writable shows when something is written."""

    @classmethod
    def from_function(cls, py_func, py_file):
        """Returns the locator of a function."""
        return cls(py_func, py_file)


def _names_alone(module):
    """Returns a module that defines the names of another one as numbers."""
    named = (*module.functions, *module.global_variables)
    return llvm.parse_assembly("\n".join(f'@"{it.name}" = global i8 0' for it in named if not it.is_declaration))


class _Reloading(CompileResultCacheImpl):
    """Stores the list of needed symbols beside the machine code."""

    _locator_classes = [_Locator]  # noqa: RUF012
    no_inline = False
    """Whether callers jump to it. None then needs the code to copy, which numba would store and read beside the machine code."""

    def reduce(self, cres):
        module = cres.library._final_module
        needed = [_SYMBOLS[f.name] for f in module.functions if f.is_declaration and f.name.startswith(PREFIX)]
        if self.no_inline:
            cres.library._shared_module = _names_alone(module)
        return needed, super().reduce(cres)

    def rebuild(self, target_context, payload):
        needed, stored = payload
        for ident, kinds in needed:
            function = _FUNCTIONS.get(ident)
            if function is None or not function._no_inline:
                return None  # as if there were no file
            function.compile_inside(kinds)
        if stored[0][1] == "bitcode":  # stored by a `CopiedLibrary`
            return loaded(target_context.codegen(), lambda: super(_Reloading, self).rebuild(target_context, stored))
        return super().rebuild(target_context, stored)


def type_without_leaf(kind):
    """Returns the type of `T` without the leaf's weights; other types unchanged."""
    if not isinstance(kind, types.NamedTuple) or "leaf" not in kind.fields:
        return kind
    parts = [types.Tuple(()) if field == "leaf" else part for field, part in zip(kind.fields, kind.types, strict=True)]
    return types.BaseTuple.from_types(parts, kind.instance_class)


@lower_cast(types.NamedTuple, types.NamedTuple)
def _drop_leaf(context, builder, given, wanted, value):
    """Emits the conversion of a `T` into one without the leaf's weights."""
    if wanted != type_without_leaf(given):
        raise NotImplementedError(f"expected {given} or the same without leaf, got {wanted}")
    parts = [
        context.make_tuple(builder, kind, ()) if field == "leaf" else part
        for field, kind, part in zip(wanted.fields, wanted.types, cgutils.unpack_tuple(builder, value), strict=True)
    ]
    return context.make_tuple(builder, wanted, parts)


class _Files(IndexDataCacheFile):
    """Stores each version of a function in a file named by a hash of what identifies it.

    Numba lists the versions of a function in an index file; processes that write at the same time may store one version under
    another's key. Here each file begins with a checksum, since damaged machine code must not run. If a file cannot be read or
    written, one warning says so, and the function is compiled.
    """

    def save(self, key, data) -> None:
        body = self._dump(data)
        try:
            with self._open_for_write(self._data_path(self._name(key))) as file:
                file.write(zlib.crc32(body).to_bytes(CHECKSUM) + body)
        except OSError as problem:
            warn_not_kept(problem)

    def load(self, key):
        path = Path(self._data_path(self._name(key)))
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as problem:
            warn_not_kept(problem)
            return None
        if len(data) <= CHECKSUM or zlib.crc32(memoryview(data)[CHECKSUM:]).to_bytes(CHECKSUM) != data[:CHECKSUM]:
            warnings.warn(f"compiled code in {str(path.parent)!r} was damaged and is compiled anew", stacklevel=2)
            return None
        return pickle.loads(memoryview(data)[CHECKSUM:])

    def _name(self, key) -> str:
        kinds, *others = key
        identity = repr((self._source_stamp, [type_text(kind) for kind in kinds], others))
        return f"{self._index_name.removesuffix('.nbi')}.{hashlib.sha256(identity.encode()).hexdigest()[:32]}.nbc"


def type_text(kind) -> str:
    """Returns a type as text, in which equally named NamedTuples of different modules differ."""
    if isinstance(kind, BoundArguments):
        return f"bound({', '.join(map(type_text, kind.kinds))})"
    if not isinstance(kind, types.BaseTuple):
        return str(kind)
    instance_class: Any = getattr(kind, "instance_class", tuple)
    parts: Any = kind
    return f"{instance_class.__module__}.{instance_class.__qualname__}({', '.join(map(type_text, parts))})"


class _Cache(FunctionCache):
    """The cached versions of a function, with and without a wrapper for Python."""

    _impl_class = _Reloading
    inside = False
    """Whether the version to load or store needs no wrapper."""
    bound = ""
    """The fingerprint of what a function inside a factory is bound to."""

    def __init__(self, py_func) -> None:
        super().__init__(py_func)
        self._cache_file = _Files(self._cache_path, self._impl.filename_base, self._impl.locator.get_source_stamp())

    def load_overload(self, sig, target_context):
        """Loads a version. Numba would first set up its whole compiler, which takes as long as importing numba."""
        with loading():
            rtsys.initialize(target_context)
            version = self._load_overload(sig, target_context)
            if version is None and self.inside:
                self.inside = False  # a version with a wrapper serves as well
                version = self._load_overload(sig, target_context)
                self.inside = True
        return version

    def save_overload(self, sig, data) -> None:
        try:
            super().save_overload(sig, data)
        except OSError as problem:  # the folder is gone or not writable
            warn_not_kept(problem)

    def _index_key(self, sig, codegen):
        if self.bound:
            return sig, codegen.magic_tuple(), self.bound, self.inside
        return *super()._index_key(sig, codegen), self.inside


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """Pauses garbage collection while a function and its callees are compiled; it took a seventh of the time."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


class Function(CPUDispatcher):
    """A function compiled by numba, with its machine code in a folder."""

    ignores_leaf = False
    """Whether compiled callers pass `T` without the leaf's weights."""
    called_from_python = False
    """Whether Python will call it."""
    overloads: Any
    _compiler: Any
    _cache_hits: Any
    _cache_misses: Any
    room: Path | None = None
    """The source file whose cache folder keeps it."""
    ident: Ident | None = None
    """Identifies it in every process; None: it is not kept."""
    bound = ""
    """The fingerprint of what it is bound to, if a factory made it."""
    _no_inline = False
    _inside = False
    """Whether the current request for a version comes from compiled code."""
    _wrapperless: set[tuple[Any, ...]] = set()  # noqa: RUF012

    def keep(self, folder: str, *, no_inline: bool, bound: str = "") -> Function:
        """Stores machine code in the folder that numba is set to; `folder` is its name. `no_inline`: callers jump to the code.

        Returns itself, or an existing function that is bound to the same things: their fingerprint is part of its name.
        """
        ident = folder, self.py_func.__module__, self.py_func.__qualname__
        if bound and (other := _FUNCTIONS.get(ident)):
            return other
        self._cache = _Cache(self.py_func)
        self._cache.bound = self.bound = bound
        self._cache._impl.no_inline = no_inline
        self.ident, self._no_inline = ident, no_inline
        self._wrapperless = set()
        if no_inline or ident not in _FUNCTIONS:  # an inlined function has a name too, but nobody jumps to it
            _FUNCTIONS[ident] = self
        return self

    def get_call_template(self, args, kws):
        """Tells a compiled caller which version to call."""
        before, self._inside = self._inside, True
        try:
            with suppress(NumbaError):  # one version for all numbers, unless a constant is needed
                return super().get_call_template(tuple(self._passed_type(types.unliteral(kind)) for kind in args), kws)
            return super().get_call_template(tuple(map(self._passed_type, args)), kws)
        finally:
            self._inside = before

    def _passed_type(self, kind):
        """Returns the type in which a compiled caller passes an argument."""
        return type_without_leaf(kind) if self.ignores_leaf else kind

    def _compile_for_args(self, *arguments, **named):
        """Compiles for a call from Python; raises CompileError, in two lines, if it cannot."""
        try:
            return super()._compile_for_args(*arguments, **named)  # type: ignore[misc]
        except (NumbaError, NotImplementedError) as problem:
            raise explained_error(problem, self.py_func, arguments) from None

    def entry(self, *arguments):
        """Returns the machine code for arguments of these types, as a Python function that checks no types.

        Raises CompileError as a call does.
        """
        try:
            return self.compile(tuple(self.typeof_pyval(argument) for argument in arguments))
        except (NumbaError, NotImplementedError) as problem:
            raise explained_error(problem, self.py_func, arguments) from None

    @global_compiler_lock
    def compile(self, sig):
        """Compiles or loads a version, for Python unless compiled code asks, and returns its entry point."""
        kinds, _ = normalize_signature(sig)
        if kinds in self._wrapperless and not self._inside:
            self._wrapperless.discard(kinds)
            del self.overloads[kinds]
        if kinds in self.overloads:
            return self.overloads[kinds].entry_point
        with _no_garbage_collection(), without_colours(), uninterrupted():
            return self._compile(sig, inside=self._inside and not self.called_from_python)

    def compile_inside(self, kinds: tuple[Any, ...]) -> None:
        """Compiles or loads a version for compiled callers, unless there is one."""
        before, self._inside = self._inside, True
        try:
            self.compile(kinds)
        finally:
            self._inside = before

    def _compile(self, sig, *, inside: bool):
        if self.ident is None:
            return self._load_or_compile(sig)
        options = self._compiler.targetoptions
        before = options.get("no_cpython_wrapper", False), self._cache.inside, self._inside
        options["no_cpython_wrapper"], self._cache.inside, self._inside = inside, inside, False
        try:
            return self._load_or_compile(sig)
        finally:
            options["no_cpython_wrapper"], self._cache.inside, self._inside = before

    def _load_or_compile(self, sig):
        """Loads or compiles a version as numba does, but without numba's timers, which report every call of LLVM."""
        version = self._cache.load_overload(sig, self.targetctx)
        if version is None:
            self._cache_misses[sig] += 1
            details = {"dispatcher": self, "args": normalize_signature(sig)[0], "return_type": None}
            with self._compiling_counter, trigger_event("numba:compile", data=details):
                version = self._compiler.compile(*normalize_signature(sig))
            self.add_overload(version)
            self._cache.save_overload(sig, version)
        else:
            self._cache_hits[sig] += 1
            self.targetctx.insert_user_function(version.entry_point, version.fndesc, [version.library])
            self.add_overload(version)
        return version.entry_point

    def add_overload(self, cres) -> None:
        """Adds a version for argument types; if it is not inlined, callers compiled from now on jump to it."""
        kinds, result = tuple(cres.fndesc.argtypes), cres.fndesc.restype
        if cres.library.get_pointer_to_function(cres.fndesc.llvm_cpython_wrapper_name):
            super().add_overload(cres)
        else:
            self.overloads[kinds] = cres
            self._wrapperless.add(kinds)
        if self.ident is None or not self._no_inline:
            return
        named = repr((self.ident, self.bound, tuple(str(kind) for kind in kinds), str(result)))
        symbol = PREFIX + hashlib.sha256(named.encode()).hexdigest()[:32]
        llvm.add_symbol(symbol, cres.library.get_pointer_to_function(cres.fndesc.llvm_func_name))
        _SYMBOLS[symbol] = self.ident, kinds
        _KEPT.append(cres)
        self.targetctx.remove_user_function(cres.entry_point)
        self.targetctx.insert_user_function(cres.entry_point, ExternalFunctionDescriptor(symbol, result, kinds))


def compiled(
    fn: Callable[..., Any],
    folder: Path | None,
    flags: dict[str, Any],
    *,
    inline: bool = False,
    inline_source: bool = False,
    bound: str = "",
) -> Function:
    """Returns `fn` compiled with numba's `flags`, with its machine code in `folder` if any; other arguments as in `jit.jit`."""
    settings: Any = config
    before, settings.CACHE_DIR = settings.CACHE_DIR, str(folder)  # numba reads it while it decorates
    try:
        source = "always" if inline_source else "never"
        options = {"nopython": True, "forceinline": inline, "inline": source, **flags}
        function = Function(py_func=fn, targetoptions=options, pipeline_class=Pipeline)
        function._compiler._customize_flags = QuickFlags
        if folder is None:
            return function
        return function.keep(folder.name, no_inline=not inline and not inline_source, bound=bound)
    finally:
        settings.CACHE_DIR = before
