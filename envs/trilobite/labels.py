"""Exact outcomes of positions of Trilobite as targets of learning, by the alpha-beta search with a limit of nodes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.compile.jit import Direct, jit
from leafwise.envs.core.contract.bits import count_bits
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.interrupts import stoppable
from leafwise.envs.core.play.solver import UNKNOWN
from leafwise.envs.trilobite import alphabeta as ab
from leafwise.envs.trilobite.rules import ONE
from leafwise.envs.trilobite.solver import make_memory
from leafwise.envs.trilobite.tables import make_tables


@jit
def label_rows(S, first, results, limit, M):
    """Writes to `results` [n] what rows are worth to the player to move, 1, 0 or -1, and UNKNOWN where that takes more nodes.

    The rows are of games one after another, `first` [n] the number of each one's first row; none is finished. A game is
    taken from its end, so that the table knows what follows, up to the first row that takes more than `limit` nodes.
    """
    i = S.shape[0] - 1
    while i >= 0:
        filled = S[i, 0] | S[i, 1]
        own = S[i, np.int64(count_bits(filled) & ONE)]
        M.out[ab.NODES], M.out[ab.STOPPED], M.out[ab.LIMIT] = 0, 0, limit
        value = 1
        if ab.search(own, filled, 1, M) < 1 and not M.out[ab.STOPPED]:
            value = 0 if ab.search(own, filled, 0, M) >= 0 else -1
        if M.out[ab.STOPPED]:
            for j in range(first[i], i + 1):
                results[j] = UNKNOWN
            i = first[i]
        else:
            results[i] = value
        i -= 1
    M.out[ab.LIMIT] = 0


class Labels:
    """Exact outcomes of positions, by a search of so many nodes at most; knows no opening by heart.

    See `leafwise.envs.core.play.solver.Labels`.
    """

    def __init__(self, game: Game, table_mb: float) -> None:
        self.memory = make_memory(make_tables(game.options), table_mb)
        self._label_rows = Direct(label_rows)

    def __call__(self, rows: NDArray[Any], first: NDArray[np.int64], nodes: int) -> NDArray[np.int8]:
        """Returns what each of the rows is worth to the player to move, or `UNKNOWN`."""
        results = np.zeros(len(rows), dtype=np.int8)
        own = np.ascontiguousarray(rows)
        stoppable(lambda: self._label_rows(own, first, results, nodes, self.memory), self.memory.stop)
        return results
