"""The hand-made builder: the generator's own strategies, for one decision or for all decisions to the end."""

from __future__ import annotations

import numpy as np

from leafwise.envs.core.arrays import Floats
from leafwise.envs.core.compile.jit import jit
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.state import FIRST, State
from leafwise.envs.core.contract.stream import mix, new_stream
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.play.players import ByName
from leafwise.envs.starship import tables as at
from leafwise.envs.starship.board import ZERO, load_planes
from leafwise.envs.starship.generator import choose_place, open_streams
from leafwise.envs.starship.quality import potential
from leafwise.envs.starship.rules import DECISION, OVER, current_request, draw_outcome, take_place


@jit
def hand_choice(S, i, T):
    """Returns the generator's place for the current request of row `i`; stream `T.place` decides ties."""
    load_planes(S, i, T)
    stage, entry = current_request(S, i)
    return choose_place(S, i, T, stage, T.kinds[stage, entry // 4], entry % 4)


@jit
def finish_by_hand(S, j, R, seed, T):
    """Plays row `j` to its end with the generator's places, and returns the quality.

    `seed` decides ties, and requests are drawn from stream `R`.
    """
    phase, key, counter = np.int64(-1), ZERO, ZERO
    while S[j, at.TURN] != OVER:
        if S[j, at.TURN] != DECISION:
            draw_outcome(S, j, R, T)
            continue
        if np.int64(S[j, at.PHASE]) != phase:
            phase = np.int64(S[j, at.PHASE])
            open_streams(T, seed, 0, phase)
        else:  # drawing a request changed it
            T.place[0], T.place[1] = key, counter
        place = hand_choice(S, j, T)
        key, counter = T.place[0], T.place[1]
        take_place(S, j, T, place)
    return potential(S, j, T)


class HandBuilder(ByName):
    """Places every request as the generator would: on the stream of `seed` it builds the generator's ship."""

    name = "hand"

    def __init__(self, seed: int = 0) -> None:
        self.seed = np.uint64(seed)
        self._phase = 0
        self._stream = np.zeros(2, np.uint64)

    def choose(self, state: State) -> int:
        """Returns the id of the chosen place; each stage has its own stream for ties."""
        T, row = state.game.tables().ship, np.array([state.row])
        phase = int(state.row[at.PHASE])
        if phase != self._phase:
            open_streams(T, self.seed, 0, phase)
            self._phase, self._stream = phase, T.place.copy()
        T.place[:] = self._stream
        action = int(hand_choice(row, FIRST, T))
        self._stream = T.place.copy()
        return action


def named(game: Game, name: str, words: list[str]) -> HandBuilder:
    """Returns the hand-made builder as a player; raises ValueError if anything follows its name."""
    if words:
        raise UserError(f"expected nothing after {name}, got {words[0]!r}")
    return HandBuilder()


def hand_made_ships(game: Game, seed: int, builds: int) -> tuple[Floats, State]:
    """Returns the qualities [builds] of hand-made ships on the hull and requests of a seed, and the best of these ships.

    They differ in how ties are decided; the first is that of `HandBuilder(seed)`.
    """
    stream = new_stream(seed)
    T, start, rows = game.tables().ship, game.start().settle(stream), game.rows(1)
    qualities, best = np.zeros(builds), start
    for k in range(builds):
        rows[0] = start.row
        ties = np.uint64(mix(np.uint64(seed) ^ np.uint64(mix(np.uint64(k))))) if k else np.uint64(seed)
        qualities[k] = finish_by_hand(rows, FIRST, stream.copy(), ties, T)
        if k == 0 or qualities[k] > qualities[:k].max():
            best = State.unchecked(game, rows[0])
    return qualities, best
