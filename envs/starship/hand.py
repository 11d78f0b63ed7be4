"""The hand-made builder: the generator's own strategies, one decision at a time."""

from __future__ import annotations

import numpy as np

from leafwise.envs.core.game import Game
from leafwise.envs.core.jit import jit
from leafwise.envs.core.state import FIRST, State
from leafwise.envs.starship.board import load_planes
from leafwise.envs.starship.stages import choose_place, open_streams
from leafwise.envs.starship.tables import PHASE, QUEUE


@jit
def hand_choice(S, i, T):
    """Returns the generator's place for the current request of row `i`; ties fall by the stream `T.place`."""
    load_planes(S, i, T)
    phase, entry = np.int64(S[i, PHASE]), np.int64(S[i, QUEUE]) - 1
    return choose_place(S, i, T, phase, T.kinds[phase, entry // 4], entry % 4)


class HandBuilder:
    """Places every request as the generator would: on the stream of `seed` it builds the generator's ship.

    A ship's ties fall by streams of its own for each stage, which start anew with each new hull.
    """

    name = "hand"

    def __init__(self, seed: int = 0) -> None:
        self.seed = np.uint64(seed)
        self._phase = 0
        self._stream = np.zeros(2, dtype=np.uint64)

    def choose(self, state: State) -> int:
        """Returns the id of the place chosen."""
        T, row = state.game.tables(), np.array([state.row])
        phase = int(state.row[PHASE])
        if phase != self._phase:
            open_streams(T, self.seed, 0, phase)
            self._phase, self._stream = phase, T.place.copy()
        T.place[:] = self._stream
        action = int(hand_choice(row, FIRST, T))
        self._stream = T.place.copy()
        return action


def named(game: Game, name: str, words: list[str]) -> HandBuilder:
    """Returns the hand-made builder as a player; ValueError if anything follows its name."""
    if words:
        raise ValueError(f"expected nothing after {name}, got {words[0]!r}")
    return HandBuilder()
