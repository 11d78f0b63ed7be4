"""Alpha-beta over whole turns: a pair of a move and a throw is one action, whose landing is chance.

The hit of a pair is searched further. Its misses get the evaluator's value of the boards that they leave; misses not beside the
other player count as the board unchanged. So a pair has one child, in an exact window: its value is `rest + p * child`. The
last turn of a line is searched only up to its move, since the evaluator's value of a board after the best of many throws would
be too optimistic.

Pairs are tried in the order of their static values: the first in the whole window, the others in a null window, late ones a
turn less deep, and again if they prove better. The throws after a move are valued only when the move is the best one left, by
the board after it and an estimated gain of a throw. So a turn that is cut off earlier needs a fraction of the values. Values
are those of the player who acts. An explicit stack replaces recursion.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np

from leafwise.envs.core.arrays import Array, Floats, Ints, Words
from leafwise.envs.core.compile.intrinsics import deadline_in, is_late
from leafwise.envs.core.compile.jit import ResolvedEntry, bind, jit
from leafwise.envs.core.contract.bits import count_bits
from leafwise.envs.core.contract.evaluator import Evaluator
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.rules import Compiled
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.contract.stream import u64
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.interrupts import stoppable
from leafwise.envs.core.play.players import ByName
from leafwise.envs.core.ranges import OneOf, Range, ranged
from leafwise.envs.trap.rules import (
    CANDIDATES,
    COUNTED,
    DRAW,
    END,
    MOVE,
    ONE,
    SECOND_TRAPS,
    TWO,
    ZERO,
    apply_action,
    blocked,
    candidates,
    cell_of,
    count_beside,
    has_trap,
    hash_of,
    holds,
    key_word,
    land,
    legal_actions,
    pass_turn,
    phase_of,
    turn_of,
)

# The memory of the search: open turns from the root down, and a table of turns searched before.


MOST_TURNS = 40
"""The largest depth of a search, in turns."""
MOVES = 8
ROWS = MOVES + 3
"""Rows of an open turn: its start, the board after each move, two to try landings in."""
NODES, LEAVES, FAILED = 0, 1, 2
"""Indices of `counts`: turns opened, positions valued; whether the search was stopped."""
POLL = 15
"""The clock is read at every turn whose number has these bits clear."""

NEXT, COUNT, LEFT, STAGE, MOVED, BEST_PAIR, TRIED, LISTED, FIRST, VALUED = range(10)
"""Columns of `frames`: the next pair and the number of pairs, turns left, the stage of the open child, the possible moves
(bits), the best pair and the open one, whether moves are listed, the pair known from the table, and the moves whose landings
are cached (bits).
"""
COLUMNS = 10
BEST, LOWER, UPPER, ENTRY_LOWER, REST, WEIGHT = range(6)
"""Columns of `worth`, for the player who acts: the best value, the window, its original lower end, and for the open pair the
known part of its value and the weight of its child.
"""
WORTHS = 6

WORD_0, WORD_1, DATA, VALUE = range(4)
"""Columns of an entry of the table."""
ENTRY_BYTES = 32
EXACT, AT_LEAST, AT_MOST = u64(1), u64(2), u64(3)
"""Kinds of stored values."""
BOUND_AT, PAIR_AT, GENERATION_AT = u64(8), u64(16), u64(32)
LOW8, LOW32 = u64(255), u64((1 << 32) - 1)
NO_PAIR = 0xFFFF
ANY_THROW = 255
"""The cell of a pair that stands for all throws after a move, while none of them is valued."""


class TurnOptions(NamedTuple):
    """Options that may change from search to search without compiling again."""

    width: int
    """Most pairs searched at a turn, by their static values."""
    late_from: int
    """Pairs from this place on are first searched a turn less deep, and again only if they then seem better than the best."""
    known_from: int
    """Turns left from which on misses get the table's values of the boards that they leave, if there are any."""
    gain: float
    """The estimated gain of the best throw after a move, before any is valued."""
    generation: np.uint64
    """Entries of the table with another number are old."""
    recall: bool
    """Whether old entries count too."""


