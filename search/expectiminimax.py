"""Depth-limited search over maximum, minimum and chance nodes: expectiminimax, with alpha-beta at decisions and Star1 and Star2 at
chance nodes.

Without windows the algorithm is:

    def value(row, depth):
        if row is terminal, or depth is 0 and row is at a stage of the evaluator: return the evaluator's number
        if chance acts:                  return sum(p * value(outcome, depth) for p, outcome in outcomes(row))
        best = max if player 0 acts else min
        return best(value(row after a, depth - cost of a) for a in actions(row))

Tests compare every search with that recursion. `make_search` does the same on an explicit stack, because in compiled code every
call pays for the tables that it passes on. It is compiled with pruning or without. Without, the code has no windows and no move
ordering, and a transposition table only if the search has one.

Every value is player 0's. Depth counts decisions by the game's `action_cost`; chance is free. Once no decision is left, the
evaluator is asked at the first of its stages, or at a decision if the line of play has none of them.
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


# The memory of a search: counts, scratch, options.

NODES, LEAVES, HITS, FAILED, CUTS = 0, 1, 2, 3, 4
"""Columns of `SearchBuffers.counts`: decisions searched, leaves valued, table hits, why the search failed (0: it did not), and
decisions that a limit turned into leaves."""
COUNTS = 5

STOPPED, NO_ROWS = 1, 2

POLL, POLL_ALWAYS = 63, 0
"""The search reads the stop byte and the clock at every decision whose number has these bits clear. With expensive evaluators it
reads them at every decision."""


# The stack: a frame for each open node.

NEXT, END, DEPTH, ROW, FREE, KIND = 0, 1, 2, 3, 4, 5
"""Columns of `SearchBuffers.frames`: next child and end of the children (rows of outcomes, or indices of actions), depth left, the
node's row, the first free row, and the player who acts (AVERAGE: chance)."""
HASH, CHECK, CUTS_BEFORE = 6, 7, 8
"""The two hashes of a decision for the table (CHECK 0: it is not stored), and `counts[CUTS]` when it was opened. If that count has
grown since, the value is not one of the full depth."""
MOVE = 9
"""At a decision its best action so far; at a chance node with pruning the row of its first outcome."""
ALL, ORDERED, SCORED, PHASE, PROBED = 10, 11, 12, 13, 14
"""With pruning: number of legal actions; number of those with a score; whether the next action is the one with the highest score;
what the open child is for; whether only one action is searched, for a bound."""
COLUMNS = 15

AVERAGE = np.uint64(2)
SEARCHING, ORDERING, PROBING = np.uint64(0), np.uint64(1), np.uint64(2)
"""Values of PHASE: the open child is searched for its value, for its one-ply value, or for a bound."""

BEST, REACH = 0, 1
"""Columns of `SearchBuffers.worth`: best value of a decision or sum of a chance node so far, probability of reaching the node."""
LOWER, UPPER, ENTRY_LOWER, ENTRY_UPPER, OPEN_LOW, OPEN_HIGH = 2, 3, 4, 5, 6, 7
"""With pruning: the window, the window at the start, and two bounds. At a chance node the bounds limit what the outcomes still open
add to BEST; at a decision they come from the table."""
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
    """Sets the window of node f and its two bounds, OPEN_LOW and OPEN_HIGH."""
    B.worth[f, LOWER], B.worth[f, UPPER] = lower, upper
    B.worth[f, ENTRY_LOWER], B.worth[f, ENTRY_UPPER] = lower, upper
    B.worth[f, OPEN_LOW], B.worth[f, OPEN_HIGH] = low, high


# Values of leaves: the evaluator's number, or the outcome of a finished game.

HIGH_BITS = np.uint64(20)
"""The bits of a hash from here on give the place of a leaf in the cache of leaves."""


