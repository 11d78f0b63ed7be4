"""Search over requests: what each place leads to, a few placements deep, the most promising ones only.

At a decision the legal places are tried and what they make of the ship is valued in one batch. Of these, `width` are
followed further: half of them the best by the stage's own strategy, the others the best by value, and two more at random;
below them the same again. Where there are very many places, as for the first part of a ship, the best by the strategy are
tried alone. A ship whose next request is not in sight is worth what the evaluator says of it: its number stands for the
mean over the draws. Values are backed up as maxima.

A row whose stage can still draw may already be placed upon: a draw fills the far end of the preview, the request at its
front is known (`placeable`). So a few requests ahead need no chance."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.compile.jit import jit
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.rules import copy_row
from leafwise.envs.core.contract.state import FIRST, State
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.play.players import ByName
from leafwise.envs.core.ranges import Range, ranged
from leafwise.envs.starship import rules
from leafwise.envs.starship import tables as at
from leafwise.envs.starship.placing import place_at, prepare, score
from leafwise.envs.starship.rules import draw_outcome
from leafwise.envs.starship.tables import Tables


@jit(inline=True)
def placeable(S, i):
    """Returns whether the request at the front of the preview of row `i` can be placed without another draw."""
    return S[i, at.TURN] == rules.DECISION or (S[i, at.TURN] == rules.DRAW_REQUEST and S[i, at.QUEUE] != 0)


@jit
def list_places(S, i, A, scores, T):
    """Writes the legal places of a placeable row to `A`, ascending, and the strategy's scores; returns how many."""
    count = rules.write_places(S, i, A, T)
    stage, entry = rules.current_request(S, i)
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
        rules.take_place(S, first + np.uint64(k), T, A[k])


@jit
def draw_on(S, i, R, T):
    """Lets chance draw in row `i` from stream `R` until the builder acts or the ship is finished."""
    while S[i, at.TURN] != rules.DECISION and S[i, at.TURN] != rules.OVER:
        draw_outcome(S, i, R, T)


Values = Callable[[NDArray[np.uint16]], NDArray[np.float64]]
"""rows [n, words] -> what they are worth [n]."""
MOST_WIDTH, MOST_DEPTH = 1024, 8
WIDTH = 8
AT_RANDOM = 2
"""Places that are followed besides."""
TRIED_FIRST, TRIED_LAST = 8, 2
"""Places that are tried at most, as multiples of the width: at the decision itself, and below it."""


class Tried(NamedTuple):
    """Places of a row, and what they lead to."""

    places: NDArray[np.int64]
    """[n], ascending."""
    scores: NDArray[np.float64]
    """[n]: what the stage's strategy gives."""
    rows: NDArray[np.uint16]
    """[n, words]"""
    values: NDArray[np.float64]
    """[n]"""


ROOM_FOR = 512
"""Rows that are valued in one batch, at least."""


class Children:
    """What the places of rows lead to; serves one thread."""

    def __init__(self, game: Game, values: Values) -> None:
        self._T: Tables = game.tables().ship
        self._S = game.rows(1 + ROOM_FOR)
        self._A, self._scores = np.zeros(game.max_actions, np.int64), np.zeros(game.max_actions)
        self._values = values

    def __call__(self, row: NDArray[np.uint16], most: int) -> Tried:
        """Tries at most `most` places of a row, the best by the strategy; what it returns stands until the next call."""
        n = self._grow(row, most, 1)
        rows = self._S[1 : 1 + n]
        return Tried(self._A[:n], self._scores[:n], rows, self._values(rows))

    def best(
        self, rows: NDArray[np.uint16], values: NDArray[np.float64], most: int, end: float | None = None
    ) -> NDArray[np.float64]:
        """Returns what rows [n, words] are worth one placement later: the value of the best of at most `most` places.

        A row whose next request is not in sight keeps its own of `values` [n]. Raises TimeoutError after `end`.
        """
        worth, pending, starts, top = values.copy(), list[int](), list[int](), 1
        for k in [*(k for k, row in enumerate(rows) if placeable(row[None], FIRST)), None]:
            if pending and (k is None or top > ROOM_FOR):
                worth[pending] = np.maximum.reduceat(self._values(self._S[1:top]), np.array(starts) - 1)
                pending, starts, top = [], [], 1
            if k is not None:
                if end is not None and time.perf_counter() > end:
                    raise TimeoutError
                pending.append(k)
                starts.append(top)
                top += self._grow(rows[k], most, top)
        return worth

    def _grow(self, row: NDArray[np.uint16], most: int, first: int) -> int:
        """Writes what at most `most` places of a row lead to, from row `first` of the buffer on; returns how many."""
        self._S[0] = row
        n = int(list_places(self._S, FIRST, self._A, self._scores, self._T))
        if n > most:
            order = permutation(n)  # equal scores are chosen among at random
            kept = np.sort(order[np.argsort(-self._scores[order], kind="stable")[:most]])
            self._A[:most], self._scores[:most], n = self._A[kept], self._scores[kept], most
        if first + n > len(self._S):
            self._S = np.concatenate([self._S, np.zeros((n + ROOM_FOR, self._S.shape[1]), np.uint16)])
        place_all(self._S, FIRST, self._A, n, np.uint64(first), self._T)
        return n


