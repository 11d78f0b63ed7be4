"""The depth-first search over max, min and chance nodes, written once and compiled per (game, leaf).

`specialise` injects the game's rules, the evaluator's `value` and the constants LEAF_STAGE, TO_GO, TERMINAL_RULE, WIN,
DRAW, LOSS, PLAYERS, MAX_OUTCOMES. Every value is player 0's. Depth counts decisions by the game's `action_cost`; chance is
free; a leaf is asked at the evaluator's stage, or at a decision where a line of play has no such stage.
"""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.evaluator import Evaluator
from leafwise.envs.core.game import Game
from leafwise.envs.core.jit import jit, specialise
from leafwise.envs.core.rules import CHANCE, TERMINAL
from leafwise.envs.core.stream import mix

EVALUATE, RETURNS, TRIPLE = 0, 1, 2

NODES, LEAVES, HITS, FAILED = 0, 1, 2, 3
"""What `Buffers.counts` counts: decisions searched, leaves valued, table hits; and why the search failed, if it did."""

STOPPED, NO_ROWS = 1, 2

POLL = 1023
"""The stop byte is read at every decision whose number has these bits clear."""

NEXT, END, DEPTH, ROW, FREE, KIND, SLOT, CHECK = 0, 1, 2, 3, 4, 5, 6, 7
"""Columns of a frame: next child and end of children, depth left, row, first free row, player (or 2 for chance), and
where a decision's value goes in the transposition table."""

AVERAGE = np.uint64(2)
ZERO, ONE = np.uint64(0), np.uint64(1)
DEPTH_SALT = np.uint64(0x9E3779B97F4A7C15)
CHECK_SALT = np.uint64(0xD1342543DE82EF95)


class Buffers(NamedTuple):
    """Scratch of one search thread. A transposition table of one slot is no table."""

    P: NDArray[np.float64]
    """Probabilities, one per row."""
    A: NDArray[np.int64]
    """Legal actions, [frame, action]."""
    frames: NDArray[np.uint64]
    """The open nodes from the root down, [frame, 8]."""
    worth: NDArray[np.float64]
    """Best or summed value of each open node, and the probability of reaching it; [frame, 4], two columns for alpha-beta."""
    counts: NDArray[np.int64]
    keys: NDArray[np.uint64]
    """Transposition table: a second, independent hash of row and depth, [slots], slots a power of two."""
    values: NDArray[np.float64]
    cutoff: float
    """Decisions reached with a smaller probability than this are leaves (0: exact)."""


def depth_first(S, B, i, top, depth, T):
    """Returns player 0's value of row i, `depth` decisions deep; rows from `top` on are free.

    An explicit stack of frames takes the place of recursion: it may be called from compiled code, and the tables
    are not passed on at every node.
    """
    open_nodes = 0
    row, left, reach, value = i, np.int64(depth), 1.0, 0.0
    while True:
        opened = False
        player = current_player(S, row, T)
        if player == TERMINAL:
            B.counts[LEAVES] += 1
            value = finished_value(S, row, T)
        elif left == 0 and is_leaf(S, row, T):
            B.counts[LEAVES] += 1
            value = leaf_value(S, row, T)
        elif player == CHANCE:
            if open_nodes >= B.frames.shape[0] or top + MAX_OUTCOMES > np.uint64(S.shape[0]):
                B.counts[FAILED] = NO_ROWS
                return 0.0
            n = np.uint64(chance_outcomes(S, row, B.P, top, T))
            open_frame(B, open_nodes, top, top + n, left, row, top + n, AVERAGE, reach)
            opened = True
        elif reach < B.cutoff:
            B.counts[LEAVES] += 1
            value = leaf_value(S, row, T)
        else:
            B.counts[NODES] += 1
            if B.counts[NODES] & POLL == 0 and T.stop[0]:
                B.counts[FAILED] = STOPPED
            if B.counts[FAILED]:
                return 0.0
            slot, check = ZERO, ZERO
            found = False
            if B.keys.shape[0] > 1 and left > 1:
                h = key(S, row, T) + DEPTH_SALT * np.uint64(left)
                slot, check = mix(h) & np.uint64(B.keys.shape[0] - 1), mix(h ^ CHECK_SALT) | ONE
                if B.keys[slot] == check:
                    B.counts[HITS] += 1
                    value = B.values[slot]
                    found = True
            if not found:
                if open_nodes >= B.frames.shape[0] or top + ONE + MAX_OUTCOMES > np.uint64(S.shape[0]):
                    B.counts[FAILED] = NO_ROWS
                    return 0.0
                n = np.uint64(legal_actions(S, row, B.A[open_nodes], T))
                open_frame(B, open_nodes, ZERO, n, left, row, top, np.uint64(player), reach)
                B.frames[open_nodes, SLOT] = slot
                B.frames[open_nodes, CHECK] = check
                opened = True
        if opened:
            open_nodes += 1
        # give the value to the node above, close every node that is complete, and find the next row to value
        while True:
            if open_nodes == 0:
                return value
            f = open_nodes - 1
            next_child, end = B.frames[f, NEXT], B.frames[f, END]
            kind, best = B.frames[f, KIND], B.worth[f, 0]
            left, reach = np.int64(B.frames[f, DEPTH]), B.worth[f, 1]
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
            B.frames[f, NEXT] = next_child
            B.worth[f, 0] = best
            opened = False
            if descend:
                break
            value = best
            if kind != AVERAGE and B.frames[f, CHECK] != ZERO:
                B.keys[B.frames[f, SLOT]] = B.frames[f, CHECK]
                B.values[B.frames[f, SLOT]] = value
            open_nodes -= 1


@jit(inline=True)
def open_frame(B, f, first, end, left, row, free, kind, reach):
    """Opens node f of the stack."""
    B.frames[f, NEXT] = first
    B.frames[f, END] = end
    B.frames[f, DEPTH] = np.uint64(left)
    B.frames[f, ROW] = row
    B.frames[f, FREE] = free
    B.frames[f, KIND] = kind
    B.frames[f, CHECK] = ZERO
    B.worth[f, 0] = 0.0
    B.worth[f, 1] = reach


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
    from leafwise.search.alpha_beta import alpha_beta

    fixed = constants(game, evaluator)
    value = evaluator.compiled
    ident = (game.module, value, tuple(fixed.items()))
    if ident not in _COMPILED:
        name = f"{game.name}_{value.__qualname__}_" + "_".join(f"{v}" for v in fixed.values())
        room: Path = evaluator.room or game.room
        scope = {**game.rules.injected(), "value": value, **fixed}
        for helper in (finished_value, is_leaf, leaf_value):
            scope[helper.__name__] = specialise(helper, name, scope, room, inline=True)
        for template in (depth_first, alpha_beta):
            scope[template.__name__] = specialise(template, name, scope, room)
        _COMPILED[ident] = SimpleNamespace(**{k: scope[k] for k in ("depth_first", "alpha_beta", "leaf_value")})
    return _COMPILED[ident]
