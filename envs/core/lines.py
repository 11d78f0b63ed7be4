"""What messages of one line share."""

from __future__ import annotations


def short(thing: object, most: int = 120) -> str:
    """Returns a thing as text on one line, cut to at most so many letters."""
    text = " ".join(str(thing).split())
    return text if len(text) <= most else f"{text[: most - 3]}..."
