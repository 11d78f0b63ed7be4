"""Asserts that two answers of environments are the same, down to types and bytes."""

from __future__ import annotations

from typing import Any

import numpy as np


def assert_same(mine: Any, theirs: Any, where: str = "") -> None:
    """Asserts that two nested results are equal to the type and the byte."""
    assert type(mine) is type(theirs), where
    if isinstance(mine, dict):
        assert set(mine) == set(theirs), where
        for key in mine:
            assert_same(mine[key], theirs[key], f"{where}/{key}")
    elif isinstance(mine, np.ndarray):
        assert mine.dtype == theirs.dtype, where
        assert mine.shape == theirs.shape, where
        if mine.dtype == object:
            for i, (a, b) in enumerate(zip(mine, theirs, strict=True)):
                assert_same(a, b, f"{where}/{i}")
        else:
            assert (mine == theirs).all(), where
    elif isinstance(mine, tuple):
        for i, (a, b) in enumerate(zip(mine, theirs, strict=True)):
            assert_same(a, b, f"{where}/{i}")
    else:
        assert mine == theirs, where
