"""Links compiled functions by name instead of copying the code of each into all its callers.

Numba optimises a called function again, with all that it calls in turn, in every caller. A `Function` keeps its machine code
to itself: callers jump to a symbol, whose name tells the sources, the function and the types of its arguments. A
caller's cache file lists what it jumps to, and these functions are loaded (or compiled) before it is.

A function that only compiled code calls needs no wrapper that takes Python's objects apart; for a large `T` that would be most
of its code. It is compiled again, with one, when Python first calls it. Rules (`door`) have it at once.

Rules do not look at the weights in `T.leaf`. Compiled callers hand them a `T` without, so that they are compiled once for all
leaves.
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

from leafwise.envs.core.compile.cache import tell_not_kept
from leafwise.envs.core.compile.emitted import Held
from leafwise.envs.core.compile.errors import explained
from leafwise.envs.core.compile.pipeline import Pipeline, QuickFlags, loaded, without_colours
from leafwise.envs.core.interrupts import whole
from leafwise.envs.core.waiting import loading

PREFIX = "leafwise."
"""How the symbols begin."""
CHECKSUM = 4
"""Bytes of a file's checksum."""

Ident = tuple[str, str, str]
"""Cache folder, module and qualified name of a function."""

_FUNCTIONS: dict[Ident, Function] = {}
_KEPT: list[Any] = []
"""Versions that may be jumped to, for as long as the process lives."""
_SYMBOLS: dict[str, tuple[Ident, tuple[Any, ...]]] = {}
"""Which function, for which types of arguments, stands behind each symbol of this process."""


class _Locator(UserProvidedCacheLocator):
    """Finds the folder of a function, which is tried out when something is written to it."""

    @classmethod
    def from_function(cls, py_func, py_file):
        """Returns the locator of a function."""
        return cls(py_func, py_file)


def _names_alone(module):
    """Returns a module that defines the same names as another one, as numbers."""
    named = (*module.functions, *module.global_variables)
    return llvm.parse_assembly("\n".join(f'@"{it.name}" = global i8 0' for it in named if not it.is_declaration))


class _Reloading(CompileResultCacheImpl):
    """Keeps beside the machine code what it jumps to."""

    _locator_classes = [_Locator]  # noqa: RUF012
    apart = False
    """Whether callers jump to it: none asks for code to copy, which numba would keep, and read again, beside the machine code."""

    def reduce(self, cres):
        module = cres.library._final_module
        needed = [_SYMBOLS[f.name] for f in module.functions if f.is_declaration and f.name.startswith(PREFIX)]
        if self.apart:
            cres.library._shared_module = _names_alone(module)
        return needed, super().reduce(cres)

    def rebuild(self, target_context, payload):
        needed, own = payload
        for ident, kinds in needed:
            function = _FUNCTIONS.get(ident)
            if function is None or not function._apart:
                return None  # as if nothing had been found
            function.compile_inside(kinds)
        if own[0][1] == "bitcode":  # kept of a `CopiedLibrary`
            return loaded(target_context.codegen(), lambda: super(_Reloading, self).rebuild(target_context, own))
        return super().rebuild(target_context, own)


def type_without_leaf(kind):
    """Returns the type of `T` without the leaf's weights; other types as they are."""
    if not isinstance(kind, types.NamedTuple) or "leaf" not in kind.fields:
        return kind
    parts = [types.Tuple(()) if field == "leaf" else part for field, part in zip(kind.fields, kind.types, strict=True)]
    return types.BaseTuple.from_types(parts, kind.instance_class)


@lower_cast(types.NamedTuple, types.NamedTuple)
def _leave_out(context, builder, given, wanted, value):
    """Turns a `T` into one without the leaf's weights."""
    if wanted != type_without_leaf(given):
        raise NotImplementedError(f"expected {given} or the same without leaf, got {wanted}")
    parts = [
        context.make_tuple(builder, kind, ()) if field == "leaf" else part
        for field, kind, part in zip(wanted.fields, wanted.types, cgutils.unpack_tuple(builder, value), strict=True)
    ]
    return context.make_tuple(builder, wanted, parts)


