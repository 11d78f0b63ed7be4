"""Fits a function that never falls to numbers and what came of them, and says how far off it is."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
BINS = 100
"""Groups of equal numbers of positions that a fit starts from."""
TENTHS = 10


def groups(values: Floats, count: int) -> NDArray[np.int64]:
    """Returns the group of each value, [n], from 0 on: about as many in each, higher ones later, equal ones together."""
    order = np.argsort(values, kind="stable")
    ranked = values[order]
    first = np.searchsorted(ranked, ranked, side="left")  # equal values count as the first of them
    found = np.empty(len(values), dtype=np.int64)
    found[order] = first * count // max(len(values), 1)
    return np.unique(found, return_inverse=True)[1].astype(np.int64)


def means(group: NDArray[np.int64], numbers: Floats) -> Floats:
    """Returns the mean of the numbers of each group."""
    return np.bincount(group, numbers) / np.bincount(group)


def monotone(values: Floats, outcomes: Floats, bins: int = BINS) -> tuple[Floats, Floats]:
    """Returns the knots (rising values, outcomes that never fall) of the function that fits best in the mean square.

    Isotonic regression by pooling adjacent violators (Barlow, Bartholomew, Bremner and Brunk, "Statistical inference under order
    restrictions", 1972), over groups of values.
    """
    group = groups(values, bins)
    pools: list[tuple[float, float, float, float]] = []  # weight, outcome, least and greatest value
    for weight, value, outcome in zip(np.bincount(group), means(group, values), means(group, outcomes), strict=True):
        pool = (float(weight), float(outcome), float(value), float(value))
        while pools and pools[-1][1] >= pool[1]:
            w, o, low, _ = pools.pop()
            pool = (w + pool[0], (w * o + pool[0] * pool[1]) / (w + pool[0]), low, pool[3])
        pools.append(pool)
    knots = [(value, outcome) for _, outcome, low, high in pools for value in dict.fromkeys((low, high))]
    return np.array([value for value, _ in knots]), np.array([outcome for _, outcome in knots])


def tenths(told: Floats, outcomes: Floats) -> tuple[Floats, Floats]:
    """Returns the mean told and the mean outcome of ten groups, by what was told (fewer where many were told the same)."""
    group = groups(told, TENTHS)
    return means(group, told), means(group, outcomes)
