"""Proportional priorities: numbers whose places are drawn in proportion to them, by a tree of sums."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


class Priorities:
    """Priorities by place, as in Schaul et al., "Prioritized experience replay" (2016), appendix B.2.1.

    Every sum is that of the two below it, so that the tree depends on the priorities alone and not on how they came about.
    """

    def __init__(self, size: int) -> None:
        """`size` places, each of priority 0."""
        self.levels = max(1, (size - 1).bit_length())
        self.first = 1 << self.levels
        self.sums = np.zeros(2 * self.first)

    @property
    def total(self) -> float:
        """The sum of all priorities."""
        return float(self.sums[1])

    def __getitem__(self, places: NDArray[np.int64]) -> NDArray[np.float64]:
        """Returns the priorities of places, [n]."""
        found: NDArray[np.float64] = self.sums[self.first + places]
        return found

    def put(self, places: NDArray[np.int64], priorities: NDArray[np.float64]) -> None:
        """Gives places [n] priorities [n], at least 0; of a place named twice the last counts."""
        nodes = self.first + places
        self.sums[nodes] = priorities
        for _ in range(self.levels):
            nodes = np.unique(nodes >> 1)
            self.sums[nodes] = self.sums[2 * nodes] + self.sums[2 * nodes + 1]

    def draw(self, shares: NDArray[np.float64]) -> NDArray[np.int64]:
        """Returns the places [n] at which shares [n], in [0, 1), of the total are reached."""
        left, nodes = shares * self.total, np.ones(len(shares), dtype=np.int64)
        for _ in range(self.levels):
            nodes *= 2
            below = self.sums[nodes]
            right = (left >= below) & (self.sums[nodes + 1] > 0)  # rounding must not lead to a place of priority 0
            left -= np.where(right, below, 0.0)
            nodes += right
        return nodes - self.first
