"""The course's two search trees: in each, one player moves and the other, who stands still, throws at him.

getMove: my moves, then throws at me; getTrap: my throws, then the other's moves. Both are alpha-beta over alternating moves
and throws, at most five plies deep, with values of the player who moves. A throw is valued by one of three models of
chance: "p_only" (probability times the value of a hit, a miss counts nothing: the course's simplification, no
expectation), "hit_miss" (a miss changes nothing), "full" (every cell where the trap can land). Values are raw counts;
a win is worth `BIG`. Source: handout and staff programs of COMS W4701.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.compile.jit import bind, jit
from leafwise.envs.core.contract.bits import count_bits
from leafwise.envs.core.contract.rules import Compiled
from leafwise.envs.core.contract.stream import u64
from leafwise.envs.trap.rules import ZERO
from leafwise.envs.trap.scores import weigh

ROOM = Path(__file__).parents[2]
"""Trap's folder."""
BIG = 1000.0
MAX_DEPTH = 5
P_ONLY, HIT_MISS, FULL = 0, 1, 2
CHANCE_MODELS = ("p_only", "hit_miss", "full")
NEAR, NEAR_AND_TRAPS, ALL = 0, 1, 2
THROWS = ("near", "near+traps", "all")
"""Cells thrown at: next to the player who moves, free ones or all; or any."""


class Settings(NamedTuple):
    """What a tree is told."""

    factors: NDArray[np.float64]
    """[2, 2, 5]: while many cells are free and after; me and the opponent; weights of `scores.COUNTS`."""
    around: NDArray[np.float64]
    """[2]: weight of the open cells around all my neighbours, blocked ones too."""
    early: float
    """The first weights serve while more than this share of the cells is free."""
    chance: int
    throws: int


@jit(inline=True)
def free_cells(mover, thrower, low, high, T):
    """Returns the free cells of a board with traps `low`, `high` as two words."""
    return (
        T.board[0] & ~(low | T.bit[mover, 0] | T.bit[thrower, 0]),
        T.board[1] & ~(high | T.bit[mover, 1] | T.bit[thrower, 1]),
    )


@jit(inline=True)
def stuck(cell, low, high, T):
    """Whether a player has no move; `low`, `high` are the free cells."""
    return (T.near[cell, 0] & low) | (T.near[cell, 1] & high) == ZERO


@jit
def throw_leaf(mover, thrower, low, high, lower, upper, mine, settings, T):
    """Returns the leaf's value for the player who moves; `mine` says whether that is me."""
    me, opponent = (mover, thrower) if mine else (thrower, mover)
    low, high = free_cells(mover, thrower, low, high, T)
    late = np.float64(count_bits(low) + count_bits(high)) <= settings.early * T.cells
    k = 1 if late else 0
    value = weigh(me, low, high, settings.factors[k, 0], T) + weigh(opponent, low, high, settings.factors[k, 1], T)
    if settings.around[k] != 0.0:
        summed = ZERO
        for direction in range(8):
            cell = T.step[me, direction]
            if cell >= 0:
                summed += count_bits(T.near[cell, 0] & low) + count_bits(T.near[cell, 1] & high)
        value += settings.around[k] * np.float64(summed)
    return value if mine else -value


@jit
def move_leaf(mover, thrower, low, high, lower, upper, mine, settings, T):
    """Returns the value for the player who is to move but is not searched further."""
    free_low, free_high = free_cells(mover, thrower, low, high, T)
    if stuck(mover, free_low, free_high, T):
        return -BIG
    if T.immediate and stuck(thrower, free_low, free_high, T):
        return BIG
    return throw_leaf(mover, thrower, low, high, lower, upper, mine, settings, T)


def make_move_value(deeper_throw: Compiled) -> Compiled:
    """Returns `move_value`: the value for the player who moves, after a trap has landed."""

    @bind(ROOM)
    def move_value(mover, thrower, low, high, lower, upper, mine, settings, T):
        free_low, free_high = free_cells(mover, thrower, low, high, T)
        if T.immediate and stuck(thrower, free_low, free_high, T) and not stuck(mover, free_low, free_high, T):
            return BIG
        best = -BIG
        for direction in range(8):
            to = T.step[mover, direction]
            if to < 0 or (T.bit[to, 0] & free_low) | (T.bit[to, 1] & free_high) == ZERO:
                continue
            after_low, after_high = free_cells(to, thrower, low, high, T)
            if stuck(thrower, after_low, after_high, T):
                return BIG
            best = max(best, deeper_throw(to, thrower, low, high, max(lower, best), upper, mine, settings, T))
            if best >= upper:
                return best
        return best

    return move_value


