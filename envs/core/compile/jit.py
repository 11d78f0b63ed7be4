"""Compiles plain Python with numba.

`jit` compiles a function of a module. `bind` compiles a function inside a factory, with the names that it closes over: a game's
rules, a leaf, constants. Both keep machine code on disk (`cache`), and callers jump to it (`linking`).

Linking uses internals of numba, which may change with any version. With a version that was not tested, or with
`LEAFWISE_PLAIN_NUMBA`, only numba's public functions are used: results are the same, but code runs more slowly and is compiled
at every start.

Environment variables: `NUMBA_DISABLE_JIT=1` runs everything as plain Python; `NUMBA_BOUNDSCHECK=1` checks every index;
`LEAFWISE_PLAIN_NUMBA=1` uses no internals of numba.
"""

from __future__ import annotations

import functools
import os
import types as python_types
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, overload

import numba
import numpy as np

from leafwise.envs.core.compile.cache import cache_folder, fingerprint
from leafwise.envs.core.compile.speech import tell_compilation

LINKED = (0, 65), (0, 68)
"""The lowest and the highest numba that linking was tested with (`make test-numba`), as in `pyproject.toml`."""
config: Any = numba.config
DISABLED = bool(config.DISABLE_JIT)
BOUNDSCHECK = bool(config.BOUNDSCHECK)
"""Whether compiled code checks every index and refuses negative ones (slow; for tests and `check_game`)."""

COMMON: dict[str, Any] = {"error_model": "numpy", "nogil": True}
# No reference counting: an allocation in compiled code becomes a compile error, and array arguments cost nothing.
# With index checks on, numba needs the runtime for its exceptions.
AS_PLAYED: dict[str, Any] = {**COMMON, "_nrt": False, "no_cfunc_wrapper": True, "boundscheck": None}
INDEX_CHECKED: dict[str, Any] = {**AS_PLAYED, "_nrt": True, "boundscheck": True}
FLAGS = INDEX_CHECKED if BOUNDSCHECK else AS_PLAYED


def _can_link() -> bool:
    """Whether numba has the internals that linking needs; warns if not."""
    try:
        from leafwise.envs.core.compile import linking  # noqa: F401

        if not LINKED[0] <= numba.version_info.short <= LINKED[1]:
            raise ImportError("linking was tested with {}.{} to {}.{}".format(*LINKED[0], *LINKED[1]))
    except Exception as problem:
        warnings.warn(
            f"numba {numba.__version__}: expected the inner parts that fast compilation builds on, got {problem!r}; everything "
            "is compiled plainly, runs more slowly, and is compiled again at every start",
            stacklevel=2,
        )
        return False
    return True


PLAIN = not DISABLED and (bool(os.environ.get("LEAFWISE_PLAIN_NUMBA")) or not _can_link())
"""Whether only numba's public functions are used."""


@functools.cache
def refuse_negative_indices() -> None:
    """Makes index checks of numba refuse negative indices, which otherwise count from the end.

    The code also prints the index that it refuses. That is set for every process, since all share the code on disk.
    """
    from numba.np import arrayobj

    config.FULL_TRACEBACKS = 1

    original, cast = arrayobj.fix_integer_index, arrayobj.fix_integer_index.__globals__["types"].intp

    def as_it_is(context, builder, kind, index, size):
        if context.enable_boundscheck:
            return context.cast(builder, index, kind, cast)
        return original(context, builder, kind, index, size)

    arrayobj.fix_integer_index = as_it_is


if BOUNDSCHECK and not DISABLED:
    refuse_negative_indices()
tell_compilation()

P = ParamSpec("P")
R = TypeVar("R")
"""Parameters and result of a function; compiling keeps both, for readers, editors and type checkers."""
_wrapping_integers = np.errstate(over="ignore")
"""Decorates plain Python: 64-bit integers wrap around silently, as in compiled code."""
SHOWN = 16
"""Digits of its fingerprint in the name of a bound function."""


@overload
def jit(
    fn: Callable[P, R], *, inline: bool = ..., inline_source: bool = ..., ignores_leaf: bool = ...
) -> Callable[P, R]: ...


