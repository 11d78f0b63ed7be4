"""What chance decides: the hull, by the digits of a number of 64 bits; each stage's target; each request.

The row never holds the number once the hull stands, so that no request can be told from it. `sample_outcome` draws
what the generator draws: on a fresh stream of key `seed` the hull, targets and requests of attempt 0 at that seed. The
stream's counter holds which ship it is at (high 32 bits), which of the stages (8 bits) and how many numbers of that stage's
request stream are used up (24 bits); a stream that is already past what a row asks goes on to its next ship.
"""

from __future__ import annotations

import numpy as np

from leafwise.envs.core.compile.jit import jit
from leafwise.envs.core.contract.rules import copy_row
from leafwise.envs.core.contract.stream import GOLDEN, mix
from leafwise.envs.starship import tables as at
from leafwise.envs.starship.board import ZERO, load_planes
from leafwise.envs.starship.stages import draw_entry, draw_target, open_streams, weight_of, weight_sums
from leafwise.envs.starship.turns import DECISION, DRAW_HULL, DRAW_TARGET, open_ship, settle

u64 = np.uint64
FOUR, SIXTEEN, FIFTEEN, HALF = u64(4), u64(16), u64(15), u64(32)
LOW_HALF = u64(0xFFFFFFFF)
HULL_DIGITS = 16
"""Hexadecimal digits of a hull's number."""
STAGE_SHIFT, LAST_DRAW = 24, (1 << 24) - 1


@jit
def add_digit(S, j, T, digit):
    """Writes the next digit of the hull's number; after the last one the hull stands and the number is gone."""
    k = np.int64(S[j, at.DIGITS])
    S[j, at.KEY + k // 4] = (np.int64(S[j, at.KEY + k // 4]) << 4) | digit
    S[j, at.DIGITS] = k + 1
    if k + 1 < HULL_DIGITS:
        return
    number = ZERO
    for word in range(at.KEY, at.KEY + HULL_DIGITS // 4):
        number = (number << SIXTEEN) | u64(S[j, word])
        S[j, word] = 0
    S[j, at.DIGITS] = 0
    open_streams(T, number, 0, at.STAGE_SHAPE)
    open_ship(S, j, T)


@jit
def take(S, j, T, drawn):
    """Writes what chance drew: a digit of the hull's number, a target or a request; a request without place is skipped.

    The row goes on to the next draw or decision.
    """
    turn, known = S[j, at.TURN], np.int64(0)
    if turn == DRAW_HULL:
        add_digit(S, j, T, drawn)
        known = np.int64(S[j, at.DIGITS])
    elif turn == DRAW_TARGET:
        S[j, at.TARGET + np.int64(S[j, at.PHASE])] = drawn
    else:
        while S[j, at.QUEUE + known] != 0:
            known += 1
        S[j, at.QUEUE + known] = drawn + 1
        if known == at.PREVIEW - 1:
            S[j, at.TURN] = DECISION
    if known == 0:
        load_planes(S, j, T)
        settle(S, j, T)


@jit
def same_header(S, i, j):
    """Returns whether two rows that one draw led to are equal: the board follows from the header."""
    for word in range(at.HEADER):  # noqa: SIM110 (compiled code has no generators)
        if S[i, word] != S[j, word]:
            return False
    return True


@jit
def write_outcomes(S, j, P, o, T):
    """Writes the outcomes of one draw and their probabilities; returns how many. Skipped requests may be one outcome."""
    turn, phase, count = S[j, at.TURN], np.int64(S[j, at.PHASE]), 0
    if turn == DRAW_HULL:
        for digit in range(16):
            copy_row(S, j, o + u64(digit))
            take(S, o + u64(digit), T, digit)
            P[o + u64(digit)] = 1.0 / 16.0
        return 16
    if turn == DRAW_TARGET:
        span = T.stages[phase, at.HIGH] - T.stages[phase, at.LOW] + 1
        for k in range(span):
            copy_row(S, j, o + u64(k))
            take(S, o + u64(k), T, T.stages[phase, at.LOW] + k)
            P[o + u64(k)] = 1.0 / span
        return span
    kinds, facings = weight_sums(T, phase)
    for entry in range(12):
        weight = weight_of(T, phase, entry)
        if weight > 0:
            here, same = o + u64(count), o
            copy_row(S, j, here)
            take(S, here, T, entry)
            while same < here and not same_header(S, same, here):
                same += u64(1)
            if same == here:
                P[here] = 0.0
                count += 1
            P[same] += weight / (kinds * facings)
    return count


@jit
def seek(R, first, last):
    """Moves the stream on to position `first` of its ship, or leaves it where it is up to `last`; else a new ship."""
    position = np.int64(R[1] & LOW_HALF)
    if position > last:
        R[1] = ((R[1] >> HALF) + u64(1)) << HALF
        position = np.int64(0)
    R[1] = (R[1] & ~LOW_HALF) | u64(max(position, first))


@jit
def ship_seed(R):
    """Returns the seed of the ship that the stream is at: its key for the first one."""
    ship = R[1] >> HALF
    return R[0] if ship == ZERO else mix(R[0] + ship * GOLDEN)


@jit
def draw_outcome(S, j, R, T):
    """Draws one digit, target or request in place, as the generator does."""
    turn, phase = S[j, at.TURN], np.int64(S[j, at.PHASE])
    start = (T.turn_of[phase] + 1) << STAGE_SHIFT  # of the hull, whose phase is 0, nothing is asked
    if turn == DRAW_HULL:
        k = np.int64(S[j, at.DIGITS])
        seek(R, k, k)
        drawn = np.int64((ship_seed(R) >> u64(60 - 4 * k)) & FIFTEEN)
    else:
        if turn == DRAW_TARGET:
            seek(R, start, start)
        else:
            seek(R, start + 1, start + LAST_DRAW)
        open_streams(T, ship_seed(R), 0, phase)
        T.request[1] = R[1] & u64(LAST_DRAW)
        if turn == DRAW_TARGET:
            drawn = draw_target(T, phase)
        else:
            drawn = draw_entry(T, phase)
    R[1] += u64(1)
    take(S, j, T, drawn)


@jit(inline_source=True)
def chance_outcomes(S, j, P, o, T):
    """Writes the outcomes of one draw and their probabilities; returns how many."""
    return write_outcomes(S, j, P, o, T.ship)


@jit(inline_source=True)
def sample_outcome(S, j, R, T):
    """Draws one digit, target or request in place, as the generator does."""
    draw_outcome(S, j, R, T.ship)
