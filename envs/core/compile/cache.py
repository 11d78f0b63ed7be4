"""Where compiled code is kept: one folder for the sources of a room and of what it is compiled with.

An edited rule never meets an old search, since the folder's name is a hash of the sources. `LEAFWISE_CACHE_DIR` moves the cache.

`fingerprint` is what a function inside a factory is bound to, as a hash that is the same in every process. Numba keys the machine
code of a closure by what it closes over, and compiled functions never compare equal in another process. Here they are told by their
names, which hold the hash of their sources, and by their own fingerprints.
"""

from __future__ import annotations

import functools
import hashlib
import os
import shutil
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

import numba
import numpy as np

from leafwise.envs.core.files import own_folder

PACKAGE = Path(__file__).resolve().parents[3]
"""The folder that holds envs, search, models, ... (a checkout, or the installed leafwise package)."""

SHARED = ("envs/core", "search", "models")
"""Folders whose sources every compiled room depends on."""

FLOORS = ("envs", "search", "models", "training", "experiments")
"""Folders of the package that hold compiled code."""

TOLD = "LEAFWISE_NOT_KEPT"
"""The environment variable that holds why compiled code is not kept, once that was said."""

KEEP_FOLDERS = 4
"""Cache folders kept per room; older ones are removed when a new one is made."""


def tell_not_kept(problem: OSError, what: str = "compiled code is not kept, every start compiles it again") -> None:
    """Warns, once for each reason, what cannot be kept; processes started from here do not say it again."""
    reason = problem.strerror or str(problem)
    if os.environ.get(TOLD) != reason:
        os.environ[TOLD] = reason
        warnings.warn(f"{what}: {reason}", stacklevel=3)


def cache_root() -> Path:
    """Returns the folder under which compiled code is kept: `LEAFWISE_CACHE_DIR`, or the user's cache folder.

    Raises OSError where neither is known: without `HOME`, a user whom the system does not know has no folder.
    """
    if named := os.environ.get("LEAFWISE_CACHE_DIR"):
        return _home(named)
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or "~/AppData/Local"
    elif sys.platform == "darwin":
        base = "~/Library/Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return _home(base) / "leafwise"


def _home(path: str) -> Path:
    """Returns a path whose ~ is the user's home folder; raises OSError where the system knows of none."""
    expanded = os.path.expanduser(path)
    if expanded[0] == "~":
        raise OSError(f"expected a home folder for {path!r}, found none; set HOME or LEAFWISE_CACHE_DIR")
    return Path(expanded)


def cache_folder(source: Path, flags: str) -> Path | None:
    """Returns the folder for code that is compiled with `flags` for the room (or file) of `source`, made if need be.

    None, with a warning, where none can be written, and where there is no source to read, as at a prompt.
    """
    room = room_of(source)
    if _is_of_package(room):
        return _folder(room, flags, ())
    if not room.exists():  # typed at a prompt: numba cannot cache it either
        return None
    return _folder(room, flags, tuple(path.stat().st_mtime_ns for path in _sources(room)))


def _sources(room: Path) -> list[Path]:
    """Returns the sources of a room, or the file that it is."""
    return sorted(room.rglob("*.py")) if room.is_dir() else [room]


@functools.cache
def room_of(source: Path) -> Path:
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
def _is_of_package(room: Path) -> bool:
    """Returns whether a room is one of the package's own."""
    return any(PACKAGE / floor in (room, *room.parents) for floor in FLOORS)


def _digest(room: Path) -> str:
    """Returns a hash of the names and texts of a room's sources."""
    digest = hashlib.sha256()
    for path in _sources(room):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


@functools.cache
def _package_digest(room: Path) -> str:
    """Returns the same of a room of the package, as it was when it was first asked for in this process."""
    return _digest(room)


@functools.cache
def _folder(room: Path, flags: str, changed: tuple[int, ...]) -> Path | None:
    """Returns the cache folder for a room.

    `changed`, when each of its sources was written, lets an edit be seen where a game outside the package is loaded again. What is
    in the package is read once a process: later edits are not what runs in it.
    """
    shared = [_package_digest(PACKAGE / name) for name in SHARED]
    own = _package_digest(room) if _is_of_package(room) else _digest(room)
    told = f"{numba.__version__} {sys.version_info[:2]} {flags} {shared} {own}"
    try:
        folder = cache_root() / f"{room.stem}-{hashlib.sha256(told.encode()).hexdigest()[:16]}"
        fresh = not folder.exists()
        own_folder(folder)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as problem:
        tell_not_kept(problem)
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


def _told(thing) -> str:
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
