"""What is asked of one position of Trilobite, answered in one compiled call: its score, its columns' and best play from it."""

from __future__ import annotations

import numpy as np

from leafwise.envs.core.compile.jit import jit
from leafwise.envs.core.contract.bits import count_bits
from leafwise.envs.core.contract.stream import u64
from leafwise.envs.trilobite.alphabeta import (
    ANSWERED,
    BITS,
    HIGHEST,
    LENGTH,
    LOW6,
    LOWEST,
    SCORING,
    STOPPED,
    hash_of,
    lookup,
    narrow,
    search,
)
from leafwise.envs.trilobite.rules import ONE, ZERO, has_line, landing_cells, threats

VALUES, BEST, NOTHING, OUTCOME = 0, 1, 2, 3
"""What is asked of each column: its score, whether it keeps the position's score, nothing; OUTCOME: not even the score."""
FULL = -99
"""Where the score of a column would be that takes no chip."""
FINISHED = -1
"""ANSWERED, of a finished position."""


@jit
def follow(own, filled, score, most, M):
    """Writes up to `most` plies of best play from a position with a known score to M.line.

    Among equals it takes the move that the table knows.
    """
    n = 0
    while filled != M.board and n < most:
        landing = landing_cells(filled, M)
        left = M.cells - np.int64(count_bits(filled))
        wins = threats(own, M.board ^ filled, M) & landing
        bits = u64(M.size[BITS])
        choice = wins & (~wins + ONE)
        for certain in range(2):
            for c in range(M.width):
                cell = landing & M.columns[c]
                if cell == ZERO or choice:
                    continue
                other, after = own ^ filled, filled | cell
                if certain:
                    reached = search(other, after, 1 - score, M) <= -score
                else:
                    data = lookup(hash_of(other, after, left - 1, M), bits, M)
                    reached = data and np.int64(data & LOW6) - 32 <= -score
                if M.out[STOPPED]:
                    return
                if reached:
                    choice = cell
        M.line[n] = count_bits(choice - ONE) // M.stride
        n += 1
        M.out[LENGTH] = n
        if wins:
            return
        own, filled = own ^ filled, filled | choice
        score = -score


@jit
def answer(own, filled, asked, most, scores, M):
    """Returns the score of an unfinished position, and writes those of the columns that are asked for to scores [width] and up to
    `most` plies of best play to M.line.

    Asked for the BEST, a column that does not keep the position's score gets one less than that; FULL ones get that.
    """
    left = M.cells - np.int64(count_bits(filled))
    M.out[LOWEST], M.out[HIGHEST], M.out[SCORING] = -(left // 2), (left + 1) // 2, 1
    score = narrow(own, filled, M.out[LOWEST], M.out[HIGHEST], M)
    M.out[SCORING] = 0
    landing = landing_cells(filled, M)
    wins = threats(own, M.board ^ filled, M) & landing
    below, above = -((left - 1) // 2), left // 2
    for c in range(M.width if asked != NOTHING else 0):
        cell = landing & (((ONE << M.stride) - ONE) << (M.stride * u64(c)))
        if cell & wins:
            scores[c] = (left + 1) // 2
        elif cell and asked == BEST:
            scores[c] = score if search(own ^ filled, filled | cell, 1 - score, M) <= -score else score - 1
        elif cell:
            scores[c] = -narrow(own ^ filled, filled | cell, max(-score, below), above, M)
        else:
            scores[c] = FULL
        if M.out[STOPPED]:
            return score
        M.out[ANSWERED] = c + 1
    if not M.out[STOPPED]:
        follow(own, filled, score, most, M)
    return score


@jit
def ask(held):
    """Returns the score of a position, or only its sign, as `request` [4] says: the chips of either player, what is asked, and the
    most plies of the line; with `answer` in `scores` [width] and M.

    `held` are request, scores and M. What the last position left is cleared. A FINISHED position has a score alone.
    """
    request, scores, M = held[0], held[1], held[2]
    M.stop[0] = 0
    for k in range(M.out.shape[0]):
        M.out[k] = 0
    filled = request[0] | request[1]
    chips = np.int64(count_bits(filled))
    own = request[chips & 1]
    lost = has_line(own ^ filled, M)
    if lost or filled == M.board:
        M.out[ANSWERED] = FINISHED
        return -((M.cells + 2 - chips) // 2) if lost else 0
    if request[2] != u64(OUTCOME):
        return answer(own, filled, np.int64(request[2]), np.int64(request[3]), scores, M)
    if search(own, filled, 1, M) >= 1:
        return 1
    return 0 if search(own, filled, 0, M) >= 0 else -1
