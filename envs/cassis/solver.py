"""The exact solver of Cassis for people and tools; the search itself is `search`."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.cassis import search
from leafwise.envs.cassis.canon import make_scratch
from leafwise.envs.cassis.tables import MAX_EDGES, make_tables
from leafwise.envs.core.game import Game
from leafwise.envs.core.solution import Solution, checked_ask
from leafwise.envs.core.state import State


ENOUGH_BITS = {7: 17, 8: 23}
"""Points -> log2 of the entries beyond which a table brings nothing; 13 for fewer points."""


def make_memory(n: int, table_mb: float) -> search.Memory:
    """Returns memory for one thread; its table uses at most `table_mb`, and no more than n points can fill.

    Raises ValueError below 1 MB.
    """
    if not table_mb >= 1:
        raise ValueError(f"cassis: expected a table of at least 1 MB, got {table_mb!r}")
    bits = min(int(np.log2(table_mb * 2**20 / 8)), ENOUGH_BITS.get(n, 13))
    return search.Memory(
        table=np.zeros(1 << bits, dtype=np.uint64),
        bits=np.uint64(bits),
        frames=np.zeros((32, 8), dtype=np.uint64),
        moves=np.zeros((32 * MAX_EDGES, 3), dtype=np.uint64),
        out=np.zeros(8, dtype=np.int64),
        values=np.zeros(MAX_EDGES, dtype=np.int64),
        line=np.zeros(MAX_EDGES, dtype=np.int64),
        scratch=make_scratch(),
        stop=np.zeros(1, dtype=np.uint8),
    )


class Solver:
    """Solves positions for one number of points: win, draw or loss; keeps its table from one to the next."""

    def __init__(self, game: Game, table_mb: float = 64) -> None:
        self.game = game
        self.memory = make_memory(game.options["n"], table_mb)
        self.tables = make_tables(game.options)
        self.stop: NDArray[np.uint8] = self.memory.stop

    def solve(self, state: State, actions: str = "all") -> Solution:
        """Solves a position; see `leafwise.envs.core.solution.Solver`. No "how soon" is defined: scores are None."""
        ask = checked_ask(self.game, state, actions)
        started = time.perf_counter()
        M = self.memory
        M.stop[0] = 0
        if state.is_terminal:
            value = 0 if state.returns == 0 else 1  # who closed a triangle has just moved
            return Solution(value=value, score=None, bounds=(value, value))
        player = state.current_player
        search.analyse(state.row[player], state.row[1 - player], ask, M, self.tables)
        low, high, names = int(M.out[search.LOWEST]), int(M.out[search.HIGHEST]), self.game.actions
        value_or_none = low if low == high else None
        found = {names[e]: int(v) for e, v in enumerate(M.values[: len(names)]) if v != search.UNKNOWN}
        line = tuple(names[e] for e in M.line[: M.out[search.LENGTH]])
        return Solution(
            value=value_or_none,
            score=None,
            best_actions=tuple(name for name, v in found.items() if v == value_or_none) or line[:1],
            action_values=found if actions == "all" else {},
            line=line,
            nodes=int(M.out[search.NODES]),
            depth=len(line),
            seconds=time.perf_counter() - started,
            bounds=(low, high),
            complete=not M.out[search.STOPPED],
        )

    def values(self, rows: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Returns the values, for the mover, of many positions, none of them finished; rows [n, 2]."""
        results = np.zeros(len(rows), dtype=np.int64)
        self.memory.stop[0] = 0
        self.memory.out[search.STOPPED] = 0
        search.value_rows(rows, results, self.memory, self.tables)
        return results

    def known(self) -> dict[str, Any]:
        """Returns `bounds` of the value and `nodes`, of the search under way."""
        out = self.memory.out
        return {"bounds": (int(out[search.LOWEST]), int(out[search.HIGHEST])), "nodes": int(out[search.NODES])}
