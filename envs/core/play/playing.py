"""The loop of a game in Python."""

from __future__ import annotations

from collections.abc import Callable

from leafwise.envs.core.contract.state import State


def play_out(
    state: State, choose: Callable[[State], int], settle: Callable[[State], State] = lambda state: state
) -> State:
    """Plays a game on from a decision, or from where chance acts, and returns its end.

    `choose` returns the action of each decision; `settle` draws what chance does up to the next one, by `State.settle` or a dealer
    (default: for games without chance).
    """
    state = settle(state)
    while not state.is_terminal:
        state = settle(state.play(choose(state)))
    return state
