"""The exact solver of Cassis for people and tools; the search itself is `search`."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.cassis import search
from leafwise.envs.cassis.canon import make_scratch
from leafwise.envs.cassis.tables import MAX_EDGES, make_tables
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.interrupts import stoppable
from leafwise.envs.core.play.solver import Solution, check_question
from leafwise.envs.core.ranges import Range, need_in

ENOUGH_BITS = {7: 17, 8: 23}
"""Points -> log2 of the entries beyond which a table brings nothing; 13 for fewer points."""


class Stopped(Exception):
    """Raised inside the solver when its stop byte is set."""


def make_memory(n: int, table_mb: float) -> search.Memory:
    """Returns memory for one thread; its table uses at most `table_mb`, and no more than n points can fill.

    Raises ValueError below 1 MB.
    """
    need_in(table_mb, Range(1, unit="MB"), "a table", "cassis")
    bits = min(int(np.log2(table_mb * 2**20 / 8)), ENOUGH_BITS.get(n, 13))
    return search.Memory(
        table=np.zeros(1 << bits, dtype=np.uint64),
        bits=np.uint64(bits),
        frames=np.zeros((32, 8), dtype=np.uint64),
        moves=np.zeros((32 * MAX_EDGES, 3), dtype=np.uint64),
        out=np.zeros(8, dtype=np.int64),
        scratch=make_scratch(),
        stop=np.zeros(1, dtype=np.uint8),
    )


class Solver:
    """Solves positions for one number of points: win, draw or loss; keeps its table from one to the next."""

    def __init__(self, game: Game, table_mb: float = 64) -> None:
        self.game = game
        self.memory = make_memory(game.options.n, table_mb)
        self.tables = make_tables(game.options)
        self.stop: NDArray[np.uint8] = self.memory.stop
        self._sides = [[int(one | other) for one, other in self.tables.sides[e]] for e in range(self.tables.edges)]
        self._reaches(0, int(self.tables.all), 0)  # loads the compiled code

    def solve(self, state: State, actions: str = "all") -> Solution:
        """Solves a position; see `leafwise.envs.core.play.solver.Solver`. No "how soon" is defined: scores are None."""
        check_question(self.game, state, actions)
        return stoppable(lambda: self._solve(state, actions), self.stop)

    def _solve(self, state: State, actions: str) -> Solution:
        """Solves a position, until it is stopped."""
        started = time.perf_counter()
        names, out = self.game.actions, self.memory.out
        if state.is_terminal:
            value = 0 if state.returns == 0 else 1  # who closed a triangle has just moved
            return Solution(value=value, score=None, bounds=(value, value))
        player = state.current_player
        own, other = int(state.row[player]), int(state.row[1 - player])
        self._begin()
        found: dict[str, int] = {}
        line: list[str] = []
        known, complete = None, True
        try:
            known = self._value(own, other)
            out[search.LOWEST] = out[search.HIGHEST] = known
            if actions == "all":
                for e in state.legal_actions:
                    found[names[e]] = self._value_after(own, other, e)
            elif actions == "best":
                best = (e for e in state.legal_actions if self._keeps(own, other, e, known))
                found.update((names[e], known) for e in best)
            plies = 1 if actions == "move" else MAX_EDGES
            line += [names[e] for e in islice(self._line(own, other, known), plies)]
        except Stopped:
            complete = False
        return Solution(
            value=known,
            score=None,
            best_actions=tuple(name for name, v in found.items() if v == known) or tuple(line[:1]),
            action_values=found if actions == "all" else {},
            line=tuple(line),
            nodes=int(out[search.NODES]),
            depth=len(line),
            seconds=time.perf_counter() - started,
            bounds=(int(out[search.LOWEST]), int(out[search.HIGHEST])),
            complete=complete,
        )

    def values(self, rows: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Returns the values, for the mover, of many positions, none of them finished; rows [n, 2]."""
        self._begin()
        sides = [(int(first), int(second)) for first, second in rows]
        turns = [(b, a) if (a | b).bit_count() % 2 else (a, b) for a, b in sides]
        return stoppable(lambda: np.array([self._value(own, other) for own, other in turns], dtype=np.int64), self.stop)

    def _begin(self) -> None:
        self.memory.stop[0] = 0
        self.memory.out[:] = 0
        self.memory.out[search.LOWEST], self.memory.out[search.HIGHEST] = -1, 1

    def _reaches(self, own: int, other: int, g: int) -> bool:
        """Whether the mover can make sure of at least g; raises Stopped."""
        answer = search.reaches(np.uint64(own), np.uint64(other), g, self.memory, self.tables)
        if self.memory.out[search.STOPPED]:
            raise Stopped
        return bool(answer)

    def _value(self, own: int, other: int) -> int:
        """Returns the value for the mover of a position without a triangle."""
        if self._reaches(own, other, 1):
            return 1
        return 0 if self.tables.n < search.ALWAYS_DECIDED and self._reaches(own, other, 0) else -1

    def _closes(self, own: int, edge: int) -> bool:
        return any(own & two == two for two in self._sides[edge])

    def _value_after(self, own: int, other: int, edge: int) -> int:
        """Returns what colouring an edge is worth to the mover."""
        return -1 if self._closes(own, edge) else -self._value(other, own | 1 << edge)

    def _keeps(self, own: int, other: int, edge: int, value: int) -> bool:
        """Whether colouring an edge is worth at least the position's own `value`."""
        if value == -1:
            return True
        return not self._closes(own, edge) and not self._reaches(other, own | 1 << edge, 1 - value)

    def _line(self, own: int, other: int, value: int) -> Iterator[int]:
        """Yields best play; it closes a triangle only where it must."""
        while own | other != int(self.tables.all):
            free = [e for e in range(self.tables.edges) if not (own | other) >> e & 1]
            safe = [e for e in free if not self._closes(own, e)]
            choice = next((e for e in safe if self._keeps(own, other, e, value)), free[0])
            yield choice
            if choice not in safe:
                return
            own, other, value = other, own | 1 << choice, -value

    def known(self) -> dict[str, Any]:
        """Returns `bounds` of the value and `nodes`, of the search under way."""
        out = self.memory.out
        return {"bounds": (int(out[search.LOWEST]), int(out[search.HIGHEST])), "nodes": int(out[search.NODES])}
