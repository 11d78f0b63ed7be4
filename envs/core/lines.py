"""What messages of one line share."""

from __future__ import annotations

import sys
from collections.abc import Iterable


def short(thing: object, most: int = 120) -> str:
    """Returns a thing as text on one line, cut to at most so many letters."""
    text = " ".join(str(thing).split())
    return text if len(text) <= most else f"{text[: most - 3]}..."


def perhaps(name: str, known: Iterable[str]) -> str:
    """Returns `; perhaps 'train'` where one of the known names is close to this one, else nothing."""
    from difflib import get_close_matches

    near = get_close_matches(name, list(known), 1)
    return f"; perhaps {near[0]!r}" if near else ""


def printable(text: str) -> str:
    """Returns a text in which what cannot be written, like half of a surrogate pair, stands escaped."""
    return text.encode("utf-8", "backslashreplace").decode()


def print_error(problem: object) -> None:
    """Prints `error: ...` as one line on standard error."""
    print(printable(f"error: {' '.join(str(problem).split())}"), file=sys.stderr)
