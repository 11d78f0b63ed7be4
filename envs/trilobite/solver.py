"""The exact solver of Trilobite for people and tools; the search itself is `alphabeta`."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from safetensors import safe_open

from leafwise.envs.core.compile.emitted import hold
from leafwise.envs.core.compile.jit import Direct, jit
from leafwise.envs.core.contract.bits import count_bits
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.contract.stream import u64
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.fields import values_of
from leafwise.envs.core.interrupts import stoppable
from leafwise.envs.core.play.solver import UNKNOWN, Solution, check_question
from leafwise.envs.core.ranges import Range, need_in
from leafwise.envs.trilobite import alphabeta as ab
from leafwise.envs.trilobite.alphabeta import BITS, SCATTER, remember
from leafwise.envs.trilobite.rules import ONE
from leafwise.envs.trilobite.tables import Tables, make_tables


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


ASKED = {"all": ab.VALUES, "best": ab.BEST}
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
        self._ask = hold(ab.ask, request, self._scores, self.memory)
        self.scores(game.rows(0))  # compiles

    def solve(self, state: State, actions: str = "all") -> Solution:
        """Solves a position; see `leafwise.envs.core.play.solver.Solver`."""
        check_question(self.game, state, actions)
        started = time.perf_counter()
        score = self._answer(state, ASKED.get(actions, ab.NOTHING), 1 if actions == "move" else ab.MOST_PLIES)
        out, names = self.memory.out.tolist(), self.game.actions
        if out[ab.ANSWERED] == ab.FINISHED:
            return Solution(value=_sign(score), score=score, action_scores={}, bounds=(score, score))
        found = {}
        if out[ab.ANSWERED]:
            scores = self._scores.tolist()[: out[ab.ANSWERED]]
            found = {name: s for name, s in zip(names, scores, strict=False) if s != ab.FULL}
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
        return _sign(self._answer(state, ab.OUTCOME, 0))

    def known(self) -> dict[str, Any]:
        """Returns `bounds` of the score and `nodes`, of the search under way."""
        out = self.memory.out
        return {"bounds": (int(out[ab.LOWEST]), int(out[ab.HIGHEST])), "nodes": int(out[ab.NODES])}


def _sign(score: int) -> int:
    return (score > 0) - (score < 0)


# Exact outcomes of positions of Trilobite as targets of learning, by the alpha-beta search with a limit of nodes.


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


# Exact scores of the first plies of Connect Four (7x6, k = 4), so that the solver answers there at once.
#
# `openings.safetensors` holds every unfinished position of so many plies, up to the mirror image;
# `python -m leafwise.experiments.trilobite.openings` computes it with the solver itself.


FILE = Path(__file__).with_name("openings.safetensors")
BOARD = {"board": "7x6", "k": 4}


class Openings(NamedTuple):
    """Scores of positions of the first plies, the later plies first."""

    keys: NDArray[np.uint64]
    """`alphabeta.key_of` of each position [n]."""
    left: NDArray[np.uint8]
    """Empty cells [n]."""
    scores: NDArray[np.int8]
    """For the player to move [n]."""
    about: dict[str, Any]
    """How the table was made."""


def read_openings(path: Path = FILE) -> Openings:
    """Reads a table; raises ValueError if it is not of this board."""
    with safe_open(path, framework="numpy") as file:
        about = json.loads(file.metadata()["leafwise"])
        keys, left, scores = (file.get_tensor(name) for name in ("keys", "left", "scores"))
    if {name: about.get(name) for name in BOARD} != BOARD:
        raise UserError(f"openings {str(path)!r}: expected a table of {BOARD}, got {about}")
    return Openings(keys, left, scores, about)


@jit
def remember_all(keys, left, scores, M):
    """Stores exact scores in the solver's table, in the order given: of two that share a place the later stays longer."""
    bits = u64(M.size[BITS])
    for i in range(keys.shape[0]):
        score = np.int64(scores[i])
        remember(keys[i] * SCATTER, bits, score, score, np.int64(left[i]), M)
