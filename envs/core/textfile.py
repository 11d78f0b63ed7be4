"""Text as people's editors and shells write it."""

from __future__ import annotations

from pathlib import Path


def read_text(path: str | Path, errors: str = "strict") -> str:
    """Returns the text of a UTF-8 file, without the byte order mark that some editors and shells put first.

    Raises OSError as `open` does, and UnicodeDecodeError for other bytes unless `errors` says what becomes of them.
    """
    return Path(path).read_text(encoding="utf-8-sig", errors=errors)


def text_of(content: str | bytes) -> str:
    """Returns what is at hand already, as text or as UTF-8 bytes, without a byte order mark; raises as `read_text`."""
    return content.removeprefix("\ufeff") if isinstance(content, str) else content.decode("utf-8-sig")
