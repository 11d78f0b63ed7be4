"""Alpha-beta over whole turns: a pair of a move and a throw is one action, whose landing is chance.

A pair's hit is searched on; its misses count as what the evaluator says of the boards that they leave, those not beside the other
player as the board unchanged. So a pair has one child, in an exact window: it is worth `rest + p * child`. The last turn of a
line is looked at up to its move alone: what an evaluator says of a board after the best of many throws is too good to be true.
Pairs are tried in the order of their value at a glance, the first in the whole window, the others in an empty one, late ones a
turn less deep, and again where they prove better. The throws after a move are valued when the move, by the board after it and
what a throw is thought to add, is the best that is left: a turn that is cut before needs a fraction of the values. Values are
those of who acts at the turn. An explicit stack takes the place of recursion.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from leafwise.envs.core.compile.intrinsics import is_late
from leafwise.envs.core.compile.jit import bind, jit
from leafwise.envs.core.contract.bits import count_bits
from leafwise.envs.core.contract.rules import Compiled
from leafwise.envs.core.contract.stream import u64
from leafwise.envs.trap.rules import (
    DRAW,
    END,
    MOVE,
    ONE,
    apply_action,
    blocked,
    candidates,
    cell_of,
    land,
    legal_actions,
    phase_of,
    turn_of,
)
from leafwise.envs.trap.turns import memory as M
from leafwise.envs.trap.turns.glance import UNKNOWN, Glance, make_glance
from leafwise.envs.trap.turns.windows import REDUCED, SCOUT, WHOLE, child_window, take

REDUCED_FROM = 3
"""Turns left from which on late pairs are searched less deep first."""


# What is written to a turn's level: rows after its moves, and that nothing is known of them yet.


@jit(inline=True)
def try_moves(S, B, level, T):
    """Writes the rows after each move; returns a bit for each, and the first that wins at once, or -1.

    At a throw the row itself stands as that of move 0.
    """
    row, first = u64(level * M.ROWS), u64(level * M.ROWS + 1)
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
    """Makes nothing known of the moves at a level."""
    B.frames[level, M.VALUED] = 0
    for move in range(M.MOVES):
        if moved >> move & 1:
            B.landed[level, move, T.cells] = UNKNOWN


@jit(inline=True)
def forget_landings(B, level, move, T):
    """Makes nothing known of the landings after a move, the first time that one is about to be asked for."""
    if not B.frames[level, M.VALUED] >> move & 1:
        B.frames[level, M.VALUED] |= 1 << move
        for cell in range(T.cells):
            B.landed[level, move, cell] = UNKNOWN


# The last turn of a line: values of the evaluator alone.


class LastTurns(NamedTuple):
    """Compiled functions for a turn with nothing searched below."""

    last_turn: Compiled
    """`(S, B, level, moved, upper, T)` -> the best value and pair of a move and a throw."""
    last_move: Compiled
    """`(S, B, level, upper, T)` -> the best value of a move."""


def make_last_turns(value: Compiled, glance: Glance, room: Path) -> LastTurns:
    """Compiles both for an evaluator's `value`, to be inlined."""
    landed, at_a_glance = glance.landed, glance.at_a_glance

    @bind(room, inline=True)
    def last_turn(S, B, level, moved, upper, T):
        """Returns the best value and pair with one turn to go, or one of at least `upper`."""
        # The moves, sorted by what the board after them is worth with no throw at all
        n = 0
        for move in range(M.MOVES):
            if moved >> move & 1:
                worth = landed(S, B, level, move, T.cells, T)
                k = n
                while k > 0 and B.scores[level, k - 1] < worth:
                    B.scores[level, k], B.pairs[level, k] = B.scores[level, k - 1], B.pairs[level, k - 1]
                    k -= 1
                B.scores[level, k], B.pairs[level, k] = worth, move
                n += 1
        # The throws after each of them
        best, pair = -UNKNOWN, M.NO_PAIR
        for k in range(n):
            move = B.pairs[level, k]
            forget_landings(B, level, move, T)
            after = u64(level * M.ROWS + 1 + move)
            for t in range(candidates(S, after, B.actions[level], T)):
                cell = B.actions[level, t] - 8
                total = at_a_glance(S, B, level, move, cell, T)
                if total > best:
                    best, pair = total, move << 8 | cell
                    if best >= upper:
                        return best, pair
        return best, pair

    @bind(room, inline=True)
    def last_move(S, B, level, upper, T):
        """Returns the best that a move leads to by what the evaluator says of the throw, or a value of at least `upper`.

        Moves next to more free cells are tried first.
        """
        # The moves, sorted by the free cells around where they lead
        row, after = u64(level * M.ROWS), u64(level * M.ROWS + 1)
        low, high = blocked(S, row, T)
        cell, n = cell_of(S[row, 1], turn_of(S[row, 1]) & ONE), legal_actions(S, row, B.actions[level], T)
        for k in range(n):
            a = B.actions[level, k]
            to = T.step[cell, a]
            free = np.float64(count_bits(T.near[to, 0] & ~low) + count_bits(T.near[to, 1] & ~high))
            j = k
            while j > 0 and B.scores[level, j - 1] < free:
                B.scores[level, j], B.pairs[level, j] = B.scores[level, j - 1], B.pairs[level, j - 1]
                j -= 1
            B.scores[level, j], B.pairs[level, j] = free, a
        # Each by what the evaluator says of the throw to come
        best = -1.0
        for k in range(n):
            apply_action(S, row, B.pairs[level, k], after, T)
            if S[after, 1] >> END:
                return 1.0
            B.counts[M.LEAVES] += 1
            best = max(best, value(S, after, T))
            if best >= upper:
                return best
        return best

    return LastTurns(last_turn, last_move)


