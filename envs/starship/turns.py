"""Whose turn it is while a ship is built: chance asks, the builder places, armour and doors come by themselves.

`settle` carries a row on to the next decision, the next draw or the end. It does what the generator's `run_phase` does,
one request at a time, so that whoever places chooses among the same requests.
"""

from __future__ import annotations

import numpy as np

from leafwise.envs.core.compile.jit import jit
from leafwise.envs.starship.board import ONE, ZERO, contiguous, load_planes, lowest
from leafwise.envs.starship.catalogue import CLEAR, COCKPIT, REACTOR, ROTATIONS
from leafwise.envs.starship.legality import find_anchors
from leafwise.envs.starship.stages import (
    add_doors,
    armour_exterior,
    armour_part,
    armour_rest,
    entry_usable,
    note_failure,
    phase_over,
    put_request,
)
from leafwise.envs.starship.tables import (
    ANCHORS,
    EXHAUSTED,
    FACINGS,
    HIGH,
    LIMIT,
    LOW,
    PHASE,
    PREVIEW,
    QUEUE,
    REASONS,
    SKIPS,
    STAGE_AMMO,
    STAGE_ARMOUR,
    STAGE_COCKPIT,
    STAGE_COCKPIT_ARMOUR,
    STAGE_CREW,
    STAGE_DOORS,
    STAGE_EXTERIOR,
    STAGE_POWER,
    STAGE_REACTOR,
    STAGE_REACTOR_ARMOUR,
    STAGE_THRUSTERS,
    STAGE_WEAPONS,
    TARGET,
    TURN,
    WEIGHTS,
)

DRAW_HULL, DRAW_TARGET, DRAW_REQUEST, DECISION, OVER = range(5)
"""Values of the TURN word: chance draws a digit of the hull's number, a stage's target or a request; or the builder
acts; or the ship is finished."""


