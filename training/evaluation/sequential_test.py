"""The sequential test that says which of two players is better after as few games as need be.

Source: Wald, "Sequential tests of statistical hypotheses", 1945; the normal approximation for pairs of games is that of
Van den Bergh, "A practical introduction to the GSPRT", 2015, as used for chess engines.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

LEAST_PAIRS = 50
"""Pairs before which no decision is made: the approximation needs a spread that is known."""


def expected_share(elo: float) -> float:
    """Returns the share of the points, 0 to 1, that an Elo difference stands for."""
    return 1 / (1 + 10.0 ** min(-elo / 400, 300.0))


@dataclass(frozen=True)
class SequentialTest:
    """Tests "worse than `elo0`" against "better than `elo1`"; either error has probability `error`."""

    elo0: float = 0.0
    elo1: float = 10.0
    error: float = 0.05

    def log_likelihood_ratio(self, pairs: NDArray[np.float64]) -> float:
        """Returns the logarithm of how much likelier `elo1` makes the results; shares of the points in pairs of games, 0 to 1."""
        if len(pairs) < LEAST_PAIRS:
            return 0.0
        variance = max(float(pairs.var()), 1 / len(pairs))  # all pairs alike is luck too
        low, high = expected_share(self.elo0), expected_share(self.elo1)
        return len(pairs) * (high - low) * (2 * float(pairs.mean()) - low - high) / (2 * variance)

    def decision(self, pairs: NDArray[np.float64]) -> bool | None:
        """Returns True for better, False for not better, None as long as it is open."""
        ratio, bound = self.log_likelihood_ratio(pairs), math.log((1 - self.error) / self.error)
        return None if abs(ratio) < bound else ratio > 0
