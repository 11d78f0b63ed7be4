"""Sampling against enumeration: counts of draws, their chi-square statistic, and a second look before it is called a fault."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from random import Random
from typing import Any, NamedTuple

from leafwise.envs.core.check.door import Door, Row, RuleFault

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
        met = self._last[min(left, key=lambda kind: (kind[0], self._met[kind], kind))]
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
    law = {successor.tobytes(): p for p, successor in door.outcomes(row)}
    if len(law) == 1:
        return
    for many, least, keys in (draws, SUSPICIOUS, Random(key)), (AGAIN * draws, CERTAIN, Random(key + 1)):
        counts = Counter(door.draw(row, keys.getrandbits(64), door.used).tobytes() for _ in range(many))
        if not counts.keys() <= law.keys():
            raise RuleFault(
                "sample_outcome", "expected one of the outcomes that chance_outcomes gives, got another row"
            )
        if chi_square_score([counts[outcome] for outcome in law], [many * p for p in law.values()]) <= least:
            return
    shares = {outcome: counts[outcome] / many for outcome in law}
    number, worst = max(enumerate(law), key=lambda pair: abs(shares[pair[1]] - law[pair[1]]))
    given = f"outcome {number} with the probability that chance_outcomes gives it, {law[worst]:.4g}"
    raise RuleFault("sample_outcome", f"expected {given}, got it in {shares[worst]:.4g} of {many} draws")
