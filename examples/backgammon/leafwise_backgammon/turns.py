"""A search of whole turns: `turns:learned,depth=2`.

As in other backgammon programs, all turns are valued one deep, and the best `width` of them deeper. A turn is searched once, not
again for each checker. If both players bear off, the table of `bearoff` values the turns.
"""

from __future__ import annotations

from typing import NamedTuple

import leafwise
from leafwise.authoring import Evaluator, Game, State
from leafwise_backgammon import bearoff

WIDTH = 5


class Turn(NamedTuple):
    """A turn: its value to the player, its actions, and the position after it."""

    value: float
    actions: tuple[tuple[State, int], ...]
    after: State


class TurnSearch:
    """Plays whole turns by a search with a leaf."""

    def __init__(self, game: Game, evaluator: Evaluator, name: str, *, depth: int = 2, width: int = WIDTH) -> None:
        if depth < 1 or width < 1:
            raise ValueError(f"turns: expected a depth and a width of 1 or more, got {depth} and {width}")
        self.name, self.width, self._rest = name, width, dict[State, int]()
        # In canonical order a turn has nothing for a table to find; one throw deep there is little to prune
        table_mb = 0.0 if game.options.order == "canonical" else None
        self._first = leafwise.Search(game, evaluator, depth=1, table_mb=table_mb, pruning=False)
        self._deeper = None
        if depth > 1:
            self._deeper = leafwise.Search(game, evaluator, depth=depth - 1, table_mb=table_mb, pruning=depth > 2)

    def choose(self, state: State) -> int:
        """Returns the id of the next checker's move; the rest of the turn is stored."""
        if state not in self._rest:
            self._rest = dict(self.turn(state).actions)
        return self._rest[state]

    def turn(self, state: State) -> Turn:
        """Returns the best turn."""
        player, turns = state.current_player, dict[State, Turn]()
        self._list(state, player, (), turns)
        best = sorted(turns.values(), key=lambda turn: -turn.value)
        if len(best) == 1 or self._deeper is None or bearoff.is_exact(best[0].after):
            return best[0]
        return max(best[: self.width], key=lambda turn: self._value(turn, player))

    def _list(self, here: State, player: int, before: tuple[tuple[State, int], ...], turns: dict[State, Turn]) -> None:
        """Adds the turns that begin with some moves, once for each final position."""
        values: dict[int, float] = {}
        for action in here.legal_actions:
            after, actions = here.play(action), (*before, (here, action))
            if after.current_player == player:
                self._list(after, player, actions, turns)
            elif after not in turns:
                exact = not after.is_terminal and bearoff.is_exact(after)
                values = values or self._first(here).values
                turns[after] = Turn(-bearoff.value(after, 1 - player) if exact else values[action], actions, after)

    def _value(self, turn: Turn, player: int) -> float:
        """Returns the value of a turn by the deeper search."""
        if turn.after.is_terminal or self._deeper is None:
            return turn.value
        worth = self._deeper(turn.after).value  # at a throw it is white's
        return worth if player == 0 else -worth
