"""The exact solver of Trilobite for people and tools; the search itself is `alphabeta`."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.game import Game
from leafwise.envs.core.solution import Solution, checked_ask
from leafwise.envs.core.state import State
from leafwise.envs.trilobite import alphabeta as ab
from leafwise.envs.trilobite.rules import Tables
from leafwise.envs.trilobite.tables import make_tables


def make_memory(T: Tables, table_mb: float) -> ab.Memory:
    """Returns memory for one thread; the table uses at most `table_mb` and takes its pages as it grows.

    Raises ValueError below 4 MB.
    """
    max_bits = int(np.log2(max(table_mb, 1) * 2**20 / 8))
    if max_bits < ab.FIRST_BITS:
        raise ValueError(f"trilobite: expected a table of at least {2**ab.FIRST_BITS * 8 >> 20} MB, got {table_mb!r}")
    width, height = T.width, T.height
    bottom = int(T.bottom)
    column = (1 << height) - 1
    centre_first = sorted(range(width), key=lambda c: abs(2 * c - (width - 1)))
    odd_rows = sum(bottom << y for y in range(0, height, 2))
    good = [odd_rows, int(T.board) ^ odd_rows]
    if width * height % 2:
        good.reverse()
    return ab.Memory(
        width=width,
        k=T.k,
        stride=T.stride,
        board=T.board,
        bottom=T.bottom,
        cells=width * height,
        columns=np.array([column << c * (height + 1) for c in centre_first], dtype=np.uint64),
        good=np.array(good, dtype=np.uint64),
        table=np.zeros(1 << max_bits, dtype=np.uint64),
        size=np.array([ab.FIRST_BITS, 0], dtype=np.int64),
        max_bits=max_bits,
        frames=np.zeros((64, 8), dtype=np.uint64),
        bounds=np.zeros((64, 3), dtype=np.int64),
        moves=np.zeros((512, 4), dtype=np.uint64),
        out=np.zeros(8, dtype=np.int64),
        scores=np.zeros(8, dtype=np.int64),
        line=np.zeros(64, dtype=np.int64),
        stop=np.zeros(1, dtype=np.uint8),
    )


class Solver:
    """Solves positions of one board, win, draw or loss and how soon; keeps its table from one to the next."""

    def __init__(self, game: Game, table_mb: float = 64) -> None:
        self.game = game
        self.memory = make_memory(make_tables(game.options), table_mb)
        self.stop: NDArray[np.uint8] = self.memory.stop

    def solve(self, state: State, actions: str = "all") -> Solution:
        """Solves a position; see `leafwise.envs.core.solution.Solver`."""
        ask = checked_ask(self.game, state, actions)
        started = time.perf_counter()
        M = self.memory
        M.stop[0] = 0
        if state.is_terminal:
            score = self._finished(state)
            return Solution(value=_sign(score), score=score, action_scores={}, bounds=(score, score))
        own = state.row[state.current_player]
        ab.analyse(own, state.row[0] | state.row[1], ask, M)
        low, high, names = int(M.out[ab.LOWEST]), int(M.out[ab.HIGHEST]), self.game.actions
        score_or_none = low if low == high else None
        found = {names[c]: int(s) for c, s in enumerate(M.scores[: len(names)]) if s != ab.UNKNOWN}
        line = tuple(names[c] for c in M.line[: M.out[ab.LENGTH]])
        best = tuple(name for name, s in found.items() if s == score_or_none) or line[:1]
        return Solution(
            value=None if score_or_none is None else _sign(score_or_none),
            score=score_or_none,
            best_actions=best,
            action_values={name: _sign(s) for name, s in found.items()} if actions == "all" else {},
            action_scores=found if actions == "all" else {},
            line=line,
            nodes=int(M.out[ab.NODES]),
            depth=len(line),
            seconds=time.perf_counter() - started,
            bounds=(low, high),
            complete=not M.out[ab.STOPPED],
        )

    def scores(self, rows: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Returns the exact scores of many positions, none of them finished; rows [n, 2]."""
        results = np.zeros(len(rows), dtype=np.int64)
        self.memory.stop[0] = 0
        self.memory.out[ab.STOPPED] = 0
        ab.score_rows(rows, results, self.memory)
        return results

    def known(self) -> dict[str, Any]:
        """Returns `bounds` of the score and `nodes`, of the search under way."""
        out = self.memory.out
        return {"bounds": (int(out[ab.LOWEST]), int(out[ab.HIGHEST])), "nodes": int(out[ab.NODES])}

    def _finished(self, state: State) -> int:
        if state.returns == 0:
            return 0
        chips = bin(int(state.row[0] | state.row[1])).count("1")
        return -((self.memory.cells + 2 - chips) // 2)


def _sign(score: int) -> int:
    return (score > 0) - (score < 0)
