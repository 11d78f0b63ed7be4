"""The exact solver of Trap on boards of 3 and 4 a side; the values themselves come from `retrograde`.

Values are expected results in the game without a cap on turns, in which play without end is worth 0.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.play.solver import Solution, check_question
from leafwise.envs.trap import retrograde
from leafwise.envs.trap import rules as r
from leafwise.envs.trap.text import pieces

SIZES = (3, 4)
MOST_SWEEPS = 5000
"""Of a layer; its last values then move by less than 1e-9 a sweep."""
SAME = 1e-9
"""Actions whose values differ by less are equally good."""


class Solver:
    """Solves every position of a board on the first question (a moment for 3x3, some 10 s for 4x4), and keeps the values.

    Raises ValueError for a larger board, or for less memory than its values take.
    """

    def __init__(self, game: Game, table_mb: float = 64) -> None:
        size = game.options.size
        if size not in SIZES:
            raise ValueError(f"trap: expected an exact solver for size {' or '.join(map(str, SIZES))}, got {size}")
        self.game = game
        self.memory = retrograde.make_memory(game.options)
        needed = sum(array.nbytes for array in self.memory if isinstance(array, np.ndarray)) / 2**20
        if not table_mb >= needed:
            raise ValueError(f"trap: expected a table of at least {needed:.0f} MB, got {table_mb!r}")
        self.stop: NDArray[np.uint8] = np.zeros(1, dtype=np.uint8)
        self._to_solve = self.memory.cells - 2
        """Most traps of a position whose value is not yet known; -1 when all are."""
        self._nodes = 0
        retrograde.sweep(np.zeros((0, 2), dtype=np.int64), self.memory)  # loads the compiled code
        retrograde.moved_value(0, 2, 0, self.memory)
        retrograde.value_landings(0, 2, 0, self.memory)
        retrograde.throw_value(0, 2, 1, self.memory)

    def solve(self, state: State, actions: str = "all") -> Solution:
        """Solves a position; see `leafwise.envs.core.play.solver.Solver`. Scores are None."""
        check_question(self.game, state, actions)
        if state.is_chance:
            raise ValueError(f"trap: expected a position in which a player acts, got {str(state)!r}")
        started = time.perf_counter()
        self._nodes = 0
        self.stop[0] = 0
        if state.is_terminal:
            value = state.returns if int(r.turn_of(state.row[1])) % 2 == 0 else -state.returns
            return Solution(value=value, score=None, bounds=(value, value))
        if not self._solve_layers():
            return Solution(None, None, nodes=self._nodes, seconds=time.perf_counter() - started, complete=False)
        values = self.values(state)
        best = max(values.values())
        good = tuple(name for name, value in values.items() if value > best - SAME)
        line = good[:1]
        if state.play(line[0]).legal_actions:  # the throw of the same turn
            throws = self.values(state.play(line[0]))
            line += (max(throws, key=throws.__getitem__),)
        return Solution(
            value=best,
            score=None,
            best_actions=good[: None if actions != "none" else 1],
            action_values=values if actions == "all" else {},
            line=line,
            nodes=self._nodes,
            depth=len(line),
            seconds=time.perf_counter() - started,
            bounds=(best, best),
        )

    def _solve_layers(self) -> bool:
        """Computes the values that are not yet known; returns False if stopped."""
        while self._to_solve >= 0:
            states = retrograde.layer(self._to_solve, self.memory)
            for _ in range(MOST_SWEEPS):
                if self.stop[0]:
                    return False
                self._nodes += len(states)
                if retrograde.sweep(states, self.memory) == 0:
                    break
            self._to_solve -= 1
        return True

    def values(self, state: State) -> dict[str, float]:
        """Returns what every legal action is worth to the player who acts, by name; only after `solve`."""
        M = self.memory
        me, opponent, traps = pieces(state.row, self.game.tables())
        if r.phase_of(state.row[1]) == r.MOVE:
            moved = {a: int(M.step[me, a]) for a in state.legal_actions}
            return {
                self.game.actions[a]: float(retrograde.moved_value(to, opponent, traps, M)) for a, to in moved.items()
            }
        retrograde.value_landings(me, opponent, traps, M)
        return {
            self.game.actions[a]: float(retrograde.throw_value(me, opponent, a - 8, M)) for a in state.legal_actions
        }

    def known(self) -> dict[str, Any]:
        """Returns `bounds` of the value (nothing until all is known) and `nodes`, of the work under way."""
        return {"bounds": (-1, 1), "nodes": self._nodes}
