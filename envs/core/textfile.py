"""Text as people's editors and shells write it."""

from __future__ import annotations

from pathlib import Path

from leafwise.envs.core.errors import UserError


def read_text(path: str | Path, errors: str = "strict") -> str:
    """Returns the text of a UTF-8 file, without the byte order mark that some editors and shells put first.

    Raises OSError as `open` does, and UserError for other bytes unless `errors` says what becomes of them.
    """
    try:
        return Path(path).read_text(encoding="utf-8-sig", errors=errors)
    except UnicodeDecodeError as problem:
        raise UserError(f"{not_text(problem)} of {str(path)!r}") from None


def text_of(content: str | bytes) -> str:
    """Returns what is at hand already, as text or as UTF-8 bytes, without a byte order mark; raises UserError for other bytes."""
    try:
        return content.removeprefix("\ufeff") if isinstance(content, str) else content.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise UserError(not_text(problem)) from None


def not_text(problem: UnicodeDecodeError) -> str:
    """Returns what is said of bytes that are no UTF-8."""
    return f"expected UTF-8 text, got a byte {problem.object[problem.start]:#04x} at {problem.start}"
