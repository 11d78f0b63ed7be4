"""95 % intervals of means, Elo ratings, and a sequential test that finds the better of two players with few games.

There is one function of intervals for each kind of sample. `mean_interval` is for scores, `share_interval` for single games that
are won or not, `points_interval` for games with draws and for pairs of games, `ratio_interval` for cases in groups. All assume that
the units of a sample are independent: a unit is a game, or the pair of games that share an opening.

Elo ratings of two or more players come from games that were played in pairs. A pair of games, one from each seat of an opening, has
five possible results: 0, 1/4, 1/2, 3/4 or all of its points. Their probabilities between two players have a Dirichlet distribution:
the observed counts plus a prior worth one pair, spread evenly. The ratings are fitted to its mean by Newton's method, in Bradley
and Terry's model with a draw as half a win. The errors are the spread of fits to shares drawn from the distribution. So the games
of a pair need not be independent, and a player who won everything has a finite rating with a large error.

Sources: Student, "The probable error of a mean", Biometrika 6, 1908; Wilson, "Probable inference, the law of succession, and
statistical inference", JASA 22, 1927; Cochran, "Sampling techniques", 1977, chapter 6 for ratios; Bradley and Terry, "Rank analysis
of incomplete block designs", Biometrika 39, 1952; the five results are the pentanomial model of chess engine testing; Wald,
"Sequential tests of statistical hypotheses", 1945; Van den Bergh, "A practical introduction to the GSPRT", 2015, for the normal
approximation for pairs of games.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from leafwise.envs.core.arrays import Floats
from leafwise.training.types import Logged

Interval = tuple[float, float]

CONFIDENCE = 0.95
QUANTILE = 1.959963984540054
"""Quantile of the standard normal distribution at (1 + CONFIDENCE) / 2."""
NO_INTERVAL: Interval = (math.nan, math.nan)
"""Interval of values without a known spread: a single value, or values that are all equal."""


def mean_interval(values: Floats) -> Interval:
    """Returns the 95 % t interval of the mean of values [n]; `NO_INTERVAL` for a single value or equal values.

    It assumes a normally distributed mean. For few values of a skewed distribution it covers less than 95 %.
    """
    n = len(values)
    if n < 2 or (values == values[0]).all():
        return NO_INTERVAL
    mean, half = float(values.mean()), error_half(float(values.std(ddof=1)) / math.sqrt(n), n)
    return mean - half, mean + half


def error_half(error: float, n: int) -> float:
    """Returns half the width of the t interval of the mean of n values, at least 2, from the mean's standard error."""
    from scipy.special import stdtrit  # slow to import

    return error * float(stdtrit(n - 1, (1 + CONFIDENCE) / 2))


def share_interval(wins: float, games: int) -> Interval:
    """Returns Wilson's 95 % interval of a share of independent cases; it contains the share."""
    if games < 1:
        return 0.0, 1.0
    z = QUANTILE
    centre = (wins + z * z / 2) / (games + z * z)
    half = z / (games + z * z) * math.sqrt(wins * (games - wins) / games + z * z / 4)
    return (max(0.0, centre - half) if wins > 0 else 0.0), (min(1.0, centre + half) if wins < games else 1.0)


def points_interval(shares: Floats) -> Interval:
    """Returns the 95 % interval of the mean of shares of the points, 0 to 1, [n]: of games with draws, or of pairs of games.

    It is the t interval over the units, within 0 to 1, extended to contain Wilson's interval of as many units. So a few units
    that are nearly equal do not give a short interval.
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

    It is `results_interval` for games that are won, drawn or lost (-1 to 1), and `share_interval` for games that are won (1) or not
    (0). For all other scores it is `mean_interval`, within `span`.
    """
    if span == (-1.0, 1.0):
        return results_interval(returns)
    if span == (0.0, 1.0) and np.isin(returns, (0.0, 1.0)).all():
        return share_interval(int(returns.sum()), len(returns))
    low, high = np.clip(mean_interval(returns), *span)
    return float(low), float(high)


def points_and_wins(returns: Floats, wins: Floats, span: tuple[float, float]) -> dict[str, float | None]:
    """Returns points per game and the share of games won, each with its 95 % interval, by their names in files.

    `returns` and `wins` (1 for a win, else 0) are means over units, games or pairs of games, [n]; all None without any.
    """
    figures: dict[str, float | None] = {}
    for name, mean, values in (("points", "points_per_game", returns), ("win", "win_share", wins)):
        interval = NO_INTERVAL
        if len(values):
            interval = points_interval(values) if name == "win" else returns_interval(values, span)
        figures |= {mean: float(values.mean()) if len(values) else None}
        figures |= {f"{name}_{bound}": value for bound, value in bounds(interval).items()}
    return figures


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
    """Returns an interval times a positive `scale`, by its names in files; None without an interval."""
    low, high = (None if math.isnan(bound) else scale * bound for bound in interval)
    return {"ci_low": low, "ci_high": high}


def logged_bounds(interval: Interval) -> Logged:
    """Returns the logged values of a score's interval; nothing without an interval."""
    return {f"eval/score_{name}": bound for name, bound in bounds(interval).items() if bound is not None}


def interval_text(low: float | None, high: float | None, form: str) -> str:
    """Formats an interval with the format `form`; a dash without an interval."""
    if low is None or high is None or math.isnan(low):
        return "-"
    return f"{low:{form}} to {high:{form}}"


