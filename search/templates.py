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
from leafwise.envs.core.jit import specialise
from leafwise.envs.core.rules import CHANCE, TERMINAL
from leafwise.envs.core.stream import mix

EVALUATE, RETURNS, TRIPLE = 0, 1, 2

NODES, LEAVES, HITS, OVERFLOW = 0, 1, 2, 3
"""What the counters in `Buffers.counts` count: decisions searched, leaves valued, table hits, 1 if rows ran out."""

POLL = np.int64(1023)
"""The stop byte is read at every node whose number has these bits clear."""

ZERO, ONE, TWO = np.uint64(0), np.uint64(1), np.uint64(2)
DEPTH_SALT = np.uint64(0x9E3779B97F4A7C15)
CHECK_SALT = np.uint64(0xD1342543DE82EF95)


class Buffers(NamedTuple):
    """Scratch of one search thread. A transposition table of one slot is no table."""

    P: NDArray[np.float64]
    """Probabilities, one per row."""
    A: NDArray[np.int64]
    """Legal actions, [level, action]."""
    counts: NDArray[np.int64]
    keys: NDArray[np.uint64]
    """Transposition table: a second, independent hash of row and depth, [slots], slots a power of two."""
    values: NDArray[np.float64]
    cutoff: float
    """Decisions reached with a smaller probability than this are leaves (0: exact)."""


def depth_first(S, B, i, top, depth, level, reach, T):
    """Returns player 0's value of row i, `depth` decisions deep; rows from `top` on are free.

    `reach` is the product of the chance probabilities on the way from the root.
    """
    player = current_player(S, i, T)
    if player == CHANCE:
        if top + MAX_OUTCOMES > np.uint64(S.shape[0]):
            B.counts[OVERFLOW] = 1
            return 0.0
        n = np.uint64(chance_outcomes(S, i, B.P, top, T))
        total = 0.0
        if depth == 0:
            for o in range(top, top + n):
                if is_leaf(S, o, T):
                    B.counts[LEAVES] += 1
                    total += B.P[o] * leaf_value(S, o, T)
                else:
                    total += B.P[o] * depth_first(S, B, o, top + n, depth, level, reach * B.P[o], T)
            return total
        for o in range(top, top + n):
            total += B.P[o] * depth_first(S, B, o, top + n, depth, level, reach * B.P[o], T)
        return total
    if player == TERMINAL:
        B.counts[LEAVES] += 1
        return finished_value(S, i, T)
    if depth == 0 or reach < B.cutoff:
        B.counts[LEAVES] += 1
        return leaf_value(S, i, T)
    B.counts[NODES] += 1
    if B.counts[NODES] & POLL == 0 and T.stop[0]:
        B.counts[OVERFLOW] |= 2
    if B.counts[OVERFLOW]:
        return 0.0
    slot, check = ZERO, ZERO
    if B.keys.shape[0] > 1 and depth > 1:
        h = key(S, i, T) + DEPTH_SALT * np.uint64(depth)
        slot, check = mix(h) & np.uint64(B.keys.shape[0] - 1), mix(h ^ CHECK_SALT) | ONE
        if B.keys[slot] == check:
            B.counts[HITS] += 1
            return B.values[slot]
    if top >= np.uint64(S.shape[0]) or level >= B.A.shape[0]:
        B.counts[OVERFLOW] |= 1
        return 0.0
    n = legal_actions(S, i, B.A[level], T)
    best = 0.0
    for k in range(n):
        a = B.A[level, k]
        apply_action(S, i, a, top, T)
        value = depth_first(S, B, top, top + ONE, depth - action_cost(S, i, a, T), level + 1, reach, T)
        if k == 0 or (value > best if player == 0 else value < best):
            best = value
    if B.keys.shape[0] > 1 and depth > 1 and B.counts[OVERFLOW] == 0:
        B.keys[slot] = check
        B.values[slot] = best
    return best


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
    """Returns the compiled functions (depth_first, leaf_value, finished_value) for a game and a leaf kind."""
    fixed = constants(game, evaluator)
    ident = (game.module, evaluator.value, tuple(fixed.items()))
    if ident not in _COMPILED:
        name = f"{game.name}_{evaluator.value.__name__}_" + "_".join(f"{v}" for v in fixed.values())
        room: Path = evaluator.room or game.room
        scope = {**game.rules.injected(), "value": evaluator.value, **fixed}
        for helper in (finished_value, is_leaf, leaf_value):
            scope[helper.__name__] = specialise(helper, name, scope, room, inline=True)
        scope["depth_first"] = specialise(depth_first, name, scope, room)
        _COMPILED[ident] = SimpleNamespace(**{k: scope[k] for k in ("depth_first", "leaf_value", "finished_value")})
    return _COMPILED[ident]
