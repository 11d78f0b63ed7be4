"""A table of bear-offs: the number of turns that a player's checkers at home take, for each way to place them.

A table of one side is enough if both players bear off and each has a checker off: nobody is hit then, and no gammon is possible.
The chance to win follows from the turns of both. Each side minimizes its average turns, which nearly always wins
most. The table is computed at first use, in seconds, and cached.
"""

from __future__ import annotations

import os
from functools import cache
from math import comb
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from leafwise.authoring import State, cache_root, jit
from leafwise_backgammon.rules import CHECKERS, OFF, SIDE

POINTS = 6
TURNS = 32
"""A turn takes three pips or all that is left, of at most 90: no bear-off takes more turns than 30."""
SIZE = comb(CHECKERS + POINTS, POINTS)
WAYS = np.array([[comb(n, k) for k in range(1, POINTS + 1)] for n in range(CHECKERS + POINTS)])


def index(checkers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Returns the table indices of checkers on points 1 to 6, [..., 6]."""
    indices: NDArray[np.int64] = WAYS[np.cumsum(checkers, axis=-1) + np.arange(POINTS), np.arange(POINTS)].sum(axis=-1)
    return indices


@jit
def better(mean, one, two):
    """Returns the index with fewer turns of two; -1 is none."""
    return two if one < 0 or (two >= 0 and mean[two] < mean[one]) else one


@jit
def fill(order, after, best, mean, chances):
    """Fills `chances` [SIZE, TURNS] of each number of turns, and the `mean`; `order` lists indices by rising pips.

    `after` [SIZE, 6, 6] is the index after a move by a die from a point (-1: illegal), `best` [5, SIZE, 6] the best index after a
    number of moves by a die.
    """
    for at in order:
        if at == 0:  # `best` is 0 there: all are off
            chances[at, 0] = 1.0
            continue
        for die in range(6):
            best[0, at, die] = at
        for die in range(6):
            for moves in range(1, 5):
                end = -1
                for point in range(6):
                    if after[at, die, point] >= 0:
                        end = better(mean, end, best[moves - 1, after[at, die, point], die])
                best[moves, at, die] = end
        for high in range(6):
            for low in range(high + 1):
                end = best[4, at, high] if high == low else -1
                for point in range(6 if low < high else 0):
                    if after[at, high, point] >= 0:
                        end = better(mean, end, best[1, after[at, high, point], low])
                    if after[at, low, point] >= 0:
                        end = better(mean, end, best[1, after[at, low, point], high])
                for turns in range(1, TURNS):
                    chances[at, turns] += (1 if high == low else 2) / 36 * chances[end, turns - 1]
        for turns in range(TURNS):
            mean[at] += turns * chances[at, turns]


def make_table() -> NDArray[np.float64]:
    """Returns the chances of each number of turns, [SIZE, TURNS]."""
    grid = np.indices((CHECKERS + 1,) * (POINTS - 1), dtype=np.int8).reshape(POINTS - 1, -1).T
    grid = grid[grid.sum(axis=1) <= CHECKERS].astype(np.int64)
    left = CHECKERS - grid.sum(axis=1)
    placed = np.concatenate(
        [np.column_stack([grid[left >= n], np.full((left >= n).sum(), n)]) for n in range(CHECKERS + 1)]
    )
    checkers = np.empty_like(placed)
    checkers[index(placed)] = placed
    after = np.full((SIZE, 6, 6), -1)
    for die in range(1, 7):
        for point in range(1, POINTS + 1):
            can = checkers[:, point - 1] > 0
            if point < die:
                can &= ~checkers[:, point:].any(axis=1)
            moved = checkers[can]
            moved[:, point - 1] -= 1
            if point > die:
                moved[:, point - die - 1] += 1
            after[can, die - 1, point - 1] = index(moved)
    chances, order = np.zeros((SIZE, TURNS)), np.argsort(checkers @ np.arange(1, POINTS + 1), kind="stable")
    fill(order, after, np.zeros((5, SIZE, 6), np.int64), np.zeros(SIZE), chances)
    return chances


@cache
def table(folder: Path | None = None) -> NDArray[np.float32]:
    """Returns the table; computes and caches it at first use."""
    file = (folder or cache_root() / "backgammon") / "bearoff.npy"
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        partial = file.with_suffix(f".{os.getpid()}.npy")
        try:
            np.save(partial, make_table().astype(np.float32))
            partial.replace(file)
        finally:
            partial.unlink(missing_ok=True)
    chances: NDArray[np.float32] = np.load(file, mmap_mode="r", allow_pickle=False)
    if (chances.dtype, chances.shape) != (np.float32, (SIZE, TURNS)):
        raise ValueError(
            f"backgammon: expected a table of bear-offs in {str(file)!r}, got something else: remove the file"
        )
    return chances


def is_exact(state: State) -> bool:
    """Whether the table gives the value of a position: both players bear off, and each has a checker off."""
    sides = state.row[: 2 * SIDE].reshape(2, SIDE)
    return bool((sides[:, OFF] > 0).all() and not sides[:, POINTS + 1 :].any())


def value(state: State, thrower: int) -> float:
    """Returns the chance to win minus the chance to lose of the player about to throw, by the table."""
    sides = state.row[: 2 * SIDE].reshape(2, SIDE)[:, 1 : POINTS + 1].astype(np.int64)
    mine, theirs = table()[index(sides[[thrower, 1 - thrower]])].astype(float)
    return float(2 * (mine * theirs[::-1].cumsum()[::-1]).sum() - 1)  # who throws first wins with as many turns
