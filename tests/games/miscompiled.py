"""The coins with mistakes that only compiled code shows: plain Python plays on."""

from __future__ import annotations

import numpy as np

from games import coins
from games.coins import (
    PHASE,
    TOSSES,
)
from leafwise.authoring import Game, jit, prefetch, u64


@jit
def two_types(S, i, T):
    return "none" if S[i, PHASE] > 9 else 1.0


@jit
def allocates(S, i, T):
    return np.zeros(3)[0]


@jit
def reads_beyond(S, i, T):
    return float(T.worth[u64(S[i, TOSSES])])


@jit
def reads_before(S, i, T):
    return float(T.worth[np.int64(S[i, TOSSES]) - 1])


@jit
def prefetches_beyond(S, i, T):
    prefetch(T.worth, np.int64(S[i, TOSSES]))
    return 0.0


@jit
def other_when_compiled(S, i, T):
    return 1.0 if u64(S[i, TOSSES]) - 1 < 0 else 0.0  # numba makes a float of an unsigned and a signed number


@jit
def worth_before(row, T):
    return T.worth[np.int64(row[TOSSES]) - 1]


def writes_what_lies_before(row, T):
    worth_before(row, T)
    return coins.write(row, T)


COMPILED: dict[str, Game] = {
    function.__name__: coins.make(__name__, returns=function)
    for function in (two_types, reads_beyond, reads_before, prefetches_beyond)
}
COMPILED["writes_what_lies_before"] = coins.make(__name__, write=writes_what_lies_before)
"""Mistakes for the compiled build that checks indices."""
SAID = {
    "two_types": r"returns: two_types, miscompiled.py line \d+, .* does not compile:\n.*unify.*numba's own words: ",
    "reads_beyond": r"returns: expected every index within its array, got an IndexError \(index 2 of axis 0 with size 2\)",
    "reads_before": r"returns: expected every index within its array, got an IndexError \(index -1 of axis 0 with size 2\)",
    "prefetches_beyond": r"returns: expected every index within its array, got an IndexError",
    "writes_what_lies_before": r"text: expected every index within its array, got an IndexError \(index -1 of axis 0 with size 2\)",
}
UNALIKE = coins.make(__name__, returns=other_when_compiled)
"""Plain Python and compiled code answer differently."""
ALLOCATING = coins.make(__name__, returns=allocates)
"""Cannot be compiled as it is played."""