def make_aim_value(deeper_move: Compiled) -> Compiled:
    """Returns `aim_value`, whose first argument is a cell: what a throw at it is worth to the player who moves."""

    @bind(ROOM)
    def aim_value(target, mover, thrower, low, high, lower, upper, mine, settings, T):
        p = T.accuracy[thrower, target]
        hit_low, hit_high = low | T.bit[target, 0], high | T.bit[target, 1]
        rest = 0.0
        if p < 1.0 and settings.chance == HIT_MISS:
            rest = (1.0 - p) * deeper_move(mover, thrower, low, high, -np.inf, np.inf, mine, settings, T)
        elif p < 1.0 and settings.chance == FULL:
            n = 0
            for direction in range(8):
                cell = T.step[target, direction]
                if cell >= 0 and cell != mover and cell != thrower:
                    spilt_low, spilt_high = low | T.bit[cell, 0], high | T.bit[cell, 1]
                    rest += deeper_move(mover, thrower, spilt_low, spilt_high, -np.inf, np.inf, mine, settings, T)
                    n += 1
            rest *= (1.0 - p) / n
        lower, upper = (lower - rest) / p, (upper - rest) / p
        return rest + p * deeper_move(mover, thrower, hit_low, hit_high, lower, upper, mine, settings, T)

    return aim_value


def make_throw_value(aim_value: Compiled) -> Compiled:
    """Returns `throw_value`: the value for the player who moves when the other throws."""

    @bind(ROOM)
    def throw_value(mover, thrower, low, high, lower, upper, mine, settings, T):
        best = np.inf
        count = T.cells if settings.throws == ALL else 8
        for k in range(count):
            target = k if settings.throws == ALL else T.step[mover, k]
            if target < 0 or target in (mover, thrower):
                continue
            if settings.throws == NEAR and (T.bit[target, 0] & low) | (T.bit[target, 1] & high):
                continue
            best = min(best, aim_value(target, mover, thrower, low, high, lower, min(upper, best), mine, settings, T))
            if best <= lower:
                return best
        return best

    return throw_value


class Plies(NamedTuple):
    """The compiled functions of a tree of some plies, called with (mover, thrower, low, high, lower, upper, mine, settings, T).

    `mover` and `thrower` are cells, `low` and `high` the traps as two words of 64 cells, `lower` and `upper` the window, and `mine`
    says whether it is I who move.
    """

    move_value: Compiled
    """The mover is to move: its value for him."""
    throw_value: Compiled
    """The thrower is to throw: its value for the mover."""
    aim_value: Any = None
    """The thrower throws at a cell, the first argument; there is none for leaves."""


@cache
def compiled(depth: int) -> Plies:
    """Returns the functions of a tree `depth` plies deep; 0 are leaves.

    Each depth is code of its own that calls the next: recursion in compiled code is not to be relied on.
    """
    if depth == 0:
        return Plies(move_leaf, throw_leaf)
    deeper = compiled(depth - 1)
    aim_value = make_aim_value(deeper.move_value)
    return Plies(make_move_value(deeper.throw_value), make_throw_value(aim_value), aim_value)


def aims(mover: int, thrower: int, traps: int, settings: Settings, T: Any) -> list[int]:
    """Returns the cells that a thrower considers at the root."""
    if settings.throws == ALL:
        return [cell for cell in range(T.cells) if cell not in (mover, thrower)]
    near = [int(cell) for cell in T.step[mover] if cell >= 0 and cell != thrower]
    return [cell for cell in near if settings.throws == NEAR_AND_TRAPS or not traps >> cell & 1]


def move_values(me: int, opponent: int, traps: int, depth: int, settings: Settings, T: Any) -> dict[int, float]:
    """Returns what moves to the free cells around me are worth; after the best so far only bounds."""
    low, high = words(traps)
    throw = compiled(depth - 1).throw_value
    values: dict[int, float] = {}
    for to in T.step[me].tolist():
        if to < 0 or to == opponent or traps >> to & 1:
            continue
        free_low, free_high = free_cells(to, opponent, low, high, T)
        if stuck(opponent, free_low, free_high, T):
            values[to] = BIG
        else:
            best = max(values.values(), default=-np.inf)
            values[to] = float(throw(to, opponent, low, high, best, np.inf, True, settings, T))
    return values


def throw_values(me: int, opponent: int, traps: int, depth: int, settings: Settings, T: Any) -> dict[int, float]:
    """Returns what throws are worth to me; after the best so far only bounds."""
    low, high = words(traps)
    aim = compiled(depth).aim_value
    values: dict[int, float] = {}
    for target in aims(opponent, me, traps, settings, T):
        least = min((-value for value in values.values()), default=np.inf)
        values[target] = -float(aim(target, opponent, me, low, high, -np.inf, least, False, settings, T))
    return values


def words(traps: int) -> tuple[np.uint64, np.uint64]:
    """Returns a bitboard as two words."""
    return u64(traps & (1 << 64) - 1), u64(traps >> 64)
