"""The alpha-beta search over max, min and chance nodes.

Decisions prune with a window (fail-soft), chance nodes as `averages` says. Values inside the window are those of `depth_first`,
whatever the options; only a cutoff, rare outcomes valued at once and limits of width and nodes change values.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from leafwise.envs.core.compile.jit import bind
from leafwise.envs.core.contract.evaluator import Evaluator
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.rules import CHANCE, TERMINAL, Compiled, Rules, copy_row
from leafwise.envs.core.contract.stream import mix
from leafwise.search import frames as F
from leafwise.search.averages import begin_average, next_outcome
from leafwise.search.decisions import choose_action, conclude, prepare, take_action
from leafwise.search.frames import ONE, ORDERING, PROBING, ZERO, open_frame, reach_below, set_window
from leafwise.search.leaves import LeafValues
from leafwise.search.table import DATA, DEPTH_MASK, HIGH, LOW, MOVE_AT, MOVE_MASK, find_entry, second_hash


class Shortcuts(NamedTuple):
    """Compiled functions that value rows without a frame of their own."""

    last_step: Compiled
    settle_rare: Compiled


def make_shortcuts(rules: Rules, leaves: LeafValues, max_outcomes: int, name: str, room: Path) -> Shortcuts:
    """Compiles what values leaves below the last decision, and rare outcomes, at once."""
    current_player, chance_outcomes = rules.current_player, rules.chance_outcomes
    is_leaf, seen_value, value_apart = leaves.is_leaf, leaves.seen_value, leaves.value_apart
    most_outcomes = np.uint64(max_outcomes)

    @bind(name, room, inline=True)
    def last_step(S, B, row, top, lower, upper, T):
        """Returns whether a row, with no decision to go, is a leaf or has only leaves one chance stage on; and its value.

        Like `alpha_beta`, a bound if the value lies outside the window and the leaf has bounds.
        """
        least, most = B.options.least, B.options.most
        bounded = least > -np.inf and most < np.inf
        first, n = row, ONE
        if not is_leaf(S, row, T):
            if current_player(S, row, T) != CHANCE or top + most_outcomes > np.uint64(S.shape[0]):
                return False, 0.0
            first, n = top, np.uint64(chance_outcomes(S, row, B.P, top, T))
        total, rest = 0.0, 1.0
        for o in range(first, first + n):
            if not is_leaf(S, o, T):
                return False, 0.0
            B.counts[F.LEAVES] += 1
            worth = seen_value(S, B, o, T)
            if first == row:
                return True, worth
            total += B.P[o] * worth
            if bounded and o + ONE < first + n:
                rest -= B.P[o]
                if total + rest * least >= upper:
                    return True, total + rest * least
                if total + rest * most <= lower:
                    return True, total + rest * most
        return True, total

    @bind(name, room, inline=True)
    def settle_rare(S, B, f, T):
        """Values the rare outcomes of chance node f by the leaf and strikes them out; returns their sum and probability.

        A chance stage that follows another stays; where every outcome is rare, all count, and the probability is 1.
        """
        first, end = B.frames[f, F.NEXT], B.frames[f, F.END]
        kept, total, share = first, 0.0, 0.0
        for o in range(first, end):
            if B.P[o] < B.options.rare and (is_leaf(S, o, T) or current_player(S, o, T) == TERMINAL):
                B.counts[F.LEAVES] += 1
                total += B.P[o] * value_apart(S, B, o, T)
                share += B.P[o]
            else:
                for w in range(S.shape[1]):
                    S[kept, w] = S[o, w]
                B.P[kept] = B.P[o]
                kept += ONE
        B.frames[f, F.END] = kept
        return total, 1.0 if kept == first else share

    return Shortcuts(last_step, settle_rare)


def make_open_decision(rules: Rules, transform: Compiled, any_leaf: str, room: Path) -> Compiled:
    """Compiles `open_decision`, with what the table knows of a row."""
    legal_actions = rules.candidates or rules.legal_actions  # a search may consider fewer
    key = rules.key

    @bind(any_leaf, room, without_leaf=True)
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

    @bind(any_leaf, room, inline=True, without_leaf=True)
    def look_up(S, B, row, top, left, T):
        """Returns the two hashes of a row, its best action (MOVE_MASK: unknown), the least and the most it is worth."""
        entry = row
        if B.options.symmetries > 1:
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

    @bind(any_leaf, room, inline=True, without_leaf=True)
    def open_decision(S, B, f, player, row, top, left, reach, lower, upper, probing, T):
        """Opens a decision as frame f; returns whether it did, and otherwise its value, which the table knows.

        `probing`: one action is searched, for a bound.
        """
        if probing and player == 1:
            upper = np.inf
        elif probing:
            lower = -np.inf
        h, check, move, low, high = ZERO, ZERO, MOVE_MASK, -np.inf, np.inf
        if B.table.shape[0] > 1 and left >= B.options.table_from:
            h, check, move, low, high = look_up(S, B, row, top, left, T)
            beyond = low >= upper or low >= high
            if beyond or high <= lower:
                B.counts[F.HITS] += 1
                return False, low if beyond else high
        n = np.uint64(legal_actions(S, row, B.A[f], T))
        open_frame(B, f, ZERO, n, left, row, top, np.uint64(player), reach)
        B.frames[f, F.HASH], B.frames[f, F.CHECK] = h, check
        B.frames[f, F.CUTS_BEFORE] = np.uint64(B.counts[F.CUTS])
        B.worth[f, F.BEST] = np.inf if player == 1 else -np.inf
        prepare(B, f, n, left, np.int64(move), probing)
        set_window(B, f, lower, upper, low, high)
        return True, 0.0

    return open_decision


def make_alpha_beta(
    rules: Rules, transform: Compiled, arrive: Compiled, shortcuts: Shortcuts, names: tuple[str, str], room: Path
) -> Compiled:
    """Compiles `alpha_beta` for a game and a leaf kind; `names` tell what is bound with the leaf, and without."""
    name, any_leaf = names
    apply_action, action_cost = rules.apply_action, rules.action_cost
    last_step, settle_rare = shortcuts
    open_decision = make_open_decision(rules, transform, any_leaf, room)

    @bind(name, room, inline=True)
    def open_average(S, B, f, left, lower, upper, probing, T):
        """Returns whether the outcomes of chance node f, just arrived at, are to be searched; else its value, if known."""
        begin_average(B, f)
        least, most = B.options.least, B.options.most
        if probing:  # nothing can be said of an average by one action
            return False, False, 0.0
        share = 0.0
        if left > 0 and B.options.rare > 0.0:
            B.worth[f, F.BEST], share = settle_rare(S, B, f, T)
        set_window(B, f, lower, upper, (1.0 - share) * least, (1.0 - share) * most)
        return share < 1.0, True, B.worth[f, F.BEST]

    @bind(any_leaf, room, inline=True, without_leaf=True)
    def next_action(S, B, f, given, value, T):
        """Takes the value of the action tried last, if given, and acts again, at the first free row of decision f.

        Returns whether there was an action to be searched, the depth left below, and the window.
        """
        if given and take_action(B, f, value):
            return False, np.int64(0), 0.0, 0.0
        a = choose_action(B, f)
        if a < 0:
            return False, np.int64(0), 0.0, 0.0
        here = B.frames[f, F.ROW]
        apply_action(S, here, a, B.frames[f, F.FREE], T)
        if B.frames[f, F.PHASE] == ORDERING:
            return True, np.int64(0), -np.inf, np.inf
        left = np.int64(B.frames[f, F.DEPTH]) - action_cost(S, here, a, T)
        return True, left, B.worth[f, F.LOWER], B.worth[f, F.UPPER]

    @bind(name, room)
    def alpha_beta(S, B, i, top, depth, lower, upper, T):
        """Returns player 0's value of row i of S [rows, width] if it lies between `lower` and `upper`, else a bound beyond
        the one it passes; `depth` decisions deep, rows from `top` on are free."""
        open_nodes = np.int64(0)  # typed, as `probing`: what is handed a literal first is compiled twice
        row, left, reach, probing = i, np.int64(depth), 1.0, np.bool_(False)
        while True:
            f = open_nodes
            player, value = arrive(S, B, f, row, top, left, reach, T)
            if player == F.GIVEN_UP:
                return 0.0
            told, opened = np.int64(player), False  # who acts where the value is from; LEAF: it is exact
            if player == CHANCE:
                opened, settled, value = open_average(S, B, f, left, lower, upper, probing, T)
                if settled:
                    told = np.int64(F.LEAF)
            elif player != F.LEAF:
                opened, value = open_decision(S, B, f, player, row, top, left, reach, lower, upper, probing, T)
            if opened:
                open_nodes += 1
            given, found = not opened, False
            while not found:  # gives the value to the node above, closes complete and cut ones, and finds the next row
                if open_nodes == 0:
                    return value
                f = open_nodes - 1
                if B.frames[f, F.KIND] == F.AVERAGE:
                    found, row, lower, upper = next_outcome(B, f, given, value, told)
                    top, left = B.frames[f, F.FREE], np.int64(B.frames[f, F.DEPTH])
                else:
                    found, left, lower, upper = next_action(S, B, f, given, value, T)
                    row = B.frames[f, F.FREE]
                    top = row + ONE
                given = not found
                if not found:
                    value = conclude(S, B, f)
                    told = np.int64(B.frames[f, F.KIND])
                    open_nodes -= 1
                elif left == 0:
                    given, value = last_step(S, B, row, top, lower, upper, T)
                    found = not given
            reach = reach_below(B, f, row)
            probing = B.frames[f, F.KIND] == F.AVERAGE and B.frames[f, F.PHASE] == PROBING

    return alpha_beta


def bounds(game: Game, evaluator: Evaluator) -> tuple[float, float]:
    """Returns the least and the most that player 0 can get from a leaf, infinite if the evaluator states no bounds."""
    if evaluator.low is None or evaluator.high is None:
        return -np.inf, np.inf
    worths = [evaluator.low, evaluator.high]
    if evaluator.to_go:
        worths = [evaluator.low + game.return_range[0], evaluator.high + game.return_range[1]]
    if isinstance(evaluator.terminal, tuple):
        worths += evaluator.terminal
    elif evaluator.terminal == "returns":
        worths += game.return_range
    if game.players == 2:
        worths += [-w for w in worths]
    return float(min(worths)), float(max(worths))
