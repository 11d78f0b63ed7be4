"""What convolutional networks need of a room: what stands on each cell of a grid, maps over it, and numbers beside them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from leafwise.envs.core.contract.tables import FeatureTable


@dataclass(frozen=True, eq=False)
class GridFeatures:
    """A position as a grid with a margin of one cell, of which only cells with a code above 0 take part."""

    see: Callable[..., Any]
    """Compiled `(S, i, codes, maps, numbers, T)` -> float: describes row i and returns what the value is counted from.

    `codes` (int64 [(side + 2) ** 2]) is written whole, the margin 0; `maps` (float32 [side ** 2, maps]) where the code is
    above 0; `numbers` (float32 [1, numbers]) whole. The value is the float plus the network's output.
    """
    side: Callable[[Any], int]
    """options -> side of the grid."""
    codes: int
    """What a cell can be: codes are 0 to codes - 1."""
    maps: int
    """Maps over the grid, numbers of about 0 to 1, never below 0; a multiple of 4."""
    numbers: int
    """Numbers beside the grid, of about -1 to 1."""
    stage: str = "decision"
    """The stage at which a learned value is asked."""
    version: int = 1
    """Raised whenever a feature changes its meaning; model files name it."""
    shipped: Mapping[str, int] = field(default_factory=dict)
    """How many codes, maps and numbers there were on the day the first models shipped: those files list none ({}: as now)."""

    @property
    def tables(self) -> Mapping[str, FeatureTable]:
        """The features by table; what is added comes last."""
        sizes = {"codes": self.codes, "maps": self.maps, "numbers": self.numbers}
        return {name: FeatureTable(size, grows=True) for name, size in sizes.items()}
