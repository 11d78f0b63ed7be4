"""Reads text as people's editors and shells write it, and writes files safely where others may write too.

In run folders and caches links are never followed, and files appear whole. A file that a person names may be a link, a device
or a pipe (`write_named`).
"""

from __future__ import annotations

import errno
import mmap
import os
import stat
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from leafwise.envs.core.errors import UserError

MAX_SMALL = 1 << 18
"""The largest small file, in bytes, which an option may name."""


def read_text(path: str | Path, errors: str = "strict") -> str:
    """Returns the text of a UTF-8 file, without the byte order mark that some editors and shells write.

    Raises OSError as `open` does, and UserError for other bytes, unless `errors` says how to treat them.
    """
    try:
        return Path(path).read_text(encoding="utf-8-sig", errors=errors)
    except UnicodeDecodeError as problem:
        raise UserError(f"{not_text(problem)} of {str(path)!r}") from None


def read_small_text(path: Path) -> str:
    """Returns the text of a small UTF-8 file.

    Raises UserError for other bytes or too many. Raises OSError for a path that cannot be read or is not a plain file: reading
    from devices and pipes may never end.
    """
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except ValueError as problem:  # the path contains a zero byte
        raise OSError(str(problem)) from None
    with open(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError(f"expected a file, got another thing: {str(path)!r}")
        data = file.read(MAX_SMALL + 1)
    if data is None:
        raise OSError(f"expected a file that can be read at once, got {str(path)!r}")
    if len(data) > MAX_SMALL:
        raise UserError(f"{path}: expected at most {MAX_SMALL} bytes, got more")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise UserError(f"{path}: {not_text(problem)}") from None


def text_of(content: str | bytes) -> str:
    """Returns text, or UTF-8 bytes as text, without a byte order mark; raises UserError for other bytes."""
    try:
        return content.removeprefix("\ufeff") if isinstance(content, str) else content.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise UserError(not_text(problem)) from None


def not_text(problem: UnicodeDecodeError) -> str:
    """Returns the message about bytes that are not UTF-8."""
    return f"expected UTF-8 text, got a byte {problem.object[problem.start]:#04x} at {problem.start}"


def open_itself(path: Path, flags: int = os.O_RDWR | os.O_CREAT) -> int:
    """Opens a plain file for writing and returns its handle; raises OSError for a link, wherever it leads, and for anything
    else.
    """
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


def own_folder(path: Path, mode: int = 0o777) -> Path:
    """Makes a folder inside a run folder or a cache if needed, and returns it; raises OSError for a link."""
    path.mkdir(mode, parents=True, exist_ok=True)
    if path.is_symlink():
        raise OSError(errno.ELOOP, "expected a folder of its own, got a link; remove it", str(path))
    return path


def private_folder(path: Path) -> Path:
    """Makes a folder that only its user can write, and returns it; raises OSError if others own it or can write to it."""
    status = own_folder(path, 0o700).stat()
    if hasattr(os, "geteuid") and (status.st_uid != os.geteuid() or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)):
        raise OSError(errno.EPERM, f"expected a folder that only its user can write, got {str(path)!r}", str(path))
    return path


def mapped(path: Path) -> memoryview:
    """Returns a file's bytes in memory shared by all processes; a process that writes to them changes only its own copy.

    On Windows, where a mapped file can be neither replaced nor removed, each process reads the bytes.
    """
    if sys.platform == "win32":
        return memoryview(bytearray(path.read_bytes()))
    with open(path, "rb") as file:
        mapping = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        with suppress(OSError):  # a system without large pages, which make lookups faster
            mapping.madvise(mmap.MADV_HUGEPAGE)
    return memoryview(mapping)


def write_atomically(path: Path, data: bytes) -> None:
    """Writes a file so that it is always either the old or the new one, even if the process dies; an OSError names the file.

    A link at this path is replaced by the file; its target stays unchanged.
    """
    write_parts(path, (data,))


def write_parts(path: Path, parts: Iterable[Any]) -> None:
    """Writes a file atomically from parts, bytes or arrays; each part is requested when the one before is written."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        temporary.unlink(missing_ok=True)  # left by a killed process, or somebody's link
        with os.fdopen(open_itself(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb") as file:
            file.writelines(parts)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException as problem:
        temporary.unlink(missing_ok=True)
        if isinstance(problem, OSError):
            raise OSError(problem.errno, problem.strerror, str(path)) from None
        raise


def is_stream(path: Path) -> bool:
    """Whether a path is not a file to replace as a whole: a device, a pipe, or the target of standard output."""
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
    """Writes a file that a person named, atomically: the target of a link, and devices or pipes (`/dev/stdout`) in place."""
    if not is_stream(path):
        write_atomically(Path(os.path.realpath(path)) if path.is_symlink() else path, data)
    elif _is_stdout(os.stat(path)):  # opening the file again would overwrite its start
        sys.stdout.flush()
        with os.fdopen(os.dup(1), "wb") as file:
            file.write(data)
    else:
        with open(path, "wb") as file:
            file.write(data)
