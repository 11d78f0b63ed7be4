"""The depth-first search over max, min and chance nodes, written once and compiled per (game, leaf).

`specialise` injects the game's rules, the evaluator's `value` and the constants LEAF_STAGE, TO_GO, TERMINAL_RULE, WIN,
DRAW, LOSS, PLAYERS, MAX_OUTCOMES. Every value is player 0's. Depth counts decisions by the game's `action_cost`; chance is
free; a leaf is asked at the evaluator's stage, or at a decision where a line of play has no such stage.
"""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from leafwise.envs.core.compile.clock import is_late
from leafwise.envs.core.compile.jit import specialise
from leafwise.envs.core.contract.evaluator import Evaluator, nothing_to_fetch
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.rules import CHANCE, TERMINAL
from leafwise.envs.core.contract.stream import mix
from leafwise.search.alpha_beta import alpha_beta, last_step, settle_rare, write_canonical
from leafwise.search.frames import (
    AVERAGE,
    BEST,
    CHECK,
    CUTS,
    CUTS_BEFORE,
    DEPTH,
    END,
    FAILED,
    FREE,
    GIVEN_UP,
    HASH,
    HITS,
    KIND,
    LEAF,
    LEAVES,
    NEXT,
    NO_ROWS,
    NODES,
    ONE,
    POLL,
    REACH,
    ROW,
    STOPPED,
    ZERO,
    open_frame,
)
from leafwise.search.root import search_root
from leafwise.search.table import DATA, DEPTH_MASK, LOW, find_entry, second_hash, store_entry

EVALUATE, RETURNS, TRIPLE = 0, 1, 2
HIGH_BITS = np.uint64(20)
"""The bits of a hash from here on say where a leaf is remembered."""


def depth_first(S, B, i, top, depth, T):
    """Returns player 0's value of row i, `depth` decisions deep; rows from `top` on are free."""
    open_nodes = np.int64(0)  # typed: a literal 0 compiles `arrive` twice
    row, left, reach = i, np.int64(depth), 1.0
    while True:
        opened = True
        player, value = arrive(S, B, open_nodes, row, top, left, reach, T)
        if player == GIVEN_UP:
            return 0.0
        if player == LEAF:
            opened = False
        elif player != CHANCE:
            h, check = ZERO, ZERO
            if B.table.shape[0] > 1 and left >= B.options.table_from:
                h, check = mix(key(S, row, T)), second_hash(S, row)
                e = find_entry(S, B, row, h, check)
                if e >= 0 and np.int64(B.table[e, DATA] & DEPTH_MASK) == left:
                    B.counts[HITS] += 1
                    value = B.proven[e, LOW]
                    opened = False
            if opened:
                n = np.uint64(legal_actions(S, row, B.A[open_nodes], T))
                open_frame(B, open_nodes, ZERO, n, left, row, top, np.uint64(player), reach)
                B.frames[open_nodes, HASH], B.frames[open_nodes, CHECK] = h, check
                B.frames[open_nodes, CUTS_BEFORE] = np.uint64(B.counts[CUTS])
        if opened:
            open_nodes += 1
        # give the value to the node above, close every node that is complete, and find the next row to value
        while True:
            if open_nodes == 0:
                return value
            f = open_nodes - 1
            next_child, end = B.frames[f, NEXT], B.frames[f, END]
            kind, best = B.frames[f, KIND], B.worth[f, BEST]
            left, reach = np.int64(B.frames[f, DEPTH]), B.worth[f, REACH]
            top = B.frames[f, FREE]
            descend = False
            if kind == AVERAGE:
                if not opened:
                    best += B.P[next_child - ONE] * value
                while next_child < end and not descend:
                    row = next_child
                    next_child += ONE
                    if left == 0 and is_leaf(S, row, T):
                        B.counts[LEAVES] += 1
                        best += B.P[row] * leaf_value(S, row, T)
                    else:
                        descend = True
                        reach *= B.P[row]
            else:
                better = value < best if kind == ONE else value > best
                if not opened and (next_child == ONE or better):
                    best = value
                here = B.frames[f, ROW]
                while next_child < end and not descend:
                    a = B.A[f, next_child]
                    next_child += ONE
                    apply_action(S, here, a, top, T)
                    row = top
                    below_depth = left - action_cost(S, here, a, T)
                    descend = True
                    if below_depth == 0 and current_player(S, row, T) == CHANCE and stage(S, row, T) != LEAF_STAGE:
                        # the common last step, chance and then leaves, without a frame
                        n = np.uint64(chance_outcomes(S, row, B.P, top + ONE, T))
                        value = 0.0
                        descend = False
                        for o in range(top + ONE, top + ONE + n):
                            fetch(S, o, T)
                        for o in range(top + ONE, top + ONE + n):
                            if is_leaf(S, o, T):
                                value += B.P[o] * leaf_value(S, o, T)
                            else:
                                descend = True
                        if not descend:
                            B.counts[LEAVES] += np.int64(n)
                            better = value < best if kind == ONE else value > best
                            if next_child == ONE or better:
                                best = value
                if descend:
                    left = below_depth
                    top += ONE
                    if B.options.toll > 0.0:
                        reach = (reach - B.options.toll) / np.float64(end)
            B.frames[f, NEXT] = next_child
            B.worth[f, BEST] = best
            opened = False
            if descend:
                break
            value = best
            if kind != AVERAGE and B.frames[f, CHECK] != ZERO and B.frames[f, CUTS_BEFORE] == np.uint64(B.counts[CUTS]):
                h, check = B.frames[f, HASH], B.frames[f, CHECK]
                store_entry(S, B, B.frames[f, ROW], h, check, left, 0, value, value)
            open_nodes -= 1


