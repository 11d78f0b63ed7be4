"""Ships as plans: built by the generator's choices or by values, in compiled code from the hull to the last door, then changed.

A plan is the history of a ship: the row and the stream of requests at each decision, and the place chosen there. To build one,
only the requests in sight are known. To improve one, a part is put elsewhere and all later parts are built again, as far as
their places are still legal. The requests are those of the plan's stream, so all of them are known.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np

from leafwise.envs.core.arrays import Bools, Floats, Ints, Words
from leafwise.envs.core.compile.jit import bind, jit
from leafwise.envs.core.contract.evaluator import Evaluator
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.rules import Compiled, copy_row
from leafwise.envs.core.contract.stream import below, next_u64, uniform
from leafwise.envs.starship import tables as at
from leafwise.envs.starship.board import ZERO, copy_words, load_planes
from leafwise.envs.starship.heuristic_builder import hand_choice
from leafwise.envs.starship.lookahead import draw_on, list_places, placeable
from leafwise.envs.starship.placing import is_place
from leafwise.envs.starship.quality import potential
from leafwise.envs.starship.rules import OVER, current_request, take_place
from leafwise.envs.starship.settings import MOST_PARTS
from leafwise.envs.starship.tables import Rows

u64 = np.uint64


@jit
def merit(S, i, T):
    """Returns the quality of a finished ship; for one that is not valid, from -1 to 0, how far it came."""
    if S[i, at.REASONS] == 0:
        return potential(S, i, T)
    stage = np.int64(S[i, at.PHASE])
    share = np.int64(S[i, at.POINTS + stage]) / max(1, T.stages[stage, at.LOW])
    return (T.turn_of[stage] + min(1.0, share)) / (T.order.shape[0] + 1.0) - 1.0


@jit
def go_on(S, k, streams, place, T):
    """Takes a place at decision `k` of a plan and writes row `k + 1`, the next decision or the end, and its stream."""
    after = u64(k + 1)
    copy_row(S, u64(k), after)
    copy_words(streams[k], streams[k + 1])
    take_place(S, after, T, place)
    draw_on(S, after, streams[k + 1], T)


@jit
def same_request(S, k, old, end):
    """Returns the first of decisions `old` to `end` with the same stage and request as row `k`; -1 if none has."""
    stage, entry = current_request(S, u64(k))
    for m in range(old, end):
        other, request = current_request(S, u64(m))
        if other == stage and request == entry:
            return m
    return -1


@jit
def rebuild(S, streams, places, k, old, end, R, T):
    """Builds a plan from row `k` on with the places of decisions `old` to `end`, and the generator's choice where one is not
    legal.

    One of equal places is drawn from stream `R`. Returns the last row.
    """
    while S[k, at.TURN] != OVER:
        m, place = same_request(S, k, old, end), np.int64(-1)
        if m >= 0:
            old = m + 1
            load_planes(S, u64(k), T)
            stage, entry = current_request(S, u64(k))
            if is_place(T, stage, entry, places[m]):
                place = places[m]
        if place < 0:
            T.place[0], T.place[1] = next_u64(R), ZERO  # drawing a request changed it
            place = hand_choice(S, u64(k), T)
        places[k] = place
        go_on(S, k, streams, places[k], T)
        k += 1
    return k


@jit
def change(S, streams, places, room, last, k, place, best, R, T):
    """Takes another place at decision `k` of the plan in rows 0 to `last`, and keeps it if the merit is at least `best`.

    Returns the merit and the last row. S has 2 * `room` rows; the second half is scratch.
    """
    copied = room + k
    copy_row(S, u64(k), u64(copied))
    copy_words(streams[k], streams[copied])
    places[copied] = place
    go_on(S, copied, streams, place, T)
    end = rebuild(S, streams, places, copied + 1, k + 1, last, R, T)
    new_merit = merit(S, u64(end), T)
    if new_merit < best:
        return best, last
    for m in range(copied, end + 1):
        copy_row(S, u64(m), u64(m - room))
        copy_words(streams[m], streams[m - room])
        places[m - room] = places[m]
    return new_merit, end - room


@jit
def improve(S, streams, places, room, last, A, scores, tries, R, T):
    """Tries `tries` random changes of a plan and keeps each that makes it no worse; returns its last row. See `change`."""
    best = merit(S, u64(last), T)
    for _ in range(tries if last > 0 else 0):
        k = np.int64(below(R, u64(last)))
        n = list_places(S, u64(k), A, scores, T)
        place = A[np.int64(below(R, u64(n)))]
        if place != places[k]:
            best, last = change(S, streams, places, room, last, k, place, best, R, T)
    return last


TRIED, TRIED_BELOW = 64, 16
"""The most places that are tried: at a decision, and after each place that is followed."""
LEAST = 1e-300
"""Added to the arguments of logarithms to keep them finite."""


class BuildScratch(NamedTuple):
    """What building by values writes besides the plan, and its scratch."""

    after: Rows
    """[decisions, words]: the row after each place, before any draw."""
    values: Floats
    """[decisions]: the largest value of a place that was tried."""
    strayed: Bools
    """[decisions]: whether the place was drawn at random from those tried."""
    rows: Rows
    """[1 + TRIED + 1, words]: the row at a decision, the rows after its places, and a row that follows one of these."""
    worth: Floats
    """[TRIED]: values of the places that were tried."""
    places: Ints
    """[2, actions]: legal places at the decision, and after one of them."""
    scores: Floats
    """[2, actions]: their scores by the stage's strategy."""


