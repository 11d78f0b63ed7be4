"""Depth-limited search over maximum, minimum and chance nodes: expectiminimax, with alpha-beta at decisions and Star1 and Star2 at
chance nodes.

Without windows the algorithm is:

    def value(row, depth):
        if row is terminal, or depth is 0 and row is at a stage of the evaluator: return the evaluator's number
        if chance acts:                  return sum(p * value(outcome, depth) for p, outcome in outcomes(row))
        best = max if player 0 acts else min
        return best(value(row after a, depth - cost of a) for a in actions(row))

Tests compare every search with that recursion. `make_search` does the same on an explicit stack, since compiled code pays at every
call for the tables that it hands over. It is compiled with pruning or without: without, no windows and no order of actions are
compiled, nor a transposition table unless a search has one.

Every value is player 0's. Depth counts decisions by the game's `action_cost`; chance is free. Where no decision is to go, the
evaluator is asked at the first of its stages, or at a decision where a line of play has none of them.
Sources: Knuth and Moore, "An analysis of alpha-beta pruning", Artificial Intelligence 6, 1975; Ballard, "The *-minimax search
procedure for trees containing chance nodes", Artificial Intelligence 21, 1983.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from leafwise.envs.core.compile.intrinsics import is_late
from leafwise.envs.core.compile.jit import bind, jit
from leafwise.envs.core.contract.evaluator import DECISION, EVALUATE, LeafSpec, finished_value, is_asked
from leafwise.envs.core.contract.rules import CHANCE, TERMINAL, Compiled, Rules, copy_row
from leafwise.envs.core.contract.stream import mix
from leafwise.search.table import (
    DATA,
    DEPTH_MASK,
    HIGH,
    LOW,
    MOVE_AT,
    MOVE_MASK,
    find_entry,
    second_hash,
    store_entry,
)

ZERO, ONE = np.uint64(0), np.uint64(1)


# The memory of a search: what it counts, scratch, options.

NODES, LEAVES, HITS, FAILED, CUTS = 0, 1, 2, 3, 4
"""What `Buffers.counts` counts: decisions searched, leaves valued, table hits; why the search failed, if it did; and decisions
that a limit made leaves."""
COUNTS = 5

STOPPED, NO_ROWS = 1, 2

POLL, POLL_EXPENSIVE = 63, 0
"""The stop byte and the clock are read at every decision whose number has these bits clear: with expensive leaves at each, as some
of them take longer than the clock may be late."""


# The stack: a frame for each open node.

NEXT, END, DEPTH, ROW, FREE, KIND = 0, 1, 2, 3, 4, 5
"""Columns of `Buffers.frames`: next child and end of children (rows of outcomes, places of actions), depth left, the node's row,
the first free row, and the player who acts (AVERAGE: chance)."""
HASH, CHECK, CUTS_BEFORE = 6, 7, 8
"""The two hashes of a decision that goes to the table (CHECK 0: it does not), and `counts[CUTS]` when it was opened: where that has
grown since, the value is not that of the full depth."""
MOVE = 9
"""Best action of a decision so far; row of the first outcome of a chance node with pruning."""
ALL, ORDERED, SCORED, PHASE, PROBED = 10, 11, 12, 13, 14
"""With pruning: number of legal actions, how many have a score, whether the next is the one with the highest, what the open child
is for, and whether one action alone is searched, for a bound."""
COLUMNS = 15

AVERAGE = np.uint64(2)
SEARCHING, ORDERING, PROBING = np.uint64(0), np.uint64(1), np.uint64(2)
"""PHASE: what the open child of a node is for: its value, its one-ply value, a bound of it."""

BEST, REACH = 0, 1
"""Columns of `Buffers.worth`: best value of a decision or sum of a chance node so far, probability of reaching the node."""
LOWER, UPPER, ENTRY_LOWER, ENTRY_UPPER, OPEN_LOW, OPEN_HIGH = 2, 3, 4, 5, 6, 7
"""With pruning: the window, the window at the start, and two bounds. At a chance node they are the least and the most that the
outcomes still open can add to BEST, at a decision what the table knows."""
WORTHS = 8


@jit(inline=True)
def open_frame(B, f, first, end, left, row, free, kind, reach, best):
    """Opens node f of the stack."""
    B.frames[f, NEXT] = first
    B.frames[f, END] = end
    B.frames[f, DEPTH] = np.uint64(left)
    B.frames[f, ROW] = row
    B.frames[f, FREE] = free
    B.frames[f, KIND] = kind
    B.frames[f, CHECK] = ZERO
    B.worth[f, BEST] = best
    B.worth[f, REACH] = reach


@jit(inline=True)
def set_window(B, f, lower, upper, low, high):
    """Sets the window of node f, and the least and the most that its open outcomes add, or that it is worth."""
    B.worth[f, LOWER], B.worth[f, UPPER] = lower, upper
    B.worth[f, ENTRY_LOWER], B.worth[f, ENTRY_UPPER] = lower, upper
    B.worth[f, OPEN_LOW], B.worth[f, OPEN_HIGH] = low, high


# What a leaf is worth: the evaluator's number, or the outcome of a finished game.

HIGH_BITS = np.uint64(20)
"""The bits of a hash from here on say where a leaf is remembered."""


class LeafValues(NamedTuple):
    """Compiled functions of a game and a leaf kind; S [rows, width], i a row."""

    is_leaf: Compiled
    """`(S, i, T)` -> whether the evaluator is asked at a row below the last decision."""
    leaf_value: Compiled
    """`(S, i, T)` -> the value of a leaf, finished or not."""
    terminal_value: Compiled
    """`(S, B, i, T)` -> the value of a finished game."""
    seen_value: Compiled
    """`(S, B, i, T)` -> `leaf_value`, remembered where there is a memory for it."""
    value_no_inline: Compiled
    """`seen_value`, not inlined: where few leaves are met, one copy of the evaluator's code is enough."""


