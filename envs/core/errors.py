"""Errors about a person's input, which become one line, as opposed to defects of the program."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import TypeVar

R = TypeVar("R")


class UserError(ValueError):
    """Wrong input from a person: one line that says what was expected and what came.

    Programs print it without a traceback and end with status 2. Any other ValueError is a defect, and keeps its traceback.
    """


class Forfeit(UserError):
    """A player has lost without an action: out of time, an illegal answer, a crash. The message says why.

    `report` has more lines for the player's author: the traceback, the position.
    """

    def __init__(self, message: str, report: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.report = report


def asked_of_plugin(work: Callable[[], R], front: str = "") -> R:
    """Runs `work`, a call of a game's or plug-in's function on a person's input.

    Such a function refuses by any ValueError, or by the OverflowError of a number that does not fit an array. Both become a
    UserError whose message begins with `front`.
    """
    try:
        return work()
    except (ValueError, OverflowError) as problem:
        message = front + str(problem).removeprefix(front)
        raise UserError(shortened(message)) from (None if isinstance(problem, UserError) else problem)


def shortened(message: str) -> str:
    """Cuts the middle out of a message that quotes a very long text."""
    return message if len(message) <= 300 else f"{message[:200]} ... {message[-60:]}"


def short(thing: object, most: int = 120) -> str:
    """Returns an object as text on one line, with at most `most` letters."""
    text = " ".join(str(thing).split())
    return text if len(text) <= most else f"{text[: most - 3]}..."


def perhaps(name: str, known: Iterable[str]) -> str:
    """Returns `; perhaps 'train'` if a known name is close to this one, else ""."""
    from difflib import get_close_matches

    near = get_close_matches(name, list(known), 1)
    return f"; perhaps {near[0]!r}" if near else ""


def printable(text: str) -> str:
    """Escapes characters that cannot be written, such as half of a surrogate pair."""
    return text.encode("utf-8", "backslashreplace").decode()


def print_error(problem: object) -> None:
    """Prints `error: ...` as one line on standard error."""
    print(printable(f"error: {' '.join(str(problem).split())}"), file=sys.stderr)
