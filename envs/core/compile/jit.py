"""Compiles plain Python with numba: the only module that knows numba.

`jit` compiles one function. `specialise` clones a template (a search, a batch step) with one game's functions
injected as globals and compiles the clone. Both cache machine code on disk, in a folder named by a hash of the
sources that the code comes from, so that an edited rule never meets an old search.

Environment variables: `NUMBA_DISABLE_JIT=1` runs everything as plain Python; `NUMBA_BOUNDSCHECK=1` checks every
index; `LEAFWISE_CACHE_DIR` moves the cache.
"""

from __future__ import annotations

import functools
import hashlib
import os
import shutil
import sys
import tempfile
import types as python_types
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from leafwise.envs.core.compile.linking import Function

F = TypeVar("F", bound=Callable[..., Any])

config: Any = numba.config
DISABLED = bool(config.DISABLE_JIT)
BOUNDSCHECK = bool(config.BOUNDSCHECK)
"""Whether compiled code checks every index (slow; for tests)."""

KEEP_FOLDERS = 4
"""Cache folders kept per room; older ones are removed when a new one is made."""

# No reference counting: an allocation in compiled code becomes a compile error, and array arguments cost nothing.
# With index checks on, numba needs the runtime for its exceptions.
FLAGS: dict[str, Any] = {"error_model": "numpy", "_nrt": BOUNDSCHECK, "nogil": True, "no_cfunc_wrapper": True}

INLINE: Any = ("never", "always")
"""Numba's words for whether source is copied."""

PACKAGE = Path(__file__).resolve().parents[3]
"""The folder that holds envs, search, models, ... (a checkout, or the installed leafwise package)."""

SHARED = ("envs/core", "search", "models")
"""Folders whose sources every compiled room depends on."""


def cache_root() -> Path:
    """Returns the folder under which compiled code is kept: `LEAFWISE_CACHE_DIR`, or the user's cache folder."""
    if named := os.environ.get("LEAFWISE_CACHE_DIR"):
        return Path(named)
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local"))
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "leafwise"


def jit(fn: F | None = None, *, inline: bool = False, merged: bool = False, bare: bool = False) -> Any:
    """Compiles `fn`; `inline=True` asks for it to be copied into its callers (for small functions only).

    `merged=True` copies its source instead, before types are known: compiled callers cost no compilation of `fn`, with
    all that it calls, on its own. It is for functions that only pass their arguments on to a heavy one.

    `bare=True`: compiled callers hand over `T` without the leaf's weights, as they do to a game's rules.
    """
    if fn is None:
        return functools.partial(jit, inline=inline, merged=merged, bare=bare)
    if DISABLED:
        return _wrapping_integers(fn)
    folder = _folder(_room(Path(fn.__code__.co_filename)))
    if folder is None:
        return numba.njit(forceinline=inline, inline=INLINE[merged], **FLAGS)(fn)
    function = _cached(fn, folder, inline=inline, merged=merged)
    return leafless(function) if bare else function


def leafless(function: F) -> F:
    """Lets compiled callers hand a function `T` without the leaf's weights, so that one version serves all leaves."""
    if isinstance(function, Function):
        function.leafless = function.door = True
    return function


def _cached(fn: Callable[..., Any], folder: Path, *, inline: bool, merged: bool = False) -> Any:
    """Returns `fn` compiled, its machine code kept in a folder."""
    before, config.CACHE_DIR = config.CACHE_DIR, str(folder)  # numba reads it while it decorates
    try:
        options = {"nopython": True, "boundscheck": None, "forceinline": inline, "inline": INLINE[merged], **FLAGS}
        function = Function(py_func=fn, targetoptions=options)
        function.keep(folder.name, apart=not inline and not merged)
        return function
    finally:
        config.CACHE_DIR = before


def _prefetch_plain(array: Any, index: Any) -> None:
    """Starts to load `array[index]` into the cache; nothing in plain Python."""