class LeafValues(NamedTuple):
    """Compiled functions of a game and a leaf kind; S [rows, width], i a row."""

    is_leaf: Compiled
    """`(S, i, T)` -> whether row i, with no decision left, is at a stage of the evaluator."""
    leaf_value: Compiled
    """`(S, i, T)` -> the value of row i as a leaf; it may be a finished game."""
    terminal_value: Compiled
    """`(S, B, i, T)` -> the value of a finished game."""
    cached_value: Compiled
    """`(S, B, i, T)` -> `leaf_value`, from the cache of leaves if the search has one."""
    value_no_inline: Compiled
    """`cached_value`, not inlined: one copy of the evaluator's code is enough where a search values few leaves."""


def make_leaf_values(rules: Rules, players: int, value: Compiled, spec: LeafSpec, room: Path) -> LeafValues:
    """Compiles the values of leaves by an evaluator's inlined `value`."""
    current_player, stage, returns = rules.current_player, rules.stage, rules.returns
    stages, to_go, rule = spec.stages | DECISION, spec.to_go, spec.rule
    win, draw, loss = spec.win, spec.draw, spec.loss
    may_be_terminal, may_be_player_1 = players == 2 or rule != EVALUATE, players == 2

    @bind(room, inline=True)
    def is_leaf(S, i, T):
        return is_asked(stages, stage(S, i, T))

    @bind(room, inline=True)
    def outcome_value(S, i, T):
        if rule == EVALUATE:
            return value(S, i, T) + returns(S, i, T) if to_go else value(S, i, T)
        return finished_value(rule, win, draw, loss, returns(S, i, T))

    @bind(room, inline=True)
    def leaf_value(S, i, T):
        player = 0
        if may_be_terminal:
            player = current_player(S, i, T)
            if player == TERMINAL:
                return outcome_value(S, i, T)
        worth = value(S, i, T)
        if may_be_player_1 and player == 1:
            worth = -worth
        return worth + returns(S, i, T) if to_go else worth

    @bind(room, inline=True)
    def cached_value(S, B, i, T):
        """Compares rows by 64 bits of a hash."""
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
        return cached_value(S, B, i, T)

    @bind(room, inline=True)
    def terminal_value(S, B, i, T):
        return value_no_inline(S, B, i, T) if rule == EVALUATE else outcome_value(S, i, T)

    return LeafValues(is_leaf, leaf_value, terminal_value, cached_value, value_no_inline)


LEAF, GIVEN_UP = -2, -3
"""What `arrive` returns besides a player or CHANCE: the row has a value; the search is stopped or out of rows."""


# Rows that are valued without a frame.


def make_last_step(
    rules: Rules,
    leaves: LeafValues,
    prefetch: Compiled | None,
    room: Path,
    *,
    prunes: bool,
    inline: bool,
) -> Compiled:
    """Compiles `last_step`, which values most rows with no decision left."""
    current_player, chance_outcomes, is_leaf = rules.current_player, rules.chance_outcomes, leaves.is_leaf
    cached_value, leaf_value = leaves.cached_value, leaves.leaf_value
    max_outcomes, has_chance = np.uint64(rules.chance.max_outcomes), rules.chance.max_outcomes > 0
    has_prefetch = prefetch is not None

    @bind(room, inline=inline)
    def last_step(S, B, row, top, lower, upper, T):
        """Values a row with no decision left, if it is a leaf or a chance node whose outcomes are all leaves.

        Returns whether it did, and the value. With pruning the value may be a bound if it lies outside the window.
        """
        first, n = row, ONE
        if not is_leaf(S, row, T):
            if not has_chance:
                return False, 0.0
            if current_player(S, row, T) != CHANCE or top + max_outcomes > np.uint64(S.shape[0]):
                return False, 0.0
            first, n = top, np.uint64(chance_outcomes(S, row, B.P, top, T))
            if has_prefetch:
                for o in range(first, first + n):
                    prefetch(S, o, T)  # type: ignore[misc]
        # One loop serves the row itself and its outcomes, so that the evaluator's code is inlined once
        leaves_before, total, rest = B.counts[LEAVES], 0.0, 1.0
        for o in range(first, first + n):
            if not is_leaf(S, o, T):
                if not prunes:
                    B.counts[LEAVES] = leaves_before
                return False, 0.0
            B.counts[LEAVES] += 1
            worth = cached_value(S, B, o, T) if prunes else leaf_value(S, o, T)
            if first == row:
                return True, worth
            total += B.P[o] * worth
            # Star1: the remaining outcomes cannot bring the mean into the window
            if prunes and is_bounded(B) and o + ONE < first + n:
                rest -= B.P[o]
                if total + rest * B.options.least >= upper:
                    return True, total + rest * B.options.least
                if total + rest * B.options.most <= lower:
                    return True, total + rest * B.options.most
        return True, total

    return last_step


