"""Every undecided position of Cassis up to renaming, level by level: a level holds the boards with so many coloured edges."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.cassis.canon import Scratch, canonical
from leafwise.envs.cassis.rules import ONE, ZERO, Tables, spoiled
from leafwise.envs.core.compile.jit import jit
from leafwise.envs.core.contract.stream import u64

CHUNK = 100_000
"""Boards expanded between two removals of duplicates."""
S28, MOVER = u64(28), u64((1 << 28) - 1)

Boards = NDArray[np.uint64]
"""Canonical boards, sorted: the mover's edges in bits 0 to 27, the other's from bit 28 on."""


@jit
def successors(boards, result, C, T):
    """Writes the undecided boards after every safe move, canonical for the next mover; returns their number."""
    n = ZERO
    for k in range(boards.shape[0]):
        own, other = boards[k] & MOVER, boards[k] >> S28
        safe = T.all & ~(own | other | spoiled(own, T))
        for e in range(T.edges):
            if (safe >> u64(e)) & ONE:
                result[n] = canonical(other, own | (ONE << u64(e)), C, T)
                n += ONE
    return n


def enumerate_levels(T: Tables, C: Scratch) -> list[Boards]:
    """Returns the undecided boards by number of coloured edges; a board with a triangle is decided."""
    levels: list[Boards] = [np.zeros(1, dtype=np.uint64)]
    while len(levels[-1]):
        found = [np.zeros(0, dtype=np.uint64)]
        for first in range(0, len(levels[-1]), CHUNK):
            chunk = levels[-1][first : first + CHUNK]
            result = np.zeros(len(chunk) * T.edges, dtype=np.uint64)
            found.append(np.unique(result[: int(successors(chunk, result, C, T))]))
        levels.append(np.unique(np.concatenate(found)))
    return levels[:-1]