def make_leaf_values(rules: Rules, players: int, value: Compiled, spec: LeafSpec, room: Path) -> LeafValues:
    """Compiles what leaves are worth by an evaluator's `value`, to be inlined."""
    current_player, stage, returns = rules.current_player, rules.stage, rules.returns
    asked, to_go, rule = spec.stages | DECISION, spec.to_go, spec.rule
    win, draw, loss = spec.win, spec.draw, spec.loss
    may_be_over, may_be_other = players == 2 or rule != EVALUATE, players == 2

    @bind(room, inline=True)
    def is_leaf(S, i, T):
        return is_asked(asked, stage(S, i, T))

    @bind(room, inline=True)
    def outcome_value(S, i, T):
        if rule == EVALUATE:
            return value(S, i, T) + returns(S, i, T) if to_go else value(S, i, T)
        return finished_value(rule, win, draw, loss, returns(S, i, T))

    @bind(room, inline=True)
    def leaf_value(S, i, T):
        player = 0
        if may_be_over:
            player = current_player(S, i, T)
            if player == TERMINAL:
                return outcome_value(S, i, T)
        worth = value(S, i, T)
        if may_be_other and player == 1:
            worth = -worth
        return worth + returns(S, i, T) if to_go else worth

    @bind(room, inline=True)
    def seen_value(S, B, i, T):
        """Rows that differ are told apart by 64 bits."""
        n = B.leaves.shape[0]
        h, e = ZERO, ZERO
        if n > 1:
            h = second_hash(S, i)
            e = (h >> HIGH_BITS) & np.uint64(n - 1)
            if B.leaves[e, 0] == h:
                return B.leaf_values[e, 1]
        worth = leaf_value(S, i, T)
        if n > 1:
            B.leaves[e, 0] = h
            B.leaf_values[e, 1] = worth
        return worth

    @bind(room)
    def value_no_inline(S, B, i, T):
        return seen_value(S, B, i, T)

    @bind(room, inline=True)
    def terminal_value(S, B, i, T):
        return value_no_inline(S, B, i, T) if rule == EVALUATE else outcome_value(S, i, T)

    return LeafValues(is_leaf, leaf_value, terminal_value, seen_value, value_no_inline)


LEAF, GIVEN_UP = -2, -3
"""What `arrive` answers beside a player or CHANCE: the row has a value; the search is stopped or out of rows."""


