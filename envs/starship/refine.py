"""Ships as plans: built by the generator's places or by values, and changed for the better, one place at a time.

A plan is the whole story of a ship: the row and the stream of requests at each decision, and the place taken there. `improve`
puts one part elsewhere, builds what came after it again as far as it still can, and keeps what is no worse. A plan's requests
are those of its stream: changing it knows them all, as the best of several hand-made ships does; building it does not.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.compile.fingerprint import label
from leafwise.envs.core.compile.jit import bind, jit
from leafwise.envs.core.contract.evaluator import Evaluator
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.rules import Compiled, copy_row
from leafwise.envs.core.contract.stream import below, uniform
from leafwise.envs.starship import tables as at
from leafwise.envs.starship.ahead import draw_on, list_places
from leafwise.envs.starship.board import load_planes
from leafwise.envs.starship.hand import hand_choice
from leafwise.envs.starship.legality import is_place
from leafwise.envs.starship.presets import MOST_PARTS
from leafwise.envs.starship.quality import potential
from leafwise.envs.starship.turns import OVER, current_request, take_place

u64 = np.uint64
LEAST = 1e-300
"""Keeps logarithms finite."""


@jit
def merit(S, i, T):
    """Returns the quality of a finished ship; of one that is not valid, from -1 to 0, how far it came."""
    if S[i, at.REASONS] == 0:
        return potential(S, i, T)
    stage = np.int64(S[i, at.PHASE])
    share = np.int64(S[i, at.POINTS + stage]) / max(1, T.stages[stage, at.LOW])
    return (stage + min(1.0, share)) / 16.0 - 1.0


@jit
def go_on(S, k, streams, place, T):
    """Writes row `k + 1` of a plan, the next decision or the end, and its stream: row `k` with the place taken."""
    after = u64(k + 1)
    copy_row(S, u64(k), after)
    streams[k + 1, 0], streams[k + 1, 1] = streams[k, 0], streams[k, 1]
    take_place(S, after, T, place)
    draw_on(S, after, streams[k + 1], T)


@jit
def same_request(S, k, old, end):
    """Returns the first of decisions `old` to `end` that asks for what row `k` asks for, of its stage; -1 if none does."""
    stage, entry = current_request(S, u64(k))
    for m in range(old, end):
        other, request = current_request(S, u64(m))
        if other > stage:
            return -1
        if other == stage and request == entry:
            return m
    return -1


@jit
def rebuild(S, streams, places, k, old, end, T):
    """Goes on from row `k` by the places of decisions `old` to `end`, by the generator's where those are not legal any more.

    Returns the last row.
    """
    while S[u64(k), at.TURN] != OVER:
        m, place = same_request(S, k, old, end), np.int64(-1)
        if m >= 0:
            old = m + 1
            load_planes(S, u64(k), T)
            stage, entry = current_request(S, u64(k))
            if is_place(T, stage, entry, places[m]):
                place = places[m]
        places[k] = place if place >= 0 else hand_choice(S, u64(k), T)
        go_on(S, k, streams, places[k], T)
        k += 1
    return k


@jit
def improve(S, streams, places, room, last, tries, R, A, scores, T):
    """Puts `tries` parts of the plan in rows 0 to `last` elsewhere, drawn at random; keeps what is no worse. Returns its last row.

    S has 2 * `room` rows, the second half is scratch.
    """
    best = merit(S, u64(last), T)
    for _ in range(tries):
        k = np.int64(below(R, u64(last)))
        n = list_places(S, u64(k), A, scores, T)
        place = A[np.int64(below(R, u64(n)))]
        if place == places[k]:
            continue
        T.place[0], T.place[1] = R[0], R[1]
        here = room + k
        copy_row(S, u64(k), u64(here))
        streams[here, 0], streams[here, 1] = streams[k, 0], streams[k, 1]
        places[here] = place
        go_on(S, here, streams, place, T)
        end = rebuild(S, streams, places, here + 1, k + 1, last, T)
        found = merit(S, u64(end), T)
        if found >= best:
            best, last = found, end - room
            for m in range(here, end + 1):
                copy_row(S, u64(m), u64(m - room))
                streams[m - room, 0], streams[m - room, 1] = streams[m, 0], streams[m, 1]
                places[m - room] = places[m]
    return last


@jit
def shortlist(A, scores, n, most, R):
    """Moves `most` of n places to the front, those of the greatest scores, equal ones in random order; returns how many."""
    for k in range(n - 1, 0, -1):
        j = np.int64(below(R, u64(k + 1)))
        A[k], A[j] = A[j], A[k]
        scores[k], scores[j] = scores[j], scores[k]
    if n <= most:
        return n
    for k in range(1, n):
        place, score = A[k], scores[k]
        if k >= most and score <= scores[most - 1]:
            continue
        j = min(k, most - 1)
        while j > 0 and scores[j - 1] < score:
            A[j], scores[j] = A[j - 1], scores[j - 1]
            j -= 1
        A[j], scores[j] = place, score
    return most


@functools.cache
def make_build(value: Compiled, room: Any) -> Compiled:
    """Compiles the building of plans by an evaluator's `value`."""

    @bind(f"{getattr(value, '__qualname__', '')}_{label(value)}", room)
    def build_by_value(S, streams, places, k, after, values, strayed, most, how, R, A, scores, T):
        """Goes on from row `k` of a plan by the place after which the ship is worth most; returns the last row.

        At most `most` places are tried, the best by the stage's strategy. `how` holds three numbers: a temperature for the core,
        one for what follows (values get noise by which a place is drawn in proportion to exp(value / temperature); 0: none),
        and the chance of any place that was tried. Written for each decision: the row `after` its place, before anything is
        drawn, the greatest of the `values`, and whether the place `strayed`.
        """
        work = u64(S.shape[0] - 1)
        while S[u64(k), at.TURN] != OVER:
            n = shortlist(A, scores, list_places(S, u64(k), A, scores, T.ship), most, R)
            heat = how[0] if S[u64(k), at.PHASE] <= at.STAGE_REACTOR else how[1]
            best, chosen, greatest = -np.inf, 0, -np.inf
            for m in range(n):
                copy_row(S, u64(k), work)
                take_place(S, work, T.ship, A[m])
                worth = value(S, work, T)
                greatest = max(greatest, worth)
                if heat > 0.0:
                    worth -= heat * np.log(LEAST - np.log(LEAST + uniform(R)))
                if worth > best:
                    best, chosen = worth, m
            strayed[k] = how[2] > 0.0 and uniform(R) < how[2]
            if strayed[k]:
                chosen = np.int64(below(R, u64(n)))
            places[k], values[k] = A[chosen], greatest
            copy_row(S, u64(k), work)
            take_place(S, work, T.ship, A[chosen])
            for word in range(S.shape[1]):
                after[k, word] = S[work, word]
            go_on(S, k, streams, A[chosen], T.ship)
            k += 1
        return k

    return build_by_value


