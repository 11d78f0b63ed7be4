"""Names for the arrays that stand in many signatures."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
"""Rows, or any array whose kind is said beside it."""
Floats = NDArray[np.float64]
Floats32 = NDArray[np.float32]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Words = NDArray[np.uint64]
"""Bitboards, streams of random numbers, and other packed bits."""
Bytes = NDArray[np.uint8]
