"""What networks with a sparse first layer need of a room: the few features that are present in a position."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True)
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