# Chance nodes with pruning. If leaves have bounds, the search leaves a chance node whose open outcomes cannot bring the mean into
# the window (Star1). Star2 first probes one action of each outcome.


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
    """Adds the value of the outcome searched last; returns whether the chance node is cut, with a bound as its value.

    A probed value is a bound: an upper one if `source`, the player who decided there, is 1; exact if it is LEAF.
    """
    least, most = B.options.least, B.options.most
    phase, o = B.frames[f, PHASE], B.frames[f, NEXT] - ONE
    best, low, high = B.worth[f, BEST], B.worth[f, OPEN_LOW], B.worth[f, OPEN_HIGH]
    # The bounds of the open outcomes: a probe narrows them, a value removes its outcome from them
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
    # The cut: the mean lies outside the window, whatever the open outcomes are worth
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
    """Adds the value of the outcome searched last, if `given`.

    Returns whether there is an outcome to search, its row and its window.
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
            value = B.between[row, 0]  # the probe found it exactly
            continue
        # The outcome's window: outside it, the mean lies outside the window of the node
        if not is_bounded(B):
            return True, row, -np.inf, np.inf
        least, most, p = B.options.least, B.options.most, B.P[row]
        if B.frames[f, PHASE] == SEARCHING and is_probed(B, f):
            least, most = B.between[row, 0], B.between[row, 1]
        best, low, high = B.worth[f, BEST], B.worth[f, OPEN_LOW], B.worth[f, OPEN_HIGH]
        lower = (B.worth[f, LOWER] - best - (high - p * most)) / p
        upper = (B.worth[f, UPPER] - best - (low - p * least)) / p
        return True, row, lower, upper


# Decisions: the best action, and with pruning the order of actions, the window, and the proven bounds.


@jit(inline=True)
def improve(B, f, value):
    """Makes the action searched last the best of decision f if its value is better."""
    best, minimises = B.worth[f, BEST], B.frames[f, KIND] == ONE
    if value < best if minimises else value > best:
        B.worth[f, BEST] = value
        B.frames[f, MOVE] = np.uint64(B.A[f, B.frames[f, NEXT] - ONE])


@jit(inline=True)
def narrow(B, f):
    """Narrows the window of decision f by its best value; returns whether it is cut, and then notes the action that cut it."""
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
    """Sets the order in which the n actions of decision f are searched, and how many of them are."""
    B.frames[f, ALL], B.frames[f, PROBED], B.frames[f, PHASE] = n, np.uint64(probing), SEARCHING
    # The table's action comes first, unless one-ply values choose which actions a width keeps
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
    # The others follow by one-ply values, or killers before the rest
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
    """Swaps the action with the highest score to place k; of equals the one with the lowest id."""
    best = k
    for j in range(k + ONE, B.frames[f, ALL]):
        gain = B.scores[f, j] - B.scores[f, best]
        if gain > 0.0 or (gain == 0.0 and B.A[f, j] < B.A[f, best]):
            best = j
    B.A[f, k], B.A[f, best] = B.A[f, best], B.A[f, k]
    B.scores[f, k], B.scores[f, best] = B.scores[f, best], B.scores[f, k]


@jit(inline=True)
def proven_bounds(B, f, best):
    """Returns the proven bounds of decision f, complete or cut, by its best value and the table's bounds."""
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
    """Compiles the search below a row for a game and a kind of evaluator.

    `prunes`: with pruning. `remembers`: with a table. `last_decisions` values all outcomes of a chance node with one decision left
    at once (None: with pruning, or not in this game). `no_inline`: the evaluator's code is called, not inlined, as most leaves are
    valued elsewhere.
    """
    legal_actions = rules.candidates or rules.legal_actions  # a search may consider fewer
    apply_action, action_cost, chance_outcomes = rules.apply_action, rules.action_cost, rules.chance_outcomes
    current_player, key, last_two_at_once = rules.current_player, rules.key, last_decisions is not None
    is_leaf, terminal_value, value_no_inline = leaves.is_leaf, leaves.terminal_value, leaves.value_no_inline
    value = value_no_inline if no_inline else leaves.cached_value
    max_outcomes, has_chance = np.uint64(rules.chance.max_outcomes), rules.chance.max_outcomes > 0

    @bind(room, inline=True)
    def arrive(S, B, f, row, top, left, reach, T):
        """Returns who acts at a row, or LEAF and the row's value, or GIVEN_UP.

        Decisions less probable than the cutoff are leaves, and are counted. GIVEN_UP: the stop byte is set, the time is up, or
        no rows are left. Rows from `top` on are free; `left` decisions are left, `reach` is the probability of the row.
        """
        # Finished games, and rows with no decision left at a stage of the evaluator
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
        if f >= B.frames.shape[0] or top + ONE + max_outcomes > np.uint64(S.shape[0]):
            B.counts[FAILED] = NO_ROWS
            return GIVEN_UP, 0.0
        if has_chance and player == CHANCE:
            return CHANCE, 0.0
        # Decisions are counted; every few of them the stop byte and the clock are read
        B.counts[NODES] += 1
        if B.counts[NODES] & B.deadline[2] == 0 and (T.stop[0] or is_late(B.deadline)):
            B.counts[FAILED] = STOPPED
        if B.counts[FAILED]:
            return GIVEN_UP, 0.0
        return player, 0.0

    @bind(room, inline=True)
    def value_rare_outcomes(S, B, f, T):
        """Values the rare outcomes of chance node f as leaves and removes them; returns their weighted sum and probability.

        An outcome that is a chance node itself stays. If every outcome is rare, the probability is 1.
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
        """Writes the smallest of all rows symmetric to row i to row j; row j + 1 is scratch."""
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
        """Returns the two hashes of a row, and from the table its best action (MOVE_MASK: unknown) and its bounds."""
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
        """Opens a chance node as frame f; returns whether it is open, whether its value is exact so far, and that value."""
        if prunes and probing:  # one action gives no bound of a mean
            return False, False, 0.0
        end = top + np.uint64(chance_outcomes(S, row, B.P, top, T))
        open_frame(B, f, top, end, left, row, end, AVERAGE, reach, 0.0)
        if not prunes:
            return True, True, 0.0
        # Rare outcomes are valued as leaves; for the others the bounds are those of any leaf
        B.frames[f, PHASE] = PROBING if is_probed(B, f) else SEARCHING
        B.frames[f, MOVE] = top
        share = 0.0
        if left > 0 and B.options.rare > 0.0:
            B.worth[f, BEST], share = value_rare_outcomes(S, B, f, T)
        set_window(B, f, lower, upper, (1.0 - share) * B.options.least, (1.0 - share) * B.options.most)
        return share < 1.0, True, B.worth[f, BEST]

    @bind(room, inline=True, ignores_leaf=True)
    def open_decision(S, B, f, player, row, top, left, reach, lower, upper, probing, T):
        """Opens a decision as frame f; returns whether it did, and otherwise its value from the table.

        `probing`: only one action is searched, for a bound.
        """
        # One action of player 1 gives an upper bound, one of player 0 a lower one
        if prunes and probing and player == 1:
            upper = np.inf
        elif prunes and probing:
            lower = -np.inf
        # The table's bounds may be enough
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
        """Adds the value of the outcome searched last to chance node f, if `given`.

        Returns whether there is an outcome to search, its row, and its window.
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
        """Takes the value of the last action of decision f, if `given`, and plays the next action into the first free row.

        Returns whether there was a next action, the depth left below it, and its window.
        """
        # The value of the last action
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
        """Returns the value of frame f, complete or cut, and stores its proven bounds in the table."""
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
        open_nodes = np.int64(0)  # typed like `probing`: a variable that begins as a literal is compiled twice
        row, left, reach, probing = i, np.int64(depth), 1.0, np.bool_(False)
        while True:
            # Arrive at a row: it has a value, or it is opened as a node
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
            # Pass the value to the node above, close nodes that are complete or cut, and find the next row
            given, has_next = not opened, False
            while not has_next:
                if open_nodes == 0:
                    return value
                f = open_nodes - 1
                if has_chance and B.frames[f, KIND] == AVERAGE:
                    has_next, row, lower, upper = next_outcome(B, f, given, value, source)
                    top, left = B.frames[f, FREE], np.int64(B.frames[f, DEPTH])
                else:
                    has_next, left, lower, upper = next_action(S, B, f, given, value, T)
                    row = B.frames[f, FREE]
                    top = row + ONE
                # A node without more rows is closed; some rows are valued without a frame of their own
                given = not has_next
                if not has_next:
                    value = close(S, B, f)
                    source = np.int64(B.frames[f, KIND])
                    open_nodes -= 1
                elif left == 0:
                    given, value = last_step(S, B, row, top, lower, upper, T)
                    has_next = not given
                elif last_two_at_once and left == 1 and B.frames[f, KIND] == AVERAGE and B.options.cutoff == 0.0:
                    given, value = last_decisions(S, B, row, top, T)
                    has_next = not given
            # The probability of reaching the row, less the cost of its decision
            reach = B.worth[f, REACH]
            if B.frames[f, KIND] == AVERAGE:
                reach *= B.P[row]
            elif B.options.node_cost > 0.0:
                reach = (reach - B.options.node_cost) / np.float64(B.frames[f, END])
            if prunes and has_chance:
                probing = B.frames[f, KIND] == AVERAGE and B.frames[f, PHASE] == PROBING

    return search