# Rows that need no frame of their own.


def make_last_step(
    rules: Rules,
    leaves: LeafValues,
    prefetch: Compiled | None,
    room: Path,
    *,
    prunes: bool,
    inline: bool,
) -> Compiled:
    """Compiles `last_step`, which values most rows with no decision to go."""
    current_player, chance_outcomes, is_leaf = rules.current_player, rules.chance_outcomes, leaves.is_leaf
    seen_value, leaf_value = leaves.seen_value, leaves.leaf_value
    most, has_chance = np.uint64(rules.chance.max_outcomes), rules.chance.max_outcomes > 0
    has_prefetch = prefetch is not None

    @bind(room, inline=inline)
    def last_step(S, B, row, top, lower, upper, T):
        """Returns whether a row, with no decision to go, is a leaf or has only leaves one chance stage on; and its value.

        With pruning it is a bound if it lies outside the window and leaves have bounds.
        """
        first, n = row, ONE
        if not is_leaf(S, row, T):
            if not has_chance:
                return False, 0.0
            if current_player(S, row, T) != CHANCE or top + most > np.uint64(S.shape[0]):
                return False, 0.0
            first, n = top, np.uint64(chance_outcomes(S, row, B.P, top, T))
            if has_prefetch:
                for o in range(first, first + n):
                    prefetch(S, o, T)  # type: ignore[misc]
        # One loop for the row itself and for its outcomes: the evaluator's code is copied once
        before, total, rest = B.counts[LEAVES], 0.0, 1.0
        for o in range(first, first + n):
            if not is_leaf(S, o, T):
                if not prunes:
                    B.counts[LEAVES] = before
                return False, 0.0
            B.counts[LEAVES] += 1
            worth = seen_value(S, B, o, T) if prunes else leaf_value(S, o, T)
            if first == row:
                return True, worth
            total += B.P[o] * worth
            # Star1: the outcomes to come cannot bring the mean into the window
            if prunes and is_bounded(B) and o + ONE < first + n:
                rest -= B.P[o]
                if total + rest * B.options.least >= upper:
                    return True, total + rest * B.options.least
                if total + rest * B.options.most <= lower:
                    return True, total + rest * B.options.most
        return True, total

    return last_step


# Chance nodes with pruning. Where leaves have bounds, the search leaves an average whose open outcomes cannot bring it into the
# window (Star1), if need be after it has probed one action of each outcome (Star2).


@jit(inline=True)
def is_bounded(B):
    """Whether leaves have bounds."""
    return B.options.least > -np.inf and B.options.most < np.inf


@jit(inline=True)
def is_probed(B, f):
    """Whether the outcomes of chance node f are probed before they are searched."""
    return is_bounded(B) and np.int64(B.frames[f, DEPTH]) >= B.options.probe_from


@jit(inline=True)
def take_outcome(B, f, value, source):
    """Takes the value of the outcome searched last; returns whether the average is cut, with a bound of it as its value.

    A probed value is only a bound: an upper one where `source`, who decided there, is player 1, exact where it is LEAF.
    """
    least, most = B.options.least, B.options.most
    phase, o = B.frames[f, PHASE], B.frames[f, NEXT] - ONE
    best, low, high = B.worth[f, BEST], B.worth[f, OPEN_LOW], B.worth[f, OPEN_HIGH]
    # What is known of the open outcomes: a probe narrows it, a value takes it away
    if phase == PROBING:
        B.between[o, 0] = value if source == LEAF or source == 0 else least
        B.between[o, 1] = value if source == LEAF or source == 1 else most
        low += B.P[o] * (B.between[o, 0] - least)
        high += B.P[o] * (B.between[o, 1] - most)
    else:
        best += B.P[o] * value
        if is_bounded(B):
            low -= B.P[o] * (B.between[o, 0] if is_probed(B, f) else least)
            high -= B.P[o] * (B.between[o, 1] if is_probed(B, f) else most)
    # Whether the average lies outside the window, whatever they are
    cut = False
    if is_bounded(B) and (o + ONE < B.frames[f, END] or phase == PROBING):
        above = best + low >= B.worth[f, UPPER]
        cut = above or best + high <= B.worth[f, LOWER]
        if cut:
            best += low if above else high
    B.worth[f, BEST], B.worth[f, OPEN_LOW], B.worth[f, OPEN_HIGH] = best, low, high
    return cut