# The pairs of an open turn, in the order in which they are tried.


class Pairs(NamedTuple):
    """Compiled functions for the pairs of the turn that is open at a level."""

    next_pair: Compiled
    """`(S, B, level, T)` -> the pair to be tried next."""
    open_pair: Compiled
    """`(S, B, level, pair, T)` -> whether its hit is to be searched, and else its value."""


def make_pairs(glance: Glance, room: Path) -> Pairs:
    """Compiles both, to be inlined."""
    landed, misses, at_a_glance = glance.landed, glance.misses, glance.at_a_glance

    @bind(room, inline=True)
    def list_moves(S, B, level, T):
        """Lists the moves of an open turn behind the pair tried first, each at what it and a throw may be worth.

        One that leaves the other player at most one free neighbour comes first: a throw may win.
        """
        moved, n = B.frames[level, M.MOVED], B.frames[level, M.NEXT]
        for move in range(M.MOVES):
            if moved >> move & 1:
                after = u64(level * M.ROWS + 1 + move)
                word = S[after, 1]
                other = cell_of(word, ONE - (turn_of(word) & ONE))
                low, high = blocked(S, after, T)
                free = count_bits(T.near[other, 0] & ~low) + count_bits(T.near[other, 1] & ~high)
                worth = landed(S, B, level, move, T.cells, T) + B.options.gain
                B.pairs[level, n], B.scores[level, n] = move << 8 | M.ANY_THROW, UNKNOWN if free <= ONE else worth
                n += 1
        B.frames[level, M.COUNT] = n

    @bind(room, inline=True)
    def list_throws(S, B, level, at, T):
        """Puts the pairs of the move that is listed at a place there instead, with their values at a glance."""
        # The last of the list takes the move's place
        move, n = B.pairs[level, at] >> 8, B.frames[level, M.COUNT] - 1
        B.pairs[level, at], B.scores[level, at] = B.pairs[level, n], B.scores[level, n]
        # Its throws go to the end, but for the one of the pair that was tried first
        forget_landings(B, level, move, T)
        after = u64(level * M.ROWS + 1 + move)
        for t in range(candidates(S, after, B.actions[level], T)):
            cell = B.actions[level, t] - 8
            pair = move << 8 | cell
            if pair != B.frames[level, M.FIRST]:
                B.pairs[level, n], B.scores[level, n] = pair, at_a_glance(S, B, level, move, cell, T)
                n += 1
        B.frames[level, M.COUNT] = n

    @bind(room, inline=True)
    def next_pair(S, B, level, T):
        """Returns the pair to be tried next, the best of those that are left; NO_PAIR if there is none.

        The best of an earlier search is tried before the others are valued; throws are valued when their move is the best left.
        """
        k, first = B.frames[level, M.NEXT], B.frames[level, M.FIRST]
        if k == 0 and first != M.NO_PAIR:
            B.frames[level, M.NEXT], B.pairs[level, 0] = 1, first
            return first
        # The moves stand for all their throws
        if not B.frames[level, M.LISTED]:
            list_moves(S, B, level, T)
            B.frames[level, M.LISTED] = 1
        # The best of the list goes to place k: a pair is the next, a move gives way to its throws
        while k < B.frames[level, M.COUNT] and k < B.options.width:
            best = k
            for j in range(k + 1, B.frames[level, M.COUNT]):
                if B.scores[level, j] > B.scores[level, best]:
                    best = j
            pair, score = B.pairs[level, best], B.scores[level, best]
            if pair & 255 == M.ANY_THROW:
                list_throws(S, B, level, best, T)
                continue
            B.pairs[level, best], B.scores[level, best] = B.pairs[level, k], B.scores[level, k]
            B.pairs[level, k], B.scores[level, k] = pair, score
            B.frames[level, M.NEXT] = k + 1
            return pair
        return M.NO_PAIR

    @bind(room, inline=True)
    def open_pair(S, B, level, pair, T):
        """Lands the hit of a pair at the first row of the next level; returns whether the game goes on, and else its value.

        What its misses are worth, and how much the hit counts, is in REST and WEIGHT.
        """
        # What the misses add is known without a search
        move, cell = pair >> 8, pair & 255
        after, below = u64(level * M.ROWS + 1 + move), u64((level + 1) * M.ROWS)
        word = S[after, 1]
        p = T.accuracy[cell_of(word, turn_of(word) & ONE), cell]
        known = B.frames[level, M.LEFT] >= B.options.known_from
        rest = misses(S, B, level, move, cell, p, known, T) if p < 1.0 else 0.0
        B.worth[level, M.REST], B.worth[level, M.WEIGHT] = rest, p
        # The hit, which may end the game
        land(S, after, cell, below, T)
        end = S[below, 1] >> END
        if end:
            thrower = turn_of(S[after, 1]) & ONE
            return False, rest + p * (0.0 if end == DRAW else 1.0 if end == thrower + ONE else -1.0)
        return True, 0.0

    return Pairs(next_pair, open_pair)


