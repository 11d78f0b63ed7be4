"""Text as people's editors and shells write it."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from leafwise.envs.core.errors import UserError

MAX_SMALL = 1 << 18
"""Bytes of a small file, at most: one that an option names."""


def read_text(path: str | Path, errors: str = "strict") -> str:
    """Returns the text of a UTF-8 file, without the byte order mark that some editors and shells put first.

    Raises OSError as `open` does, and UserError for other bytes unless `errors` says what becomes of them.
    """
    try:
        return Path(path).read_text(encoding="utf-8-sig", errors=errors)
    except UnicodeDecodeError as problem:
        raise UserError(f"{not_text(problem)} of {str(path)!r}") from None


def read_small_text(path: Path) -> str:
    """Returns a small UTF-8 file.

    Raises UserError for another text or too much of it, OSError for what cannot be read or is no file: devices and pipes can
    make a reader wait for ever.
    """
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except ValueError as problem:  # a zero byte
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
    """Returns what is at hand already, as text or as UTF-8 bytes, without a byte order mark; raises UserError for other bytes."""
    try:
        return content.removeprefix("\ufeff") if isinstance(content, str) else content.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise UserError(not_text(problem)) from None


def not_text(problem: UnicodeDecodeError) -> str:
    """Returns what is said of bytes that are no UTF-8."""
    return f"expected UTF-8 text, got a byte {problem.object[problem.start]:#04x} at {problem.start}"