@intrinsic
def _prefetch(typing: Any, array: Any, index: Any) -> Any:
    """The same, compiled: LLVM's prefetch of an address to read, to be kept."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        address = builder.bitcast(builder.gep(data, [arguments[1]]), ir.IntType(8).as_pointer())
        number = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [address.type, number, number, number])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
        builder.call(function, [address, number(0), number(3), number(1)])
        return context.get_dummy_value()

    return types.void(array, index), generate


prefetch: Any = _prefetch_plain if DISABLED else _prefetch


def _sum_rows_plain(out: Any, bias: Any, rows: Any, which: Any, n: int) -> None:
    """Writes `bias` plus the rows numbered by the first n of `which` to `out`; float32, whole arrays."""
    out[: len(bias)] = bias + rows[which[:n]].sum(axis=0)


def _dense_plain(out: Any, x: Any, weights: Any, start: int, n: int, columns: int) -> None:
    """Writes `columns` outputs of a dense layer: max(x, 0) [n] times weights, from `start` on [n, columns], plus the biases
    that follow; float32, n a multiple of 4."""
    matrix = weights[start : start + n * columns].reshape(n, columns)
    out[:columns] = np.maximum(x[:n], 0) @ matrix + weights[start + n * columns : start + (n + 1) * columns]


FLOAT = ir.FloatType()
SUM_WIDTHS, DENSE_WIDTHS = (32, 4, 1), (16, 4, 1)
"""Columns taken together, as long as there are so many: vector instructions, which numba's loops over slices seldom become."""
CONTRACT = ("contract",)
"""Lets a product and a sum be one instruction."""


def _load(builder: Any, pointer: Any, index: Any, width: int) -> Any:
    """Emits the load of `width` floats from an index on."""
    address = builder.gep(pointer, [index])
    return builder.load(builder.bitcast(address, ir.VectorType(FLOAT, width).as_pointer()), align=4)


def _store(builder: Any, value: Any, pointer: Any, index: Any, width: int) -> None:
    address = builder.gep(pointer, [index])
    builder.store(value, builder.bitcast(address, ir.VectorType(FLOAT, width).as_pointer()), align=4)


def _by_columns(builder: Any, columns: Any, widths: tuple[int, ...], body: Callable[[Any, int], None]) -> None:
    """Emits `body` for all columns, as many at once as there are."""
    done = columns.type(0)
    for width in widths:
        end = builder.sub(columns, builder.urem(columns, columns.type(width)))
        with cgutils.for_range_slice(builder, done, end, columns.type(width), inc=True) as (column, _):
            body(column, width)
        done = end


