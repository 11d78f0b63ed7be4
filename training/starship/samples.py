"""Ships to learn from: built by hand with exploration, or by looking ahead with a network, each state with what came of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.state import FIRST, State
from leafwise.envs.core.contract.stream import new_stream
from leafwise.envs.core.play.players import play_out
from leafwise.envs.starship.draw import gallery
from leafwise.envs.starship.heuristic_builder import finish_by_hand, hand_choice, hand_made_ships
from leafwise.envs.starship.lookahead import draw_on, list_places, place_all
from leafwise.envs.starship.options import ship_at
from leafwise.envs.starship.plans import Plans
from leafwise.envs.starship.quality import TERMS, potential
from leafwise.envs.starship.rules import OVER
from leafwise.envs.starship.tables import TURN
from leafwise.search.players import Player
from leafwise.training.evaluation.statistics import logged_bounds, mean_interval

PICTURED = 8
"""Ships in the picture of an evaluation."""


def play(game: Game, who: Player, seed: int) -> State:
    """Returns the ship that a player builds on the hull and requests of a seed."""
    stream = new_stream(seed)
    return play_out(game.start(), who.choose, lambda state: state.settle(stream))


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
        self._chances = new_stream(int(self.rng.integers(1 << 62)))
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
        reached = potential(S, FIRST, T)
        return self._built(np.array(states), [max(w, reached) for w in worth], S[0])

    def ahead(self, plans: Plans, epsilon: float = 0.0, trace: float = 1.0, core_heat: float = 0.0) -> Built:
        """Returns a ship whose places are those of greatest value, but with probability `epsilon` any that was tried.

        A state counts as the lambda-return: the greatest value at the next decision, mixed with what that one came to, the
        latter with weight `trace`; before a place at random it is the value alone. With 1 and 0 it is the quality reached.
        `core_heat` is the temperature at which cockpit and reactor are placed.
        """
        plans.start(self.stream)
        plans.by_value(self._chances, core_heat=core_heat, strays=epsilon)
        self.stream[:] = plans.stream
        states, values, strayed = plans.story()
        worth = [plans.quality]
        for value, stray in zip(values[:0:-1], strayed[:0:-1], strict=True):
            weight = 0.0 if stray else trace
            worth.append((1 - weight) * float(value) + weight * worth[-1])
        return self._built(states, worth[::-1], plans.row)

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

    def _built(self, states: NDArray[np.uint16], worth: list[float], last: NDArray[np.uint16]) -> Built:
        known = states[:, TURN] != OVER
        return Built(states[known], np.array(worth, dtype=np.float32)[known], last[None].copy())


def hand_made_bar(game: Game, seeds: Iterable[int]) -> NDArray[np.float64]:
    """Returns the quality of the hand-made ship of each seed."""
    return np.array([hand_made_ships(game, seed, 1)[0][0] for seed in seeds])


def compared(game: Game, rows: NDArray[np.uint16], seeds: Sequence[int], bar: NDArray[np.float64]) -> dict[str, Any]:
    """Returns what is logged of the finished ships [n, words] of n seeds: quality, gain over `bar` [n], terms, a picture."""
    T = game.tables().ship
    quality, terms = np.zeros(len(rows)), np.zeros((len(rows), len(TERMS)))
    for k in range(len(rows)):
        quality[k], terms[k] = potential(rows, np.uint64(k), T), T.terms
    valid = quality > 0
    logged: dict[str, Any] = {"eval/score_mean": float(quality.mean()), **logged_bounds(mean_interval(quality))}
    logged |= {
        "eval/gain": float((quality - bar).mean()),
        "eval/valid": float(valid.mean()),
    }
    if valid.any():
        logged |= {f"eval/{name}": float(x) for name, x in zip(TERMS, terms[valid].mean(axis=0), strict=True)}
    pictured = [ship_at(row, game.tables(), seed) for row, seed in zip(rows[:PICTURED], seeds, strict=False)]
    logged["ships"] = np.asarray(gallery(pictured, 4, 0.4))
    return logged
