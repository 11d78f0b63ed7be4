"""The error that tells a person what was wrong with the input, as against a defect of the program."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

R = TypeVar("R")


class UserError(ValueError):
    """What a person gave does not fit: one line that says what was expected and what came.

    Programs print it without a traceback and end with status 2. Any other ValueError is a defect, and keeps its traceback.
    """


def asked_of_plugin(work: Callable[[], R], front: str = "") -> R:
    """Returns what a function of a game or plug-in answers to what a person gave.

    Such a function refuses by any ValueError, or by the OverflowError of a number that no array holds; here that becomes a
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
