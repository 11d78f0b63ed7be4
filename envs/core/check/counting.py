"""Sampling against enumeration: counts of draws, their chi-square statistic, and a second look before it is called a fault."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from random import Random
from typing import Any, NamedTuple

from leafwise.envs.core.check.acting import draw, outcomes
from leafwise.envs.core.check.door import Door, Row
from leafwise.envs.core.check.fault import RuleFault

Kind = tuple[Any, ...]
SUSPICIOUS, CERTAIN = 3.5, 6.0
"""Standard deviations above the mean: of the first draws, and of eight times as many new ones.

A sound game is looked at twice at one stage in 4,000, and called faulty less than once in 10 ** 9.
"""
AGAIN = 8
CYCLES = range(2, 9)
"""Turns are told apart by what remains when they are divided by these: rules may differ at every other turn, or at one of six."""


class Met(NamedTuple):
    """A chance stage as a random game came to it."""

    row: Row
    stage: int
    outcomes: int
    player: int
    """Who decided last."""
    decisions: int
    """So many before it."""
    draws: int
    """Chance acted so many times before it, stages in a row counted once."""

    def kinds(self) -> Iterator[Kind]:
        """Yields the kinds of position that it belongs to, coarse ones first: True in front where outcomes are told apart too."""
        yield False, self.stage, self.player
        for fine in (False, True):
            outcomes = self.outcomes if fine else 0
            for cycle in CYCLES:
                for what, turn in enumerate((self.decisions, self.draws)):
                    yield fine, self.stage, self.player, outcomes, what, cycle, turn % cycle


class Kinds:
    """The kinds of chance stages that were met, and those of them at which draws were counted."""

    def __init__(self) -> None:
        self._met: Counter[Kind] = Counter()
        self._counted: Counter[Kind] = Counter()
        self._last: dict[Kind, Met] = {}

    def add(self, met: Met) -> None:
        """Remembers a chance stage; one with a single outcome has nothing to be counted."""
        if met.outcomes > 1:
            for kind in met.kinds():
                self._met[kind] += 1
                self._last[kind] = met

    def next(self) -> Met | None:
        """Returns where to count next, at the rarest kind that was not counted yet; None if there is none."""
        left = [kind for kind in self._met if not self._counted[kind]]
        if not left:
            return None
        rarest = min(left, key=lambda kind: (kind[0], self._met[kind], kind))
        met = self._last[rarest]
        self._counted.update(met.kinds())
        return met


def chi_square_score(counts: Sequence[int], expected: Sequence[float]) -> float:
    """Returns how many standard deviations a chi-square statistic lies above its mean (Wilson and Hilferty 1931)."""
    bins: list[list[float]] = []
    for count, mean in sorted(zip(counts, expected, strict=True), key=lambda pair: pair[1]):
        if bins and bins[-1][1] < 5:  # too rare alone: counted together
            bins[-1][0] += count
            bins[-1][1] += mean
        else:
            bins.append([count, mean])
    freedom = len(bins) - 1
    if freedom == 0:
        return 0.0
    statistic = sum((count - mean) ** 2 / mean for count, mean in bins)
    return ((statistic / freedom) ** (1 / 3) - (1 - 2 / (9 * freedom))) / math.sqrt(2 / (9 * freedom))


def check(door: Door, row: Row, draws: int, key: int) -> None:
    """Compares `draws` draws at a chance stage with its probabilities; `key` is what the keys of their streams are drawn from."""
    law = [(p, successor.tobytes()) for p, successor in outcomes(door, row)]
    if len(law) == 1:
        return
    if _score(door, row, law, draws, key) < SUSPICIOUS:
        return
    score = _score(door, row, law, AGAIN * draws, key + 1)
    if score > CERTAIN:
        counts = _counts(door, row, AGAIN * draws, key + 1)
        worst = max(range(len(law)), key=lambda k: abs(counts[law[k][1]] / (AGAIN * draws) - law[k][0]))
        share = counts[law[worst][1]] / (AGAIN * draws)
        told = f"outcome {worst} with the probability that chance_outcomes gives it, {law[worst][0]:.4g}"
        raise RuleFault("sample_outcome", f"expected {told}, got it in {share:.4g} of {AGAIN * draws} draws")


def _counts(door: Door, row: Row, draws: int, key: int) -> Counter[bytes]:
    keys = Random(key)
    return Counter(draw(door, row, keys.getrandbits(64), door.used).tobytes() for _ in range(draws))


def _score(door: Door, row: Row, law: Sequence[tuple[float, bytes]], draws: int, key: int) -> float:
    counts = _counts(door, row, draws, key)
    if not set(counts) <= {successor for _, successor in law}:
        raise RuleFault("sample_outcome", "expected one of the outcomes that chance_outcomes gives, got another row")
    return chi_square_score([counts[successor] for _, successor in law], [draws * p for p, _ in law])