@jit(inline=True)
def next_outcome_in_window(B, f, given, value, source):
    """Takes the value of the outcome searched last, if given.

    Returns whether an outcome is to be searched, its row and its window.
    """
    while True:
        if given and take_outcome(B, f, value, source):
            return False, ZERO, 0.0, 0.0
        if B.frames[f, PHASE] == PROBING and B.frames[f, NEXT] == B.frames[f, END]:
            B.frames[f, PHASE], B.frames[f, NEXT] = SEARCHING, B.frames[f, MOVE]
        row = B.frames[f, NEXT]
        if row == B.frames[f, END]:
            return False, row, 0.0, 0.0
        B.frames[f, NEXT] = row + ONE
        given = B.frames[f, PHASE] == SEARCHING and is_probed(B, f) and B.between[row, 0] >= B.between[row, 1]
        if given:
            value = B.between[row, 0]  # probing has found it
            continue
        # The window in which its value decides whether the average lies in its own
        if not is_bounded(B):
            return True, row, -np.inf, np.inf
        least, most, p = B.options.least, B.options.most, B.P[row]
        if B.frames[f, PHASE] == SEARCHING and is_probed(B, f):
            least, most = B.between[row, 0], B.between[row, 1]
        best, low, high = B.worth[f, BEST], B.worth[f, OPEN_LOW], B.worth[f, OPEN_HIGH]
        lower = (B.worth[f, LOWER] - best - (high - p * most)) / p
        upper = (B.worth[f, UPPER] - best - (low - p * least)) / p
        return True, row, lower, upper


# Decisions: the best action, and with pruning the order of actions, the window, and what is proven of a value.


@jit(inline=True)
def improve(B, f, value):
    """Takes the value of the action searched last, if it is the best so far of decision f."""
    best, minimises = B.worth[f, BEST], B.frames[f, KIND] == ONE
    if value < best if minimises else value > best:
        B.worth[f, BEST] = value
        B.frames[f, MOVE] = np.uint64(B.A[f, B.frames[f, NEXT] - ONE])


@jit(inline=True)
def narrow(B, f):
    """Narrows the window of decision f by its best action; returns whether it is cut, and remembers what cut it."""
    if not B.options.prune:
        return False
    best = B.worth[f, BEST]
    if B.frames[f, KIND] == ONE:
        B.worth[f, UPPER] = min(B.worth[f, UPPER], best)
    else:
        B.worth[f, LOWER] = max(B.worth[f, LOWER], best)
    cut = B.worth[f, LOWER] >= B.worth[f, UPPER]
    if cut and B.options.killers:
        a, left = B.A[f, B.frames[f, NEXT] - ONE], np.int64(B.frames[f, DEPTH])
        if B.killers[left, 0] != a:
            B.killers[left, 1] = B.killers[left, 0]
            B.killers[left, 0] = a
    return cut


@jit(inline=True)
def begin_order(B, f, n, left, move, probing):
    """Sets in which order the n actions of decision f are searched, and how many of them."""
    B.frames[f, ALL], B.frames[f, PROBED], B.frames[f, PHASE] = n, np.uint64(probing), SEARCHING
    # The table's action comes first; but which actions a width keeps is for their one-ply values alone to say
    first = ZERO
    limited = left > 1 and np.uint64(B.options.width) < n
    for k in range(n):
        if B.A[f, k] == move and not limited:
            B.A[f, k] = B.A[f, 0]
            B.A[f, 0] = move
            B.scores[f, 0] = np.inf
            first = ONE
    if limited:
        B.frames[f, END] = np.uint64(B.options.width)
    # The others by one-ply values, or killers before the rest
    by_value = limited or (left >= B.options.values_from and n > ONE)
    B.frames[f, ORDERED] = first if by_value else n
    B.frames[f, SCORED] = np.uint64(by_value or B.options.killers)
    if B.options.killers and not by_value:
        for k in range(first, n):
            B.scores[f, k] = 2.0 if B.A[f, k] == B.killers[left, 0] else 1.0 if B.A[f, k] == B.killers[left, 1] else 0.0
    if probing:
        B.frames[f, END] = ONE


