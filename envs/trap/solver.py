"""The exact solver of Trap on boards of 3 and 4 a side; the values themselves come from `retrograde`.

Values are expected results. With fewer than NEAR turns left until the draw they are counted, and the values are those of just this
position; before that they are those of the game without a cap, in which play without end is worth 0.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.interrupts import stoppable
from leafwise.envs.core.play.solver import Solution, check_question
from leafwise.envs.trap import retrograde
from leafwise.envs.trap import rules as r
from leafwise.envs.trap.text import pieces

SIZES = (3, 4)
NEAR = 32
"""Turns before the draw from which on they are counted: no search sees farther. On 3x3 the draw moves no value by more than 0.015
where it is farther away."""
SAME = 1e-9
"""Actions whose values differ by less are equally good."""


class Solver:
    """Solves every position of a board on the first question (a moment for 3x3, some 10 s for 4x4), and keeps the values.

    So it does for each number of turns left near the draw (minutes for 4x4).

    Raises ValueError for a larger board, or for less memory than its values take.
    """

    def __init__(self, game: Game, table_mb: float = 64) -> None:
        size = game.options.size
        if size not in SIZES:
            raise UserError(f"trap: expected an exact solver for size {' or '.join(map(str, SIZES))}, got {size}")
        self.game = game
        self.table = retrograde.TurnTable(game.options, table_mb)
        self.memory = self.table.memory
        self.stop: NDArray[np.uint8] = np.zeros(1, dtype=np.uint8)
        retrograde.sweep(np.zeros((0, 2), dtype=np.int64), self.memory)  # loads the compiled code
        retrograde.moved_value(0, 2, 0, self.memory)
        retrograde.value_landings(0, 2, 0, self.memory)
        retrograde.throw_value(0, 2, 1, self.memory)

    def solve(self, state: State, actions: str = "all") -> Solution:
        """Solves a position; see `leafwise.envs.core.play.solver.Solver`. Scores are None."""
        check_question(self.game, state, actions)
        if state.is_chance:
            raise UserError(f"trap: expected a position in which a player acts, got {str(state)!r}")
        started = time.perf_counter()
        self.table.nodes = 0
        self.stop[0] = 0
        if state.is_terminal:
            value = state.returns if int(r.turn_of(state.row[1])) % 2 == 0 else -state.returns
            return Solution(value=value, score=None, bounds=(value, value))
        left = self.game.options.last_turn - int(r.turn_of(state.row[1]))
        near = left < NEAR
        if not stoppable(lambda: self.table.solve(self.stop, left - 1 if near else None), self.stop):
            return Solution(None, None, nodes=self.table.nodes, seconds=time.perf_counter() - started, complete=False)
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
            nodes=self.table.nodes,
            depth=len(line),
            seconds=time.perf_counter() - started,
            bounds=(best, best),
            note="" if near else f"as without the draw, which is {left} turns away",
        )

    def values(self, state: State) -> dict[str, float]:
        """Returns what every legal action is worth to the player who acts, by name; only after `solve` of the same turn."""
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
        return {"bounds": (-1, 1), "nodes": self.table.nodes}