class _Files(IndexDataCacheFile):
    """A file for each version of a function, named by what tells it.

    Numba lists the versions of a function in an index, in which processes that write at once may put one's code under the key
    of another's. Here each file begins with its checksum: damaged machine code must not be run. What cannot be read or written is
    told once, and costs the time of compiling.
    """

    def save(self, key, data) -> None:
        body = self._dump(data)
        try:
            with self._open_for_write(self._data_path(self._name(key))) as file:
                file.write(zlib.crc32(body).to_bytes(CHECKSUM) + body)
        except OSError as problem:
            tell_not_kept(problem)

    def load(self, key):
        path = Path(self._data_path(self._name(key)))
        try:
            found = path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as problem:
            tell_not_kept(problem)
            return None
        if len(found) <= CHECKSUM or zlib.crc32(memoryview(found)[CHECKSUM:]).to_bytes(CHECKSUM) != found[:CHECKSUM]:
            warnings.warn(f"compiled code in {str(path.parent)!r} was damaged and is compiled anew", stacklevel=2)
            return None
        return pickle.loads(memoryview(found)[CHECKSUM:])

    def _name(self, key) -> str:
        kinds, *others = key
        told = repr((self._source_stamp, [described(kind) for kind in kinds], others))
        return f"{self._index_name.removesuffix('.nbi')}.{hashlib.sha256(told.encode()).hexdigest()[:32]}.nbc"


def described(kind) -> str:
    """Returns a type in words that tell NamedTuples of one name in several modules apart."""
    if isinstance(kind, Held):
        return f"held({', '.join(map(described, kind.kinds))})"
    if not isinstance(kind, types.BaseTuple):
        return str(kind)
    own: Any = getattr(kind, "instance_class", tuple)
    parts: Any = kind
    return f"{own.__module__}.{own.__qualname__}({', '.join(map(described, parts))})"


class _Cache(FunctionCache):
    """The cached versions of a function, with and without a wrapper for Python."""

    _impl_class = _Reloading
    inside = False
    """Whether the version asked for, or to be kept, needs no wrapper."""
    bound = ""
    """The fingerprint of what a function inside a factory is bound to."""

    def __init__(self, py_func) -> None:
        super().__init__(py_func)
        self._cache_file = _Files(self._cache_path, self._impl.filename_base, self._impl.locator.get_source_stamp())

    def load_overload(self, sig, target_context):
        """Loads a version; numba would first set up all that compiling needs, which takes as long as to import numba."""
        with loading():
            rtsys.initialize(target_context)
            found = self._load_overload(sig, target_context)
            if found is None and self.inside:
                self.inside = False  # one with a wrapper serves as well
                found = self._load_overload(sig, target_context)
                self.inside = True
        return found

    def save_overload(self, sig, data) -> None:
        try:
            super().save_overload(sig, data)
        except OSError as problem:  # the folder has gone, or takes no files
            tell_not_kept(problem)

    def _index_key(self, sig, codegen):
        if self.bound:
            return sig, codegen.magic_tuple(), self.bound, self.inside
        return *super()._index_key(sig, codegen), self.inside


