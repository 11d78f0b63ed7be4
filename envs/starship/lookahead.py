"""Search over requests: tries places, and follows the most promising ones a few placements deep.

At a decision the legal places are tried, and the ships they lead to are valued in one batch. `width` of these are followed
further: half of them the best by the stage's own strategy, the others the best by value, and two more at random. Below them the
same is done again. If there are very many places, as for the first part of a ship, only the best by the strategy are tried. A
ship whose next request is not in sight has the evaluator's value, which stands for the mean over the draws. Values are backed
up as maxima.

A part can already be placed in a row whose stage still has to draw: a draw fills the end of the preview, and the request at its
front is known (`placeable`). So a few requests ahead need no chance.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from typing import Annotated, NamedTuple

import numpy as np

from leafwise.envs.core.arrays import Floats, Ints
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
from leafwise.envs.starship.tables import Rows, Tables


@jit(inline=True)
def placeable(S, i):
    """Returns whether the first request in the preview of row `i` can be placed without another draw."""
    return S[i, at.TURN] == rules.DECISION or (S[i, at.TURN] == rules.DRAW_REQUEST and S[i, at.QUEUE] != 0)


@jit
def list_places(S, i, A, scores, T):
    """Writes the legal places of a placeable row to `A`, ascending, and the strategy's scores to `scores`; returns how many
    there are.
    """
    count = rules.write_places(S, i, A, T)
    stage, entry = rules.current_request(S, i)
    part = T.kinds[stage, entry // 4]
    prepare(S, i, T, stage, part)
    for k in range(count):
        r, x, y = place_at(T, A[k])
        scores[k] = score(S, i, T, stage, r, x, y, T.size[part, r, 0], T.size[part, r, 1])
    return count


@jit
def place_all(S, i, A, n, T):
    """Writes the rows that the first `n` places of `A` lead to after row `i`."""
    for k in range(n):
        after = i + np.uint64(k + 1)
        copy_row(S, i, after)
        rules.take_place(S, after, T, A[k])


@jit
def draw_on(S, i, R, T):
    """Draws chance in row `i` from stream `R` until the builder acts or the ship is finished."""
    while S[i, at.TURN] != rules.DECISION and S[i, at.TURN] != rules.OVER:
        draw_outcome(S, i, R, T)


Values = Callable[[Rows], Floats]
"""rows [n, words] -> their values [n]."""
MOST_WIDTH, MOST_DEPTH = 1024, 8
WIDTH = 8
AT_RANDOM = 2
"""Random places that are followed besides the best."""
TRIED_FIRST, TRIED_LAST = 8, 2
"""The most places that are tried, as multiples of the width: at the decision, and below it."""


class TriedPlaces(NamedTuple):
    """Places of a row, and what they lead to."""

    places: Ints
    """[n], ascending."""
    scores: Floats
    """[n]: scores by the stage's strategy."""
    rows: Rows
    """[n, words]"""
    values: Floats
    """[n]"""


class Children:
    """The rows that the places of a row lead to; serves one thread."""

    def __init__(self, game: Game, values: Values) -> None:
        self._T: Tables = game.tables().ship
        self._S = game.rows(1)
        self._A, self._scores = np.zeros(game.max_actions, np.int64), np.zeros(game.max_actions)
        self._values = values

    def __call__(self, row: Rows, most: int) -> TriedPlaces:
        """Tries at most `most` places of a row, the best by the strategy; the result is valid until the next call."""
        self._S[0] = row
        n = int(list_places(self._S, FIRST, self._A, self._scores, self._T))
        if n > most:
            order = permutation(n)  # equal scores in random order
            kept = np.sort(order[np.argsort(-self._scores[order], kind="stable")[:most]])
            self._A[:most], self._scores[:most], n = self._A[kept], self._scores[kept], most
        if len(self._S) <= n:
            self._S = np.resize(self._S, (2 * n, self._S.shape[1]))
        place_all(self._S, FIRST, self._A, n, self._T)
        rows = self._S[1 : 1 + n]
        return TriedPlaces(self._A[:n], self._scores[:n], rows, self._values(rows))


@functools.lru_cache(maxsize=4096)
def permutation(n: int) -> Ints:
    """Returns 0 to n - 1 in an order that depends on n alone."""
    order = np.random.default_rng(n).permutation(n)
    order.setflags(write=False)
    return order


def followed(tried: TriedPlaces, width: int, row: Rows) -> list[int]:
    """Returns which places of a row are followed: half of `width` the best by score, the rest by value, and two at random."""
    n = len(tried.values)
    if n <= width + AT_RANDOM:
        return list(range(n))
    chosen = dict.fromkeys(np.lexsort((-tried.values, -tried.scores))[: width // 2].tolist())
    for k in np.argsort(-tried.values, kind="stable").tolist():
        if len(chosen) >= width:
            break
        chosen[k] = None
    rest = [k for k in range(n) if k not in chosen]
    seed = int(row[at.PHASE]) + n  # the same row always gets the same places
    return [*chosen, *np.random.default_rng(seed).choice(rest, AT_RANDOM, replace=False).tolist()]


class LookAhead(ByName):
    """Places each request so that the ships it can lead to are worth most."""

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
        """Takes its options.

        Args:
            depth: number of placements to look ahead.
            width: for each part, the maximum number of places that the search follows further.
            seconds: time limit of a decision. The search starts with few places, then tries more, then looks deeper. None: no
                limit.

        Raises ValueError for a depth, width or time out of range.
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

    def _best(self, row: Rows, depth: int, width: int, end: float | None) -> int:
        """Returns the place to take; raises TimeoutError once the time is up."""
        tried = self.children(row, TRIED_FIRST * width)
        if depth == 1 or len(tried.places) == 1:
            return int(tried.places[tried.values.argmax()])
        kept = followed(tried, width, row)
        places = tried.places[kept]
        return int(places[self._worth(tried.rows[kept], tried.values[kept], depth - 1, width, end).argmax()])

    def _worth(self, rows: Rows, values: Floats, depth: int, width: int, end: float | None) -> Floats:
        """Returns the values of rows `depth` placements deep; a row whose next request is not in sight keeps its value."""
        worth = values.copy()
        for k, row in enumerate(rows):
            if end is not None and time.perf_counter() > end:
                raise TimeoutError
            if placeable(row[None], FIRST):
                tried = self.children(row, TRIED_LAST * width)
                child_values = tried.values
                if depth > 1:
                    kept = followed(tried, width, row)
                    child_values = self._worth(tried.rows[kept], child_values[kept], depth - 1, width, end)
                worth[k] = child_values.max()
        return worth
