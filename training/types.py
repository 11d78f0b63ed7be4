"""Types that stand in many signatures of training."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Floats = NDArray[np.float64]
Floats32 = NDArray[np.float32]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Tensors = dict[str, Array]
"""Arrays by name, as a checkpoint and a model file hold them."""
Json = dict[str, Any]
"""What JSON can hold, by name."""
Logged = dict[str, float]
"""Figures of a run, by the tags of TensorBoard."""