@jit(inline=True)
def bring_best(B, f, k):
    """Swaps the action with the highest score, among equals the one with the least id, to place k."""
    best = k
    for j in range(k + ONE, B.frames[f, ALL]):
        gain = B.scores[f, j] - B.scores[f, best]
        if gain > 0.0 or (gain == 0.0 and B.A[f, j] < B.A[f, best]):
            best = j
    B.A[f, k], B.A[f, best] = B.A[f, best], B.A[f, k]
    B.scores[f, k], B.scores[f, best] = B.scores[f, best], B.scores[f, k]


@jit(inline=True)
def proven_bounds(B, f, best):
    """Returns the least and the most that decision f, complete or cut, is worth, by its best value and what the table knew."""
    low, high = B.worth[f, OPEN_LOW], B.worth[f, OPEN_HIGH]
    if B.frames[f, PROBED]:  # one action of several
        if B.frames[f, KIND] == ONE:
            return low, min(high, best)
        return max(low, best), high
    if best >= B.worth[f, ENTRY_UPPER]:
        return best, high
    if best <= B.worth[f, ENTRY_LOWER]:
        return low, best
    return best, best


# The search below a row.


def make_search(
    rules: Rules,
    transform: Compiled,
    leaves: LeafValues,
    last_step: Compiled,
    last_decisions: Any,
    room: Path,
    *,
    prunes: bool,
    remembers: bool,
    no_inline: bool,
) -> Compiled:
    """Compiles the search below a row, with pruning or without, for a game and a leaf kind; `remembers`: with a table.

    `last_decisions` values what chance leads to with one decision to go at once, as `siblings` does (None: with pruning, or not in
    this game). `no_inline`: most leaves are met elsewhere, and one copy of the evaluator's code is enough.
    """
    legal_actions = rules.candidates or rules.legal_actions  # a search may consider fewer
    apply_action, action_cost, chance_outcomes = rules.apply_action, rules.action_cost, rules.chance_outcomes
    current_player, key, together = rules.current_player, rules.key, last_decisions is not None
    is_leaf, terminal_value, value_no_inline = leaves.is_leaf, leaves.terminal_value, leaves.value_no_inline
    value = value_no_inline if no_inline else leaves.seen_value
    most, has_chance = np.uint64(rules.chance.max_outcomes), rules.chance.max_outcomes > 0

    @bind(room, inline=True)
    def arrive(S, B, f, row, top, left, reach, T):
        """Returns who acts at a row (LEAF: nobody) and the value of a leaf.

        Decisions less probable than the cutoff are leaves, and are counted. GIVEN_UP: the stop byte is set, the time is up, or
        no rows are left. Rows from `top` on are free; `left` decisions are to go, `reach` is the probability of the row.
        """
        # Finished games, and rows with no decision to go at a stage of the evaluator
        player = current_player(S, row, T)
        if player == TERMINAL:
            B.counts[LEAVES] += 1
            return LEAF, terminal_value(S, B, row, T)
        cut = left > 0 and player != CHANCE and reach < B.options.cutoff
        if cut or (left == 0 and is_leaf(S, row, T)):
            B.counts[LEAVES] += 1
            B.counts[CUTS] += np.int64(cut)
            return LEAF, value(S, B, row, T)
        # A node needs a frame, and rows for its children
        if f >= B.frames.shape[0] or top + ONE + most > np.uint64(S.shape[0]):
            B.counts[FAILED] = NO_ROWS
            return GIVEN_UP, 0.0
        if has_chance and player == CHANCE:
            return CHANCE, 0.0
        # Decisions count, and ask every now and then whether to go on
        B.counts[NODES] += 1
        if B.counts[NODES] & B.deadline[2] == 0 and (T.stop[0] or is_late(B.deadline)):
            B.counts[FAILED] = STOPPED
        if B.counts[FAILED]:
            return GIVEN_UP, 0.0
        return player, 0.0

    @bind(room, inline=True)
    def settle_rare(S, B, f, T):
        """Values the rare outcomes of chance node f by the leaf and strikes them out; returns their sum and probability.

        A chance stage that follows another stays; where every outcome is rare, all count, and the probability is 1.
        """
        first, end = B.frames[f, NEXT], B.frames[f, END]
        kept, total, share = first, 0.0, 0.0
        for o in range(first, end):
            if B.P[o] < B.options.rare and (is_leaf(S, o, T) or current_player(S, o, T) == TERMINAL):
                B.counts[LEAVES] += 1
                total += B.P[o] * value_no_inline(S, B, o, T)
                share += B.P[o]
            else:
                for w in range(S.shape[1]):
                    S[kept, w] = S[o, w]
                B.P[kept] = B.P[o]
                kept += ONE
        B.frames[f, END] = kept
        return total, 1.0 if kept == first else share

    @bind(room, ignores_leaf=True)
    def write_canonical(S, i, j, symmetries, T):
        """Writes the least of all rows symmetric to row i to row j, whose next row is scratch."""
        copy_row(S, i, j)
        for k in range(1, symmetries):
            transform(S, i, k, j + ONE, T)
            w = 0
            while w < S.shape[1] - 1 and S[j + ONE, w] == S[j, w]:
                w += 1
            if S[j + ONE, w] < S[j, w]:
                copy_row(S, j + ONE, j)

    @bind(room, inline=True, ignores_leaf=True)
    def look_up(S, B, row, top, left, T):
        """Returns the two hashes of a row, its best action (MOVE_MASK: unknown), the least and the most it is worth."""
        entry = row
        if prunes and B.options.symmetries > 1:
            entry = top
            write_canonical(S, row, top, B.options.symmetries, T)
        h, check = mix(key(S, entry, T)), second_hash(S, entry)
        e = find_entry(S, B, row, h, check)
        move, low, high = MOVE_MASK, -np.inf, np.inf
        if e >= 0:
            if B.options.table_move:
                move = (B.table[e, DATA] >> MOVE_AT) & MOVE_MASK
            if np.int64(B.table[e, DATA] & DEPTH_MASK) == left:
                low, high = B.proven[e, LOW], B.proven[e, HIGH]
        return h, check, move, low, high

    @bind(room, inline=True)
    def open_chance(S, B, f, row, top, left, reach, lower, upper, probing, T):
        """Opens a chance node as frame f; returns whether its outcomes are to be searched, whether all is known, and its value."""
        if prunes and probing:  # nothing can be said of an average by one action
            return False, False, 0.0
        end = top + np.uint64(chance_outcomes(S, row, B.P, top, T))
        open_frame(B, f, top, end, left, row, end, AVERAGE, reach, 0.0)
        if not prunes:
            return True, True, 0.0
        # Rare outcomes have the leaf's value; the others are in play for all their bounds allow
        B.frames[f, PHASE] = PROBING if is_probed(B, f) else SEARCHING
        B.frames[f, MOVE] = top
        share = 0.0
        if left > 0 and B.options.rare > 0.0:
            B.worth[f, BEST], share = settle_rare(S, B, f, T)
        set_window(B, f, lower, upper, (1.0 - share) * B.options.least, (1.0 - share) * B.options.most)
        return share < 1.0, True, B.worth[f, BEST]

    @bind(room, inline=True, ignores_leaf=True)
    def open_decision(S, B, f, player, row, top, left, reach, lower, upper, probing, T):
        """Opens a decision as frame f; returns whether it did, and otherwise its value, which the table knows.

        `probing`: one action is searched, for a bound.
        """
        # One action of player 1 gives an upper bound, one of player 0 a lower one
        if prunes and probing and player == 1:
            upper = np.inf
        elif prunes and probing:
            lower = -np.inf
        # What the table knows may be enough
        h, check, move, low, high = ZERO, ZERO, MOVE_MASK, -np.inf, np.inf
        if remembers and B.table.shape[0] > 1 and left >= B.options.table_from:
            h, check, move, low, high = look_up(S, B, row, top, left, T)
            beyond = low >= upper or low >= high
            if beyond or high <= lower:
                B.counts[HITS] += 1
                return False, low if beyond else high
        # The frame
        n = np.uint64(legal_actions(S, row, B.A[f], T))
        open_frame(B, f, ZERO, n, left, row, top, np.uint64(player), reach, np.inf if player == 1 else -np.inf)
        if remembers:
            B.frames[f, HASH], B.frames[f, CHECK], B.frames[f, MOVE] = h, check, MOVE_MASK
            B.frames[f, CUTS_BEFORE] = np.uint64(B.counts[CUTS])
        if prunes:
            begin_order(B, f, n, left, np.int64(move), probing)
            set_window(B, f, lower, upper, low, high)
        return True, 0.0

    @bind(room, inline=True)
    def next_outcome(B, f, given, value, source):
        """Takes for chance node f the value of the outcome searched last, if given.

        Returns whether an outcome is to be searched, its row, and the window.
        """
        if prunes:
            return next_outcome_in_window(B, f, given, value, source)
        row = B.frames[f, NEXT]
        if given:
            B.worth[f, BEST] += B.P[row - ONE] * value
        B.frames[f, NEXT] = row + ONE
        return row < B.frames[f, END], row, -np.inf, np.inf

    @bind(room, inline=True, ignores_leaf=True)
    def next_action(S, B, f, given, value, T):
        """Takes for decision f the value of the action tried last, if given, and acts again, at the first free row.

        Returns whether there was an action to be searched, the depth left below, and the window.
        """
        # The value of the action tried last
        if given and prunes and B.frames[f, PHASE] == ORDERING:
            B.scores[f, B.frames[f, ORDERED]] = -value if B.frames[f, KIND] == ONE else value
            B.frames[f, ORDERED] += ONE
        elif given:
            improve(B, f, value)
            if prunes and narrow(B, f):
                return False, np.int64(0), 0.0, 0.0
        # The next action: for its value, or for its score
        k, scoring = B.frames[f, NEXT], False
        if k == B.frames[f, END]:
            return False, np.int64(0), 0.0, 0.0
        if prunes:
            ordered, phase = B.frames[f, ORDERED], B.frames[f, PHASE]
            scoring = (phase == ORDERING or k >= ordered) and ordered < B.frames[f, ALL]
            B.frames[f, PHASE] = ORDERING if scoring else SEARCHING
        if scoring:
            k = B.frames[f, ORDERED]
        else:
            if prunes and B.frames[f, SCORED]:
                bring_best(B, f, k)
            B.frames[f, NEXT] = k + ONE
        here, a = B.frames[f, ROW], B.A[f, k]
        apply_action(S, here, a, B.frames[f, FREE], T)
        if scoring:
            return True, np.int64(0), -np.inf, np.inf
        left = np.int64(B.frames[f, DEPTH]) - action_cost(S, here, a, T)
        if prunes:
            return True, left, B.worth[f, LOWER], B.worth[f, UPPER]
        return True, left, -np.inf, np.inf

    @bind(room, inline=True)
    def close(S, B, f):
        """Returns the value of frame f, complete or cut; the table gets what is proven of it."""
        best, check = B.worth[f, BEST], B.frames[f, CHECK]
        if remembers and check != ZERO and B.frames[f, CUTS_BEFORE] == np.uint64(B.counts[CUTS]):
            low, high = best, best
            if prunes:
                low, high = proven_bounds(B, f, best)
            h, left, move = B.frames[f, HASH], B.frames[f, DEPTH], B.frames[f, MOVE]
            store_entry(S, B, B.frames[f, ROW], h, check, left, move, low, high)
        return best

    @bind(room)
    def search(S, B, i, top, depth, lower, upper, T):
        """Returns player 0's value of row i of S [rows, width], `depth` decisions deep; rows from `top` on are free.

        With pruning it is a bound beyond `lower` or `upper` if it does not lie between them.
        """
        open_nodes = np.int64(0)  # typed, as `probing`: what is handed a literal first is compiled twice
        row, left, reach, probing = i, np.int64(depth), 1.0, np.bool_(False)
        while True:
            # Arrive at a row: it has a value, or is opened as a node
            f = open_nodes
            player, value = arrive(S, B, f, row, top, left, reach, T)
            if player == GIVEN_UP:
                return 0.0
            source, opened = np.int64(player), False  # player at the node that gave the value; LEAF: it is exact
            if has_chance and player == CHANCE:
                opened, known, value = open_chance(S, B, f, row, top, left, reach, lower, upper, probing, T)
                if known:
                    source = np.int64(LEAF)
            elif player != LEAF:
                opened, value = open_decision(S, B, f, player, row, top, left, reach, lower, upper, probing, T)
            if opened:
                open_nodes += 1
            # Give the value to the node above, close nodes that are complete or cut, and find the next row to arrive at
            given, found = not opened, False
            while not found:
                if open_nodes == 0:
                    return value
                f = open_nodes - 1
                if has_chance and B.frames[f, KIND] == AVERAGE:
                    found, row, lower, upper = next_outcome(B, f, given, value, source)
                    top, left = B.frames[f, FREE], np.int64(B.frames[f, DEPTH])
                else:
                    found, left, lower, upper = next_action(S, B, f, given, value, T)
                    row = B.frames[f, FREE]
                    top = row + ONE
                # No more rows there, or rows that need no frame of their own
                given = not found
                if not found:
                    value = close(S, B, f)
                    source = np.int64(B.frames[f, KIND])
                    open_nodes -= 1
                elif left == 0:
                    given, value = last_step(S, B, row, top, lower, upper, T)
                    found = not given
                elif together and left == 1 and B.frames[f, KIND] == AVERAGE and B.options.cutoff == 0.0:
                    given, value = last_decisions(S, B, row, top, T)
                    found = not given
            # The probability that the row is reached with; the cost of a decision is off
            reach = B.worth[f, REACH]
            if B.frames[f, KIND] == AVERAGE:
                reach *= B.P[row]
            elif B.options.node_cost > 0.0:
                reach = (reach - B.options.node_cost) / np.float64(B.frames[f, END])
            if prunes and has_chance:
                probing = B.frames[f, KIND] == AVERAGE and B.frames[f, PHASE] == PROBING

    return search


