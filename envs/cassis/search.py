"""The compiled search that solves Cassis: is the value at least g?

Depth-first with an explicit stack. Only safe edges are searched (one that closes an own triangle loses at once); a
move that leaves the opponent none wins unvisited; moves that keep most safe edges for the mover and fewest for the
opponent go first; positions with many safe edges are stored under their true canonical form.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.cassis.canon import Scratch, canonical
from leafwise.envs.cassis.rules import ONE, ZERO, spoiled, spoiled_by
from leafwise.envs.core.compile.jit import jit
from leafwise.envs.core.contract.bits import count_bits
from leafwise.envs.core.contract.stream import u64

MIN_TABLED = u64(12)
"""Positions with fewer safe edges, both players' together, are searched again rather than stored."""
POLL = 1023
"""The stop byte is read every POLL + 1 nodes."""
ALWAYS_DECIDED = 6
"""From so many points on no game is drawn: R(3, 3) = 6."""

SCATTER = u64(0x9E3779B97F4A7C15)
"""Odd, so that multiplying by it loses nothing: place and rest of the hash together are the position."""
TWO, THREE, MOVES, S56, SIXTY_FOUR = u64(2), u64(3), u64(28), u64(56), u64(64)
NODES, STOPPED, STORED, LOWEST, HIGHEST = 0, 1, 2, 3, 4


class Memory(NamedTuple):
    """What the search works on: the table and one stack."""

    table: NDArray[np.uint64]
    """Entries: the hash without the bits that its place tells, then 2 + answer; the newest stays."""
    bits: np.uint64
    """log2 of the number of entries."""
    frames: NDArray[np.uint64]
    """Ply [32, 8]: mover's edges, opponent's, spoiled ones of both, next move, end of moves, hash."""
    moves: NDArray[np.uint64]
    """28 moves a ply [32 * 28, 3]: edge, mover's spoiled edges after it, order."""
    out: NDArray[np.int64]
    """NODES visited, whether STOPPED, positions STORED, LOWEST and HIGHEST value."""
    scratch: Scratch
    stop: NDArray[np.uint8]


@jit(inline=True)
def hash_of(own, other, g, M, T):
    """Hashes a position up to renaming, one-to-one; where draws exist, each question apart."""
    board = canonical(own, other, M.scratch, T)
    if T.n < ALWAYS_DECIDED:
        board |= u64(g) << S56
    return board * SCATTER


@jit(inline=True)
def expand(own, other, mine, theirs, base, g, M, T):
    """Writes the safe moves, best first, to M.moves; returns their end, or `base` if one decides."""
    free = T.all & ~(own | other)
    safe = free & ~mine
    end = base
    while safe:
        bit = safe & (~safe + ONE)
        safe ^= bit
        edge = count_bits(bit - ONE)
        after = mine | spoiled_by(own, edge, T)
        left = free ^ bit
        replies = left & ~theirs
        if replies == ZERO and (left or g <= 0):
            return base
        order = SIXTY_FOUR + count_bits(left & ~after) - count_bits(replies)
        j = end
        while j > base and M.moves[j - ONE, 2] < order:
            for field in range(3):
                M.moves[j, field] = M.moves[j - ONE, field]
            j -= ONE
        M.moves[j, 0], M.moves[j, 1], M.moves[j, 2] = edge, after, order
        end += ONE
    return end


@jit
def reaches(own, other, g, M, T):
    """Whether the mover can make sure of a value of at least g, 0 or 1; anything after a stop."""
    mine, theirs = spoiled(own, T), spoiled(other, T)
    nodes = M.out[NODES]
    ply = ZERO
    while True:
        nodes += 1
        if nodes & POLL == 0:
            M.out[NODES] = nodes
            if M.stop[0]:
                M.out[STOPPED] = 1
                return False
        free = T.all & ~(own | other)
        h = ZERO
        answer = -1
        if free == ZERO:
            answer = 1 if g <= 0 else 0
        elif free & ~mine == ZERO:
            answer = 0
        elif count_bits(free & ~mine) + count_bits(free & ~theirs) >= MIN_TABLED:
            h = hash_of(own, other, g, M, T)
            entry = M.table[h >> (SIXTY_FOUR - M.bits)] ^ (h << M.bits)
            if entry ^ TWO <= ONE:  # 2 or 3: the tag fits
                answer = 1 if entry & ONE else 0
                h = ZERO
        if answer < 0:
            base = ply * MOVES
            end = expand(own, other, mine, theirs, base, g, M, T)
            if end == base:
                answer = 1
            else:
                M.frames[ply, 0], M.frames[ply, 1], M.frames[ply, 2], M.frames[ply, 3] = own, other, mine, theirs
                M.frames[ply, 4], M.frames[ply, 5], M.frames[ply, 6] = base, end, h
        while answer >= 0:
            if ply == ZERO:
                M.out[NODES] = nodes
                return answer == 1
            ply -= ONE
            g = 1 - g
            answer = 1 - answer
            if answer == 0 and M.frames[ply, 4] < M.frames[ply, 5]:
                break
            h = M.frames[ply, 6]
            if h:
                M.out[STORED] += 1
                M.table[h >> (SIXTY_FOUR - M.bits)] = (h << M.bits) | TWO | u64(answer)
        j = M.frames[ply, 4]
        M.frames[ply, 4] = j + ONE
        own, other = M.frames[ply, 1], M.frames[ply, 0] | (ONE << M.moves[j, 0])
        mine, theirs = M.frames[ply, 3], M.moves[j, 1]
        ply += ONE
        g = 1 - g