@intrinsic
def _sum_rows(typing: Any, out: Any, bias: Any, rows: Any, which: Any, n: Any) -> Any:
    """The same, compiled."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        to, biases, table, chosen = (
            context.make_array(kind)(context, builder, value)
            for kind, value in zip(signature.args[:4], arguments[:4], strict=True)
        )
        count = context.cast(builder, arguments[4], signature.args[4], types.intp)
        columns = cgutils.unpack_tuple(builder, table.shape)[1]

        def body(column: Any, width: int) -> None:
            total = cgutils.alloca_once_value(builder, _load(builder, biases.data, column, width))
            with cgutils.for_range(builder, count) as loop:
                row = builder.load(builder.gep(chosen.data, [loop.index]))
                place = builder.add(builder.mul(row, columns), column)
                builder.store(builder.fadd(builder.load(total), _load(builder, table.data, place, width)), total)
            _store(builder, builder.load(total), to.data, column, width)

        _by_columns(builder, columns, SUM_WIDTHS, body)
        return context.get_dummy_value()

    return types.void(out, bias, rows, which, n), generate


@intrinsic
def _dense(typing: Any, out: Any, x: Any, weights: Any, start: Any, n: Any, columns: Any) -> Any:
    """The same, compiled."""
    together = 4

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        to, inputs, table = (
            context.make_array(kind)(context, builder, value).data
            for kind, value in zip(signature.args[:3], arguments[:3], strict=True)
        )
        begin, rows, wide = (
            context.cast(builder, value, kind, types.intp)
            for kind, value in zip(signature.args[3:], arguments[3:], strict=True)
        )
        biases = builder.add(begin, builder.mul(rows, wide))
        step = rows.type(together)

        def body(column: Any, width: int) -> None:
            vector = ir.VectorType(FLOAT, width)
            first = _load(builder, table, builder.add(biases, column), width)
            sums = [cgutils.alloca_once_value(builder, first)]
            sums += [cgutils.alloca_once_value(builder, vector(None)) for _ in range(together - 1)]
            with cgutils.for_range_slice(builder, rows.type(0), rows, step, inc=True) as (r, _):
                for k, total in enumerate(sums):
                    row = builder.add(r, rows.type(k))
                    value = builder.load(builder.gep(inputs, [row]))
                    value = builder.select(builder.fcmp_ordered(">", value, FLOAT(0)), value, FLOAT(0))
                    spread = builder.insert_element(vector(ir.Undefined), value, ir.IntType(32)(0))
                    mask = ir.Constant(ir.VectorType(ir.IntType(32), width), [0] * width)
                    spread = builder.shuffle_vector(spread, vector(ir.Undefined), mask)
                    place = builder.add(builder.add(begin, builder.mul(row, wide)), column)
                    product = builder.fmul(spread, _load(builder, table, place, width), flags=CONTRACT)
                    builder.store(builder.fadd(builder.load(total), product, flags=CONTRACT), total)
            pairs = [builder.fadd(builder.load(sums[k]), builder.load(sums[k + 1])) for k in (0, 2)]
            _store(builder, builder.fadd(*pairs), to, column, width)

        _by_columns(builder, wide, DENSE_WIDTHS, body)
        return context.get_dummy_value()

    return types.void(out, x, weights, start, n, columns), generate


sum_rows: Any = _sum_rows_plain if DISABLED else _sum_rows
dense: Any = _dense_plain if DISABLED else _dense


def specialise(
    template: Callable[..., Any],
    name: str,
    injected: Mapping[str, Any],
    room: Path | None = None,
    *,
    inline: bool = False,
    cache: bool = True,
    plain: bool = False,
) -> Any:
    """Clones the plain function `template` with `injected` as globals and compiles the clone.

    `name` tells the clones of one template apart and must contain the game and everything that is injected.
    `room` is the folder or file of the game whose functions are injected; its sources name the cache folder.
    Recursion inside the template resolves to the clone; loaded from a cache it is not to be relied on, so a template
    that calls itself asks for `cache=False`. `plain=True` leaves the clone plain Python: what is injected may then be
    any function.
    """
    scope = {**template.__globals__, **injected}
    clone = python_types.FunctionType(template.__code__, scope, template.__name__, template.__defaults__)
    clone.__qualname__ = f"{template.__qualname__}__{_identifier(name)}"  # a part of the cache file's name
    clone.__module__ = template.__module__
    if DISABLED or plain:
        compiled: Any = _wrapping_integers(clone)
    else:
        folder = _folder(_room(room or Path(template.__code__.co_filename))) if cache else None
        if folder is None:
            compiled = numba.njit(forceinline=inline, **FLAGS)(clone)
        else:
            compiled = _cached(clone, folder, inline=inline)
    scope[template.__name__] = compiled
    return compiled


def _identifier(name: str) -> str:
    return "".join(c if c.isalnum() else "_" for c in name)


def _wrapping_integers(fn: F) -> F:
    """Lets 64-bit integers wrap around silently, as compiled code does."""

    @functools.wraps(fn)
    def plain(*args: Any) -> Any:
        with np.errstate(over="ignore"):
            return fn(*args)

    return plain  # type: ignore[return-value]


def _room(source: Path) -> Path:
    """Returns what `source` belongs to: its top package folder below `envs`, or the file itself outside a package."""
    if source.suffix != ".py":
        return source
    if not (source.parent / "__init__.py").exists():
        return source
    folder = source.parent
    while folder.parent.name != "envs" and (folder.parent / "__init__.py").exists() and folder.parent != PACKAGE:
        folder = folder.parent
    return folder


@functools.cache
def _folder(room: Path) -> Path | None:
    """Returns the cache folder for a room's compiled code, made if need be; None where none can be written."""
    if not room.exists():  # typed at a prompt: numba cannot cache it either
        return None
    digest = hashlib.sha256(f"{numba.__version__} {sys.version_info[:2]} {sorted(FLAGS.items())}".encode())
    shared = [PACKAGE / name for name in SHARED]
    for place in [*shared, *([] if room in shared else [room])]:
        for path in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
            digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    folder = cache_root() / f"{room.stem}-{digest.hexdigest()[:16]}"
    try:
        fresh = not folder.exists()
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as problem:
        warnings.warn(f"compiled code is not cached, every start compiles again: {problem}", stacklevel=4)
        return None
    if fresh:
        _prune(folder)
    return folder


def _prune(newest: Path) -> None:
    """Removes the oldest cache folders of the same room."""
    prefix = newest.name.rpartition("-")[0]
    others = [p for p in newest.parent.glob(f"{prefix}-*") if p != newest and p.name.rpartition("-")[0] == prefix]
    for old in sorted(others, key=lambda p: p.stat().st_mtime, reverse=True)[KEEP_FOLDERS - 1 :]:
        shutil.rmtree(old, ignore_errors=True)