LEAST_PAIRS = 50
"""Minimum number of pairs before a decision, because the approximation needs a known spread."""


def expected_share(elo: float) -> float:
    """Returns the expected share of the points, 0 to 1, for an Elo difference."""
    return 1 / (1 + 10.0 ** min(-elo / 400, 300.0))


@dataclass(frozen=True)
class SequentialTest:
    """Tests "worse than `elo0`" against "better than `elo1`"; either error has probability `error`."""

    elo0: float = 0.0
    elo1: float = 10.0
    error: float = 0.05

    def log_likelihood_ratio(self, pairs: Floats) -> float:
        """Returns the logarithm of how much likelier `elo1` makes the results; shares of the points in pairs of games, 0 to 1."""
        if len(pairs) < LEAST_PAIRS:
            return 0.0
        variance = max(float(pairs.var()), 1 / len(pairs))  # equal pairs happen by luck too
        low, high = expected_share(self.elo0), expected_share(self.elo1)
        return len(pairs) * (high - low) * (2 * float(pairs.mean()) - low - high) / (2 * variance)

    def decision(self, pairs: Floats) -> bool | None:
        """Returns True for better, False for not better, None while undecided."""
        ratio, bound = self.log_likelihood_ratio(pairs), math.log((1 - self.error) / self.error)
        return None if abs(ratio) < bound else ratio > 0


SHARES = np.linspace(0, 1, 5)
"""Possible shares of the points of a pair of games."""
PRIOR = 0.2
"""Prior: number of pairs of games with each result, added to the games of two players."""
SURE = 1e-6
"""Minimum distance of sampled shares from 0 and 1: 2,400 Elo."""
SCALE = 400 / math.log(10)
"""Elo points per unit of the logistic function."""
SAMPLES = 1000
STEPS = 60


class GamePair(NamedTuple):
    """Games that share an opening: one from each seat, or a single one. They are one independent unit."""

    first: int
    second: int
    points: float
    """Points of `first`: 1 for a win, 1/2 for a draw."""
    games: int


class Ratings(NamedTuple):
    """Elo of n players with mean 0, and samples of its distribution."""

    elo: Floats
    """[n]"""
    samples: Floats
    """[samples, n]"""

    def interval(self, player: int) -> tuple[float, float]:
        """Returns the 95 % interval of a player's rating."""
        return sampled_interval(self.samples[:, player])

    def difference(self, player: int, other: int) -> tuple[float, float]:
        """Returns the Elo difference of two players and half its 95 % interval."""
        low, high = sampled_interval(self.samples[:, player] - self.samples[:, other])
        return float(self.elo[player] - self.elo[other]), (high - low) / 2


def sampled_interval(samples: Floats) -> tuple[Any, Any]:
    """Returns the bounds of the middle 95 % of samples [n, ...], [...] each."""
    low, high = np.quantile(samples, (0.025, 0.975), axis=0)
    return low, high


def elo_difference(share: float) -> float:
    """Returns the Elo difference for a share of the points, 0 to 1."""
    if not 0 < share < 1:
        return math.inf if share >= 1 else -math.inf
    return 400 * math.log10(share / (1 - share))


def fit(points: Floats, games: Floats) -> Floats:
    """Returns Elo ratings [..., n] of mean 0 from points[..., i, j] of i against j in games[..., i, j].

    No player may have all or none of the points against all the others.
    """
    ratings = np.zeros(points.shape[:-1])
    identity = np.eye(points.shape[-1])
    for _ in range(STEPS):
        expected = 1 / (1 + np.exp(ratings[..., None, :] - ratings[..., :, None]))
        slope = (points - games * expected).sum(axis=-1)
        weight = games * expected * (1 - expected)
        curvature = identity * weight.sum(axis=-1)[..., None] - weight
        # Players who met determine differences only; a tiny pull to 0 fixes their mean
        step = np.linalg.solve(curvature + 1e-9 * identity, slope[..., None])[..., 0]
        ratings += np.clip(step, -1, 1)
        if np.abs(step).max(initial=0.0) < 1e-9:
            break
    return SCALE * (ratings - ratings.mean(axis=-1, keepdims=True))


def rate(players: int, units: Sequence[GamePair], seed: int = 0, samples: int = SAMPLES) -> Ratings:
    """Returns the ratings of players 0 to `players` - 1; `seed` and `samples` are those of the errors."""
    rng = np.random.default_rng(seed)
    points, games = np.zeros((2, 1 + samples, players, players))  # index 0: the mean
    seen: dict[tuple[int, int], Floats] = {}
    for unit in units:
        i, j, got = unit.first, unit.second, unit.points
        if i > j:
            i, j, got = j, i, unit.games - got
        results = seen.setdefault((i, j), np.full(len(SHARES), PRIOR))
        results[round(4 * got / unit.games)] += unit.games / 2
    for (i, j), results in sorted(seen.items()):
        drawn = rng.gamma(results, size=(samples, len(SHARES)))
        share = np.append(results @ SHARES / results.sum(), drawn @ SHARES / drawn.sum(axis=1)).clip(SURE, 1 - SURE)
        games[:, i, j] = games[:, j, i] = 2 * results.sum()
        points[:, i, j] = share * games[:, i, j]
        points[:, j, i] = (1 - share) * games[:, i, j]
    fitted = fit(points, games)
    return Ratings(fitted[0], fitted[1:])
