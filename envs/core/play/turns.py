"""Whole turns: all actions of a player until chance or the other player acts, for games in which people think so."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from leafwise.envs.core.contract.state import State
from leafwise.envs.core.errors import UserError

MOST_TURNS = 5000
"""Positions within the turns of a decision; if there are more, people see single actions."""


class Turn(NamedTuple):
    """One way to play a whole turn."""

    actions: tuple[str, ...]
    after: State
    cost: int
    """Its cost in search depth."""

    @property
    def name(self) -> str:
        """The turn as people write it: `8/5 6/5`."""
        return " ".join(self.actions)


def turns_of(state: State) -> list[Turn]:
    """Returns the turns of a decision, one for each position that they end in.

    Empty if the game's people think in single actions (without `Text.whole_turns`), and for more positions than MOST_TURNS.
    """
    game, player = state.game, state.current_player
    if not game.text.whole_turns or player < 0:
        return []
    turns: list[Turn] = []
    stack, seen = [Turn((), state, 0)], set()
    while stack:
        names, position, cost = stack.pop()
        for a in position.legal_actions:
            after = position.play(a)
            if after in seen:
                continue
            seen.add(after)
            total = cost + int(game.calls.action_cost(position.rows(), np.uint64(0), np.int64(a), game.thread_tables))
            turn = Turn((*names, game.actions[a]), after, total)
            (stack if after.current_player == player else turns).append(turn)
        if len(seen) > MOST_TURNS:
            return []
    return turns


def played_in_order(state: State, names: Sequence[str]) -> tuple[str, ...]:
    """Returns the actions of the whole turn at the start of a list of names, in an order that can be played; () for none.

    People may name them in any order.
    """
    turns = turns_of(state)
    for length in sorted({len(turn.actions) for turn in turns}, reverse=True):
        try:
            wanted = sorted(state.game.action(name) for name in names[:length])
        except UserError:  # what chance did after a shorter turn
            continue
        for turn in turns:
            if wanted == sorted(map(state.game.action, turn.actions)):
                return turn.actions
    return ()
