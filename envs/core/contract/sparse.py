"""What networks with a sparse first layer need of a room: the few features that are present in a position."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from leafwise.envs.core.contract.tables import FeatureTable

FEATURES = "features"
"""The table of all features, in rooms that name none."""


@dataclass(frozen=True, eq=False)
class SparseFeatures:
    """Features that are there or not, of which few are there at once; a feature may be there several times.

    What depends on the variant is a function of the game's options.
    """

    active: Callable[..., Any]
    """Compiled `(S, i, F, T)` -> n: writes the n features of row i to F (int64), each in 0..size - 1."""
    size: Callable[[Any], int]
    """options -> how many features there are."""
    most: Callable[[Any], int]
    """options -> how many can be active at once: the length of F."""
    view: Literal["acting", "first"] = "acting"
    """Whose side the features take: the player's who acts next, or always player 0's (where the seats differ)."""
    invariant: bool = False
    """Whether symmetric rows have the same features; if not, training shows rows under random symmetries."""
    stage: str = "decision"
    """The stage at which a learned value is asked."""
    version: int = 1
    """Raised whenever a feature changes its meaning; model files name it."""
    tables: Callable[[Any], Mapping[str, FeatureTable]] | None = None
    """options -> tables of features by name, in the order of their numbers, of `size` features in all; models of fewer tables
    go on loading. None: one table, "features"."""
    shipped: Mapping[str, int] = field(default_factory=lambda: {FEATURES: 1})
    """Names and versions of the tables on the day the first models shipped, in their order: those files list none."""

    def tables_of(self, options: Any) -> Mapping[str, FeatureTable]:
        """Returns the tables of a variant; raises ValueError if they are not of all features."""
        size = self.size(options)
        if self.tables is None:
            return {FEATURES: FeatureTable(size)}
        found = self.tables(options)
        if sum(table.size for table in found.values()) != size:
            raise ValueError(f"sparse features: expected tables of {size} features in all, got {dict(found)!r}")
        return found
