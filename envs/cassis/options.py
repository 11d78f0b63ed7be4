"""What can be chosen in Cassis."""

from __future__ import annotations

from dataclasses import dataclass

from leafwise.envs.core.contract.options import need_whole

MAX_POINTS = 8


@dataclass(frozen=True)
class Options:
    """The variant; raises ValueError for a number of points that Cassis does not have."""

    n: int = 6
    """Points, 3 to MAX_POINTS."""

    def __post_init__(self) -> None:
        need_whole("cassis", self, {"n": (3, MAX_POINTS)})
