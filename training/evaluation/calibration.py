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

    The error is the expected calibration error: the mean over all, of the distance between chance and share in their tenth (Naeini,
    Cooper and Hauskrecht, "Obtaining well calibrated probabilities using Bayesian binning", AAAI 2015).
    """
    tenths = tenths_of(values)
    error, told = 0.0, []
    for tenth in range(BINS):
        here = tenths == tenth
        if here.any():
            chance, share = float(values[here].mean()), float(outcomes[here].mean())
            error += float(here.mean()) * abs(chance - share)
            told.append({"decisions": int(here.sum()), "chance": chance, "won": share})
    return error, told


class CalibrationTest(NamedTuple):
    """Calibration error, and the error that luck alone would give."""

    error: float
    """The calibration error of `calibration`, of all decisions."""
    ci_low: float
    ci_high: float
    """Its 95 % interval, by games drawn again and again."""
    luck: float
    """What the error of chances that are right stays under in 95 of 100 such sets of games."""
    p: float
    """Share of such sets in which chances that are right would show at least this error."""


def calibration_test(
    decisions: Floats, chances: Floats, outcomes: Floats, draws: int = 4000, seed: int = 0
) -> CalibrationTest:
    """Tests the calibration of probabilities, with the games as independent units instead of their decisions.

    decisions [games, BINS]: how many of a game's decisions were told a chance in each tenth; chances [games, BINS]: the sum of
    those chances; outcomes [games]: 0 or 1. Sets of as many games are drawn with replacement from those won and those lost (Efron,
    "Bootstrap methods: another look at the jackknife", 1979), how many are lost by the share lost, (lost + 1) / (games + 2): where
    all were won, some might not have been, and look like those that were. What luck alone does is the distance of the sets from
    their mean, as right chances have it around 0 (Hall and Wilson, "Two guidelines for bootstrap hypothesis testing", 1991).
    """
    rng, lost, n = np.random.default_rng(seed), outcomes == 0, len(outcomes)
    losses = rng.binomial(n, (lost.sum() + 1) / (n + 2), size=draws)
    drawn, told = np.zeros((draws, BINS)), np.zeros(draws)
    for count, here, outcome in ((losses, lost, 0.0), (n - losses, ~lost, 1.0)):
        here = here if here.any() else ~here
        weights = rng.multinomial(count, np.full(here.sum(), 1 / here.sum())).astype(np.float64)
        drawn += weights @ (chances[here] - decisions[here] * outcome)
        told += weights @ decisions[here].sum(axis=1)
    drawn /= told[:, None]
    error = float(np.abs((chances - decisions * outcomes[:, None]).sum(axis=0)).sum() / decisions.sum())
    luck = np.abs(drawn - drawn.mean(axis=0)).sum(axis=1)
    low, high = np.quantile(np.abs(drawn).sum(axis=1), (0.025, 0.975))
    return CalibrationTest(
        error, float(low), float(high), float(np.quantile(luck, 0.95)), float((luck >= error).mean())
    )


def scaling(values: Floats, outcomes: Floats, counts: Floats | None = None) -> tuple[float, float]:
    """Returns the slope and the offset of the log odds that make chances in (0, 1) fit outcomes of 0 and 1 best; `counts` says
    how often each counts.

    That is Platt scaling by Newton's method (Platt, "Probabilistic outputs for support vector machines", 1999). Raises
    ValueError where all outcomes are the same, or all chances.
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
            break  # the chances tell the games apart without fail: a steeper line fits no better in figures of this size
    return float(w[0]), float(w[1])


def log_odds(chances: Floats) -> Floats:
    """Returns the logarithm of the odds of each chance, at most some 20 either way."""
    kept = np.clip(chances, 1e-9, 1 - 1e-9)
    return np.log(kept / (1 - kept))


class ScaledChances(NamedTuple):
    """Probabilities of games, scaled by a fit to the other half of the games."""

    chances: Floats
    """[games, BINS], as `calibration_test` takes them."""
    lines: tuple[tuple[float, float], tuple[float, float]]
    """Slope and offset for the games at even places, learned from the others, and for those at odd ones."""


