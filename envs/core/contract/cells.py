"""What n-tuple networks need of a room: boards of cells in one word, and small tables beside them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class CellFeatures:
    """A board as 16 cells of 4 bits in one uint64, seen through its symmetries, and a few indices of its own."""

    boards: Callable[..., Any]
    """Compiled (S, i, T) -> the board of row i under each symmetry, a tuple of uint64, itself first."""
    symmetries: int
    highest: Callable[..., Any]
    """Compiled (board) -> its highest rank."""
    extra: Callable[..., Any]
    """Compiled (S, i, k, T) -> uint64 index into small table k."""
    extra_sizes: Mapping[str, int]
    """Size of each small table by name, in the order of k."""
    extra_defaults: tuple[str, ...]
    """The small tables that a network has unless it says otherwise."""
    points: tuple[float, ...]
    """What a cell of each rank 0..15 is worth in the game's score."""
    names: tuple[str, ...]
    """What a cell of each rank 0..15 shows."""
    stages: tuple[str, ...]
    """The stages at which a learned value may be asked, the usual one first."""
    stage_words: tuple[str, ...] = ()
    """What a learner's options call a state at each of these stages (default: the stages' names)."""
    extra_stages: Mapping[str, str] = field(default_factory=dict)
    """Small tables that say something at one of these stages alone, each with that one."""
    version: int = 1
    """Raised whenever an index changes its meaning; model files name it."""
