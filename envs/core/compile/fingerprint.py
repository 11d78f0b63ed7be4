"""What a function inside a factory is bound to, as a hash that is the same in every process.

Numba keys the machine code of a closure by what it closes over, and compiled functions never compare equal in another process.
Here they are told by their names, which hold the hash of their sources, and by their own fingerprints.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

import numpy as np


class _Nameless(Exception):
    """Something bound cannot be told in another process."""


def fingerprint(fn: Callable[..., Any], *how: bool) -> str | None:
    """Returns a hash of a function's code, of all that it closes over and of how it is compiled; None if something has no name
    outside this process.

    Raises TypeError for what compiled code cannot be bound to.
    """
    digest = hashlib.sha256()
    try:
        for part in (*map(repr, how), *_parts(fn)):
            digest.update(part.encode() + b"\0")
    except _Nameless:
        return None
    return digest.hexdigest()


def _parts(fn: Callable[..., Any]) -> Iterator[str]:
    code = fn.__code__
    yield from _code(code)
    yield repr(fn.__defaults__)
    source = Path(code.co_filename)
    if source.is_file():
        yield _hash_of(source)
    for name, cell in zip(code.co_freevars, fn.__closure__ or (), strict=True):
        yield from (name, "itself" if name == code.co_name else _told(cell.cell_contents))
    yield from _globals(code, fn.__globals__)


@cache
def _hash_of(source: Path) -> str:
    """Returns the hash of a source when it was first asked for: one edited later is not what this process runs."""
    return hashlib.sha256(source.read_bytes()).hexdigest()


def _globals(code: CodeType, own: dict[str, Any]) -> Iterator[str]:
    """Yields what code may read of its module, and of modules that are named there: no folder's name need tell of their sources."""
    scopes = [own]
    for scope in scopes:
        for name in code.co_names:
            thing = scope.get(name)
            if isinstance(thing, ModuleType):
                if all(vars(thing) is not other for other in scopes):
                    scopes.append(vars(thing))
            elif hasattr(thing, "py_func") or not callable(thing):
                with suppress(TypeError):  # what compiled code cannot read
                    yield from (name, _told(thing))


def _code(code: CodeType) -> Iterator[str]:
    yield code.co_code.hex()
    yield from (*code.co_names, *code.co_varnames, *code.co_freevars)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _code(constant)
        else:
            yield _told(constant)


def _told(thing: Any) -> str:
    """Returns what tells a thing that is bound from others."""
    if hasattr(thing, "py_func"):
        if getattr(thing, "ident", None) is None:  # compiled, and not kept on disk
            raise _Nameless
        return f"{thing.ident} {thing.bound}"
    if isinstance(thing, np.ndarray):
        return f"array {thing.dtype} {thing.shape} {hashlib.sha256(thing.tobytes()).hexdigest()}"
    if isinstance(thing, (tuple, frozenset)):
        return f"{type(thing).__name__} " + " ".join(map(_told, thing))
    if thing is None or isinstance(thing, (bool, int, float, str, bytes, np.generic)):
        return f"{type(thing).__name__} {thing!r}"
    if isinstance(thing, ModuleType):
        return f"module {thing.__name__}"
    if isinstance(thing, type) or callable(thing):  # a type, an intrinsic
        return f"{getattr(thing, '__module__', '')} {getattr(thing, '__qualname__', repr(thing))}"
    raise TypeError(f"expected compiled functions, numbers, strings, arrays or tuples of these, got {thing!r}")