def cross_scaled(decisions: Floats, chances: Floats, outcomes: Floats) -> ScaledChances:
    """Returns chances told in games, as `calibration_test` takes them, with their log odds times a slope plus an offset.

    Both are found by `scaling` on every other game and scale the games between, and the other way round: no game is judged by
    what it taught. The decisions of one game and tenth count with their mean chance. Raises ValueError where one half has no
    game that was won or none that was lost.
    """
    told, odd, lines = np.zeros_like(chances), np.arange(len(outcomes)) % 2 == 1, []
    means, known = np.divide(chances, decisions, out=np.zeros_like(chances), where=decisions > 0), decisions > 0
    won = np.broadcast_to(outcomes[:, None], decisions.shape)
    for judged in (~odd, odd):
        here, others = known & judged[:, None], known & ~judged[:, None]
        slope, offset = scaling(means[others], won[others], decisions[others])
        told[here] = decisions[here] / (1 + np.exp(np.minimum(-(slope * log_odds(means[here]) + offset), LARGEST)))
        lines.append((slope, offset))
    return ScaledChances(told, (lines[0], lines[1]))


def rescaled(network: SparseNetwork, slope: float, offset: float) -> SparseNetwork:
    """Returns a network with log odds times `slope` plus `offset`, in the same shape."""
    dense, last = network.tensors["dense"].copy(), network.hidden[-1] + 1
    dense[-last:] *= np.float32(slope)
    dense[-1] += np.float32(offset)
    return network.with_tensors({**network.tensors, "dense": dense})


GROUPS = 100
"""Groups of equal numbers of positions that a fit starts from."""
TENTHS = 10


def ranks(values: Floats, count: int) -> Ints:
    """Returns how many of so many parts of all values lie below each, [n]; equal values lie in the first part of theirs."""
    order = np.argsort(values, kind="stable")
    ranked = values[order]
    found = np.empty(len(values), np.int64)
    found[order] = np.searchsorted(ranked, ranked, side="left") * count // max(len(values), 1)
    return found


def groups(values: Floats, count: int) -> Ints:
    """Returns the group of each value, [n], from 0 on: about as many in each, higher ones later, equal ones together."""
    return np.unique(ranks(values, count), return_inverse=True)[1].astype(np.int64)


def means(group: Ints, numbers: Floats) -> Floats:
    """Returns the mean of the numbers of each group."""
    return np.bincount(group, numbers) / np.bincount(group)


def monotone(values: Floats, outcomes: Floats, bins: int = GROUPS, least: float = 0.0) -> tuple[Floats, Floats]:
    """Returns the knots (rising values, outcomes that never fall) of the function that fits best in the mean square.

    Isotonic regression by pooling adjacent violators (Barlow, Bartholomew, Bremner and Brunk, "Statistical inference under order
    restrictions", 1972), over groups of values. With `least` no piece is flatter than that share of the mean slope between the two
    end groups, which hold a tenth of the others': what is pooled is what is left of the outcomes less a line of that slope.
    """
    rank = ranks(values, 10 * bins)
    group = np.unique((rank + 9) // 10 + (rank == rank.max()), return_inverse=True)[1]
    places, came = means(group, values), means(group, outcomes)
    slope = least * (came[-1] - came[0]) / (places[-1] - places[0]) if len(places) > 1 else 0.0
    pools: list[tuple[float, float, float, float]] = []  # weight, outcome, least and greatest value
    for weight, value, outcome in zip(np.bincount(group), places, came - slope * places, strict=True):
        pool = (float(weight), float(outcome), float(value), float(value))
        while pools and pools[-1][1] >= pool[1]:
            w, o, low, _ = pools.pop()
            pool = (w + pool[0], (w * o + pool[0] * pool[1]) / (w + pool[0]), low, pool[3])
        pools.append(pool)
    knots = [
        (value, outcome + slope * value) for _, outcome, low, high in pools for value in dict.fromkeys((low, high))
    ]
    return np.array([value for value, _ in knots]), np.array([outcome for _, outcome in knots])


def tenths(told: Floats, outcomes: Floats) -> tuple[Floats, Floats]:
    """Returns mean prediction and mean outcome of ten groups by prediction (fewer if many predictions are equal)."""
    group = groups(told, TENTHS)
    return means(group, told), means(group, outcomes)
