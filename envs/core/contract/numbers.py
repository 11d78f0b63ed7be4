"""Numbers that people's functions answer: taken where they fit, as float64, else refused in one line."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.errors import UserError
from leafwise.envs.core.lines import short


def real_numbers(found: Any, expected: str) -> NDArray[np.float64]:
    """Returns what a function answered as float64, of the shape that it has.

    Raises ValueError, `expected` and what came, for what are no real numbers: a tensor that requires a gradient or lies on another
    device, complex numbers, texts.
    """
    try:
        array = np.asarray(found)
        if array.dtype.kind in "biufO":
            return array.astype(np.float64)
    except Exception as problem:  # of the library that the numbers are of
        raise UserError(f"{expected}, got {type(found).__name__}: {short(problem, 160)}") from None
    raise UserError(f"{expected}, got numbers of type {array.dtype}")


def answered(found: Any, shape: tuple[int, ...], expected: str) -> NDArray[np.float64]:
    """Returns what a function answered as float64 of a shape; raises ValueError as `real_numbers`, and for other shapes and nan."""
    numbers = real_numbers(found, expected)
    if numbers.shape != shape:
        raise UserError(f"{expected}, got shape {numbers.shape}")
    if np.isnan(numbers).any():
        raise UserError(f"{expected}, got nan")
    return numbers
