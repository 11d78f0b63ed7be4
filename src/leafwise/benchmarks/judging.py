"""What rounds of two measurements in turns say: which of two is slower by more than the noise.

Each round gives the ratio of their times. The middle of the rounds' ratios is told, with the interval in which the true one lies
however the noise is distributed (of eleven rounds the second to the tenth: 98.8 %, by the sign test). Slower is what lies above 1
with its whole interval.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

ROUNDS, OUTERMOST = 11, 1
"""Rounds, and how many ratios at either end lie outside the interval."""


@dataclass(frozen=True)
class Compared:
    """One measurement of two versions: processor seconds of a unit, and the ratio of now to before."""

    before: float
    now: float
    ratio: float
    low: float
    high: float

    @property
    def verdict(self) -> str:
        """`slower`, `faster`, or "" where the noise may be all."""
        return "slower" if self.low > 1 else "faster" if self.high < 1 else ""


def judged(times: Sequence[tuple[float, float]]) -> Compared:
    """Returns the middle ratio of rounds (before, now), and its interval."""
    ratios = sorted(now / before for before, now in times)
    outside = OUTERMOST if len(ratios) > 2 * OUTERMOST else 0
    return Compared(
        min(before for before, _ in times), min(now for _, now in times),
        median(ratios), ratios[outside], ratios[-1 - outside],
    )  # fmt: skip


def in_turns(before: Callable[[], float], now: Callable[[], float], rounds: int) -> Compared:
    """Measures two of this process in turns; each returns its time."""
    times: list[tuple[float, float]] = []
    for turn in range(rounds + 1):  # the first compiles
        if turn % 2:
            later = now()
            times.append((before(), later))
        else:
            times.append((before(), now()))
    return judged(times[1:])
