"""What n-tuple networks need of a room: boards of cells in one word, and small tables beside them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class CellFeatures:
    """A board as 16 cells of 4 bits in one uint64, seen through its symmetries, and a few indices of its own."""

    boards: Callable[..., Any]
    """Compiled (S, i, T) -> the board of row i under each symmetry, a tuple of uint64, itself first."""
    symmetries: int
    extra: Callable[..., Any]
    """Compiled (S, i, k, T) -> uint64 index into small table k."""
    extra_sizes: tuple[int, ...]
    points: tuple[float, ...]
    """What a cell of each rank 0..15 is worth in the game's score."""
    names: tuple[str, ...]
    """What a cell of each rank 0..15 shows."""
    stage: str
    """The stage at which a learned value is asked."""
    version: int = 1
    """Raised whenever an index changes its meaning; model files name it."""
