"""Whether people see what other people's programs print; processes that are started from here are told the same."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

VARIABLE = "LEAFWISE_SHOW_PRINTS"
"""The environment variable by which processes hear of it: 1 or nothing."""


def are_shown() -> bool:
    """Whether what programs print is shown."""
    return os.environ.get(VARIABLE) == "1"


@contextmanager
def shown(wanted: bool) -> Iterator[None]:
    """Has what programs print shown, on standard error, while the block lasts, if that is wanted."""
    before = os.environ.get(VARIABLE)
    if wanted:
        os.environ[VARIABLE] = "1"
    try:
        yield
    finally:
        if wanted and before is None:
            del os.environ[VARIABLE]
