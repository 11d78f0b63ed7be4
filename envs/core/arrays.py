"""Names for array types that many signatures use."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
"""Rows, or any array; its type is documented where it is used."""
Floats = NDArray[np.float64]
Floats32 = NDArray[np.float32]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Words = NDArray[np.uint64]
"""Bitboards, random streams, and other packed bits."""
Bytes = NDArray[np.uint8]
