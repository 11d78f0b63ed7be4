"""Ships to learn from: built by hand with exploration, or by looking ahead with a network, each state with what came of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.game import Game
from leafwise.envs.core.state import FIRST
from leafwise.envs.core.stream import new_stream
from leafwise.envs.starship.ahead import draw_on, list_places, place_all
from leafwise.envs.starship.builder import TRIED_FIRST, WIDTH, Children
from leafwise.envs.starship.hand import finish_by_hand, hand_choice
from leafwise.envs.starship.quality import potential
from leafwise.envs.starship.tables import TURN
from leafwise.envs.starship.turns import OVER


class Built(NamedTuple):
    """States after a placement, of one or more ships, and the quality that may come of each."""

    rows: NDArray[np.uint16]
    """[n, words], none of them finished."""
    quality: NDArray[np.float32]
    """[n]: what the finished ship is worth, or could be."""
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
        self._rest = game.rows(1)
        self._S, self._A, self._scores = game.rows(2), np.zeros(game.max_actions, np.int64), np.zeros(game.max_actions)

    def by_hand(self, epsilon: float, finishes: int = 0) -> Built:
        """Returns a ship by the generator's places, each with probability `epsilon` a random legal one instead.

        With `finishes` a state counts as the best of so many hand-made ships that it is finished to.
        """
        S, T, states, worth = self._S, self._T, [], []
        self._start()
        while S[0, TURN] != OVER:
            if self.rng.random() < epsilon:
                self._choose_any()
            else:
                T.place[:] = self.rng.integers(1 << 62), 0
                self._A[0] = hand_choice(S, FIRST, T)
            self._place()
            states.append(S[0].copy())
            worth.append(self._finished(S[0], finishes))
            draw_on(S, FIRST, self.stream, T)
        return self._built(states, worth)

    def ahead(self, children: Children, finishes: int = 0) -> Built:
        """Returns a ship whose places are those of greatest value.

        With `finishes` one other place of each decision is among the states too, and a state counts as the best of so many
        hand-made ships that it is finished to, and of this ship if it is a state of it.
        """
        S, T, states, worth = self._S, self._T, [], []
        others: list[NDArray[np.uint16]] = []
        other_worth: list[float] = []
        self._start()
        while S[0, TURN] != OVER:
            places, _, rows, values = children(S[0], TRIED_FIRST * WIDTH)
            self._A[0] = places[values.argmax()]
            if finishes:
                others.append(rows[self.rng.integers(len(rows))].copy())
                other_worth.append(self._finished(others[-1], finishes))
            self._place()
            states.append(S[0].copy())
            worth.append(self._finished(S[0], finishes))
            draw_on(S, FIRST, self.stream, T)
        return self._built(states, worth, others, other_worth)

    def _start(self) -> None:
        self._S[0] = self.game.start().row
        draw_on(self._S, FIRST, self.stream, self._T)

    def _choose_any(self) -> None:
        self._A[0] = self._A[self.rng.integers(list_places(self._S, FIRST, self._A, self._scores, self._T))]

    def _place(self) -> None:
        """Takes the first place of the list."""
        place_all(self._S, FIRST, self._A, 1, np.uint64(1), self._T)
        self._S[0] = self._S[1]

    def _finished(self, row: NDArray[np.uint16], finishes: int) -> float:
        """Returns the best quality of so many hand-made ships that a row is finished to, all on the requests to come."""
        best = 0.0
        for _ in range(finishes):
            self._rest[0] = row
            ties = np.uint64(self.rng.integers(1 << 62))
            best = max(best, finish_by_hand(self._rest, FIRST, self.stream.copy(), ties, self._T))
        return best

    def _built(
        self,
        states: list[NDArray[np.uint16]],
        worth: list[float],
        others: Sequence[NDArray[np.uint16]] = (),
        other_worth: Sequence[float] = (),
    ) -> Built:
        reached = potential(self._S, FIRST, self._T)
        known = [(s, max(w, reached)) for s, w in zip(states, worth, strict=True)]
        known += zip(others, other_worth, strict=True)
        known = [(s, w) for s, w in known if s[TURN] != OVER]
        rows = np.array([s for s, _ in known], dtype=np.uint16).reshape(-1, self._S.shape[1])
        return Built(rows, np.array([w for _, w in known], dtype=np.float32), self._S[:1].copy())
