"""Ships to learn from: built by hand with exploration, or by looking ahead with a network, each state with what came of it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.game import Game
from leafwise.envs.core.state import FIRST
from leafwise.envs.core.stream import new_stream
from leafwise.envs.starship.ahead import draw_on, list_places, place_all
from leafwise.envs.starship.builder import Children
from leafwise.envs.starship.hand import hand_choice
from leafwise.envs.starship.quality import potential
from leafwise.envs.starship.tables import TURN
from leafwise.envs.starship.turns import OVER


class Built(NamedTuple):
    """States after a placement, of one or more ships, and the quality of the ship that came of each."""

    rows: NDArray[np.uint16]
    """[n, words], none of them finished."""
    quality: NDArray[np.float32]
    """[n]"""
    last: NDArray[np.uint16]
    """[1, words]: the finished ship, the last one if there are several."""


def joined(parts: Iterable[Built]) -> Built:
    """Returns several together."""
    rows, quality, last = zip(*parts, strict=True)
    return Built(np.concatenate(rows), np.concatenate(quality), last[-1])


class Yard:
    """Builds one ship after another; the hulls and requests follow a stream of their own. Serves one thread."""

    def __init__(self, game: Game, seed: int) -> None:
        self.game, self.stream = game, new_stream(seed)
        self.rng = np.random.default_rng(seed)
        self._T = game.tables().ship
        self._S, self._A, self._scores = game.rows(2), np.zeros(game.max_actions, np.int64), np.zeros(game.max_actions)

    def by_hand(self, epsilon: float) -> Built:
        """Returns a ship by the generator's places, each with probability `epsilon` a random legal one instead."""
        S, T, states = self._S, self._T, []
        self._start()
        while S[0, TURN] != OVER:
            if self.rng.random() < epsilon:
                self._A[0] = self._A[self.rng.integers(list_places(S, FIRST, self._A, self._scores, T))]
            else:
                T.place[:] = self.rng.integers(1 << 62), 0
                self._A[0] = hand_choice(S, FIRST, T)
            self._place()
            states.append(S[0].copy())
            draw_on(S, FIRST, self.stream, T)
        return self._built(states)

    def ahead(self, children: Children, explore: bool) -> Built:
        """Returns a ship whose places are those of greatest value, the states of it that came of these alone.

        With `explore` one place, at any decision, is a random one; the states before it are left out.
        """
        S, T, states = self._S, self._T, []
        self._start()
        wild = int(self.rng.integers(14)) if explore else -1
        for k in range(1 << 16):
            if S[0, TURN] == OVER:
                break
            if k == wild:
                self._A[0] = self._A[self.rng.integers(list_places(S, FIRST, self._A, self._scores, T))]
                states.clear()
            else:
                places, _, _, values = children(S[0])
                self._A[0] = places[values.argmax()]
            self._place()
            states.append(S[0].copy())
            draw_on(S, FIRST, self.stream, T)
        return self._built(states)

    def _start(self) -> None:
        self._S[0] = self.game.start().row
        draw_on(self._S, FIRST, self.stream, self._T)

    def _place(self) -> None:
        """Takes the first place of the list."""
        place_all(self._S, FIRST, self._A, 1, np.uint64(1), self._T)
        self._S[0] = self._S[1]

    def _built(self, states: list[NDArray[np.uint16]]) -> Built:
        quality = potential(self._S, FIRST, self._T)
        open_states = [state for state in states if state[TURN] != OVER]
        rows = np.array(open_states, dtype=np.uint16).reshape(-1, self._S.shape[1])
        return Built(rows, np.full(len(rows), quality, dtype=np.float32), self._S[:1].copy())
