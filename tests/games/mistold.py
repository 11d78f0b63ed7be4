"""The coins with mistakes in what is told of a position: returns, observations, keys, texts, symmetries, scores; and worse."""

from __future__ import annotations

import os

import numpy as np

from games.coins import (
    ONE,
    PHASE,
    TOSSES,
    WIDTH,
    Mistakes,
    copy,
    transform,
    write,
)
from leafwise.authoring import jit, u64

MISTAKES = Mistakes(__name__)
PLANTED = MISTAKES.games
planted = MISTAKES.add

# returns and observations


@jit
def returns_nothing_known(S, i, T):
    return np.nan


planted(r"returns: expected a number within return_range 0 to 6, got nan", returns=returns_nothing_known)


@jit
def returns_of_before(S, i, T):
    T.seen[0] += 1
    return float(T.seen[0] % 5)


planted(r"returns: expected the same answer twice \(no state of its own\), got \d.0, then", returns=returns_of_before)


@jit
def returns_one_pile(S, i, T):
    return float(S[i, 0])


planted(r"transform: expected the same returns, \d.0, got \d.0 \(symmetry 1\)", returns=returns_one_pile)


@jit
def writes_tables(S, i, T):
    T.worth[0] = 1
    return float(S[i, 0] + S[i, 1])


planted(
    r"returns: expected only arrays named in `scratch` to be written, got a write to T.worth", returns=writes_tables
)


@jit
def looks_at_another_row(S, i, T):
    return float(S[i - ONE, 0] & 1)


planted(r"returns: expected only rows \(1\) of S to be read, got row 0", returns=looks_at_another_row)


@jit
def leaves_a_number(S, i, O, e, T):
    for w in range(WIDTH - 1):
        O[e, w] = S[i, w]


planted(r"observe: expected every number to be written, got none in O\[3\]", observe=leaves_a_number)


@jit
def first_observation(S, i, O, e, T):
    for w in range(WIDTH):
        O[0, w] = S[i, w]


planted(r"observe: expected only rows \(1\) of O to be written, got row 0", observe=first_observation)


@jit
def divides_by_zero(S, i, T):
    return 1 // int(S[i, TOSSES])


planted(r"returns: expected an answer, got ZeroDivisionError", returns=divides_by_zero)

# texts


@jit
def worth_of(row, T):
    return T.worth[row[TOSSES]]


def writes_what_lies_beyond(row, T):
    worth_of(row, T)
    return write(row, T)


planted(
    r"text: expected every index within its array, got an IndexError .*mistold.py line \d+, `return T.worth\[row\[TOSSES\]\]`, at ",
    write=writes_what_lies_beyond,
)

# keys, texts, symmetries


@jit
def key_of_the_sum(S, i, T):
    return u64(S[i, 0] + S[i, 1] + 10 * S[i, PHASE])


planted(r"key: expected another key for another row, got \d+", key=key_of_the_sum)
planted(
    r"text: expected another text for another row",
    write=lambda row, T: " ".join(str(int(word)) for word in row[:3]) + " 0",
)
planted(
    r"parse: expected the row back that was written, \[0, 0, 0, 0\], got \[0, 0, 0, 1\]",
    parse=lambda text, T: [0, 0, 0, 1],
)
planted(
    r"text: expected one line of text, got '0\\n0\\n0\\n0'",
    write=lambda row, T: "\n".join(str(int(word)) for word in row),
)


@jit
def forgets_the_phase(S, i, k, j, T):
    left, right = S[i, 0], S[i, 1]
    copy(S, i, j)
    if k == 1:
        S[j, 0], S[j, 1] = right, left


planted(r"transform: expected the image of what 'left' leads to, .*symmetry 1", transform=forgets_the_phase)


@jit
def same_actions(a, k, T):
    return a


planted(r"transform: expected the image of what 'left' leads to", transform_action=same_actions)


@jit
def merges_actions(a, k, T):
    return 0


planted(
    r"transform_action: expected symmetry 0 to permute the 3 actions, got \[0, 0, 0\]", transform_action=merges_actions
)


@jit
def always_swaps(S, i, k, j, T):
    transform(S, i, 1, j, T)


planted(r"transform: expected symmetry 0 to leave the row, got another row", transform=always_swaps)
planted(r"transform: expected symmetry 2 of 3 to change some position or action", count=3)

# scores, and ends of the process


@jit
def boundless(S, i, T):
    return 1.0 / (float(S[i, 0]) - float(S[i, 0]))


@jit
def too_high(S, i, T):
    return 101.5


planted(
    r"score sum: expected a finite number in -1..100, got 101.5",
    score=too_high,
)


@jit
def leaves(S, i, T):
    os._exit(3)


planted(
    r"returns: expected an answer from the plain build, got an end of the process \(exit status 3\)", returns=leaves
)


@jit
def hangs(S, i, T):
    while True:
        pass


planted(r"returns: expected an answer from the plain build, got no answer in 4 s", returns=hangs)


@jit
def wants_memory(S, i, T):
    return float(len(bytearray(1 << 40)))


planted(r"returns: expected an answer, got MemoryError", returns=wants_memory)
