"""Files that are written where others may write too: run folders, caches. There a link is never followed, a file appears whole.

A file that a person names is another matter: it may be a link, a device or a pipe (`write_named`).
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from pathlib import Path


def open_itself(path: Path, flags: int = os.O_RDWR | os.O_CREAT) -> int:
    """Opens a plain file for writing and returns its handle; raises OSError for a link, whatever it leads to, and all else."""
    no_follow = getattr(os, "O_NOFOLLOW", 0)
    if not no_follow and path.is_symlink():
        raise _not_itself(path)
    try:
        handle = os.open(path, flags | no_follow | getattr(os, "O_BINARY", 0), 0o666)
    except OSError as problem:
        raise _not_itself(path) if path.is_symlink() else problem from None
    opened = os.fstat(handle)
    if not stat.S_ISREG(opened.st_mode) or not (no_follow or os.path.samestat(opened, os.lstat(path))):
        os.close(handle)
        raise _not_itself(path)
    return handle


def _not_itself(path: Path) -> OSError:
    return OSError(errno.ELOOP, "expected a file of its own, got a link or a device; remove it", str(path))


def own_folder(path: Path) -> Path:
    """Makes a folder inside a run folder or a cache if need be, and returns it; raises OSError for a link to another."""
    path.mkdir(parents=True, exist_ok=True)
    if path.is_symlink():
        raise OSError(errno.ELOOP, "expected a folder of its own, got a link; remove it", str(path))
    return path


def write_atomically(path: Path, data: bytes) -> None:
    """Writes a file so that it is either the old or the new one, whenever the process dies; an OSError names the file.

    A link in its place gives way to the file; what it leads to stays as it is.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        temporary.unlink(missing_ok=True)  # of a process that was killed, or somebody's link
        with os.fdopen(open_itself(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException as problem:
        temporary.unlink(missing_ok=True)
        if isinstance(problem, OSError):
            raise OSError(problem.errno, problem.strerror, str(path)) from None
        raise


def is_stream(path: Path) -> bool:
    """Whether a path names no file that is written anew as a whole: a device, a pipe, or wherever standard output goes."""
    try:
        named = os.stat(path)
        return not stat.S_ISREG(named.st_mode) or _is_stdout(named)
    except OSError:
        return False


def _is_stdout(named: os.stat_result) -> bool:
    try:
        return os.path.samestat(named, os.fstat(1))
    except OSError:  # closed
        return False


def write_named(path: Path, data: bytes) -> None:
    """Writes a file that a person named, atomically: of a link what it leads to, of a device or pipe (`/dev/stdout`) in place."""
    if not is_stream(path):
        write_atomically(Path(os.path.realpath(path)) if path.is_symlink() else path, data)
    elif _is_stdout(os.stat(path)):  # opened anew, a file would be written over from its start
        sys.stdout.flush()
        with os.fdopen(os.dup(1), "wb") as file:
            file.write(data)
    else:
        with open(path, "wb") as file:
            file.write(data)
