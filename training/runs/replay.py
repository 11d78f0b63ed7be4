"""The last positions or decisions that a learner has recorded, which it learns from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray


class Replay:
    """Arrays of the same length by name, in the order of a ring: what is recorded takes the place of the oldest."""

    def __init__(self, size: int, arrays: Mapping[str, NDArray[Any]]) -> None:
        """The arrays have room for `size` entries each, [size, ...]."""
        self.size, self.arrays = size, dict(arrays)
        self.recorded = 0
        """Entries so far, those that have lost their place too."""

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self.arrays[name]

    @property
    def filled(self) -> int:
        """Entries that there are."""
        return min(self.recorded, self.size)

    @property
    def next(self) -> int:
        """Place of the next entry."""
        return self.recorded % self.size

    def put(self, **found: NDArray[Any]) -> NDArray[np.int64]:
        """Takes entries, an array [n, ...] for each name; returns their places, [n]."""
        n = len(next(iter(found.values())))
        places: NDArray[np.int64] = (self.recorded + np.arange(n)) % self.size
        for name, array in self.arrays.items():
            array[places] = found[name]
        self.recorded += n
        return places

    def tensors(self) -> dict[str, NDArray[Any]]:
        """Returns what a checkpoint holds, besides `recorded`."""
        return {name: array[: self.filled] for name, array in self.arrays.items()}

    def restore(self, tensors: Mapping[str, NDArray[Any]], recorded: int) -> None:
        """Takes the state of a checkpoint after so many entries."""
        self.recorded = recorded
        for name, array in self.arrays.items():
            array[: self.filled] = tensors[name]