@functools.lru_cache(maxsize=4096)
def permutation(n: int) -> NDArray[np.int64]:
    """Returns 0 to n - 1 in an order that depends on n alone."""
    order = np.random.default_rng(n).permutation(n)
    order.setflags(write=False)
    return order


@functools.lru_cache(maxsize=4096)
def some(n: int, seed: int) -> tuple[int, ...]:
    """Returns the indices of AT_RANDOM of n things, the same for the same n and seed."""
    return tuple(np.random.default_rng(seed).choice(n, AT_RANDOM, replace=False).tolist())


def followed(scores: NDArray[np.float64], values: NDArray[np.float64], width: int, seed: int) -> list[int]:
    """Returns which of n places are followed: half of `width` the best by score, then by value, and two at random."""
    n = len(values)
    if n <= width + AT_RANDOM:
        return list(range(n))
    chosen = dict.fromkeys(np.lexsort((-values, -scores))[: width // 2].tolist())
    for k in np.argsort(-values, kind="stable").tolist():
        if len(chosen) >= width:
            break
        chosen[k] = None
    rest = [k for k in range(n) if k not in chosen]
    return [*chosen, *(rest[k] for k in some(len(rest), seed))]


class LookAhead(ByName):
    """Places each request where the ships that may come of it are worth most."""

    @ranged()
    def __init__(
        self,
        game: Game,
        values: Values,
        name: str,
        *,
        depth: Annotated[int, Range(1, MOST_DEPTH)] = 2,
        width: Annotated[int, Range(1, MOST_WIDTH)] = WIDTH,
        seconds: Annotated[float | None, Range(0, above=True)] = None,
    ) -> None:
        """Depth in placements; with `seconds` a decision starts narrow and is widened, then deepened, until they are over.

        Raises ValueError for a depth, width or time that no search can have.
        """
        self.name, self.depth, self.width, self.seconds = name, depth, width, seconds
        self.children = Children(game, values)

    def choose(self, state: State) -> int:
        """Returns the id of the place to take."""
        if state.is_terminal or state.is_chance:
            raise UserError(f"{self.name}: expected a decision, got {state}")
        end = None if self.seconds is None else time.perf_counter() + self.seconds
        if end is None:
            return self._best(state.row, self.depth, self.width, None)
        best, width, depth = self._best(state.row, 1, self.width, None), 2, 2
        while time.perf_counter() < end and depth <= self.depth:
            try:
                best = self._best(state.row, depth, width, end)
            except TimeoutError:
                break
            width, depth = (min(2 * width, self.width), depth) if width < self.width else (2, depth + 1)
        return best

    def _best(self, row: NDArray[np.uint16], depth: int, width: int, end: float | None) -> int:
        places, scores, rows, values = self.children(row, TRIED_FIRST * width)
        if depth == 1 or len(places) == 1:
            return int(places[values.argmax()])
        kept = followed(scores, values, width, int(row[at.PHASE]) + len(places))
        first = places[kept]  # `places` does not outlast the calls below
        return int(first[self._worth(rows[kept], values[kept], depth - 1, width, end).argmax()])

    def _worth(
        self, rows: NDArray[np.uint16], values: NDArray[np.float64], depth: int, width: int, end: float | None
    ) -> NDArray[np.float64]:
        """Returns what rows are worth `depth` placements deep; raises TimeoutError once the time is over."""
        if depth == 1:
            return self.children.best(rows, values, TRIED_LAST * width, end)
        worth = values.copy()
        for k, row in enumerate(rows):
            if end is not None and time.perf_counter() > end:
                raise TimeoutError
            if placeable(row[None], FIRST):
                tried = self.children(row, TRIED_LAST * width)
                kept = followed(tried.scores, tried.values, width, int(row[at.PHASE]) + len(tried.places))
                worth[k] = self._worth(tried.rows[kept], tried.values[kept], depth - 1, width, end).max()
        return worth