def arrive(S, B, f, row, top, left, reach, T):
    """Returns who acts at a row and its value: LEAF and the value, CHANCE with frame f opened, or a player.

    Decisions less probable than the cutoff are leaves, and are counted. GIVEN_UP: the stop byte is set, the time
    is up, or there are no rows left.
    """
    player = current_player(S, row, T)
    if player == TERMINAL:
        B.counts[LEAVES] += 1
        return LEAF, finished_value(S, row, T)
    cut = left > 0 and player != CHANCE and reach < B.options.cutoff
    if cut or (left == 0 and is_leaf(S, row, T)):
        B.counts[LEAVES] += 1
        B.counts[CUTS] += np.int64(cut)
        return LEAF, seen_value(S, B, row, T)
    if f >= B.frames.shape[0] or top + ONE + MAX_OUTCOMES > np.uint64(S.shape[0]):
        B.counts[FAILED] = NO_ROWS
        return GIVEN_UP, 0.0
    if player == CHANCE:
        n = np.uint64(chance_outcomes(S, row, B.P, top, T))
        open_frame(B, f, top, top + n, left, row, top + n, AVERAGE, reach)
        return CHANCE, 0.0
    B.counts[NODES] += 1
    if B.counts[NODES] & POLL == 0 and (T.stop[0] or is_late(B.deadline)):
        B.counts[FAILED] = STOPPED
    if B.counts[FAILED]:
        return GIVEN_UP, 0.0
    return player, 0.0


def is_leaf(S, o, T):
    """Whether a row below the last decision is where the evaluator is asked."""
    stage_here = stage(S, o, T)
    return stage_here == LEAF_STAGE or stage_here == 0


def leaf_value(S, i, T):
    """Returns player 0's value of a leaf, finished or not."""
    player = 0
    if PLAYERS == 2 or TERMINAL_RULE != EVALUATE:
        player = current_player(S, i, T)
        if player == TERMINAL:
            return finished_value(S, i, T)
    worth = value(S, i, T)
    if player == 1:
        worth = -worth
    return worth + returns(S, i, T) if TO_GO else worth


def seen_value(S, B, i, T):
    """Returns `leaf_value`, remembered where there is a memory for it; rows that differ are told apart by 64 bits."""
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


def finished_value(S, i, T):
    """Returns player 0's value of a finished game by the evaluator's rule."""
    if TERMINAL_RULE == EVALUATE:
        return value(S, i, T) + returns(S, i, T) if TO_GO else value(S, i, T)
    outcome = returns(S, i, T)
    if TERMINAL_RULE == RETURNS:
        return outcome
    return WIN if outcome > 0 else LOSS if outcome < 0 else DRAW


def constants(game: Game, evaluator: Evaluator) -> dict[str, Any]:
    """Returns what an evaluator and a game fix at compile time; raises ValueError if they do not fit."""
    if evaluator.stage not in game.stages:
        expected = ", ".join(game.stages)
        raise ValueError(f"{game.name}: expected an evaluator for a stage among {expected}, got {evaluator.stage!r}")
    triple = evaluator.terminal if isinstance(evaluator.terminal, tuple) else (0.0, 0.0, 0.0)
    rule = {"evaluate": EVALUATE, "returns": RETURNS}.get(str(evaluator.terminal), TRIPLE)
    return {
        "LEAF_STAGE": game.stages.index(evaluator.stage),
        "TO_GO": evaluator.to_go,
        "TERMINAL_RULE": rule,
        "WIN": float(triple[0]),
        "DRAW": float(triple[1]),
        "LOSS": float(triple[2]),
        "PLAYERS": game.players,
        "MAX_OUTCOMES": np.uint64(game.max_outcomes),
    }


_COMPILED: dict[Any, SimpleNamespace] = {}


def compiled_search(game: Game, evaluator: Evaluator) -> SimpleNamespace:
    """Returns the compiled functions for a game and a leaf kind; what is not called is not compiled."""
    fixed = constants(game, evaluator)
    value = evaluator.compiled
    ident = (game.module, value, tuple(fixed.items()))
    if ident not in _COMPILED:
        name = f"{game.name}_{value.__qualname__}_" + "_".join(f"{v}" for v in fixed.values())
        room: Path = evaluator.room or game.room
        fetch = evaluator.fetch or specialise(nothing_to_fetch, name, {}, room, inline=True)
        scope = {**game.rules.injected(), "value": value, "fetch": fetch, **fixed}
        scope["legal_actions"] = scope.get("candidates", scope["legal_actions"])  # a search may consider fewer
        scope["SYMMETRIES"] = game.symmetries
        scope["write_canonical"] = specialise(write_canonical, f"{game.name}_{game.symmetries}", scope, game.room)
        for helper in (finished_value, is_leaf, leaf_value, seen_value, arrive, settle_rare, last_step):
            scope[helper.__name__] = specialise(helper, name, scope, room, inline=True)
        for template in (depth_first, alpha_beta, search_root):
            scope[template.__name__] = specialise(template, name, scope, room)
        _COMPILED[ident] = SimpleNamespace(
            **{k: scope[k] for k in ("depth_first", "alpha_beta", "search_root", "leaf_value")}
        )
    return _COMPILED[ident]
