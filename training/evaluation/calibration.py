"""How right chances are that a network says: their distance from what then happened, and what would scale them best."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from leafwise.models.sparse import SparseNetwork

BINS = 10
NEWTON_STEPS = 20


def calibration(values: NDArray[np.float64], outcomes: NDArray[np.float64]) -> tuple[float, list[dict[str, Any]]]:
    """Returns the calibration error of chances and what happened, and for each tenth how many, the mean chance, the share won.

    The error is the expected calibration error: the mean over all, of the distance between chance and share in their tenth (Naeini,
    Cooper and Hauskrecht, "Obtaining well calibrated probabilities using Bayesian binning", AAAI 2015).
    """
    tenths = np.minimum((values * BINS).astype(np.int64), BINS - 1)
    error, told = 0.0, []
    for tenth in range(BINS):
        here = tenths == tenth
        if here.any():
            chance, share = float(values[here].mean()), float(outcomes[here].mean())
            error += float(here.mean()) * abs(chance - share)
            told.append({"decisions": int(here.sum()), "chance": chance, "won": share})
    return error, told


def scaling(values: NDArray[np.float64], outcomes: NDArray[np.float64]) -> tuple[float, float]:
    """Returns the slope and the offset of the log odds that make chances in (0, 1) fit outcomes of 0 and 1 best.

    That is Platt scaling by Newton's method (Platt, "Probabilistic outputs for support vector machines", 1999). Raises
    ValueError where all outcomes are the same.
    """
    if not 0 < outcomes.mean() < 1:
        raise ValueError(f"calibration: expected games won and games lost, got a share of {outcomes.mean():g} won")
    chances = np.clip(values, 1e-9, 1 - 1e-9)
    X, w = np.stack([np.log(chances / (1 - chances)), np.ones(len(values))], axis=1), np.array([1.0, 0.0])
    for _ in range(NEWTON_STEPS):
        p = 1 / (1 + np.exp(-(X @ w)))
        w += np.linalg.solve((X * (p * (1 - p))[:, None]).T @ X, X.T @ (outcomes - p))
    return float(w[0]), float(w[1])


def rescaled(network: SparseNetwork, slope: float, offset: float) -> SparseNetwork:
    """Returns a network whose chances have log odds times `slope` plus `offset`; its shape is the same."""
    dense, last = network.tensors["dense"].copy(), network.hidden[-1] + 1
    dense[-last:] *= np.float32(slope)
    dense[-1] += np.float32(offset)
    return network.with_tensors({**network.tensors, "dense": dense})
