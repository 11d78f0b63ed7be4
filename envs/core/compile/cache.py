"""Keeps compiled code on disk: one folder per room, named by a hash of the sources that its code is compiled from.

A changed source means another folder, so no rule runs with outdated code. `LEAFWISE_CACHE_DIR` moves the cache.

`fingerprint` hashes what a function inside a factory closes over, equally in every process. Numba keys a closure's machine code
by the objects that it closes over, and compiled functions never compare equal in another process. Here they are identified by
their names, which contain the hash of their sources, and by their own fingerprints.
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

WARNED = "LEAFWISE_NOT_KEPT"
"""Environment variable with the reason why compiled code is not kept, once a warning has said so."""

KEEP_FOLDERS = 4
"""Cache folders to keep per room; a new one replaces the oldest."""


def warn_not_kept(problem: OSError, what: str = "compiled code is not kept, every start compiles it again") -> None:
    """Warns, once for each reason, about what cannot be kept; processes started from here do not repeat it."""
    reason = problem.strerror or str(problem)
    if os.environ.get(WARNED) != reason:
        os.environ[WARNED] = reason
        warnings.warn(f"{what}: {reason}", stacklevel=3)


def cache_root() -> Path:
    """Returns the folder of all compiled code: `LEAFWISE_CACHE_DIR`, or a folder in the user's cache folder.

    Raises OSError if there is neither: a user unknown to the system has no folder when `HOME` is not set.
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
    """Expands ~ in a path; raises OSError if the system knows no home folder."""
    expanded = os.path.expanduser(path)
    if expanded[0] == "~":
        raise OSError(f"expected a home folder for {path!r}, found none; set HOME or LEAFWISE_CACHE_DIR")
    return Path(expanded)


def cache_folder(source: Path, flags: str) -> Path | None:
    """Returns the cache folder for code compiled with `flags`, for the room (or file) of `source`; makes it if needed.

    Returns None, with a warning, if no folder is writable; also None if there is no source file, as at a prompt.
    """
    room = room_of(source)
    if _is_of_package(room):
        return _folder(room, flags, ())
    if not room.exists():  # typed at a prompt: numba cannot cache it either
        return None
    return _folder(room, flags, tuple(path.stat().st_mtime_ns for path in _sources(room)))


def _sources(room: Path) -> list[Path]:
    """Returns the source files of a room, which may be a single file."""
    return sorted(room.rglob("*.py")) if room.is_dir() else [room]


@functools.cache
def room_of(source: Path) -> Path:
    """Returns the room of a source file: the package folder below `envs`, or the file itself outside a package."""
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
    """Whether a room belongs to this package."""
    return any(PACKAGE / floor in (room, *room.parents) for floor in FLOORS)


def _digest(room: Path) -> str:
    """Returns a hash of the names and texts of a room's source files."""
    digest = hashlib.sha256()
    for path in _sources(room):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


@functools.cache
def _package_digest(room: Path) -> str:
    """Returns the `_digest` of a room of this package, computed once per process."""
    return _digest(room)


@functools.cache
def _folder(room: Path, flags: str, changed: tuple[int, ...]) -> Path | None:
    """Returns the cache folder for a room.

    `changed` are the times of the last writes to its files, so that edits to a game outside the package are noticed. Sources of
    this package are read once per process: a later edit does not change the code that runs.
    """
    shared = [_package_digest(PACKAGE / name) for name in SHARED]
    digest = _package_digest(room) if _is_of_package(room) else _digest(room)
    key = f"{numba.__version__} {sys.version_info[:2]} {flags} {shared} {digest}"
    try:
        folder = cache_root() / f"{room.stem}-{hashlib.sha256(key.encode()).hexdigest()[:16]}"
        is_new = not folder.exists()
        own_folder(folder)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as problem:
        warn_not_kept(problem)
        return None
    if is_new:
        _prune(folder)
    return folder


def _prune(newest: Path) -> None:
    """Removes the oldest cache folders of the same room."""
    prefix = newest.name.rpartition("-")[0]
    others = [p for p in newest.parent.glob(f"{prefix}-*") if p != newest and p.name.rpartition("-")[0] == prefix]
    for old in sorted(others, key=lambda p: p.stat().st_mtime, reverse=True)[KEEP_FOLDERS - 1 :]:
        shutil.rmtree(old, ignore_errors=True)


class _NotHashable(Exception):
    """A bound object has no identity outside this process."""


def fingerprint(fn: Callable[..., Any], *options: bool) -> str | None:
    """Returns a hash of a function's code, of everything that it closes over, and of its compile options.

    Returns None if one of these has no identity outside this process. Raises TypeError for objects that compiled code cannot be
    bound to.
    """
    digest = hashlib.sha256()
    try:
        for part in (*map(repr, options), *_parts(fn)):
            digest.update(part.encode() + b"\0")
    except _NotHashable:
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
        yield from (name, "itself" if name == code.co_name else _identity(cell.cell_contents))
    yield from _globals(code, fn.__globals__)


@cache
def _hash_of(source: Path) -> str:
    """Returns the hash of a source file at the first call: a later edit does not change the code that runs."""
    return hashlib.sha256(source.read_bytes()).hexdigest()


def _globals(code: CodeType, namespace: dict[str, Any]) -> Iterator[str]:
    """Yields the globals that code may read, in its module and in modules that it names, since the folder's hash may not cover
    these.
    """
    scopes = [namespace]
    for scope in scopes:
        for name in code.co_names:
            thing = scope.get(name)
            if isinstance(thing, ModuleType):
                if all(vars(thing) is not other for other in scopes):
                    scopes.append(vars(thing))
            elif hasattr(thing, "py_func") or not callable(thing):
                with suppress(TypeError):  # what compiled code cannot read
                    yield from (name, _identity(thing))


def _code(code: CodeType) -> Iterator[str]:
    yield code.co_code.hex()
    yield from (*code.co_names, *code.co_varnames, *code.co_freevars)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _code(constant)
        else:
            yield _identity(constant)


def _identity(thing) -> str:
    """Returns a text that identifies a bound object in every process."""
    if hasattr(thing, "py_func"):
        if getattr(thing, "ident", None) is None:  # compiled, and not kept on disk
            raise _NotHashable
        return f"{thing.ident} {thing.bound}"
    if isinstance(thing, np.ndarray):
        return f"array {thing.dtype} {thing.shape} {hashlib.sha256(thing.tobytes()).hexdigest()}"
    if isinstance(thing, (tuple, frozenset)):
        return f"{type(thing).__name__} " + " ".join(map(_identity, thing))
    if thing is None or isinstance(thing, (bool, int, float, str, bytes, np.generic)):
        return f"{type(thing).__name__} {thing!r}"
    if isinstance(thing, ModuleType):
        return f"module {thing.__name__}"
    if isinstance(thing, type) or callable(thing):  # a type, an intrinsic
        return f"{getattr(thing, '__module__', '')} {getattr(thing, '__qualname__', repr(thing))}"
    raise TypeError(f"expected compiled functions, numbers, strings, arrays or tuples of these, got {thing!r}")