@jit
def shortlist(A, scores, n, most, R):
    """Moves the `most` of n places with the largest scores to the front, equal ones in random order; returns how many there are."""
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
        j = np.int64(min(k, most - 1))
        while j > 0 and scores[j - 1] < score:
            A[j], scores[j] = A[j - 1], scores[j - 1]
            j -= 1
        A[j], scores[j] = place, score
    return most


@jit
def of_one_rotation(A, scores, n, grid, R):
    """Moves the places with the rotation of a place drawn at random to the front of n places; returns how many there are."""
    rotation, count = A[np.int64(below(R, u64(n)))] // (grid * grid), 0
    for k in range(n):
        if A[k] // (grid * grid) == rotation:
            A[count], scores[count] = A[k], scores[k]
            count += 1
    return count


@functools.cache
def make_build(value: Compiled, room: Any) -> Compiled:
    """Returns the compiled function that builds plans by an evaluator's `value`."""

    @bind(room)
    def try_places(W, i, most, level, turned, R, T):
        """Tries places at row `i` of W.rows: writes the rows after it that they lead to, and the values of these.

        At level 1 only the last row is written, as scratch. With `turned` only places of one random rotation are tried. Returns
        how many places were tried, and the largest value.
        """
        # The places to be tried: of one rotation if asked, the best by the stage's strategy
        A, scores = W.places[level], W.scores[level]
        n = list_places(W.rows, i, A, scores, T.ship)
        if turned:
            n = of_one_rotation(A, scores, n, T.ship.grid, R)
        n = shortlist(A, scores, n, most, R)
        # What each leads to, and its value; only the rows after the decision itself are kept
        largest = -np.inf
        for m in range(n):
            there = u64(m + 1) if level == 0 else u64(W.rows.shape[0] - 1)
            copy_row(W.rows, i, there)
            take_place(W.rows, there, T.ship, A[m])
            worth = value(W.rows, there, T)
            largest = max(largest, worth)
            if level == 0:
                W.worth[m] = worth
        return n, largest

    @bind(room)
    def follow(W, n, width, R, T):
        """Replaces the values of the `width` best of n places by those one placement further, if a request is in sight.

        The other places can no longer be chosen.
        """
        for k in range(n):
            W.scores[0, k] = W.worth[k]
        for _ in range(min(n, width)):
            best = 0
            for m in range(1, n):
                if W.scores[0, m] > W.scores[0, best]:
                    best = m
            W.scores[0, best] = -np.inf
            if placeable(W.rows, u64(best + 1)):
                _, W.worth[best] = try_places(W, u64(best + 1), TRIED_BELOW, 1, False, R, T)
        for m in range(n):
            if W.scores[0, m] > -np.inf:
                W.worth[m] = -np.inf

    @bind(room)
    def build_by_value(S, streams, places, k, W, width, core_heat, strays, R, T):
        """Builds a plan from row `k` on, each time with the place after which the ship is worth most; returns the last row.

        At most TRIED places are tried, the best by the stage's strategy. With a `width`, that many of them are followed one
        placement further. `core_heat` is a temperature for cockpit and reactor: the values get noise, so that a place is drawn
        in proportion to exp(value / temperature), and the cockpit's rotation is drawn first, as the generator does; 0 for none.
        `strays` is the probability of a random place among those tried.
        """
        zero = u64(0)
        while S[k, at.TURN] != OVER:
            # The decision, and the values of its places
            copy_words(S[k], W.rows[0])
            stage = T.ship.base[np.int64(S[k, at.PHASE])]
            heat = core_heat if stage == at.STAGE_COCKPIT or stage == at.STAGE_REACTOR else 0.0
            turned = stage == at.STAGE_COCKPIT and heat > 0.0
            n, W.values[k] = try_places(W, zero, TRIED, 0, turned, R, T)
            if width > 0 and n > 1:
                follow(W, n, width, R, T)
            # The place that is worth most, with noise at a temperature, or sometimes a random one
            chosen, best = np.int64(0), -np.inf
            for m in range(n):
                noise = heat * np.log(LEAST - np.log(LEAST + uniform(R))) if heat > 0.0 else 0.0
                if W.worth[m] - noise > best:
                    chosen, best = np.int64(m), W.worth[m] - noise
            W.strayed[k] = strays > 0.0 and uniform(R) < strays
            if W.strayed[k]:
                chosen = np.int64(below(R, u64(n)))
            # Write the place down and take it
            copy_words(W.rows[chosen + 1], W.after[k])
            places[k] = W.places[0, chosen]
            go_on(S, k, streams, places[k], T.ship)
            k += 1
        return k

    return build_by_value