@contextmanager
def _garbage_left() -> Iterator[None]:
    """Leaves garbage alone until a function and all that it calls is compiled: looking for it took a seventh of the time."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


class Function(CPUDispatcher):
    """A function compiled by numba, its machine code kept in a folder."""

    ignores_leaf = False
    """Whether compiled callers hand over `T` without the leaf's weights."""
    door = False
    """Whether Python is sure to call it."""
    overloads: Any
    _compiler: Any
    _cache_hits: Any
    _cache_misses: Any
    room: Path | None = None
    """The source whose cache folder keeps it."""
    ident: Ident | None = None
    """What tells it from all others, in every process; None: it is not kept."""
    bound = ""
    """The fingerprint of what it is bound to, if it was made by a factory."""
    _apart = False
    _inside = False
    """Whether it is a compiled caller that asks for a version."""
    _wrapperless: set[tuple[Any, ...]] = set()  # noqa: RUF012

    def keep(self, folder: str, *, apart: bool, bound: str = "") -> Function:
        """Caches the machine code in the folder that numba is set to, `folder` its name; `apart`: callers jump to it.

        Returns itself, or the function that is bound to the same things already: the fingerprint of those is in its name.
        """
        ident = folder, self.py_func.__module__, self.py_func.__qualname__
        if bound and (other := _FUNCTIONS.get(ident)):
            return other
        self._cache = _Cache(self.py_func)
        self._cache.bound = self.bound = bound
        self._cache._impl.apart = apart
        self.ident, self._apart = ident, apart
        self._wrapperless = set()
        if apart or ident not in _FUNCTIONS:  # one that callers copy has the name too, but nobody jumps to it
            _FUNCTIONS[ident] = self
        return self

    def get_call_template(self, args, kws):
        """Answers a compiled caller which version to call."""
        before, self._inside = self._inside, True
        try:
            with suppress(NumbaError):  # one version for all numbers, unless one is needed as a constant
                return super().get_call_template(tuple(self._handed(types.unliteral(kind)) for kind in args), kws)
            return super().get_call_template(tuple(map(self._handed, args)), kws)
        finally:
            self._inside = before

    def _handed(self, kind):
        """Returns the type in which a compiled caller hands over an argument."""
        return type_without_leaf(kind) if self.ignores_leaf else kind

    def _compile_for_args(self, *arguments, **named):
        """Compiles for arguments that Python gives; raises CompileError, two lines, where it cannot."""
        try:
            return super()._compile_for_args(*arguments, **named)  # type: ignore[misc]
        except (NumbaError, NotImplementedError) as problem:
            raise explained(problem, self.py_func, arguments) from None

    def entry(self, *arguments):
        """Returns the machine code for arguments of these types, as a function of Python's: it asks no types any more.

        Raises CompileError as a call does.
        """
        try:
            return self.compile(tuple(self.typeof_pyval(argument) for argument in arguments))
        except (NumbaError, NotImplementedError) as problem:
            raise explained(problem, self.py_func, arguments) from None

    @global_compiler_lock
    def compile(self, sig):
        """Compiles or loads a version, for Python unless a compiled caller asks, and returns its entry point."""
        kinds, _ = normalize_signature(sig)
        if kinds in self._wrapperless and not self._inside:
            self._wrapperless.discard(kinds)
            del self.overloads[kinds]
        if kinds in self.overloads:
            return self.overloads[kinds].entry_point
        with _garbage_left(), without_colours(), whole():
            return self._compile(sig, inside=self._inside and not self.door)

    def compile_inside(self, kinds: tuple[Any, ...]) -> None:
        """Compiles or loads a version for compiled callers, unless there is one."""
        before, self._inside = self._inside, True
        try:
            self.compile(kinds)
        finally:
            self._inside = before

    def _compile(self, sig, *, inside: bool):
        if self.ident is None:
            return self._found_or_made(sig)
        options = self._compiler.targetoptions
        before = options.get("no_cpython_wrapper", False), self._cache.inside, self._inside
        options["no_cpython_wrapper"], self._cache.inside, self._inside = inside, inside, False
        try:
            return self._found_or_made(sig)
        finally:
            options["no_cpython_wrapper"], self._cache.inside, self._inside = before

    def _found_or_made(self, sig):
        """Does as numba does, but without its timers, which every call of LLVM would tell."""
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
        """Adds a version for types of arguments; where it stays apart, callers compiled from now on jump to it."""
        kinds, result = tuple(cres.fndesc.argtypes), cres.fndesc.restype
        if cres.library.get_pointer_to_function(cres.fndesc.llvm_cpython_wrapper_name):
            super().add_overload(cres)
        else:
            self.overloads[kinds] = cres
            self._wrapperless.add(kinds)
        if self.ident is None or not self._apart:
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
    """Returns `fn` compiled with numba's `flags`, its machine code kept in `folder` if any; the rest is that of `jit.jit`."""
    settings: Any = config
    before, settings.CACHE_DIR = settings.CACHE_DIR, str(folder)  # numba reads it while it decorates
    try:
        source = "always" if inline_source else "never"
        options = {"nopython": True, "forceinline": inline, "inline": source, **flags}
        function = Function(py_func=fn, targetoptions=options, pipeline_class=Pipeline)
        function._compiler._customize_flags = QuickFlags
        if folder is None:
            return function
        return function.keep(folder.name, apart=not inline and not inline_source, bound=bound)
    finally:
        settings.CACHE_DIR = before
