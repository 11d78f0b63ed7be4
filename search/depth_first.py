"""The depth-first search over max, min and chance nodes.

Every value is player 0's. Depth counts decisions by the game's `action_cost`; chance is free; a leaf is asked at the
evaluator's stage, or at a decision where a line of play has no such stage.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from leafwise.envs.core.compile.jit import bind, jit
from leafwise.envs.core.contract.rules import CHANCE, Compiled, Rules
from leafwise.envs.core.contract.stream import mix
from leafwise.search import frames as F
from leafwise.search.frames import ONE, ZERO, open_frame, reach_below
from leafwise.search.leaves import LeafValues
from leafwise.search.siblings import make_last_decisions
from leafwise.search.table import DATA, DEPTH_MASK, LOW, find_entry, second_hash, store_entry


@jit(inline=True)
def close(S, B, f):
    """Returns the value of frame f, all of whose children have theirs, and tells the table."""
    value, check = B.worth[f, F.BEST], B.frames[f, F.CHECK]
    if check != ZERO and B.frames[f, F.CUTS_BEFORE] == np.uint64(B.counts[F.CUTS]):
        row, h, left = B.frames[f, F.ROW], B.frames[f, F.HASH], B.frames[f, F.DEPTH]
        store_entry(S, B, row, h, check, left, ZERO, value, value)
    return value


def make_mean_of_leaves(
    rules: Rules, leaves: LeafValues, fetch: Compiled, name: str, room: Path, *, apart: bool
) -> Compiled:
    """Compiles `mean_of_leaves`, to be inlined unless `apart`: where siblings are valued otherwise; `fetch` is the evaluator's."""
    chance_outcomes, is_leaf, leaf_value = rules.chance_outcomes, leaves.is_leaf, leaves.leaf_value

    @bind(name, room, inline=not apart)
    def mean_of_leaves(S, B, row, T):
        """Returns whether the outcomes of chance at a row are all leaves, and if so their mean: no frame is needed."""
        first = row + ONE
        end = first + np.uint64(chance_outcomes(S, row, B.P, first, T))
        for o in range(first, end):
            fetch(S, o, T)
        total, leaves_only = 0.0, True
        for o in range(first, end):
            if is_leaf(S, o, T):
                total += B.P[o] * leaf_value(S, o, T)
            else:
                leaves_only = False
        if leaves_only:
            B.counts[F.LEAVES] += np.int64(end - first)
        return leaves_only, total

    return mean_of_leaves