# The root: its actions one after another.

ROOT, TOP, ABOVE = np.uint64(0), np.uint64(1), np.uint64(2)
"""Rows: the root, the position after an action, and the first row that the search below may use."""


def make_root(rules: Rules, search: Compiled, room: Path) -> Compiled:
    """Compiles `root` for a game and its search, with pruning or without."""
    considered = rules.candidates or rules.legal_actions
    current_player, apply_action, action_cost = rules.current_player, rules.apply_action, rules.action_cost

    @bind(room)
    def root(S, B, actions, n, values, is_bound, depth, all_values, rounding, best, first, T):
        """Writes the values of the first n actions of row ROOT to `values`, for the player who acts.

        Returns how many were searched before a stop. With n = 0 it first writes all actions considered to `actions`.

        Without `all_values` an action after the first is searched with a window above the best, and `is_bound` says whether its
        value is only an upper bound. `best` is the value of the best action so far, `first` its id (-1: there is none).
        `rounding` is the error that a bound of a mean may have, relative to the larger of 1 and its size. With 0 values are exact,
        and the action with the lowest id among equals is the best.
        """
        player = current_player(S, ROOT, T)
        if n == 0:
            n = considered(S, ROOT, actions, T)
        for k in range(n):
            a = actions[k]
            apply_action(S, ROOT, a, TOP, T)
            # The value that the action must exceed to be the best
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
