"""Compares results of environments by type and bytes."""

from __future__ import annotations

from typing import Any

import numpy as np


def assert_same(first: Any, second: Any, where: str = "") -> None:
    """Asserts that two nested results have the same types and bytes."""
    assert type(first) is type(second), where
    if isinstance(first, dict):
        assert set(first) == set(second), where
        for key in first:
            assert_same(first[key], second[key], f"{where}/{key}")
    elif isinstance(first, np.ndarray):
        assert first.dtype == second.dtype, where
        assert first.shape == second.shape, where
        if first.dtype == object:
            for i, (a, b) in enumerate(zip(first, second, strict=True)):
                assert_same(a, b, f"{where}/{i}")
        else:
            assert (first == second).all(), where
    elif isinstance(first, tuple):
        for i, (a, b) in enumerate(zip(first, second, strict=True)):
            assert_same(a, b, f"{where}/{i}")
    else:
        assert first == second, where
