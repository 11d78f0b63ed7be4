"""Changing a plan for the better: one part is put elsewhere, what came after it is built again as far as it still can.

A plan is the whole story of a ship: the row and the stream of requests at each decision, and the place taken there (`plans`).
Its requests are those of its stream: changing it knows them all, as the best of several hand-made ships does.
"""

from __future__ import annotations

import numpy as np

from leafwise.envs.core.compile.jit import jit
from leafwise.envs.core.contract.rules import copy_row
from leafwise.envs.core.contract.stream import below, next_u64
from leafwise.envs.starship import tables as at
from leafwise.envs.starship.ahead import draw_on, list_places
from leafwise.envs.starship.board import ZERO, load_planes
from leafwise.envs.starship.hand import hand_choice
from leafwise.envs.starship.legality import is_place
from leafwise.envs.starship.quality import potential
from leafwise.envs.starship.turns import OVER, current_request, take_place

u64 = np.uint64


@jit
def merit(S, i, T):
    """Returns the quality of a finished ship; of one that is not valid, from -1 to 0, how far it came."""
    if S[i, at.REASONS] == 0:
        return potential(S, i, T)
    stage = np.int64(S[i, at.PHASE])
    share = np.int64(S[i, at.POINTS + stage]) / max(1, T.stages[stage, at.LOW])
    return (T.turn_of[stage] + min(1.0, share)) / (T.order.shape[0] + 1.0) - 1.0


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
        if other == stage and request == entry:
            return m
    return -1


@jit
def rebuild(S, streams, places, k, old, end, R, T):
    """Goes on from row `k` by the places of decisions `old` to `end`, by the generator's where those are not legal any more.

    Of equal places one is drawn from stream `R`. Returns the last row.
    """
    while S[u64(k), at.TURN] != OVER:
        m, place = same_request(S, k, old, end), np.int64(-1)
        if m >= 0:
            old = m + 1
            load_planes(S, u64(k), T)
            stage, entry = current_request(S, u64(k))
            if is_place(T, stage, entry, places[m]):
                place = places[m]
        if place < 0:
            T.place[0], T.place[1] = next_u64(R), ZERO  # drawing requests has set it anew
            place = hand_choice(S, u64(k), T)
        places[k] = place
        go_on(S, k, streams, places[k], T)
        k += 1
    return k


@jit
def change(S, streams, places, room, last, k, place, best, R, T):
    """Takes another place at decision `k` of the plan in rows 0 to `last`, if the ship of merit `best` gets no worse by it.

    Returns merit and last row. S has 2 * `room` rows, the second half is scratch.
    """
    here = room + k
    copy_row(S, u64(k), u64(here))
    streams[here, 0], streams[here, 1] = streams[k, 0], streams[k, 1]
    places[here] = place
    go_on(S, here, streams, place, T)
    end = rebuild(S, streams, places, here + 1, k + 1, last, R, T)
    found = merit(S, u64(end), T)
    if found < best:
        return best, last
    for m in range(here, end + 1):
        copy_row(S, u64(m), u64(m - room))
        streams[m - room, 0], streams[m - room, 1] = streams[m, 0], streams[m, 1]
        places[m - room] = places[m]
    return found, end - room


@jit
def improve(S, streams, places, room, last, tries, R, A, scores, T):
    """Puts `tries` parts of a plan elsewhere, drawn at random; keeps what is no worse. Returns its last row; see `change`."""
    best = merit(S, u64(last), T)
    for _ in range(tries if last > 0 else 0):
        k = np.int64(below(R, u64(last)))
        n = list_places(S, u64(k), A, scores, T)
        place = A[np.int64(below(R, u64(n)))]
        if place != places[k]:
            best, last = change(S, streams, places, room, last, k, place, best, R, T)
    return last
