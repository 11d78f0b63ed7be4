"""The loop of a game in Python."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

from leafwise.envs.core.contract.state import State


def play_out(
    state: State,
    choose: Callable[[State], int],
    settle: Callable[[State], State] = lambda state: state,
    play: Callable[[State, int], State] = State.play,
    most: int = 0,
) -> State:
    """Plays a game on from a decision, or from where chance acts, and returns its end.

    `choose` returns the action of each decision; `settle` draws what chance does up to the next one, by `State.settle` or a dealer
    (default: for games without chance). `play` returns the position after an action, and may keep it. `most` are the decisions
    after which it returns the position then (0: the end).
    """
    state = settle(state)
    for _ in range(most) if most else count():
        if state.is_terminal:
            break
        state = settle(play(state, choose(state)))
    return state
