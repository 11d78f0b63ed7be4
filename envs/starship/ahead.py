"""Looking ahead while a ship is built: the places of a request with their strategy scores, and what each of them leads to.

A row whose stage can still draw may already be placed upon: a draw fills the far end of the preview, the request at its
front is known (`placeable`). So a few requests ahead need no chance.
"""

from __future__ import annotations

import numpy as np

from leafwise.envs.core.compile.jit import jit
from leafwise.envs.core.contract.rules import copy_row
from leafwise.envs.starship.board import ONE, ZERO, contiguous, load_planes, lowest
from leafwise.envs.starship.chance import draw_outcome
from leafwise.envs.starship.legality import find_anchors
from leafwise.envs.starship.strategies import prepare, score
from leafwise.envs.starship.tables import ANCHORS, LIMIT, PHASE, QUEUE, TURN
from leafwise.envs.starship.turns import DECISION, DRAW_REQUEST, OVER, first_rotation, last_rotation, take_place


@jit(inline=True)
def placeable(S, i):
    """Returns whether the request at the front of the preview of row `i` can be placed without another draw."""
    return S[i, TURN] == DECISION or (S[i, TURN] == DRAW_REQUEST and S[i, QUEUE] != 0)


@jit
def list_places(S, i, A, scores, T):
    """Writes the legal places of a placeable row to `A`, ascending, and the strategy's scores; returns how many."""
    load_planes(S, i, T)
    phase, entry = np.int64(S[i, PHASE]), np.int64(S[i, QUEUE]) - 1
    part, limit, count = T.kinds[phase, entry // 4], T.P[phase, LIMIT], 0
    prepare(S, i, T, phase, part)
    for r in range(first_rotation(T, part, entry), last_rotation(T, part, entry)):
        find_anchors(T, part, r)
        w, h = T.size[part, r, 0], T.size[part, r, 1]
        for y in range(T.grid):
            left = T.B[ANCHORS, y + 1]
            while left != ZERO:
                x = lowest(left)
                left &= left - ONE
                if contiguous(T.B, T.grid, x, y, w, h, limit):
                    A[count] = (r * T.grid + y) * T.grid + x
                    scores[count] = score(S, i, T, phase, r, x, y, w, h)
                    count += 1
    return count


@jit
def place_all(S, i, A, n, first, T):
    """Writes what the first `n` places of `A` make of row `i` to the rows from `first` on."""
    for k in range(n):
        copy_row(S, i, first + np.uint64(k))
        take_place(S, first + np.uint64(k), T, A[k])


@jit
def draw_on(S, i, R, T):
    """Lets chance draw in row `i` from stream `R` until the builder acts or the ship is finished."""
    while S[i, TURN] != DECISION and S[i, TURN] != OVER:
        draw_outcome(S, i, R, T)