# The actions of the position that is asked about, one after another.

ROOT, TOP, ABOVE = np.uint64(0), np.uint64(1), np.uint64(2)
"""Rows: the position, the one after an action, the first that the search below may use."""


def make_root(rules: Rules, search: Compiled, room: Path) -> Compiled:
    """Compiles `root` for a game and its search, with pruning or without."""
    considered = rules.candidates or rules.legal_actions
    current_player, apply_action, action_cost = rules.current_player, rules.apply_action, rules.action_cost

    @bind(room)
    def root(S, B, actions, n, values, is_bound, depth, all_values, rounding, best, first, T):
        """Writes the values of the first n actions of row ROOT, for the player who acts, to `values`; returns how many until the
        search was stopped. With n = 0 it writes all that are considered to `actions` first.

        Without `all_values` an action after the first is searched with a window above the best: `is_bound` says whether its
        value is only an upper bound. `best` is the value of the best action before these, `first` its id (-1: there is none).
        A mean's bound may pass the window by its last bits, `rounding` relative to the greater of 1 and its size; 0: the
        values are exact, and the first of equals is to be.
        """
        player = current_player(S, ROOT, T)
        if n == 0:
            n = considered(S, ROOT, actions, T)
        for k in range(n):
            a = actions[k]
            apply_action(S, ROOT, a, TOP, T)
            # What the action has to be worth to be the best
            known, slack = -np.inf, 0.0
            if not all_values and first >= 0:
                known = best
                slack = rounding * max(1.0, abs(best))
                if rounding == 0.0 and a < first:
                    known = np.nextafter(best, -np.inf)
            lower, upper = known, np.inf
            if player == 1:
                lower, upper = -np.inf, -known
            value = search(S, B, TOP, ABOVE, depth - action_cost(S, ROOT, a, T), lower, upper, T)
            if B.counts[FAILED]:
                return k
            if player == 1:
                value = -value
            values[k] = value
            is_bound[k] = known > -np.inf and value <= known + slack
            if not is_bound[k] and (value > best or (value == best and a < first)):
                best, first = value, a
        return n

    return root
