"""Names for the arrays that stand in many signatures."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
"""Rows, or any array whose kind is said beside it."""
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Words = NDArray[np.uint64]
"""Bitboards, and other packed bits."""
Bytes = NDArray[np.uint8]