class TurnBuffers(NamedTuple):
    """The memory of one search; [level] counts open turns from the root, which is level 0."""

    S: Array
    """[levels * ROWS, 2]"""
    pairs: Ints
    """[level, pair]: move << 8 | target cell, the best static value first as far as sorted."""
    scores: Floats
    """[level, pair]: their static values, for the player who acts."""
    landed: Floats
    """[level, move, cell or, last, unchanged]: the evaluator's value of the board after a landing, for the thrower; above 1:
    unknown.
    """
    actions: Ints
    """[level, action]: scratch."""
    frames: Ints
    """[level, COLUMNS]"""
    worth: Floats
    """[level, WORTHS]"""
    counts: Ints
    deadline: Ints
    """[2]: a clock's number and its time in nanoseconds, 0: never."""
    table: Words
    """[entries, 4]: known values of turns, an even power of two of them; VALUE is a float."""
    proven: Floats
    """The same memory read as floats."""
    options: TurnOptions


def make_buffers(cells: int, entries: int, options: TurnOptions) -> TurnBuffers:
    """Returns memory for boards of `cells` cells, with a table of `entries`, a power of two of at least 2."""
    levels, pairs = MOST_TURNS + 1, MOVES * cells
    table = np.zeros((entries, 4), dtype=np.uint64)
    return TurnBuffers(
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
def bucket(S, B, i, T):
    """Returns the relevant words of row i, and the first of the two entries that may hold its turn."""
    word_0, word_1 = S[i, 0], key_word(S[i, 1], COUNTED + COUNTED, T)
    return word_0, word_1, np.int64(hash_of(word_0, word_1) & u64(B.table.shape[0] - 1)) & ~1


@jit(inline=True)
def is_entry(B, e, word_0, word_1):
    """Whether entry e belongs to a turn, and is valid."""
    if B.table[e, WORD_0] != word_0 or B.table[e, WORD_1] != word_1 or B.table[e, DATA] == u64(0):
        return False
    return B.options.recall or (B.table[e, DATA] >> GENERATION_AT) & LOW32 == B.options.generation


@jit(inline=True)
def find(S, B, i, T):
    """Returns the entry of the turn at row i; -1 if there is none."""
    word_0, word_1, e = bucket(S, B, i, T)
    for k in range(2):
        if is_entry(B, e + k, word_0, word_1):
            return e + k
    return -1


@jit(inline=True)
def store(S, B, i, left, bound, pair, value, T):
    """Stores a value of the turn at row i: the first entry of two keeps the deepest, the second the newest.

    A value never replaces one of the same turn with more turns left.
    """
    word_0, word_1, e = bucket(S, B, i, T)
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


UNKNOWN = 2.0
"""Replaces a value that is not computed yet."""


# Windows of the search.


EMPTY = 1e-5
"""Width of a null window, which only tests whether a pair is better."""
WHOLE, SCOUT, REDUCED = 0, 1, 2
"""The purpose of a turn's open child: its value, a test whether its pair is better, the same test a turn less deep."""


@jit(inline=True)
def take(B, level, pair, worth):
    """Updates a turn with the value of a pair; returns whether the turn is cut off."""
    if worth > B.worth[level, BEST]:
        B.worth[level, BEST] = worth
        B.frames[level, BEST_PAIR] = pair
    if worth > B.worth[level, LOWER]:
        B.worth[level, LOWER] = worth
    return B.worth[level, LOWER] >= B.worth[level, UPPER]


@jit(inline=True)
def child_window(B, level):
    """Returns the window of the open pair's child, for the player who acts there."""
    rest, weight = B.worth[level, REST], B.worth[level, WEIGHT]
    lower, upper = B.worth[level, LOWER], B.worth[level, UPPER]
    if B.frames[level, STAGE] != WHOLE:
        upper = min(upper, lower + EMPTY)
    return max(-1.0, (rest - upper) / weight), min(1.0, (rest - lower) / weight)


REDUCED_FROM = 3
"""Turns left from which on late pairs are first searched less deep."""


# The start of a turn's level: the rows after its moves, with all values unknown.


@jit(inline=True)
def try_moves(S, B, level, T):
    """Writes the rows after each move; returns a bit for each, and the first that wins at once, or -1.

    At a throw the row itself counts as that of move 0.
    """
    row, first = u64(level * ROWS), u64(level * ROWS + 1)
    if phase_of(S[row, 1]) != MOVE:
        S[first, 0], S[first, 1] = S[row, 0], S[row, 1]
        return 1, -1
    moved = 0
    for k in range(legal_actions(S, row, B.actions[level], T)):
        a = B.actions[level, k]
        apply_action(S, row, a, first + u64(a), T)
        moved |= 1 << a
        if S[first + u64(a), 1] >> END:
            return moved, a
    return moved, -1


@jit(inline=True)
def forget(B, level, moved, T):
    """Makes all values of the moves at a level unknown."""
    B.frames[level, VALUED] = 0
    for move in range(MOVES):
        if moved >> move & 1:
            B.landed[level, move, T.cells] = UNKNOWN


@jit(inline=True)
def forget_landings(B, level, move, T):
    """Makes the values of all landings after a move unknown, at their first use."""
    if not B.frames[level, VALUED] >> move & 1:
        B.frames[level, VALUED] |= 1 << move
        for cell in range(T.cells):
            B.landed[level, move, cell] = UNKNOWN


@jit(inline=True)
def insert(B, level, n, pair, score):
    """Inserts a pair into the first n, which are sorted."""
    while n > 0 and B.scores[level, n - 1] < score:
        B.scores[level, n], B.pairs[level, n] = B.scores[level, n - 1], B.pairs[level, n - 1]
        n -= 1
    B.scores[level, n], B.pairs[level, n] = score, pair


@jit(inline=True)
def end_value(word):
    """Returns the value of a game that ended with a throw for the thrower, the player before the turn of word 1."""
    end = word >> END
    return 0.0 if end == DRAW else 1.0 if end + (turn_of(word) & ONE) == TWO else -1.0


# The search.


@jit(inline=True)
def close_turn(S, B, level, T):
    """Returns the value of an open turn, and stores it."""
    best = B.worth[level, BEST]
    bound = EXACT
    if best >= B.worth[level, UPPER]:
        bound = AT_LEAST
    elif best <= B.worth[level, ENTRY_LOWER]:
        bound = AT_MOST
    store(S, B, u64(level * ROWS), B.frames[level, LEFT], bound, B.frames[level, BEST_PAIR], best, T)
    return best


def make_turn_search(value: Compiled, room: Path) -> Compiled:
    """Compiles the search for an evaluator's `value`.

    `(B, depth, T)` -> the value of row 0 of `B.S`, `depth` turns deep, for the player who acts; its best pair is in the root's
    frame.
    """
    # Static values of pairs of a move and a throw: values of the boards that they leave, each computed once.

    @bind(room, inline=True)
    def end_turn(S, level, move, cell, T):
        """Writes the board after a move and a landing on a free cell, or on a trap (`T.cells`); returns its row."""
        after, scratch = u64(level * ROWS + 1 + move), u64(level * ROWS + MOVES + 1)
        if cell == T.cells:
            S[scratch, 0], S[scratch, 1] = S[after, 0], S[after, 1]
            pass_turn(S, scratch, T)
        else:
            land(S, after, cell, scratch, T)
        return scratch

    @bind(room, inline=True)
    def landed(S, B, level, move, cell, T):
        """Returns the value of a board of `end_turn` for the thrower; computed once."""
        known = B.landed[level, move, cell]
        if known >= UNKNOWN:
            j = end_turn(S, level, move, cell, T)
            known = end_value(S[j, 1]) if S[j, 1] >> END else -value(S, j, T)
            B.counts[LEAVES] += 1
            B.landed[level, move, cell] = known
        return known

    @bind(room, inline=True)
    def left_by_a_miss(S, B, level, move, cell, known, T):
        """Returns the value of a board of `end_turn` for the thrower: that of `landed`, or the table's if `known`."""
        worth = landed(S, B, level, move, cell, T)
        if not known:
            return worth
        j = end_turn(S, level, move, cell, T)
        if S[j, 1] >> END:
            return worth
        e = find(S, B, j, T)
        if e < 0 or B.table[e, DATA] & LOW8 == ZERO:
            return worth
        stored, bound = -B.proven[e, VALUE], (B.table[e, DATA] >> BOUND_AT) & LOW8
        if bound == EXACT:
            return stored
        return min(worth, stored) if bound == AT_LEAST else max(worth, stored)

    @bind(room, inline=True)
    def misses(S, B, level, move, cell, p, known, T):
        """Returns the part of a throw's value that comes from misses, if it hits with probability p; with `known`, by the
        table.

        Misses are equally likely. Those that land on a trap, or not beside the other player, count as the board unchanged.
        """
        # The free cells around the target, as bits, and those of them beside the other player.
        after = u64(level * ROWS + 1 + move)
        word = S[after, 1]
        player = turn_of(word) & ONE
        me, other = cell_of(word, player), cell_of(word, ONE - player)
        low = T.near[cell, 0] & ~(T.bit[me, 0] | T.bit[other, 0])
        high = T.near[cell, 1] & ~(T.bit[me, 1] | T.bit[other, 1])
        n = count_bits(low) + count_bits(high)
        low, high = low & T.near[other, 0] & ~S[after, 0], high & T.near[other, 1] & ~(word & SECOND_TRAPS)
        close = count_bits(low) + count_bits(high)
        # The others leave the board unchanged; those beside the player are valued one by one.
        total = np.float64(n - close) * left_by_a_miss(S, B, level, move, T.cells, known, T)
        if close:
            for direction in range(8):
                to = T.step[other, direction]
                if to >= 0 and holds(low, high, to, T):
                    total += left_by_a_miss(S, B, level, move, to, known, T)
        return (1.0 - p) * total / np.float64(n)

    @bind(room, inline=True)
    def static_value(S, B, level, move, cell, T):
        """Returns the value of a pair without a search."""
        after = u64(level * ROWS + 1 + move)
        word = S[after, 1]
        p = T.accuracy[cell_of(word, turn_of(word) & ONE), cell]
        worth = landed(S, B, level, move, T.cells if has_trap(S, after, cell, T) else cell, T)
        return worth if p == 1.0 else p * worth + misses(S, B, level, move, cell, p, False, T)

    # The last turn of a line: values of the evaluator alone.

    @bind(room, inline=True)
    def last_turn(S, B, level, moved, upper, T):
        """Returns the best value and pair with one turn left, or a value of at least `upper`."""
        # The moves, sorted by the value of the board after them without a throw.
        n = 0
        for move in range(MOVES):
            if moved >> move & 1:
                insert(B, level, n, move, landed(S, B, level, move, T.cells, T))
                n += 1
        # The throws after each move.
        best, pair = -UNKNOWN, NO_PAIR
        for k in range(n):
            move = B.pairs[level, k]
            forget_landings(B, level, move, T)
            after = u64(level * ROWS + 1 + move)
            for t in range(candidates(S, after, B.actions[level], T)):
                cell = B.actions[level, t] - 8
                total = static_value(S, B, level, move, cell, T)
                if total > best:
                    best, pair = total, move << 8 | cell
                    if best >= upper:
                        return best, pair
        return best, pair

    @bind(room, inline=True)
    def last_move(S, B, level, upper, T):
        """Returns the best value after a move, by the evaluator's value of the position before the throw, or a value of at
        least `upper`.

        Moves next to more free cells are tried first.
        """
        # The moves, sorted by the number of free cells around their targets.
        row, after = u64(level * ROWS), u64(level * ROWS + 1)
        low, high = blocked(S, row, T)
        cell, n = cell_of(S[row, 1], turn_of(S[row, 1]) & ONE), legal_actions(S, row, B.actions[level], T)
        for k in range(n):
            a = B.actions[level, k]
            to = T.step[cell, a]
            insert(B, level, k, a, np.float64(count_beside(to, ~low, ~high, T)))
        # The evaluator's value of each, before the throw.
        best = -1.0
        for k in range(n):
            apply_action(S, row, B.pairs[level, k], after, T)
            if S[after, 1] >> END:
                return 1.0
            B.counts[LEAVES] += 1
            best = max(best, value(S, after, T))
            if best >= upper:
                return best
        return best

    # The pairs of an open turn, in the order in which they are tried.

    @bind(room, inline=True)
    def list_moves(S, B, level, T):
        """Lists the moves of an open turn after the pair tried first, each with an estimate of its value with a throw.

        A move that leaves the other player at most one free neighbour comes first: a throw may win.
        """
        moved, n = B.frames[level, MOVED], B.frames[level, NEXT]
        for move in range(MOVES):
            if moved >> move & 1:
                after = u64(level * ROWS + 1 + move)
                word = S[after, 1]
                other = cell_of(word, ONE - (turn_of(word) & ONE))
                low, high = blocked(S, after, T)
                free = count_beside(other, ~low, ~high, T)
                worth = landed(S, B, level, move, T.cells, T) + B.options.gain
                B.pairs[level, n], B.scores[level, n] = move << 8 | ANY_THROW, UNKNOWN if free <= ONE else worth
                n += 1
        B.frames[level, COUNT] = n

    @bind(room, inline=True)
    def list_throws(S, B, level, place, T):
        """Replaces the listed move at a place by its pairs, with their static values."""
        # The last entry of the list takes the move's place.
        move, n = B.pairs[level, place] >> 8, B.frames[level, COUNT] - 1
        B.pairs[level, place], B.scores[level, place] = B.pairs[level, n], B.scores[level, n]
        # Its throws are appended, except that of the pair tried first.
        forget_landings(B, level, move, T)
        after = u64(level * ROWS + 1 + move)
        for t in range(candidates(S, after, B.actions[level], T)):
            cell = B.actions[level, t] - 8
            pair = move << 8 | cell
            if pair != B.frames[level, FIRST]:
                B.pairs[level, n], B.scores[level, n] = pair, static_value(S, B, level, move, cell, T)
                n += 1
        B.frames[level, COUNT] = n

    @bind(room, inline=True)
    def next_pair(S, B, level, T):
        """Returns the next pair to try, the best of the remaining ones; NO_PAIR if there is none.

        The best pair of an earlier search is tried before others are valued. Throws are valued when their move is the best
        entry left.
        """
        k, first = B.frames[level, NEXT], B.frames[level, FIRST]
        if k == 0 and first != NO_PAIR:
            B.frames[level, NEXT], B.pairs[level, 0] = 1, first
            return first
        # Moves are listed in place of all their throws.
        if not B.frames[level, LISTED]:
            list_moves(S, B, level, T)
            B.frames[level, LISTED] = 1
        # The best entry goes to place k: a pair is the next, and a move is replaced by its throws.
        while k < B.frames[level, COUNT] and k < B.options.width:
            best = k
            for j in range(k + 1, B.frames[level, COUNT]):
                if B.scores[level, j] > B.scores[level, best]:
                    best = j
            pair, score = B.pairs[level, best], B.scores[level, best]
            if pair & 255 == ANY_THROW:
                list_throws(S, B, level, best, T)
                continue
            B.pairs[level, best], B.scores[level, best] = B.pairs[level, k], B.scores[level, k]
            B.pairs[level, k], B.scores[level, k] = pair, score
            B.frames[level, NEXT] = k + 1
            return pair
        return NO_PAIR

    @bind(room, inline=True)
    def open_pair(S, B, level, pair, T):
        """Lands the hit of a pair at the first row of the next level; returns whether the game goes on, and otherwise its
        value.

        REST gets the value of the pair's misses, and WEIGHT the weight of its hit.
        """
        # The misses need no search.
        move, cell = pair >> 8, pair & 255
        after, below = u64(level * ROWS + 1 + move), u64((level + 1) * ROWS)
        word = S[after, 1]
        p = T.accuracy[cell_of(word, turn_of(word) & ONE), cell]
        known = B.frames[level, LEFT] >= B.options.known_from
        rest = misses(S, B, level, move, cell, p, known, T) if p < 1.0 else 0.0
        B.worth[level, REST], B.worth[level, WEIGHT] = rest, p
        # The hit, which may end the game.
        land(S, after, cell, below, T)
        if S[below, 1] >> END:
            return False, rest + p * end_value(S[below, 1])
        return True, 0.0

    # The search: turns are opened, and updated with the values of the turns below.

    @bind(room, inline=True)
    def open_turn(S, B, level, left, lower, upper, T):
        """Opens the turn at the first row of a level; returns whether it is open, and otherwise its value."""
        # Counts the turn, and polls the stop byte and the clock now and then.
        row = u64(level * ROWS)
        B.counts[NODES] += 1
        if B.counts[NODES] & POLL == 0 and (T.stop[0] or is_late(B.deadline)):
            B.counts[FAILED] = 1
            return False, 0.0
        # The table's value may suffice; otherwise its best pair is tried first. The root has to find a pair.
        known = np.int64(NO_PAIR)
        e = find(S, B, row, T)
        if e >= 0:
            data, stored = B.table[e, DATA], B.proven[e, VALUE]
            known = np.int64((data >> PAIR_AT) & u64(NO_PAIR))
            bound = (data >> BOUND_AT) & LOW8
            beyond = (bound == AT_LEAST and stored >= upper) or (bound == AT_MOST and stored <= lower)
            if level > 0 and np.int64(data & LOW8) >= left and (bound == EXACT or beyond):
                return False, stored
        # The last turn of a line below the root ends at its move.
        if left == 1 and level > 0:
            best = last_move(S, B, level, upper, T)
            store(S, B, row, 1, AT_LEAST if best >= upper else EXACT, NO_PAIR, best, T)
            return False, best
        # A move may win at once; a player without a move has lost.
        moved, wins = try_moves(S, B, level, T)
        if wins >= 0:
            B.frames[level, BEST_PAIR] = wins << 8
            return False, 1.0
        if moved == 0:
            return False, -1.0
        # At the root a single turn is a move and a throw, without a search below.
        forget(B, level, moved, T)
        if left == 1:
            best, pair = last_turn(S, B, level, moved, upper, T)
            B.frames[level, BEST_PAIR] = pair
            store(S, B, row, 0, EXACT, pair, best, T)  # depth 0: this value does not count below the root
            return False, best
        # The frame of the open turn.
        B.frames[level, NEXT], B.frames[level, COUNT], B.frames[level, LEFT] = 0, 0, left
        B.frames[level, MOVED], B.frames[level, LISTED] = moved, 0
        B.frames[level, BEST_PAIR], B.frames[level, FIRST] = NO_PAIR, NO_PAIR
        B.worth[level, BEST] = -UNKNOWN
        B.worth[level, LOWER], B.worth[level, UPPER], B.worth[level, ENTRY_LOWER] = lower, upper, lower
        if known != NO_PAIR and moved >> (known >> 8) & 1:
            B.frames[level, FIRST] = known
            forget_landings(B, level, known >> 8, T)
        return True, 0.0

    @bind(room, inline=True)
    def go_on(S, B, level, given, child_value, T):
        """Updates a turn with the value of its open pair's child, if `given`, and goes on to the next pair.

        Returns the turns left for a child that is to be searched in `child_window`; 0 if the turn's value is complete in BEST.
        """
        # A pair that seems better than the best is searched again: to the full depth, then in the whole window.
        left = B.frames[level, LEFT]
        if given:
            pair, stage = B.frames[level, TRIED], B.frames[level, STAGE]
            worth = B.worth[level, REST] - B.worth[level, WEIGHT] * child_value
            again = -1
            if worth > B.worth[level, LOWER]:
                if stage == REDUCED:
                    again = SCOUT
                elif stage == SCOUT and worth < B.worth[level, UPPER]:
                    again = WHOLE
            if again >= 0:
                B.frames[level, STAGE] = again
                return left - 1
            if take(B, level, pair, worth):
                return 0
        # The next pair that needs a search.
        while True:
            pair = next_pair(S, B, level, T)
            if pair == NO_PAIR:
                return 0
            goes_on, worth = open_pair(S, B, level, pair, T)
            # A pair is decided if no value of the hit, -1 to 1, brings it into the window.
            if goes_on:
                rest, weight = B.worth[level, REST], B.worth[level, WEIGHT]
                if rest + weight <= B.worth[level, LOWER]:
                    goes_on, worth = False, rest + weight
                elif rest - weight >= B.worth[level, UPPER]:
                    goes_on, worth = False, rest - weight
            if not goes_on:
                if take(B, level, pair, worth):
                    return 0
                continue
            # The first pair is searched in the whole window, the others in a null window, late ones a turn less deep.
            k = B.frames[level, NEXT] - 1
            stage = SCOUT if k > 0 else WHOLE
            if k > 0 and k >= B.options.late_from and left >= REDUCED_FROM:
                stage = REDUCED
            B.frames[level, TRIED], B.frames[level, STAGE] = pair, stage
            return left - 2 if stage == REDUCED else left - 1

    @bind(room)
    def search(B, depth, T):
        S = B.S
        level, left, lower, upper = np.int64(0), np.int64(depth), -1.0, 1.0
        B.frames[0, BEST_PAIR] = NO_PAIR
        while True:
            # Opens the turn, or gets its value.
            opened, result = open_turn(S, B, level, left, lower, upper, T)
            if B.counts[FAILED]:
                return B.worth[0, BEST]
            given = not opened
            if given:
                level -= 1
            # Passes the value to the turn above, closes finished turns, and finds the next turn to open.
            while True:
                if level < 0:
                    return result
                left = go_on(S, B, level, given, result, T)
                if left:
                    lower, upper = child_window(B, level)
                    break
                result, given = close_turn(S, B, level, T), True
                level -= 1
            level += 1

    return search


# The search as Python calls it, and the player that uses it.


DEPTH = 3
"""Depth in turns if neither depth nor time is given."""
TABLE_MB = 4.0
LATE_FROM, KNOWN_FROM = 12, 3
GAIN = 0.3
NEVER = 1 << 30
CERTAIN = 1.0 - 1e-12
"""From here on a value means a won game."""
OPTIONS: dict[str, Callable[[str], Any]] = {
    "depth": int,
    "seconds": float,
    "width": int,
    "late_from": int,
    "known_from": int,
    "gain": float,
    "candidates": str,
    "table_mb": float,
    "clock": str,
}
"""Options of `TurnSearch` in a player's text, and the functions that read them."""


class TurnResult(NamedTuple):
    """The result of a search of whole turns."""

    actions: tuple[int, ...]
    """The actions to play: a move and the throw after it, a winning move, or at a throw the throw."""
    value: float
    """For the player who acts, -1 to 1."""
    depth: int
    """Depth in turns; from 2 on the last turn is searched only up to its move."""
    turns: int
    """Turns opened."""
    leaves: int
    """Positions valued."""


@cache
def compiled(value: Compiled, room: Path) -> Compiled:
    """Returns the compiled search for a leaf kind."""
    return make_turn_search(value, room)


AtLeastOne = Annotated[int | None, Range(1)]


class TurnSearch:
    """Searches whole turns, to a given depth or ever deeper until the time is up."""

    @ranged()
    def __init__(
        self,
        game: Game,
        evaluator: Evaluator,
        depth: Annotated[int | None, Range(1, MOST_TURNS, unit="turns")] = None,
        *,
        seconds: Annotated[float | None, Range(0, 1_000_000, above=True)] = None,
        width: AtLeastOne = None,
        late_from: AtLeastOne = LATE_FROM,
        known_from: AtLeastOne = KNOWN_FROM,
        gain: Annotated[float, Range(0, 2)] = GAIN,
        candidates: Annotated[str, OneOf(tuple(CANDIDATES))] = "near+traps",
        table_mb: Annotated[float, Range(0, 65536, above=True)] = TABLE_MB,
        clock: Annotated[str, OneOf(("wall", "cpu"))] = "wall",
    ) -> None:
        """Compiles the search, or finds it in the cache.

        Args:
            depth: number of turns to look ahead. With 2 or more, the last of them is a move without a throw. Default: 3
                without `seconds`, no limit with `seconds`.
            seconds: time limit of a turn, move and throw together; the first depth is always completed.
            width: maximum number of pairs (a move and a throw) that are searched at a turn. Default: no limit.
            late_from: the search tries the most promising pairs first. From the pair with this number on, it first searches one
                turn less deep; None: never.
            known_from: after a miss, the search takes the value of the position from the transposition table, if it is there.
                It does so only where at least this number of turns is left to search. None: never.
            gain: estimate of what the best throw adds to the value of a move. The search uses this estimate until
                it values the throws. With 2 it values all throws at once.
            candidates: the throws considered. "near": those at free cells beside the opponent. "near+traps": also those at traps
                beside the opponent, and one throw that changes nothing. "all": every throw.
            table_mb: size of the transposition table in MB.
            clock: how `seconds` are measured: "wall" time, or "cpu" time of the searching thread.

        Raises ValueError for options out of range, or an evaluator without a compiled value of decisions.
        """
        if evaluator.value is None or evaluator.stage != "decision":
            raise UserError(f"expected an evaluator with a compiled value of decisions, got {evaluator.name!r}")
        # The compiled search, and its memory.
        self.game, self.evaluator, self.seconds, self.clock = game, evaluator, seconds, clock
        self.depth = depth or (DEPTH if seconds is None else MOST_TURNS)
        self._T = game.tables(evaluator, candidates)
        self._search = ResolvedEntry(compiled(evaluator.value, evaluator.room or game.room))
        entries = 1 << max(1, int(table_mb * 1e6 / ENTRY_BYTES).bit_length() - 1)
        options = TurnOptions(
            width=width or NEVER,
            late_from=late_from or NEVER,
            known_from=known_from or NEVER,
            gain=gain,
            generation=np.uint64(0),
            recall=seconds is not None,
        )
        self._B = make_buffers(int(self._T.cells), entries, options)

    def __call__(self, state: State) -> TurnResult:
        """Searches a position; raises ValueError for another game's, a finished one, or one with a trap in the air."""
        if state.game != self.game or state.is_terminal or state.is_chance:
            raise UserError(f"expected a decision of {self.game!r}, got {state!r}")
        return stoppable(lambda: self._deepened(state), self._T.stop)

    def _deepened(self, state: State) -> TurnResult:
        """Searches one depth after the other."""
        now = time.thread_time if self.clock == "cpu" else time.perf_counter
        begun = now()
        B = self._B = self._B._replace(
            options=self._B.options._replace(generation=(self._B.options.generation + np.uint64(1)) & LOW32)
        )
        B.counts[:], B.deadline[:], self._T.stop[0] = 0, 0, 0
        result = None
        for depth in range(1, self.depth + 1):
            if depth == 2 and self.seconds is not None:
                B.deadline[:] = deadline_in(self.seconds - (now() - begun), self.clock)
            B.S[0] = state.row
            value = float(self._search(B, depth, self._T))
            pair = int(B.frames[0, BEST_PAIR])
            if pair == NO_PAIR and result is not None:
                break
            result = TurnResult(self._actions(state, pair), value, depth, int(B.counts[NODES]), int(B.counts[LEAVES]))
            if B.counts[FAILED] or abs(value) >= CERTAIN:
                break
        assert result is not None
        return result

    def stop(self) -> None:
        """Stops the running search soon; callable from any thread."""
        self._T.stop[0] = 1

    def _actions(self, state: State, pair: int) -> tuple[int, ...]:
        """Returns the actions of a pair at a position."""
        move, cell = pair >> 8, pair & 255
        if state.legal_actions[0] >= 8:
            return (8 + cell,)
        after = state.play(move)
        return (move,) if after.is_terminal else (move, 8 + cell)


class TurnPlayer(ByName):
    """Plays the move of the best pair, and then its throw without a further search."""

    def __init__(self, game: Game, evaluator: Evaluator, name: str, **options: Any) -> None:
        """Makes the search; see `TurnSearch`."""
        self.name, self.search = name, TurnSearch(game, evaluator, **options)
        self._planned: tuple[State, int] | None = None

    def choose(self, state: State) -> int:
        """Returns the id of a legal action at a decision."""
        if self._planned is not None and self._planned[0] == state:
            return self._planned[1]
        action, *throw = self.search(state).actions
        self._planned = (state.play(action), throw[0]) if throw else None
        return action