def make_depth_first(
    rules: Rules,
    leaves: LeafValues,
    leaf_stage: int,
    arrive: Compiled,
    fetch: Compiled,
    siblings: Compiled | None,
    sizes: tuple[int, int],
    names: tuple[str, str],
    room: Path,
) -> Compiled:
    """Compiles `depth_first` for a game and a leaf kind; `fetch` and `siblings` are the evaluator's, `sizes` the most actions
    and outcomes, `names` tell what is bound with the leaf, and without."""
    name, any_leaf = names
    legal_actions = rules.candidates or rules.legal_actions  # a search may consider fewer
    current_player, stage = rules.current_player, rules.stage
    apply_action, action_cost, key = rules.apply_action, rules.action_cost, rules.key
    is_leaf, value_apart = leaves.is_leaf, leaves.value_apart
    together = siblings is not None and rules.afterstates is not None
    mean_of_leaves = make_mean_of_leaves(rules, leaves, fetch, name, room, apart=together)
    last_decisions = make_last_decisions(rules, *sizes, siblings, mean_of_leaves, name, room)

    @bind(any_leaf, room, inline=True, without_leaf=True)
    def open_decision(S, B, f, player, row, top, left, reach, T):
        """Opens a decision as frame f; returns whether it did, and otherwise its value, which the table knows."""
        h, check = ZERO, ZERO
        if B.table.shape[0] > 1 and left >= B.options.table_from:
            h, check = mix(key(S, row, T)), second_hash(S, row)
            e = find_entry(S, B, row, h, check)
            if e >= 0 and np.int64(B.table[e, DATA] & DEPTH_MASK) == left:
                B.counts[F.HITS] += 1
                return False, B.proven[e, LOW]
        n = np.uint64(legal_actions(S, row, B.A[f], T))
        open_frame(B, f, ZERO, n, left, row, top, np.uint64(player), reach)
        B.frames[f, F.HASH], B.frames[f, F.CHECK] = h, check
        B.frames[f, F.CUTS_BEFORE] = np.uint64(B.counts[F.CUTS])
        return True, 0.0

    @bind(name, room, inline=True)
    def next_outcome(S, B, f, given, value, T):
        """Adds to the mean of frame f the value of the outcome searched last, if given, and those that need no frame.

        Returns whether an outcome is to be searched, its row, and the depth left.
        """
        row, end, left = B.frames[f, F.NEXT], B.frames[f, F.END], np.int64(B.frames[f, F.DEPTH])
        total = B.worth[f, F.BEST]
        if given:
            total += B.P[row - ONE] * value
        free, known = B.frames[f, F.FREE], True
        while row < end and known:
            known, worth = left == 0 and is_leaf(S, row, T), 0.0
            if known:
                B.counts[F.LEAVES] += 1
                worth = value_apart(S, B, row, T)
            elif left == 1 and B.options.cutoff == 0.0:
                known, worth = last_decisions(S, B, row, free, T)
            if known:
                total += B.P[row] * worth
                row += ONE
        B.frames[f, F.NEXT] = row + ONE
        B.worth[f, F.BEST] = total
        return row < end, row, left

    @bind(name, room, inline=True)
    def next_action(S, B, f, given, value, T):
        """Takes for frame f the value of the action searched last, if given, and of those that lead to leaves at once.

        Returns whether the row after an action is to be searched, that row, and the depth left below.
        """
        k, end, here, row = B.frames[f, F.NEXT], B.frames[f, F.END], B.frames[f, F.ROW], B.frames[f, F.FREE]
        kind, left, best = B.frames[f, F.KIND], np.int64(B.frames[f, F.DEPTH]), B.worth[f, F.BEST]
        below, found = left, False
        while not found:
            if given and (k == ONE or (value < best if kind == ONE else value > best)):
                best = value
            if k == end:
                break
            a = B.A[f, k]
            k += ONE
            apply_action(S, here, a, row, T)
            below = left - action_cost(S, here, a, T)
            found = True
            if below == 0 and current_player(S, row, T) == CHANCE and stage(S, row, T) != leaf_stage:
                given, value = mean_of_leaves(S, B, row, T)  # the common last step
                found = not given
        B.frames[f, F.NEXT] = k
        B.worth[f, F.BEST] = best
        return found, row, below

    @bind(name, room)
    def depth_first(S, B, i, top, depth, T):
        """Returns player 0's value of row i of S [rows, width], `depth` decisions deep; rows from `top` on are free."""
        open_nodes = np.int64(0)  # typed: a literal 0 compiles `arrive` twice
        row, left, reach = i, np.int64(depth), 1.0
        while True:
            player, value = arrive(S, B, open_nodes, row, top, left, reach, T)
            if player == F.GIVEN_UP:
                return 0.0
            opened = player == CHANCE
            if player >= 0:
                opened, value = open_decision(S, B, open_nodes, player, row, top, left, reach, T)
            if opened:
                open_nodes += 1
            given, found = not opened, False
            while not found:  # gives the value to the node above, closes complete ones, and finds the next row
                if open_nodes == 0:
                    return value
                f = open_nodes - 1
                if B.frames[f, F.KIND] == F.AVERAGE:
                    found, row, left = next_outcome(S, B, f, given, value, T)
                    top = B.frames[f, F.FREE]
                else:
                    found, row, left = next_action(S, B, f, given, value, T)
                    top = row + ONE
                if found:
                    reach = reach_below(B, f, row)
                else:
                    value = close(S, B, f)
                    given = True
                    open_nodes -= 1

    return depth_first
