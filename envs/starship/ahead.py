"""Looking ahead while a ship is built: the places of a request with their strategy scores, and what each of them leads to.

A row whose stage can still draw may already be placed upon: a draw fills the far end of the preview, the request at its
front is known (`placeable`). So a few requests ahead need no chance.
"""

from __future__ import annotations

import numpy as np

from leafwise.envs.core.compile.jit import jit
from leafwise.envs.core.contract.rules import copy_row
from leafwise.envs.starship import tables as at
from leafwise.envs.starship import turns
from leafwise.envs.starship.chance import draw_outcome
from leafwise.envs.starship.legality import place_at
from leafwise.envs.starship.strategies import prepare, score


@jit(inline=True)
def placeable(S, i):
    """Returns whether the request at the front of the preview of row `i` can be placed without another draw."""
    return S[i, at.TURN] == turns.DECISION or (S[i, at.TURN] == turns.DRAW_REQUEST and S[i, at.QUEUE] != 0)


@jit
def list_places(S, i, A, scores, T):
    """Writes the legal places of a placeable row to `A`, ascending, and the strategy's scores; returns how many."""
    count = turns.write_places(S, i, A, T)
    stage, entry = turns.current_request(S, i)
    part = T.kinds[stage, entry // 4]
    prepare(S, i, T, stage, part)
    for k in range(count):
        r, x, y = place_at(T, A[k])
        scores[k] = score(S, i, T, stage, r, x, y, T.size[part, r, 0], T.size[part, r, 1])
    return count


@jit
def place_all(S, i, A, n, first, T):
    """Writes what the first `n` places of `A` make of row `i` to the rows from `first` on."""
    for k in range(n):
        copy_row(S, i, first + np.uint64(k))
        turns.take_place(S, first + np.uint64(k), T, A[k])


@jit
def draw_on(S, i, R, T):
    """Lets chance draw in row `i` from stream `R` until the builder acts or the ship is finished."""
    while S[i, at.TURN] != turns.DECISION and S[i, at.TURN] != turns.OVER:
        draw_outcome(S, i, R, T)
