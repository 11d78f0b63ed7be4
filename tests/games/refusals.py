"""Checks that refusals are one line."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest


@contextmanager
def one_line(pattern: str) -> Iterator[None]:
    """Expects a block to raise ValueError with one line that a pattern is found in."""
    with pytest.raises(ValueError, match=pattern) as error:
        yield
    assert "\n" not in str(error.value)
