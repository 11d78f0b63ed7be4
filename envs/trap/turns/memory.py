"""What the search of whole turns works in: open turns from the root down, a table of turns searched before."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.compile.jit import jit
from leafwise.envs.core.contract.stream import mix, u64
from leafwise.envs.trap.rules import COUNTED, LOW16, ONE, TURN, turn_of

MOST_TURNS = 40
"""Turns that a search looks ahead at most."""
MOVES = 8
ROWS = MOVES + 3
"""Rows of an open turn: where it begins, after each move, two to try landings in."""
NODES, LEAVES, FAILED = 0, 1, 2
"""What `counts` counts: turns opened, positions valued; and whether the search was stopped."""
POLL = 15
"""The clock is read at every turn whose number has these bits clear."""

NEXT, COUNT, LEFT, STAGE, MOVED, BEST_PAIR, TRIED, LISTED, FIRST, VALUED = range(10)
"""Columns of `frames`: the next pair and how many there are, turns left, what the open child is for, which moves there are
(bits), the best pair and the one that is open, whether moves are listed, the pair known from before, and the moves whose landings
are known as far as they were asked for (bits)."""
COLUMNS = 10
BEST, LOWER, UPPER, ENTRY_LOWER, REST, WEIGHT = range(6)
"""Columns of `worth`, for who acts: the best value, the window, where it began, and what of the open pair's value is known and
how much its child's counts."""
WORTHS = 6

WORD_0, WORD_1, DATA, VALUE = range(4)
"""Columns of an entry of the table."""
ENTRY_BYTES = 32
EXACT, AT_LEAST, AT_MOST = u64(1), u64(2), u64(3)
"""What a stored value is."""
BOUND_AT, PAIR_AT, GENERATION_AT = u64(8), u64(16), u64(32)
LOW8, LOW32 = u64(255), u64((1 << 32) - 1)
NO_PAIR = 0xFFFF
ANY_THROW = 255
"""The cell of a pair that stands for all throws after a move, none of which has been valued."""


class Options(NamedTuple):
    """What may change from search to search without compiling again."""

    width: int
    """Most pairs searched at a turn, by what they are worth at a glance."""
    late_from: int
    """Pairs from this place on are searched a turn less deep first, and again only if they then seem better than the best."""
    known_from: int
    """Turns left from which on misses are worth what the table says of the boards that they leave, as far as it does."""
    gain: float
    """What the best throw after a move is thought to add to its worth before any has been valued."""
    generation: np.uint64
    """Entries of the table with another number are old."""
    recall: bool
    """Whether old entries count too."""


class Buffers(NamedTuple):
    """The memory of one search; [level] counts open turns from the root, which is level 0."""

    S: NDArray[Any]
    """[levels * ROWS, 2]"""
    pairs: NDArray[np.int64]
    """[level, pair]: move << 8 | cell thrown at, the best at a glance first as far as sorted."""
    scores: NDArray[np.float64]
    """[level, pair]: what they are worth at a glance, for who acts."""
    landed: NDArray[np.float64]
    """[level, move, cell or, last, unchanged]: what the evaluator says of the board after a landing, for who threw; above 1: not
    known yet."""
    actions: NDArray[np.int64]
    """[level, action]: scratch."""
    frames: NDArray[np.int64]
    """[level, COLUMNS]"""
    worth: NDArray[np.float64]
    """[level, WORTHS]"""
    counts: NDArray[np.int64]
    deadline: NDArray[np.int64]
    """[2]: a clock's number and the nanoseconds on it, 0: never."""
    table: NDArray[np.uint64]
    """[entries, 4]: what is known of turns, an even power of two; VALUE is a float."""
    proven: NDArray[np.float64]
    """The same memory read as floats."""
    options: Options


def make_buffers(cells: int, entries: int, options: Options) -> Buffers:
    """Returns memory for boards of so many cells, with a table of `entries`, a power of two of at least 2."""
    levels, pairs = MOST_TURNS + 1, MOVES * cells
    table = np.zeros((entries, 4), dtype=np.uint64)
    return Buffers(
        S=np.zeros((levels * ROWS, 2), dtype=np.uint64),
        pairs=np.zeros((levels, pairs), dtype=np.int64),
        scores=np.zeros((levels, pairs)),
        landed=np.zeros((levels, MOVES, cells + 1)),
        actions=np.zeros((levels, 8 + cells), dtype=np.int64),
        frames=np.zeros((levels, COLUMNS), dtype=np.int64),
        worth=np.zeros((levels, WORTHS)),
        counts=np.zeros(3, dtype=np.int64),
        deadline=np.zeros(2, dtype=np.int64),
        table=table,
        proven=table.view(np.float64),
        options=options,
    )


@jit(inline=True)
def key_word(S, i, T):
    """Returns word 1 of a row, the turns played only as far as they matter (`rules.key`)."""
    word = S[i, 1]
    turn = turn_of(word)
    if turn + COUNTED + COUNTED < T.max_turns:
        word = (word & ~(LOW16 << TURN)) | ((turn & ONE) << TURN)
    return word


@jit(inline=True)
def bucket(B, word_0, word_1):
    """Returns the first of the two entries where a turn may stand."""
    h = mix(mix(word_0 ^ u64(0x5851F42D4C957F2D)) ^ word_1)
    return np.int64(h & u64(B.table.shape[0] - 1)) & ~1


@jit(inline=True)
def is_entry(B, e, word_0, word_1):
    """Whether entry e is that of a turn, and counts."""
    if B.table[e, WORD_0] != word_0 or B.table[e, WORD_1] != word_1 or B.table[e, DATA] == u64(0):
        return False
    return B.options.recall or (B.table[e, DATA] >> GENERATION_AT) & LOW32 == B.options.generation


@jit(inline=True)
def find(S, B, i, T):
    """Returns the entry of the turn at row i; -1 if there is none."""
    word_0, word_1 = S[i, 0], key_word(S, i, T)
    e = bucket(B, word_0, word_1)
    if is_entry(B, e, word_0, word_1):
        return e
    if is_entry(B, e + 1, word_0, word_1):
        return e + 1
    return -1


@jit(inline=True)
def store(S, B, i, left, bound, pair, value, T):
    """Writes what is known of the turn at row i: the first entry of two keeps the deepest, the second the newest.

    A value of fewer turns never takes the place of one of the same turn with more.
    """
    word_0, word_1 = S[i, 0], key_word(S, i, T)
    e = bucket(B, word_0, word_1)
    for k in range(2):
        if is_entry(B, e + k, word_0, word_1) and np.int64(B.table[e + k, DATA] & LOW8) > left:
            return
    if not is_entry(B, e, word_0, word_1):
        old = B.table[e, DATA]
        if (old >> GENERATION_AT) & LOW32 == B.options.generation and np.int64(old & LOW8) > left:
            e += 1
    B.table[e, WORD_0], B.table[e, WORD_1] = word_0, word_1
    B.table[e, DATA] = (
        (B.options.generation << GENERATION_AT) | (u64(pair) << PAIR_AT) | (bound << BOUND_AT) | u64(left)
    )
    B.proven[e, VALUE] = value
