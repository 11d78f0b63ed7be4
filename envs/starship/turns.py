"""Whose turn it is while a ship is built: chance asks, the builder places, armour and doors come by themselves.

`settle` carries a row on to the next decision, the next draw or the end. It does what the generator's `run_phase` does,
one request at a time, so that whoever places chooses among the same requests.
"""

from __future__ import annotations

import numpy as np

from leafwise.envs.core.compile.jit import jit
from leafwise.envs.starship import stages
from leafwise.envs.starship import tables as at
from leafwise.envs.starship.board import ONE, ZERO, bit, load_planes, lowest, open_hull
from leafwise.envs.starship.legality import has_place, next_place

DRAW_HULL, DRAW_TARGET, DRAW_REQUEST, DECISION, OVER = range(5)
"""Values of the TURN word: chance draws a digit of the hull's number, a stage's target or a request; or the builder
acts; or the ship is finished."""


@jit(inline=True)
def current_request(S, i):
    """Returns the placing stage that runs and its current request, -1 if none is in sight."""
    return np.int64(S[i, at.PHASE]), np.int64(S[i, at.QUEUE]) - 1


@jit
def only_entry(T, stage):
    """Returns the one request that a stage can ask for, or -1 if there are several."""
    found = -1
    for entry in range(12):
        if stages.weight_of(T, stage, entry) > 0:
            if found >= 0:
                return -1
            found = entry
    return found


@jit
def fill_preview(S, j, T, stage):
    """Fills the preview where a stage can ask for one thing only; returns whether it is full."""
    entry = only_entry(T, stage)
    for k in range(at.PREVIEW):
        if S[j, at.QUEUE + k] == 0:
            if entry < 0:
                return False
            S[j, at.QUEUE + k] = entry + 1
    return True


@jit
def drop_request(S, j):
    """Moves the preview on by one request."""
    for k in range(at.PREVIEW - 1):
        S[j, at.QUEUE + k] = S[j, at.QUEUE + k + 1]
    S[j, at.QUEUE + at.PREVIEW - 1] = 0


@jit
def next_phase(S, j, T, stage):
    """Runs what follows a placing stage (0: the hull) by itself; returns the next placing stage, or 0 after the last."""
    for n in range(T.turn_of[stage] + 1 if stage > 0 else 0, T.order.shape[0]):
        following = T.order[n]
        if T.kinds[following, 0] >= 0:
            return following
        if T.base[following] not in at.HULL_STAGES:
            stages.run_closing_stage(S, j, T, following)
    return 0


@jit
def open_ship(S, j, T):
    """Fills, carves and opens the hull in plane HULL in row `j`; the first stages of the order draw it and shape it."""
    for n in range(T.order.shape[0]):
        if T.base[T.order[n]] not in at.HULL_STAGES:
            break
        stages.shape_hull(T, T.order[n])
    open_hull(S, j, T)
    if stages.hull_area(T) == 0:
        S[j, at.REASONS] = np.uint16(1)


@jit
def open_given(S, j, T):
    """Starts row `j`, which holds nothing, with the hull that is given, if one is."""
    given = ZERO
    for row in range(T.hull.shape[0]):
        T.planes[at.HULL, row] = T.hull[row]
        given |= T.hull[row]
    if given != ZERO:
        open_ship(S, j, T)
        settle(S, j, T)


@jit
def open_phase(S, j, T, stage):
    """Makes ready for a placing stage."""
    stages.forget_requests(S, j)
    S[j, at.PHASE] = stage
    if T.stages[stage, at.LOW] == T.stages[stage, at.HIGH]:
        S[j, at.TARGET + stage] = T.stages[stage, at.LOW]


@jit
def finish(S, j):
    """Ends the game; the PHASE word keeps the stage in which it ended."""
    stages.forget_requests(S, j)
    S[j, at.TURN] = OVER


@jit
def settle(S, j, T):
    """Carries row `j`, whose planes must be loaded, on to the next decision, draw or end.

    A stage that falls short of its minimum ends the game: the ship cannot become valid any more.
    """
    while True:
        stage = np.int64(S[j, at.PHASE])
        if stage == 0 or (S[j, at.TARGET + stage] > 0 and stages.phase_over(S, j, T, stage)):
            if stage > 0:
                stages.note_failure(S, j, T, stage)
            following = next_phase(S, j, T, stage) if S[j, at.REASONS] == 0 else 0
            if following == 0:
                finish(S, j)
                return
            open_phase(S, j, T, following)
            continue
        if S[j, at.TARGET + stage] == 0:
            S[j, at.TURN] = DRAW_TARGET
            return
        full = fill_preview(S, j, T, stage)
        if S[j, at.QUEUE] == 0:
            S[j, at.TURN] = DRAW_REQUEST
            return
        entry = np.int64(S[j, at.QUEUE]) - 1
        if stages.entry_usable(S, j, T, stage, entry):
            if has_place(T, stage, entry):
                S[j, at.TURN] = DECISION if full else DRAW_REQUEST
                return
            S[j, at.EXHAUSTED] |= np.uint16(1 << entry)
        S[j, at.SKIPS] += np.uint16(1)
        drop_request(S, j)


@jit
def is_placed(S, i, T):
    """Returns whether `T.places` are those of row `i`."""
    different = np.uint16(0)
    for word in range(T.placed.shape[0]):
        different |= T.placed[word] ^ S[i, word]
    return different == 0


@jit
def find_places(S, i, T):
    """Sets `T.places` to the legal places of the current request; one row is asked several times in a step."""
    if is_placed(S, i, T):
        return
    load_planes(S, i, T)
    for word in range(T.placed.shape[0]):
        T.placed[word] = S[i, word]
    T.places[:] = ZERO
    stage, entry = current_request(S, i)
    part, facing = T.kinds[stage, entry // 4], entry % 4
    r, y, left = -1, 0, ZERO
    while True:
        r, x, y, left = next_place(T, stage, part, facing, r, y, left)
        if r < 0:
            return
        T.places[r, y + 1] |= bit(x)


@jit
def write_places(S, i, A, T):
    """Writes the legal places of the current request to `A`, ascending; returns how many."""
    find_places(S, i, T)
    count = 0
    for r in range(T.places.shape[0]):
        for y in range(T.grid):
            left = T.places[r, y + 1]
            while left != ZERO:
                A[count] = (r * T.grid + y) * T.grid + lowest(left)
                left &= left - ONE
                count += 1
    return count


@jit
def take_place(S, j, T, place):
    """Places the current request of row `j` and carries the row on."""
    load_planes(S, j, T)
    stage, entry = current_request(S, j)
    stages.put_request(S, j, T, stage, entry, place)
    drop_request(S, j)
    settle(S, j, T)