@overload
def jit(
    *, inline: bool = ..., inline_source: bool = ..., ignores_leaf: bool = ...
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...


def jit(
    fn: Callable[..., Any] | None = None,
    *,
    inline: bool = False,
    inline_source: bool = False,
    ignores_leaf: bool = False,
) -> Any:
    """Compiles `fn`; `inline=True` asks for a copy in each caller (for small functions only).

    `inline_source=True` copies the source instead, before types are known, so that `fn` and what it calls are not compiled on
    their own. It is for functions that only pass their arguments on to a large one.

    `ignores_leaf=True`: compiled callers pass `T` without the leaf's weights, as they do to a game's rules.
    """
    if fn is None:
        return functools.partial(jit, inline=inline, inline_source=inline_source, ignores_leaf=ignores_leaf)
    if DISABLED:
        return _wrapping_integers(fn)
    function = _compiled(fn, Path(fn.__code__.co_filename), inline=inline, inline_source=inline_source)
    return ignore_leaf(function) if ignores_leaf else function


def bind(
    room: Path,
    *,
    inline: bool = False,
    cache: bool = True,
    plain: bool = False,
    ignores_leaf: bool = False,
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Returns a decorator that compiles a function inside a factory, with the names that it closes over.

    `room` is the folder or file of the game that the function belongs to; its compiled code is kept together. The function may
    close over compiled functions, numbers, strings, arrays and tuples of these; anything else raises TypeError.

    A hash of the code and of everything bound identifies the compiled function (`fingerprint`) in every process. So binding the
    same things again returns the same function. `cache=False` keeps nothing on disk, `plain=True` leaves the function plain
    Python. With `ignores_leaf=True` compiled callers pass `T` without the leaf's weights, so that several leaves share one
    version. The function itself is not changed: it may be bound several times.
    """

    def decorate(fn: Callable[P, R]):
        if DISABLED or plain:
            return _wrapping_integers(fn)
        copy = python_types.FunctionType(fn.__code__, fn.__globals__, fn.__name__, fn.__defaults__, fn.__closure__)
        copy.__module__ = fn.__module__
        bound = fingerprint(copy, inline, ignores_leaf) if cache and not PLAIN else None
        if bound is None:  # something bound has no identity outside this process
            return _compiled(copy, None, inline=inline)
        copy.__qualname__ = f"{fn.__name__}__{bound[:SHOWN]}"  # a part of the cache file's name
        function = _compiled(copy, room, inline=inline, bound=bound)
        if ignores_leaf:
            function.ignores_leaf = True
        return function

    return decorate


class ResolvedEntry:
    """A compiled function that Python calls many times, always with arguments of the same types.

    The types are determined at the first call only: for a large `T` that takes twenty times as long as the call.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._entry: Callable[..., Any] | None = None

    def __call__(self, *arguments):
        if self._entry is None:
            entry = getattr(self._function, "entry", None)  # none in plain Python, nor where nothing is linked
            self._entry = self._function if entry is None else entry(*arguments)
        return self._entry(*arguments)

    def __reduce__(self):
        return ResolvedEntry, (self._function,)


def ignore_leaf(function: Callable[P, R], *, called_from_python: bool = False) -> Callable[P, R]:
    """Lets compiled callers pass `T` to a function without the leaf's weights, so that one version serves all leaves.

    `is_called`: Python will call it too.
    """
    if hasattr(function, "ignores_leaf"):
        function.ignores_leaf = True
        function.called_from_python = function.called_from_python or called_from_python  # type: ignore[attr-defined]
    return function


def index_checked(form: Callable[..., Any], function: Any) -> Any:
    """Compiles `form`, the plain function of a compiled one, with the same options and with every index checked.

    `form` calls functions in this form, see `forms`; its code is kept in a separate folder. The option is set on the dispatcher
    itself, so that functions compiled from their names alone check indices as well.
    """
    refuse_negative_indices()
    options = function.targetoptions
    inline, inline_source = bool(options.get("forceinline")), options.get("inline") == "always"
    room = getattr(function, "room", None)
    bound = getattr(function, "bound", "")
    made = _compiled(form, room, inline=inline, inline_source=inline_source, bound=bound, flags=INDEX_CHECKED)
    if getattr(function, "ignores_leaf", False):
        made.ignores_leaf, made.called_from_python = True, function.called_from_python
    return made


def _compiled(
    fn: Callable[..., Any],
    room: Path | None,
    *,
    inline: bool,
    inline_source: bool = False,
    bound: str = "",
    flags: dict[str, Any] = FLAGS,
):
    """Returns `fn` compiled, with its machine code in the cache folder of `room`, a source file; None: for this process alone."""
    if PLAIN:
        checks = {"boundscheck": flags["boundscheck"]}
        function: Any = numba.njit(inline="always" if inline_source else "never", **COMMON, **checks)(fn)
        function.room = room
        return function
    from leafwise.envs.core.compile import linking  # builds on numba's inner parts

    folder = None if room is None else cache_folder(room, str(sorted(flags.items())))
    function = linking.compiled(fn, folder, flags, inline=inline, inline_source=inline_source, bound=bound)
    function.room = room
    return function
