"""Measures the calibration of predicted win probabilities, and fits their scale.

`monotone` fits a non-decreasing (or strictly increasing) function to predictions and outcomes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from leafwise.envs.core.arrays import Floats, Ints
from leafwise.envs.core.compile.intrinsics import LARGEST, logistic_of
from leafwise.envs.core.errors import UserError
from leafwise.models.sparse import SparseNetwork
from leafwise.training.types import Json

BINS = 10
NEWTON_STEPS = 20


def tenths_of(values: Floats) -> Ints:
    """Returns the tenth, 0 to BINS - 1, of each chance."""
    return np.minimum((values * BINS).astype(np.int64), BINS - 1)


def calibration(values: Floats, outcomes: Floats) -> tuple[float, list[Json]]:
    """Returns the calibration error of probabilities, and for each tenth the count, the mean probability and the share won.

    The error is the expected calibration error: the mean distance between probability and share, over all decisions (Naeini,
    Cooper and Hauskrecht, "Obtaining well calibrated probabilities using Bayesian binning", AAAI 2015).
    """
    tenths = tenths_of(values)
    error, by_tenth = 0.0, []
    for tenth in range(BINS):
        inside = tenths == tenth
        if inside.any():
            chance, share = float(values[inside].mean()), float(outcomes[inside].mean())
            error += float(inside.mean()) * abs(chance - share)
            by_tenth.append({"decisions": int(inside.sum()), "chance": chance, "won": share})
    return error, by_tenth


class CalibrationTest(NamedTuple):
    """Calibration error, and the error that luck alone would give."""

    error: float
    """The calibration error of `calibration`, of all decisions."""
    ci_low: float
    ci_high: float
    """Its 95 % interval, by a bootstrap over games."""
    luck: float
    """95 % quantile of the error that correct probabilities would show in such sets of games."""
    p: float
    """Share of such sets in which correct probabilities would show at least this error."""


def calibration_test(
    decisions: Floats, chances: Floats, outcomes: Floats, draws: int = 4000, seed: int = 0
) -> CalibrationTest:
    """Tests the calibration of probabilities, with the games as independent units instead of their decisions.

    decisions [games, BINS]: number of a game's decisions with a probability in each tenth; chances [games, BINS]: the sum of those
    probabilities; outcomes [games]: 0 or 1. Sets of as many games are drawn with replacement from the won and the lost games
    (Efron, "Bootstrap methods: another look at the jackknife", 1979). The share of lost games is drawn too, around (lost + 1) /
    (games + 2), so that a sample without losses does not exclude them. The error by luck is the distance of the sets from their
    mean, which is 0 for correct probabilities (Hall and Wilson, "Two guidelines for bootstrap hypothesis testing", 1991).
    """
    rng, lost, n = np.random.default_rng(seed), outcomes == 0, len(outcomes)
    losses = rng.binomial(n, (lost.sum() + 1) / (n + 2), size=draws)
    sampled, totals = np.zeros((draws, BINS)), np.zeros(draws)
    for count, chosen, outcome in ((losses, lost, 0.0), (n - losses, ~lost, 1.0)):
        chosen = chosen if chosen.any() else ~chosen
        weights = rng.multinomial(count, np.full(chosen.sum(), 1 / chosen.sum())).astype(np.float64)
        sampled += weights @ (chances[chosen] - decisions[chosen] * outcome)
        totals += weights @ decisions[chosen].sum(axis=1)
    sampled /= totals[:, None]
    error = float(np.abs((chances - decisions * outcomes[:, None]).sum(axis=0)).sum() / decisions.sum())
    luck = np.abs(sampled - sampled.mean(axis=0)).sum(axis=1)
    low, high = np.quantile(np.abs(sampled).sum(axis=1), (0.025, 0.975))
    return CalibrationTest(
        error, float(low), float(high), float(np.quantile(luck, 0.95)), float((luck >= error).mean())
    )


def scaling(values: Floats, outcomes: Floats, counts: Floats | None = None) -> tuple[float, float]:
    """Fits slope and offset of the log odds of probabilities in (0, 1) to outcomes of 0 and 1; `counts` are weights.

    This is Platt scaling by Newton's method (Platt, "Probabilistic outputs for support vector machines", 1999). Raises
    ValueError if all outcomes or all probabilities are equal.
    """
    if not 0 < outcomes.mean() < 1:
        raise UserError(f"calibration: expected won and lost games, got a share of {outcomes.mean():g} won")
    no_line = ValueError(
        f"calibration: expected chances that differ, got {len(values)} that no line through log odds fits"
    )
    if np.ptp(values) == 0:
        raise no_line
    X, w = np.stack([log_odds(values), np.ones(len(values))], axis=1), np.array([1.0, 0.0])
    n = np.ones(len(values)) if counts is None else counts
    for step in range(NEWTON_STEPS):
        p = logistic_of(X @ w)
        try:
            w += np.linalg.solve((X * (n * p * (1 - p))[:, None]).T @ X, X.T @ (n * (outcomes - p)))
        except np.linalg.LinAlgError:
            if step == 0:
                raise no_line from None
            break  # the probabilities separate the games: a steeper line fits no better in float64
    return float(w[0]), float(w[1])


def log_odds(chances: Floats) -> Floats:
    """Returns the log odds of each probability, between about -20 and 20."""
    kept = np.clip(chances, 1e-9, 1 - 1e-9)
    return np.log(kept / (1 - kept))


class ScaledChances(NamedTuple):
    """Probabilities of games, scaled by a fit to the other half of the games."""

    chances: Floats
    """[games, BINS], as `calibration_test` takes them."""
    lines: tuple[tuple[float, float], tuple[float, float]]
    """Slope and offset for games with even index, fitted to the others, and for games with odd index."""


def cross_scaled(decisions: Floats, chances: Floats, outcomes: Floats) -> ScaledChances:
    """Returns the probabilities of `calibration_test`, with their log odds times a slope plus an offset.

    `scaling` fits both to one half of the games and scales the other half, so that no game is measured by its own fit. The
    decisions of one game and tenth count with their mean probability. Raises ValueError if one half has no won or no lost game.
    """
    scaled, odd, lines = np.zeros_like(chances), np.arange(len(outcomes)) % 2 == 1, []
    means, known = np.divide(chances, decisions, out=np.zeros_like(chances), where=decisions > 0), decisions > 0
    won = np.broadcast_to(outcomes[:, None], decisions.shape)
    for half in (~odd, odd):
        mask, others = known & half[:, None], known & ~half[:, None]
        slope, offset = scaling(means[others], won[others], decisions[others])
        scaled[mask] = decisions[mask] / (1 + np.exp(np.minimum(-(slope * log_odds(means[mask]) + offset), LARGEST)))
        lines.append((slope, offset))
    return ScaledChances(scaled, (lines[0], lines[1]))


def rescaled(network: SparseNetwork, slope: float, offset: float) -> SparseNetwork:
    """Returns a network with log odds times `slope` plus `offset`, in the same shape."""
    dense, last = network.tensors["dense"].copy(), network.hidden[-1] + 1
    dense[-last:] *= np.float32(slope)
    dense[-1] += np.float32(offset)
    return network.with_tensors({**network.tensors, "dense": dense})


GROUPS = 100
"""Number of groups of positions, equal in size, that a fit starts from."""
TENTHS = 10


def ranks(values: Floats, count: int) -> Ints:
    """Returns for each value the number of `count` equal parts of all values below it, [n]; equal values get the same number."""
    order = np.argsort(values, kind="stable")
    ranked = values[order]
    parts = np.empty(len(values), np.int64)
    parts[order] = np.searchsorted(ranked, ranked, side="left") * count // max(len(values), 1)
    return parts


def groups(values: Floats, count: int) -> Ints:
    """Returns the group of each value, [n], from 0 on: groups of about equal size, by value, equal values together."""
    return np.unique(ranks(values, count), return_inverse=True)[1].astype(np.int64)


def means(group: Ints, numbers: Floats) -> Floats:
    """Returns the mean of the numbers of each group."""
    return np.bincount(group, numbers) / np.bincount(group)


def monotone(values: Floats, outcomes: Floats, bins: int = GROUPS, least: float = 0.0) -> tuple[Floats, Floats]:
    """Returns the knots (rising values, outcomes that never fall) of the function that fits best in the mean square.

    Isotonic regression by pooling adjacent violators (Barlow, Bartholomew, Bremner and Brunk, "Statistical inference under order
    restrictions", 1972), over groups of values. The groups at the two ends have a tenth of the others' size. With `least` no piece
    is flatter than that share of the mean slope between the end groups: a line of that slope is subtracted before pooling.
    """
    rank = ranks(values, 10 * bins)
    group = np.unique((rank + 9) // 10 + (rank == rank.max()), return_inverse=True)[1]
    positions, heights = means(group, values), means(group, outcomes)
    slope = least * (heights[-1] - heights[0]) / (positions[-1] - positions[0]) if len(positions) > 1 else 0.0
    pools: list[tuple[float, float, float, float]] = []  # weight, outcome, minimum and maximum value
    for weight, value, outcome in zip(np.bincount(group), positions, heights - slope * positions, strict=True):
        pool = (float(weight), float(outcome), float(value), float(value))
        while pools and pools[-1][1] >= pool[1]:
            w, o, low, _ = pools.pop()
            pool = (w + pool[0], (w * o + pool[0] * pool[1]) / (w + pool[0]), low, pool[3])
        pools.append(pool)
    knots = [
        (value, outcome + slope * value) for _, outcome, low, high in pools for value in dict.fromkeys((low, high))
    ]
    return np.array([value for value, _ in knots]), np.array([outcome for _, outcome in knots])


def tenths(predictions: Floats, outcomes: Floats) -> tuple[Floats, Floats]:
    """Returns mean prediction and mean outcome of ten groups by prediction (fewer if many predictions are equal)."""
    group = groups(predictions, TENTHS)
    return means(group, predictions), means(group, outcomes)
