"""Compiles plain Python with numba.

`jit` compiles a function of a module. `bind` compiles a function inside a factory, with the names that it closes over: a game's
rules, a leaf, constants. Both keep machine code on disk (`cache`), and callers jump to it (`linking`).

Linking builds on numba's inner parts, which may change with any version. Under another version than those that it is tested with,
or where `LEAFWISE_PLAIN_NUMBA` is set, everything is compiled by numba's own means: it answers the same, but more slowly, and
compiles at every start.

Environment variables: `NUMBA_DISABLE_JIT=1` runs everything as plain Python; `NUMBA_BOUNDSCHECK=1` checks every index;
`LEAFWISE_PLAIN_NUMBA=1` compiles without numba's inner parts.
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
"""The lowest and the highest numba that linking is tested with (`make test-numba`), as `pyproject.toml` has them."""
config: Any = numba.config
DISABLED = bool(config.DISABLE_JIT)
BOUNDSCHECK = bool(config.BOUNDSCHECK)
"""Whether compiled code checks every index, and takes a negative one for a mistake (slow; for tests and `check_game`)."""

COMMON: dict[str, Any] = {"error_model": "numpy", "nogil": True}
# No reference counting: an allocation in compiled code becomes a compile error, and array arguments cost nothing.
# With index checks on, numba needs the runtime for its exceptions.
AS_PLAYED: dict[str, Any] = {**COMMON, "_nrt": False, "no_cfunc_wrapper": True, "boundscheck": None}
INDEX_CHECKED: dict[str, Any] = {**AS_PLAYED, "_nrt": True, "boundscheck": True}
FLAGS = INDEX_CHECKED if BOUNDSCHECK else AS_PLAYED


def _can_link() -> bool:
    """Whether numba has the inner parts that linking builds on; says so where it has not."""
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
"""Whether numba's own means alone are used."""


@functools.cache
def refuse_negative_indices() -> None:
    """Lets numba leave negative indices as they are where it checks them, and refuse them: no row is counted from the end.

    Code that refuses an index also prints it, whichever process compiled it: what is kept is one for all.
    """
    from numba.np import arrayobj

    config.FULL_TRACEBACKS = 1

    before, cast = arrayobj.fix_integer_index, arrayobj.fix_integer_index.__globals__["types"].intp

    def as_it_is(context, builder, kind, index, size):
        if context.enable_boundscheck:
            return context.cast(builder, index, kind, cast)
        return before(context, builder, kind, index, size)

    arrayobj.fix_integer_index = as_it_is


if BOUNDSCHECK and not DISABLED:
    refuse_negative_indices()
tell_compilation()

P = ParamSpec("P")
R = TypeVar("R")
"""What a function takes and returns: compiled it does the same, for a reader, an editor and a type checker."""
_wrapping_integers = np.errstate(over="ignore")
"""Decorates plain Python: 64-bit integers wrap around silently, as in compiled code."""
SHOWN = 16
"""Digits of its fingerprint that are a part of a bound function's name."""


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
    """Compiles `fn`; `inline=True` asks for it to be copied into its callers (for small functions only).

    `inline_source=True` copies its source instead, before types are known: compiled callers cost no compilation of `fn`, with
    all that it calls, on its own. It is for functions that only pass their arguments on to a heavy one.

    `ignores_leaf=True`: compiled callers hand over `T` without the leaf's weights, as they do to a game's rules.
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
    """Returns a decorator that compiles a function inside a factory, with what it closes over.

    `room` is the folder or file of the game whose functions are bound: its compiled code is kept together. What may be closed
    over: compiled functions, numbers, strings, arrays and tuples of these. A hash of the code and of all that names what is
    compiled (`fingerprint`), in every process: what is bound to the same things once more is the same function. `cache=False`
    keeps nothing on disk, `plain=True` leaves the function plain Python. `ignores_leaf=True` is for compiled callers of several
    leaves, who share one version: they hand over `T` without the leaf's weights. The function itself stays as it is: it may be
    bound several times. Raises TypeError for anything else that is closed over.
    """

    def decorate(fn: Callable[P, R]):
        if DISABLED or plain:
            return _wrapping_integers(fn)
        own = python_types.FunctionType(fn.__code__, fn.__globals__, fn.__name__, fn.__defaults__, fn.__closure__)
        own.__module__ = fn.__module__
        bound = fingerprint(own, inline, ignores_leaf) if cache and not PLAIN else None
        if bound is None:  # something that has no name outside this process
            return _compiled(own, None, inline=inline)
        own.__qualname__ = f"{fn.__name__}__{bound[:SHOWN]}"  # a part of the cache file's name
        function = _compiled(own, room, inline=inline, bound=bound)
        if ignores_leaf:
            function.ignores_leaf = True
        return function

    return decorate


class Direct:
    """A compiled function as Python calls it again and again, always with arguments of the same types.

    What types the arguments have is asked at the first call alone: for a large `T` that takes twenty times as long as the call.
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
        return Direct, (self._function,)


def ignore_leaf(function: Callable[P, R], *, is_called: bool = False) -> Callable[P, R]:
    """Lets compiled callers hand a function `T` without the leaf's weights, so that one version serves all leaves.

    `is_called`: Python is sure to call it too.
    """
    if hasattr(function, "ignores_leaf"):
        function.ignores_leaf = True
        function.door = function.door or is_called  # type: ignore[attr-defined]
    return function


def index_checked(form: Callable[..., Any], function: Any) -> Any:
    """Returns `form`, the plain function of a compiled one, compiled as that is, but so that it checks every index.

    It names what it calls in this form, see `forms`; what is kept of it lies in a folder of its own. The dispatcher's own
    argument is set, so that functions compiled by their name alone check as well.
    """
    refuse_negative_indices()
    how = function.targetoptions
    inline, inline_source = bool(how.get("forceinline")), how.get("inline") == "always"
    room = getattr(function, "room", None)
    bound = getattr(function, "bound", "")
    made = _compiled(form, room, inline=inline, inline_source=inline_source, bound=bound, flags=INDEX_CHECKED)
    if getattr(function, "ignores_leaf", False):
        made.ignores_leaf, made.door = True, function.door
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
    """Returns `fn` compiled, its machine code kept in the cache folder that `room`, a source, belongs to; None: for this process
    alone."""
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
