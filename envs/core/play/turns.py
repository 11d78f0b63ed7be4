"""Whole turns: what a player decides until chance or the other player acts, for games whose people think in them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from leafwise.envs.core.contract.state import State
from leafwise.envs.core.errors import UserError

MOST_TURNS = 5000
"""Positions within the turns of a decision; where there are more, people are told single actions."""


class Turn(NamedTuple):
    """One way to play a whole turn."""

    actions: tuple[str, ...]
    after: State
    cost: int
    """Units of search depth."""

    @property
    def name(self) -> str:
        """How people write it: `8/5 6/5`."""
        return " ".join(self.actions)


def turns_of(state: State) -> list[Turn]:
    """Returns the turns of a decision, one of those that end alike.

    Empty where the game's people think in single actions (`Text.whole_turns`), and for more positions than MOST_TURNS.
    """
    game, player = state.game, state.current_player
    if not game.text.whole_turns or player < 0:
        return []
    found: list[Turn] = []
    left, seen = [Turn((), state, 0)], set()
    while left:
        names, here, cost = left.pop()
        for a in here.legal_actions:
            after = here.play(a)
            if after in seen:
                continue
            seen.add(after)
            spent = cost + int(game.calls.action_cost(here.rows(), np.uint64(0), np.int64(a), game.thread_tables))
            turn = Turn((*names, game.actions[a]), after, spent)
            (left if after.current_player == player else found).append(turn)
        if len(seen) > MOST_TURNS:
            return []
    return found


def played_in_order(state: State, names: Sequence[str]) -> tuple[str, ...]:
    """Returns the actions of the whole turn that begins a list of names, in an order in which they can be played; () for none.

    People may name them in any order.
    """
    found = turns_of(state)
    for length in sorted({len(turn.actions) for turn in found}, reverse=True):
        try:
            wanted = sorted(state.game.action(name) for name in names[:length])
        except UserError:  # what chance did after a shorter turn
            continue
        for turn in found:
            if wanted == sorted(map(state.game.action, turn.actions)):
                return turn.actions
    return ()
