"""What learners see of Trap: observations, and the eight symmetries of the square."""

from __future__ import annotations

import gymnasium as gym
import numpy as np

from leafwise.envs.core.compile.jit import jit
from leafwise.envs.core.contract.game import Labels
from leafwise.envs.core.contract.stream import u64
from leafwise.envs.trap.options import Options
from leafwise.envs.trap.rules import CELL, LOW7, MOVE, ONE, PLAYER, SECOND_TRAPS, TARGET, cell_of, phase_of, turn_of

POSITIONS = ~((LOW7 << PLAYER) | (LOW7 << (PLAYER + CELL)) | (LOW7 << TARGET) | SECOND_TRAPS)
"""Word 1 without what a symmetry moves."""


def observation_space(options: Options) -> gym.spaces.Box:
    """Returns a Box float32 [4, size, size] of 0 and 1: own cell, the other's, traps, and all ones where a throw is due.

    With `observe_turn` a fifth plane holds the turns left everywhere.
    """
    planes = (1.0, 1.0, 1.0, 1.0, float(options.last_turn))[: 4 + options.observe_turn]
    high = np.array([np.full((options.size, options.size), most) for most in planes], dtype=np.float32)
    return gym.spaces.Box(np.zeros_like(high), high, dtype=np.float32)


def labels(options: Options) -> dict[str, tuple[Labels, ...]]:
    """Returns what `observe` writes."""
    turns = Labels(("turns left",), "everywhere the turns left until the draw, this one included")
    return {
        "": (
            Labels(("own cell", "opponent"), "1 at the own cell, and at the other's"),
            Labels(("traps",), "1 at every trap"),
            Labels(("throw due",), "1 everywhere if a throw is due, 0 everywhere if a move is"),
            *([turns] if options.observe_turn else []),
        )
    }


@jit(inline=True)
def observe_as(S, i, player, O, e, T):
    word = S[i, 1]
    me, opponent = np.int64(cell_of(word, player)), np.int64(cell_of(word, 1 - player))
    throwing = np.float32(phase_of(word) != MOVE)
    left = np.float32(T.max_turns - turn_of(word))
    for cell in range(T.cells):
        y, x = cell // T.size, cell % T.size
        trap = (S[i, 0] & T.bit[cell, 0]) | (word & SECOND_TRAPS & T.bit[cell, 1])
        O[e, 0, y, x] = np.float32(cell == me)
        O[e, 1, y, x] = np.float32(cell == opponent)
        O[e, 2, y, x] = np.float32(trap != u64(0))
        O[e, 3, y, x] = throwing
        if T.observe_turn:
            O[e, 4, y, x] = left


@jit(inline=True)
def observe(S, i, O, e, T):
    observe_as(S, i, np.int64(turn_of(S[i, 1]) & ONE), O, e, T)


@jit(inline=True)
def transform(S, i, k, j, T):
    """Transposes (bit 2 of k), then mirrors top-bottom (bit 1) and left-right (bit 0)."""
    low, word = S[i, 0], S[i, 1]
    moved = u64(T.image[k, cell_of(word, 0)]) << PLAYER
    moved |= u64(T.image[k, cell_of(word, 1)]) << (PLAYER + CELL)
    if phase_of(word) > ONE:
        moved |= u64(T.image[k, (word >> TARGET) & LOW7]) << TARGET
    S[j, 0] = u64(0)
    S[j, 1] = (word & POSITIONS) | moved
    for cell in range(T.cells):
        if (low & T.bit[cell, 0]) | (word & SECOND_TRAPS & T.bit[cell, 1]):
            to = T.image[k, cell]
            S[j, 0] |= T.bit[to, 0]
            S[j, 1] |= T.bit[to, 1]


@jit(inline=True)
def transform_action(a, k, T):
    if a >= 8:
        return 8 + T.image[k, a - 8]
    return T.turned[k, a]