class Plans:
    """Builds and changes the plan of one ship at a time; serves one thread."""

    def __init__(self, game: Game, evaluator: Evaluator | None = None) -> None:
        """Makes an empty plan; with an evaluator, plans can be built by its values."""
        self.game, self._T, n = game, game.tables(evaluator), MOST_PARTS + 2
        self._room, self._S = n, game.rows(2 * n)
        self._streams, self._places = np.zeros((2 * n, 2), np.uint64), np.zeros(2 * n, np.int64)
        self._work = BuildScratch(
            game.rows(n), np.zeros(n), np.zeros(n, np.bool_), game.rows(TRIED + 2), np.zeros(TRIED),
            np.zeros((2, game.max_actions), np.int64), np.zeros((2, game.max_actions)),
        )  # fmt: skip
        self._build = None if evaluator is None else make_build(evaluator.value, evaluator.room or game.room)
        self.decisions = 0
        """How many decisions the plan has."""

    def start(self, stream: Words) -> None:
        """Starts a ship on the hull and requests of a stream [2], which is not changed."""
        self._S[0], self._streams[0] = self.game.start().row, stream
        draw_on(self._S, u64(0), self._streams[0], self._T.ship)
        self.decisions = 0

    def by_hand(self, R: Words) -> None:
        """Builds the rest of the plan with the generator's choices; one of equal places is drawn from stream `R`."""
        self.decisions = rebuild(self._S, self._streams, self._places, self.decisions, 0, 0, R, self._T.ship)

    def by_value(self, R: Words, *, width: int = 0, core_heat: float = 0.0, strays: float = 0.0) -> None:
        """Builds the rest of the plan with the places after which the ship is worth most; see `make_build`.

        `R` is the stream of its noise.
        """
        assert self._build is not None
        plan = self._S, self._streams, self._places, self.decisions
        self.decisions = self._build(*plan, self._work, width, float(core_heat), float(strays), R, self._T)

    def improve(self, R: Words, tries: int) -> None:
        """Tries `tries` random changes, drawn from stream `R`, and keeps each that makes the ship no worse."""
        self.decisions = improve(*self.arrays, tries, R, self._T.ship)

    @property
    def arrays(self) -> tuple[Rows, Words, Ints, int, int, Ints, Floats]:
        """Rows, streams and places of the plan, how many rows it can hold, its last row, and scratch for places and their
        scores.
        """
        plan = self._S, self._streams, self._places, self._room, self.decisions
        return *plan, self._work.places[0], self._work.scores[0]

    @property
    def stream(self) -> Words:
        """The stream [2] of requests at the end of the plan."""
        stream: Words = self._streams[self.decisions].copy()
        return stream

    def story(self) -> tuple[Rows, Floats, Bools]:
        """Returns what `by_value` wrote: rows after each place [n, words], largest values [n], and whether the place was random
        [n].
        """
        n, W = self.decisions, self._work
        return W.after[:n].copy(), W.values[:n].copy(), W.strayed[:n].copy()

    @property
    def row(self) -> Rows:
        """The ship as it is, [words]."""
        row: Rows = self._S[self.decisions].copy()
        return row

    @property
    def quality(self) -> float:
        """The ship's quality, 0 if it is not valid."""
        return float(potential(self._S, u64(self.decisions), self._T.ship))
