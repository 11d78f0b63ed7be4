"""The exact solver of Trilobite for people and tools; the search itself is `alphabeta`."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.compile.emitted import hold
from leafwise.envs.core.compile.jit import Direct
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.fields import values_of
from leafwise.envs.core.interrupts import stoppable
from leafwise.envs.core.play.solver import Solution, check_question
from leafwise.envs.core.ranges import Range, need_in
from leafwise.envs.trilobite import alphabeta as ab
from leafwise.envs.trilobite import questions
from leafwise.envs.trilobite.openings import BOARD, read_openings, remember_all
from leafwise.envs.trilobite.rules import Tables
from leafwise.envs.trilobite.tables import make_tables


def make_memory(T: Tables, table_mb: float) -> ab.Memory:
    """Returns memory for one thread; the table uses at most `table_mb` and takes its pages as it grows.

    Raises ValueError below 4 MB.
    """
    need_in(table_mb, Range(2**ab.FIRST_BITS * 8 >> 20, unit="MB"), "a table", "trilobite")
    max_bits = int(np.log2(table_mb * 2**20 / 8))
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
        line=np.zeros(64, dtype=np.int64),
        stop=np.zeros(1, dtype=np.uint8),
    )


ASKED = {"all": questions.VALUES, "best": questions.BEST}
"""What a question asks of each column; others ask nothing."""


class Solver:
    """Solves positions of one board, win, draw or loss and how soon; keeps its table from one to the next.

    At 7x6 with k = 4 it knows the first plies by heart (`openings`), unless asked to find out by itself.
    """

    def __init__(self, game: Game, table_mb: float = 64, *, by_heart: bool = True) -> None:
        self.game = game
        self.tables = make_tables(game.options)
        self.memory = make_memory(self.tables, table_mb)
        self.stop: NDArray[np.uint8] = self.memory.stop
        self.openings = read_openings() if by_heart and values_of(game.options) == BOARD else None
        self._first_plies = self.memory.cells if self.openings is None else int(self.openings.left.min())
        self._remembered: list[int] = []
        """What `memory.size` was when the openings were stored last."""
        self._scores = np.zeros(self.memory.width, dtype=np.int64)
        self._score_rows, self._remember_all = Direct(ab.score_rows), Direct(remember_all)
        request = np.zeros(4, dtype=np.uint64)
        self._request = request.data
        self._ask = hold(questions.ask, request, self._scores, self.memory)
        self.scores(game.rows(0))  # compiles

    def solve(self, state: State, actions: str = "all") -> Solution:
        """Solves a position; see `leafwise.envs.core.play.solver.Solver`."""
        check_question(self.game, state, actions)
        started = time.perf_counter()
        score = self._answer(state, ASKED.get(actions, questions.NOTHING), 1 if actions == "move" else ab.MOST_PLIES)
        out, names = self.memory.out.tolist(), self.game.actions
        if out[ab.ANSWERED] == questions.FINISHED:
            return Solution(value=_sign(score), score=score, action_scores={}, bounds=(score, score))
        found = {}
        if out[ab.ANSWERED]:
            scores = self._scores.tolist()[: out[ab.ANSWERED]]
            found = {name: s for name, s in zip(names, scores, strict=False) if s != questions.FULL}
        line = tuple([names[c] for c in self.memory.line[: out[ab.LENGTH]].tolist()])
        low, high, every = out[ab.LOWEST], out[ab.HIGHEST], actions == "all"
        known = low == high
        return Solution.of(
            value=_sign(score) if known else None,
            score=score if known else None,
            best_actions=tuple([name for name, s in found.items() if s == score]) or line[:1],
            action_values={name: (s > 0) - (s < 0) for name, s in found.items()} if every else {},
            action_scores=found if every else {},
            line=line,
            nodes=out[ab.NODES],
            depth=len(line),
            seconds=time.perf_counter() - started,
            bounds=(low, high),
            complete=not out[ab.STOPPED],
        )

    def _answer(self, state: State, asked: int, most: int) -> int:
        """Asks about a position; returns its score, or its sign where only the outcome is asked for."""
        first, second = state.row.tolist()
        self._refresh((first | second).bit_count())
        request = self._request
        request[0], request[1], request[2], request[3] = first, second, asked, most
        return int(stoppable(self._ask, self.stop))

    def _refresh(self, chips: int) -> None:
        """Stores again what is known by heart, if a search may have displaced some.

        `chips` are those of the one position that is asked about: after the first plies nothing known by heart is met.
        """
        if self.openings is None or self.memory.cells - chips < self._first_plies:
            return
        size = self.memory.size.tolist()
        if size != self._remembered:
            self._remember_all(self.openings.keys, self.openings.left, self.openings.scores, self.memory)
            self._remembered = size

    def scores(self, rows: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Returns the exact scores of many positions, none of them finished; rows [n, 2]."""
        M = self.memory
        M.stop[0] = 0
        M.out[:] = 0
        self._refresh(int(rows[0, 0] | rows[0, 1]).bit_count() if len(rows) == 1 else 0)
        results = np.zeros(len(rows), dtype=np.int64)
        stoppable(lambda: self._score_rows(np.ascontiguousarray(rows, dtype=np.uint64), results, M), self.stop)
        return results

    def value(self, state: State) -> int:
        """Returns 1, 0 or -1 for the player to move, without asking how soon: sooner known than by `solve`."""
        return _sign(self._answer(state, questions.OUTCOME, 0))

    def known(self) -> dict[str, Any]:
        """Returns `bounds` of the score and `nodes`, of the search under way."""
        out = self.memory.out
        return {"bounds": (int(out[ab.LOWEST]), int(out[ab.HIGHEST])), "nodes": int(out[ab.NODES])}


def _sign(score: int) -> int:
    return (score > 0) - (score < 0)
