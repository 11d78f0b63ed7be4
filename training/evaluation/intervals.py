"""95 % intervals of means: one function for each kind of sample, and what each takes for granted.

`mean_interval` is for scores, `share_interval` for single games that are won or not, `points_interval` for games with draws and
for pairs of games, `ratio_interval` for cases that come in groups. All assume that the units of a sample are drawn
independently of each other: a unit is a game, or the pair of games that share an opening.

Sources: Student, "The probable error of a mean", Biometrika 6, 1908; Wilson, "Probable inference, the law of succession, and
statistical inference", JASA 22, 1927; Cochran, "Sampling techniques", 1977, chapter 6 for ratios.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Interval = tuple[float, float]

CONFIDENCE = 0.95
NO_INTERVAL: Interval = (math.nan, math.nan)
"""What stands for the interval of values that say nothing of their spread: a single one, or values that are all alike."""


def mean_interval(values: Floats) -> Interval:
    """Returns the 95 % t interval of the mean of values [n]; `NO_INTERVAL` of a single value or of values that are all alike.

    It takes the mean to be normally distributed. Of few values from a skewed distribution it covers less than it says.
    """
    n = len(values)
    if n < 2 or (values == values[0]).all():
        return NO_INTERVAL
    mean, half = float(values.mean()), error_half(float(values.std(ddof=1)) / math.sqrt(n), n)
    return mean - half, mean + half


def error_half(error: float, n: int) -> float:
    """Returns half the width of the t interval of the mean of n values, at least 2, from the mean's standard error."""
    from scipy.special import stdtrit  # which takes a while to import

    return error * float(stdtrit(n - 1, (1 + CONFIDENCE) / 2))


def share_interval(wins: float, games: int) -> Interval:
    """Returns Wilson's 95 % interval of a share of independent cases, each of which counts or does not; it holds the share."""
    if games < 1:
        return 0.0, 1.0
    from scipy.special import ndtri  # which takes a while to import

    z = float(ndtri((1 + CONFIDENCE) / 2))
    centre = (wins + z * z / 2) / (games + z * z)
    half = z / (games + z * z) * math.sqrt(wins * (games - wins) / games + z * z / 4)
    return (max(0.0, centre - half) if wins > 0 else 0.0), (min(1.0, centre + half) if wins < games else 1.0)


def points_interval(shares: Floats) -> Interval:
    """Returns the 95 % interval of the mean of shares of the points, 0 to 1, [n]: of games with draws, or of pairs of games.

    It is the t interval over the units, within 0 to 1, and holds Wilson's of as many units: few units that are alike, or
    nearly so, do not say that all others are.
    """
    n = len(shares)
    low, high = share_interval(float(shares.sum()), n)
    t_low, t_high = mean_interval(shares)
    return max(0.0, float(np.fmin(low, t_low))), min(1.0, float(np.fmax(high, t_high)))


def results_interval(results: Floats) -> Interval:
    """Returns `points_interval` of results from -1 (lost) to 1 (won), [n], as results from -1 to 1."""
    low, high = points_interval((1 + results) / 2)
    return 2 * low - 1, 2 * high - 1


def returns_interval(returns: Floats, span: tuple[float, float]) -> Interval:
    """Returns the 95 % interval of the mean return of a game whose returns lie within `span`.

    `results_interval` where games are won, drawn or lost (-1 to 1), `share_interval` where each is won (1) or not (0 of 0 to 1),
    `mean_interval` of all other scores, within `span`.
    """
    if span == (-1.0, 1.0):
        return results_interval(returns)
    if span == (0.0, 1.0) and np.isin(returns, (0.0, 1.0)).all():
        return share_interval(int(returns.sum()), len(returns))
    low, high = np.clip(mean_interval(returns), *span)
    return float(low), float(high)


def ratio_interval(sums: Floats, counts: Floats) -> Interval:
    """Returns the 95 % interval of sums.sum() / counts.sum() over groups of cases, [groups]: the cases of a group may depend.

    It is the t interval of the ratio's linear approximation, which takes many groups; groups without cases do not count.
    """
    sums, counts = sums[counts > 0], counts[counts > 0]
    if not len(sums):
        return NO_INTERVAL
    ratio = float(sums.sum() / counts.sum())
    low, high = mean_interval((sums - ratio * counts) / counts.mean())
    return ratio + low, ratio + high


def bounds(interval: Interval, scale: float = 1.0) -> dict[str, float | None]:
    """Returns an interval, times a positive `scale`, by the names that files have: None where there is none."""
    low, high = (None if math.isnan(bound) else scale * bound for bound in interval)
    return {"ci_low": low, "ci_high": high}


def logged_bounds(interval: Interval) -> dict[str, float]:
    """Returns what a run logs of the interval of its score: nothing where there is none."""
    return {f"eval/score_{name}": bound for name, bound in bounds(interval).items() if bound is not None}


def interval_text(low: float | None, high: float | None, form: str) -> str:
    """Returns an interval as text, its bounds formatted as `form` says; a dash where there is none."""
    if low is None or high is None or math.isnan(low):
        return "-"
    return f"{low:{form}} to {high:{form}}"