# The search.


@jit(inline=True)
def close_turn(S, B, level, T):
    """Returns the value of an open turn, and stores it."""
    best = B.worth[level, M.BEST]
    bound = M.EXACT
    if best >= B.worth[level, M.UPPER]:
        bound = M.AT_LEAST
    elif best <= B.worth[level, M.ENTRY_LOWER]:
        bound = M.AT_MOST
    M.store(S, B, u64(level * M.ROWS), B.frames[level, M.LEFT], bound, B.frames[level, M.BEST_PAIR], best, T)
    return best


def make_turn_search(value: Compiled, room: Path) -> Compiled:
    """Compiles the search for an evaluator's `value`.

    `(B, depth, T)` -> the value of row 0 of `B.S`, for who acts, so many turns deep; its best pair is in the root's frame.
    """
    glance = make_glance(value, room)
    last_turn, last_move = make_last_turns(value, glance, room)
    next_pair, open_pair = make_pairs(glance, room)

    @bind(room, inline=True)
    def open_turn(S, B, level, left, lower, upper, T):
        """Opens the turn at the first row of a level; returns whether it did, and else its value."""
        # A turn is counted, and asks every now and then whether to go on
        row = u64(level * M.ROWS)
        B.counts[M.NODES] += 1
        if B.counts[M.NODES] & M.POLL == 0 and (T.stop[0] or is_late(B.deadline)):
            B.counts[M.FAILED] = 1
            return False, 0.0
        # What the table knows may be enough; else its best pair is tried first. The root has to find a pair
        known = np.int64(M.NO_PAIR)
        e = M.find(S, B, row, T)
        if e >= 0:
            data, told = B.table[e, M.DATA], B.proven[e, M.VALUE]
            known = np.int64((data >> M.PAIR_AT) & u64(M.NO_PAIR))
            bound = (data >> M.BOUND_AT) & M.LOW8
            beyond = (bound == M.AT_LEAST and told >= upper) or (bound == M.AT_MOST and told <= lower)
            if level > 0 and np.int64(data & M.LOW8) >= left and (bound == M.EXACT or beyond):
                return False, told
        # The last turn of a line below the root ends at its move
        if left == 1 and level > 0:
            best = last_move(S, B, level, upper, T)
            M.store(S, B, row, 1, M.AT_LEAST if best >= upper else M.EXACT, M.NO_PAIR, best, T)
            return False, best
        # A move may win at once, and no move at all has lost
        moved, wins = try_moves(S, B, level, T)
        if wins >= 0:
            B.frames[level, M.BEST_PAIR] = wins << 8
            return False, 1.0
        if moved == 0:
            return False, -1.0
        # At the root a single turn is a move and a throw, with nothing searched below
        forget(B, level, moved, T)
        if left == 1:
            best, pair = last_turn(S, B, level, moved, upper, T)
            B.frames[level, M.BEST_PAIR] = pair
            M.store(S, B, row, 0, M.EXACT, pair, best, T)  # no value of a turn that is opened below
            return False, best
        # The frame
        B.frames[level, M.NEXT], B.frames[level, M.COUNT], B.frames[level, M.LEFT] = 0, 0, left
        B.frames[level, M.MOVED], B.frames[level, M.LISTED] = moved, 0
        B.frames[level, M.BEST_PAIR], B.frames[level, M.FIRST] = M.NO_PAIR, M.NO_PAIR
        B.worth[level, M.BEST] = -UNKNOWN
        B.worth[level, M.LOWER], B.worth[level, M.UPPER], B.worth[level, M.ENTRY_LOWER] = lower, upper, lower
        if known != M.NO_PAIR and moved >> (known >> 8) & 1:
            B.frames[level, M.FIRST] = known
            forget_landings(B, level, known >> 8, T)
        return True, 0.0

    @bind(room, inline=True)
    def go_on(S, B, level, given, told, T):
        """Takes the value of the open pair's child, if given, and goes on at a turn.

        Returns whether a child is to be searched, the turns left below, and the window; else the turn's value is in BEST.
        """
        # A pair that seems better than the best is searched again: to the full depth, then in the whole window
        left = B.frames[level, M.LEFT]
        if given:
            pair, stage = B.frames[level, M.TRIED], B.frames[level, M.STAGE]
            worth = B.worth[level, M.REST] - B.worth[level, M.WEIGHT] * told
            better = worth > B.worth[level, M.LOWER]
            if better and stage == REDUCED:
                stage = SCOUT
            elif better and stage == SCOUT and worth < B.worth[level, M.UPPER]:
                stage = WHOLE
            else:
                if take(B, level, pair, worth):
                    return False, 0, 0.0, 0.0
                stage = -1
            if stage >= 0:
                B.frames[level, M.STAGE] = stage
                lower, upper = child_window(B, level, stage)
                return True, left - 1, lower, upper
        # The next pair whose hit is worth a search
        while True:
            pair = next_pair(S, B, level, T)
            if pair == M.NO_PAIR:
                return False, 0, 0.0, 0.0
            goes_on, worth = open_pair(S, B, level, pair, T)
            # A pair that no value of the hit, -1 to 1, brings into the window is decided
            if goes_on:
                rest, weight = B.worth[level, M.REST], B.worth[level, M.WEIGHT]
                if rest + weight <= B.worth[level, M.LOWER]:
                    goes_on, worth = False, rest + weight
                elif rest - weight >= B.worth[level, M.UPPER]:
                    goes_on, worth = False, rest - weight
            if not goes_on:
                if take(B, level, pair, worth):
                    return False, 0, 0.0, 0.0
                continue
            # The first pair in the whole window, the others in an empty one, late ones a turn less deep
            k = B.frames[level, M.NEXT] - 1
            stage, below = WHOLE, left - 1
            if k > 0:
                stage = SCOUT
                if k >= B.options.late_from and left >= REDUCED_FROM:
                    stage, below = REDUCED, left - 2
            B.frames[level, M.TRIED], B.frames[level, M.STAGE] = pair, stage
            lower, upper = child_window(B, level, stage)
            return True, below, lower, upper

    @bind(room)
    def search(B, depth, T):
        S = B.S
        level, left, lower, upper = np.int64(0), np.int64(depth), -1.0, 1.0
        B.frames[0, M.BEST_PAIR] = M.NO_PAIR
        while True:
            # Open the turn, or have its value
            opened, told = open_turn(S, B, level, left, lower, upper, T)
            if B.counts[M.FAILED]:
                return B.worth[0, M.BEST]
            given = not opened
            if given:
                level -= 1
            # Give the value to the turn above, close turns that are done, and find the next to open
            while True:
                if level < 0:
                    return told
                found, left, lower, upper = go_on(S, B, level, given, told, T)
                if found:
                    break
                told, given = close_turn(S, B, level, T), True
                level -= 1
            level += 1

    return search