@jit
def only_entry(T, stage):
    """Returns the one request that a stage can ask for, or -1 if there are several."""
    found = -1
    for entry in range(12):
        if T.P[stage, WEIGHTS + entry // 4] > 0 and T.P[stage, FACINGS + entry % 4] > 0:
            if found >= 0:
                return -1
            found = entry
    return found


@jit
def fill_preview(S, j, T, stage):
    """Fills the preview where a stage can ask for one thing only; returns whether it is full."""
    entry = only_entry(T, stage)
    for k in range(PREVIEW):
        if S[j, QUEUE + k] == 0:
            if entry < 0:
                return False
            S[j, QUEUE + k] = entry + 1
    return True


@jit
def drop_request(S, j):
    """Moves the preview on by one request."""
    for k in range(PREVIEW - 1):
        S[j, QUEUE + k] = S[j, QUEUE + k + 1]
    S[j, QUEUE + PREVIEW - 1] = 0


@jit
def first_rotation(T, part, entry):
    """Returns the first rotation in which a request may be placed: a directional part keeps its facing."""
    return entry % 4 if T.facts[part, CLEAR] > 0 else 0


@jit
def last_rotation(T, part, entry):
    """Returns one more than the last rotation in which a request may be placed."""
    return entry % 4 + 1 if T.facts[part, CLEAR] > 0 else T.facts[part, ROTATIONS]


@jit
def has_place(T, stage, entry):
    """Returns whether a request has a legal place on the board in the planes."""
    part = T.kinds[stage, entry // 4]
    limit = T.P[stage, LIMIT]
    for r in range(first_rotation(T, part, entry), last_rotation(T, part, entry)):
        find_anchors(T, part, r)
        w, h = T.size[part, r, 0], T.size[part, r, 1]
        for y in range(T.grid):
            left = T.B[ANCHORS, y + 1]
            while left != ZERO:
                if contiguous(T.B, T.grid, lowest(left), y, w, h, limit):
                    return True
                left &= left - ONE
    return False


@jit
def next_phase(S, j, T, stage):
    """Runs the automatic stages that follow a placing stage (0: the hull); returns the next, or 0 after the last."""
    if stage == 0:
        return STAGE_COCKPIT
    if stage == STAGE_COCKPIT:
        return STAGE_REACTOR
    if stage == STAGE_REACTOR:
        armour_part(S, j, T, STAGE_COCKPIT_ARMOUR, COCKPIT)
        armour_part(S, j, T, STAGE_REACTOR_ARMOUR, REACTOR)
        return STAGE_THRUSTERS
    if stage == STAGE_THRUSTERS:
        return STAGE_WEAPONS
    if stage == STAGE_WEAPONS:
        armour_exterior(S, j, T, STAGE_EXTERIOR)
        return STAGE_AMMO
    if stage == STAGE_AMMO:
        return STAGE_POWER
    if stage == STAGE_POWER:
        return STAGE_CREW
    armour_rest(S, j, T, STAGE_ARMOUR)
    add_doors(S, j, T, STAGE_DOORS)
    return 0


@jit
def open_phase(S, j, T, stage):
    """Makes ready for a placing stage."""
    for k in range(PREVIEW):
        S[j, QUEUE + k] = 0
    S[j, SKIPS] = 0
    S[j, EXHAUSTED] = 0
    S[j, PHASE] = stage
    if T.P[stage, LOW] == T.P[stage, HIGH]:
        S[j, TARGET + stage] = T.P[stage, LOW]


@jit
def finish(S, j):
    """Ends the game; the PHASE word keeps the stage in which it ended."""
    for k in range(PREVIEW):
        S[j, QUEUE + k] = 0
    S[j, SKIPS] = 0
    S[j, EXHAUSTED] = 0
    S[j, TURN] = OVER


@jit
def settle(S, j, T):
    """Carries row `j`, whose planes must be loaded, on to the next decision, draw or end.

    A stage that falls short of its minimum ends the game: the ship cannot become valid any more.
    """
    while True:
        stage = np.int64(S[j, PHASE])
        if stage == 0 or (S[j, TARGET + stage] > 0 and phase_over(S, j, T, stage)):
            if stage > 0:
                note_failure(S, j, T, stage)
            following = next_phase(S, j, T, stage) if S[j, REASONS] == 0 else 0
            if following == 0:
                finish(S, j)
                return
            open_phase(S, j, T, following)
            continue
        if S[j, TARGET + stage] == 0:
            S[j, TURN] = DRAW_TARGET
            return
        full = fill_preview(S, j, T, stage)
        if S[j, QUEUE] == 0:
            S[j, TURN] = DRAW_REQUEST
            return
        entry = np.int64(S[j, QUEUE]) - 1
        if entry_usable(S, j, T, stage, entry):
            if has_place(T, stage, entry):
                S[j, TURN] = DECISION if full else DRAW_REQUEST
                return
            S[j, EXHAUSTED] |= np.uint16(1 << entry)
        S[j, SKIPS] += np.uint16(1)
        drop_request(S, j)


@jit
def write_places(S, i, A, T):
    """Writes the legal places of the current request to `A`, ascending; returns how many."""
    load_planes(S, i, T)
    phase, entry = np.int64(S[i, PHASE]), np.int64(S[i, QUEUE]) - 1
    part, limit, count = T.kinds[phase, entry // 4], T.P[phase, LIMIT], 0
    for r in range(first_rotation(T, part, entry), last_rotation(T, part, entry)):
        find_anchors(T, part, r)
        w, h = T.size[part, r, 0], T.size[part, r, 1]
        for y in range(T.grid):
            left = T.B[ANCHORS, y + 1]
            while left != ZERO:
                x = lowest(left)
                left &= left - ONE
                if contiguous(T.B, T.grid, x, y, w, h, limit):
                    A[count] = (r * T.grid + y) * T.grid + x
                    count += 1
    return count


@jit
def take_place(S, j, T, place):
    """Places the current request of row `j` and carries the row on."""
    load_planes(S, j, T)
    phase = np.int64(S[j, PHASE])
    put_request(S, j, T, phase, T.kinds[phase, (np.int64(S[j, QUEUE]) - 1) // 4], place)
    drop_request(S, j)
    settle(S, j, T)
