"""The transposition table: bounds of decisions by row and depth, in pairs of entries of 32 bytes.

The game's own key gives the place of a pair. The rest of that key and a second, independent hash of the row identify the row
of an entry (64 + 29 bits besides the place). The first entry of a pair keeps the deepest search, the second the newest. The
generation tells entries of earlier searches apart.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from leafwise.envs.core.compile.jit import jit
from leafwise.envs.core.contract.stream import mix

if TYPE_CHECKING:
    from leafwise.search.search_options import SearchBuffers

ENTRY_BYTES = 32
CHECK_WORD, DATA, LOW, HIGH = 0, 1, 2, 3
"""Columns of an entry: second hash; depth, action, generation and rest of the key; proven bounds of the value."""

ONE = np.uint64(1)
MOVE_AT, GENERATION_AT = np.uint64(7), np.uint64(23)
DEPTH_MASK = np.uint64((1 << 7) - 1)
MOVE_MASK = np.uint64((1 << 16) - 1)
TAG_MASK = np.uint64(((1 << 64) - 1) ^ ((1 << 35) - 1))
OWNER_MASK = np.uint64(((1 << 64) - 1) ^ ((1 << 23) - 1))
GENERATIONS = 1 << 12
MAX_ACTIONS = 1 << 16
SECOND_SEED, SECOND_FACTOR = np.uint64(0x452821E638D01377), np.uint64(0xD1342543DE82EF95)


@jit(inline=True)
def second_hash(S, i):
    """Hashes every word of a row, independently of `rules.row_hash`; never 0."""
    h = SECOND_SEED
    for w in range(S.shape[1]):
        h = mix((h + np.uint64(S[i, w])) * SECOND_FACTOR)
    return h | ONE


@jit(inline=True)
def is_entry(S, B, i, e, owner, check):
    """Whether entry e belongs to row i."""
    same = TAG_MASK if B.options.recall else OWNER_MASK
    if B.table[e, CHECK_WORD] != check or (B.table[e, DATA] ^ owner) & same:
        return False
    if B.rows.shape[0] > 1:
        for w in range(S.shape[1]):
            if B.rows[e, w] != S[i, w]:
                return False
    return True


@jit(inline=True)
def find_entry(S, B, i, h, check):
    """Returns the entry of row i, whose hashes are h and check; -1 if there is none."""
    first = np.int64(h & np.uint64(B.table.shape[0] - 1)) & ~1
    owner = (h & TAG_MASK) | (B.generation[0] << GENERATION_AT)
    if is_entry(S, B, i, first, owner, check):
        return first
    if is_entry(S, B, i, first + 1, owner, check):
        return first + 1
    return -1


@jit(inline=True)
def store_entry(S, B, i, h, check, left, move, low, high):
    """Stores the proven bounds of row i, `left` decisions deep."""
    first = np.int64(h & np.uint64(B.table.shape[0] - 1)) & ~1
    owner = (h & TAG_MASK) | (B.generation[0] << GENERATION_AT)
    e = first
    if not is_entry(S, B, i, first, owner, check):
        old = B.table[first, DATA]
        fresh = (old ^ owner) & (OWNER_MASK ^ TAG_MASK) == np.uint64(0)
        if fresh and old & DEPTH_MASK > np.uint64(left):
            e = first + 1
        elif fresh:
            for c in range(4):
                B.table[first + 1, c] = B.table[first, c]
            if B.rows.shape[0] > 1:
                for w in range(S.shape[1]):
                    B.rows[first + 1, w] = B.rows[first, w]
    B.table[e, CHECK_WORD] = check
    B.table[e, DATA] = owner | (np.uint64(move) << MOVE_AT) | np.uint64(left)
    B.proven[e, LOW], B.proven[e, HIGH] = low, high
    if B.rows.shape[0] > 1:
        for w in range(S.shape[1]):
            B.rows[e, w] = S[i, w]


def begin_search(B: SearchBuffers) -> None:
    """Starts a new generation of entries, and clears the killers."""
    generation = (int(B.generation[0]) + 1) % GENERATIONS
    if generation == 0:
        B.table[:] = 0
        generation = 1
    B.generation[0] = generation
    B.killers[:] = -1