class Plans:
    """Builds and changes the plan of one ship at a time; serves one thread."""

    def __init__(self, game: Game, evaluator: Evaluator | None = None) -> None:
        """Makes room for a plan; with an evaluator plans can be built by its values."""
        self.game, self._T = game, game.tables(evaluator)
        self._room = MOST_PARTS + 2
        self._S, n = game.rows(2 * self._room), 2 * self._room
        self._streams, self._places = np.zeros((n, 2), np.uint64), np.zeros(n, np.int64)
        self._after, self._values, self._strayed = (
            game.rows(self._room),
            np.zeros(self._room),
            np.zeros(self._room, np.bool_),
        )
        self._A, self._scores = np.zeros(game.max_actions, np.int64), np.zeros(game.max_actions)
        self._build = None if evaluator is None else make_build(evaluator.value, evaluator.room or game.room)
        self.decisions = 0
        """How many the plan has."""

    def start(self, stream: NDArray[np.uint64]) -> None:
        """Begins a ship on the hull and requests of a stream [2], which stays as it is."""
        self._S[0], self._streams[0] = self.game.start().row, stream
        draw_on(self._S, u64(0), self._streams[0], self._T.ship)
        self.decisions = 0

    def by_hand(self, ties: int) -> None:
        """Goes on by the generator's places; equal ones are chosen among by the stream `ties`."""
        self._T.ship.place[:] = ties, 0
        self.decisions = rebuild(self._S, self._streams, self._places, self.decisions, 0, 0, self._T.ship)

    def by_value(
        self, R: NDArray[np.uint64], most: int, *, core_heat: float = 0.0, heat: float = 0.0, strays: float = 0.0
    ) -> None:
        """Goes on by the places after which the ship is worth most, of at most `most` tried; see `make_build`."""
        assert self._build is not None
        how = np.array([core_heat, heat, strays])
        self.decisions = self._build(
            self._S, self._streams, self._places, self.decisions, self._after, self._values, self._strayed, most, how,
            R, self._A, self._scores, self._T,
        )  # fmt: skip

    def improve(self, R: NDArray[np.uint64], tries: int) -> None:
        """Puts `tries` parts elsewhere, drawn from stream `R`; keeps what is no worse."""
        self.decisions = improve(
            self._S, self._streams, self._places, self._room, self.decisions, tries, R, self._A, self._scores, self._T.ship
        )  # fmt: skip

    @property
    def stream(self) -> NDArray[np.uint64]:
        """The stream [2] of requests, where the plan ends."""
        stream: NDArray[np.uint64] = self._streams[self.decisions].copy()
        return stream

    def story(self) -> tuple[NDArray[np.uint16], NDArray[np.float64], NDArray[np.bool_]]:
        """Returns what `by_value` wrote: rows after each place [n, words], greatest values [n], and whether it strayed [n]."""
        n = self.decisions
        return self._after[:n].copy(), self._values[:n].copy(), self._strayed[:n].copy()

    @property
    def row(self) -> NDArray[np.uint16]:
        """The ship as it is, [words]."""
        row: NDArray[np.uint16] = self._S[self.decisions].copy()
        return row

    @property
    def quality(self) -> float:
        """The ship's quality, 0 if it is not valid."""
        return float(potential(self._S, u64(self.decisions), self._T.ship))
