"""The search of whole turns as Python calls it, and the player that plays what it finds."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np

from leafwise.envs.core.compile.intrinsics import deadline_in
from leafwise.envs.core.compile.jit import Direct
from leafwise.envs.core.contract.evaluator import Evaluator
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.rules import Compiled
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.interrupts import stoppable
from leafwise.envs.core.play.players import ByName
from leafwise.envs.core.ranges import OneOf, Range, ranged
from leafwise.envs.trap.rules import CANDIDATES
from leafwise.envs.trap.turns import memory as M
from leafwise.envs.trap.turns.search import make_turn_search

DEPTH = 3
"""Turns looked ahead if neither depth nor time is given."""
TABLE_MB = 4.0
LATE_FROM, KNOWN_FROM = 12, 3
GAIN = 0.3
NEVER = 1 << 30
CERTAIN = 1.0 - 1e-12
"""From here on a value is that of a won game."""
OPTIONS: dict[str, Callable[[str], Any]] = {
    "depth": int,
    "seconds": float,
    "width": int,
    "late_from": int,
    "known_from": int,
    "gain": float,
    "candidates": str,
    "table_mb": float,
    "clock": str,
}
"""Options of `TurnSearch` that a player's text may hold, and what reads them."""


class Found(NamedTuple):
    """What a search of whole turns found."""

    actions: tuple[int, ...]
    """What to play: a move and the throw after it, a move that wins, or at a throw the throw."""
    value: float
    """For who acts, -1 to 1."""
    depth: int
    """Turns that were looked ahead, from 2 on the last one up to its move alone."""
    turns: int
    """Turns opened."""
    leaves: int
    """Positions valued."""


@cache
def compiled(value: Compiled, room: Path) -> Compiled:
    """Returns the compiled search for a leaf kind."""
    return make_turn_search(value, room)


AtLeastOne = Annotated[int | None, Range(1)]


class TurnSearch:
    """Searches whole turns, a given number or ever more of them until the time is up."""

    @ranged()
    def __init__(
        self,
        game: Game,
        evaluator: Evaluator,
        depth: Annotated[int | None, Range(1, M.MOST_TURNS, unit="turns")] = None,
        *,
        seconds: Annotated[float | None, Range(0, 1_000_000, above=True)] = None,
        width: AtLeastOne = None,
        late_from: AtLeastOne = LATE_FROM,
        known_from: AtLeastOne = KNOWN_FROM,
        gain: Annotated[float, Range(0, 2)] = GAIN,
        candidates: Annotated[str, OneOf(tuple(CANDIDATES))] = "near+traps",
        table_mb: Annotated[float, Range(0, 65536, above=True)] = TABLE_MB,
        clock: Annotated[str, OneOf(("wall", "cpu"))] = "wall",
    ) -> None:
        """Compiles the search, or finds it in the cache.

        Args:
            depth: turns looked ahead, 1 to `MOST_TURNS`, from 2 on the last one up to its move alone; with `seconds` the most
                (default: `DEPTH`, with `seconds` no limit).
            seconds: time for a turn, move and throw together; the first depth is always completed.
            width: most pairs of a move and a throw that are searched at a turn, the best at a glance (default: no limit).
            late_from: pairs from this place on are searched a turn less deep first (None: none are; with all pairs searched to
                the full depth, values are those of the tree without pruning).
            known_from: turns left from which on misses are worth what the table knows by then of the boards that they leave (None:
                never).
            gain: what the best throw after a move is thought to add to its worth, 0 to 2, until its throws are valued: they are
                when their move is the best left (2: those of all moves are valued at once).
            candidates: the throws considered, one of `rules.CANDIDATES`.
            table_mb: size of the table of turns, up to 65536 MB.
            clock: what `seconds` are, "wall" time or "cpu" time of the thread that searches.

        Raises ValueError for options out of range, or an evaluator without a compiled value of decisions.
        """
        if evaluator.value is None or evaluator.stage != "decision":
            raise UserError(f"expected an evaluator with a compiled value of decisions, got {evaluator.name!r}")
        # The compiled search, and the memory that it works in
        self.game, self.evaluator, self.seconds, self.clock = game, evaluator, seconds, clock
        self.depth = depth or (DEPTH if seconds is None else M.MOST_TURNS)
        self._T = game.tables(evaluator, candidates)
        self._search = Direct(compiled(evaluator.value, evaluator.room or game.room))
        entries = 1 << max(1, int(table_mb * 1e6 / M.ENTRY_BYTES).bit_length() - 1)
        options = M.Options(
            width=width or NEVER,
            late_from=late_from or NEVER,
            known_from=known_from or NEVER,
            gain=gain,
            generation=np.uint64(0),
            recall=seconds is not None,
        )
        self._B = M.make_buffers(int(self._T.cells), entries, options)

    def __call__(self, state: State) -> Found:
        """Searches a position; raises ValueError for one of another game, a finished one, or one where a trap is in the air."""
        if state.game != self.game or state.is_terminal or state.is_chance:
            raise UserError(f"expected a decision of {self.game!r}, got {state!r}")
        return stoppable(lambda: self._deepened(state), self._T.stop)

    def _deepened(self, state: State) -> Found:
        """Searches one depth after the other."""
        begun = time.thread_time() if self.clock == "cpu" else time.perf_counter()
        B = self._B = self._B._replace(
            options=self._B.options._replace(generation=(self._B.options.generation + np.uint64(1)) & M.LOW32)
        )
        B.counts[:], B.deadline[:], self._T.stop[0] = 0, 0, 0
        found = None
        for depth in range(1, self.depth + 1):
            if depth == 2 and self.seconds is not None:
                now = time.thread_time() if self.clock == "cpu" else time.perf_counter()
                B.deadline[:] = deadline_in(self.seconds - (now - begun), self.clock)
            B.S[0] = state.row
            value = float(self._search(B, depth, self._T))
            pair = int(B.frames[0, M.BEST_PAIR])
            if pair == M.NO_PAIR and found is not None:
                break
            found = Found(self._actions(state, pair), value, depth, int(B.counts[M.NODES]), int(B.counts[M.LEAVES]))
            if B.counts[M.FAILED] or abs(value) >= CERTAIN:
                break
        assert found is not None
        return found

    def stop(self) -> None:
        """Ends the running search soon; callable from any thread."""
        self._T.stop[0] = 1

    def _actions(self, state: State, pair: int) -> tuple[int, ...]:
        """Returns the actions of a pair at a position."""
        move, cell = pair >> 8, pair & 255
        if state.legal_actions[0] >= 8:
            return (8 + cell,)
        after = state.play(move)
        return (move,) if after.is_terminal else (move, 8 + cell)


class TurnPlayer(ByName):
    """Plays the move of the best pair, and its throw without a further search."""

    def __init__(self, game: Game, evaluator: Evaluator, name: str, **options: Any) -> None:
        """Makes the search; see `TurnSearch`."""
        self.name, self.search = name, TurnSearch(game, evaluator, **options)
        self._planned: tuple[State, int] | None = None

    def choose(self, state: State) -> int:
        """Returns the id of a legal action at a decision."""
        if self._planned is not None and self._planned[0] == state:
            return self._planned[1]
        action, *throw = self.search(state).actions
        self._planned = (state.play(action), throw[0]) if throw else None
        return action
