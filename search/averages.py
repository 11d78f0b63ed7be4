"""Chance nodes of the alpha-beta search: Star1 and Star2.

Where leaves have bounds, an average whose open outcomes cannot bring it into the window is left (Star1), if need be after one
action of each outcome has been probed (Star2). A frame's OPEN_LOW and OPEN_HIGH are the least and the most that its open outcomes
add to BEST, the sum so far.
Source: Ballard, "The *-minimax search procedure for trees containing chance nodes", Artificial Intelligence 21, 1983.
"""

from __future__ import annotations

import numpy as np

from leafwise.envs.core.compile.jit import jit
from leafwise.search import frames as F
from leafwise.search.frames import ONE, PROBING, SEARCHING


@jit(inline=True)
def is_bounded(B):
    """Whether leaves have bounds."""
    return B.options.least > -np.inf and B.options.most < np.inf


@jit(inline=True)
def is_probed(B, f):
    """Whether the outcomes of chance node f are probed before they are searched."""
    return is_bounded(B) and np.int64(B.frames[f, F.DEPTH]) >= B.options.probe_from


@jit(inline=True)
def begin_average(B, f):
    """Sets what is to be done first with the outcomes of frame f, just opened."""
    B.frames[f, F.PHASE] = PROBING if is_probed(B, f) else SEARCHING
    B.frames[f, F.MOVE] = B.frames[f, F.NEXT]


@jit(inline=True)
def take_outcome(B, f, value, told):
    """Takes the value of the outcome searched last; returns whether the average is cut, with a bound of it as its value.

    A probed value is only a bound: an upper one where `told`, who decided there, is player 1, exact where it is LEAF.
    """
    least, most = B.options.least, B.options.most
    phase, o = B.frames[f, F.PHASE], B.frames[f, F.NEXT] - ONE
    best, low, high = B.worth[f, F.BEST], B.worth[f, F.OPEN_LOW], B.worth[f, F.OPEN_HIGH]
    if phase == PROBING:
        B.between[o, 0] = value if told == F.LEAF or told == 0 else least
        B.between[o, 1] = value if told == F.LEAF or told == 1 else most
        low += B.P[o] * (B.between[o, 0] - least)
        high += B.P[o] * (B.between[o, 1] - most)
    else:
        best += B.P[o] * value
        if is_bounded(B):
            low -= B.P[o] * (B.between[o, 0] if is_probed(B, f) else least)
            high -= B.P[o] * (B.between[o, 1] if is_probed(B, f) else most)
    cut = False
    if is_bounded(B) and (o + ONE < B.frames[f, F.END] or phase == PROBING):
        above = best + low >= B.worth[f, F.UPPER]
        cut = above or best + high <= B.worth[f, F.LOWER]
        if cut:
            best += low if above else high
    B.worth[f, F.BEST], B.worth[f, F.OPEN_LOW], B.worth[f, F.OPEN_HIGH] = best, low, high
    return cut


@jit(inline=True)
def outcome_window(B, f, row):
    """Returns the window in which the value of an outcome decides whether the average of frame f lies in its own."""
    if not is_bounded(B):
        return -np.inf, np.inf
    least, most, p = B.options.least, B.options.most, B.P[row]
    if B.frames[f, F.PHASE] == SEARCHING and is_probed(B, f):
        least, most = B.between[row, 0], B.between[row, 1]
    best, low, high = B.worth[f, F.BEST], B.worth[f, F.OPEN_LOW], B.worth[f, F.OPEN_HIGH]
    lower = (B.worth[f, F.LOWER] - best - (high - p * most)) / p
    upper = (B.worth[f, F.UPPER] - best - (low - p * least)) / p
    return lower, upper


@jit(inline=True)
def next_outcome(B, f, given, value, told):
    """Takes the value of the outcome searched last, if given.

    Returns whether an outcome is to be searched, its row and its window.
    """
    while True:
        if given and take_outcome(B, f, value, told):
            return False, F.ZERO, 0.0, 0.0
        if B.frames[f, F.PHASE] == PROBING and B.frames[f, F.NEXT] == B.frames[f, F.END]:
            B.frames[f, F.PHASE], B.frames[f, F.NEXT] = SEARCHING, B.frames[f, F.MOVE]
        row = B.frames[f, F.NEXT]
        if row == B.frames[f, F.END]:
            return False, row, 0.0, 0.0
        B.frames[f, F.NEXT] = row + ONE
        given = B.frames[f, F.PHASE] == SEARCHING and is_probed(B, f) and B.between[row, 0] >= B.between[row, 1]
        if not given:
            lower, upper = outcome_window(B, f, row)
            return True, row, lower, upper
        value = B.between[row, 0]  # probing has found it
