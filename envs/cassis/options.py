"""What can be chosen in Cassis."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from leafwise.envs.core.ranges import Range, settle_fields

MAX_POINTS = 8


@dataclass(frozen=True)
class Options:
    """The variant; raises ValueError for a number of points that Cassis does not have."""

    n: Annotated[int, Range(3, MAX_POINTS)] = 6
    """Points."""

    def __post_init__(self) -> None:
        settle_fields(self, "cassis")
