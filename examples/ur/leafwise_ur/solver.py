"""The exact solver of the Royal Game of Ur: the chance to win of the player about to throw, in every position.

It uses value iteration in layers. A layer has the positions with the same numbers of pieces borne off. Such a piece never
returns, so a layer depends only on itself and on later ones, and the last layer is solved first. Each layer is swept in place,
from the last square to the first, until no value changes by more than TINY. A position and the same one with the other player to
throw depend on each other through a pass, so they are solved together.
"""

from __future__ import annotations

import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations_with_replacement
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leafwise.authoring import Game, Solution, State, cache_root, jit, stoppable
from leafwise_ur import BOARD, MOVER, OFF, OFF_BOARD, ROSETTES, SHARED, THROWS, captured, count, starts

TINY = 1e-10
FILLED, LANES = 3**8, 64
"""Number of ways to fill the eight shared squares, and a player's six own squares."""
THREADS = 2
SWEEPS = 60
"""Approximate number of sweeps: 19 with two pieces each, 43 with four, 57 with seven."""


class PositionOrder(NamedTuple):
    """The order of positions among the values: by pieces borne off, by shared squares, then by the squares of each player."""

    pieces: int
    start: NDArray[np.int64]  # [pieces + 1, pieces + 1, FILLED]: the first index
    threes: NDArray[np.int64]  # [256]: a player's pieces on shared squares -> its share of the index into FILLED
    shared: NDArray[np.int64]  # [2, FILLED]: the squares of the player in turn and of the other, as bits of a board
    lane: NDArray[np.int64]  # [LANES]: own squares as bits of a board, fewer pieces first
    rank: NDArray[np.int64]  # [LANES]: bits of squares 1 to 4, 13 and 14 -> their index in `lane`
    fits: NDArray[np.int64]  # [pieces + 1]: pieces -> number of lanes with at most as many
    size: int  # number of positions, with finished and impossible ones


def make_order(pieces: int) -> PositionOrder:
    """Returns the order of positions of a game with `pieces` pieces each."""
    order = sorted(range(LANES), key=lambda bits: (bits.bit_count(), bits))
    fits = np.array([sum(bits.bit_count() <= k for bits in order) for k in range(pieces + 1)])
    digits = np.arange(FILLED)[:, None] // 3 ** np.arange(8) % 3
    left = [pieces - np.arange(pieces + 1)[:, None] - (digits == who).sum(axis=1) for who in (1, 2)]
    ways = [np.where(one >= 0, fits[np.maximum(one, 0)], 0) for one in left]
    sizes = ways[0][:, None] * ways[1][None]
    ends = np.cumsum(sizes)
    return PositionOrder(
        pieces,
        start=(ends - sizes.reshape(-1)).reshape(sizes.shape),
        threes=(np.arange(256)[:, None] >> np.arange(8) & 1) @ 3 ** np.arange(8),
        shared=np.array([(digits == who) @ (1 << np.arange(5, 13)) for who in (1, 2)]),
        lane=np.array([(bits & 15) << 1 | (bits >> 4) << 13 for bits in order]),
        rank=np.argsort(order),
        fits=fits,
        size=int(ends[-1]),
    )


@jit(inline=True)
def index_of(mine, other, x, y, M):
    """Returns the index of a position, from boards and pieces borne off of the player in turn and of the other."""
    s = M.threes[mine >> 5 & 255] + 2 * M.threes[other >> 5 & 255]
    i, j = M.rank[(mine >> 1 & 15) | (mine >> 13) << 4], M.rank[(other >> 1 & 15) | (other >> 13) << 4]
    return M.start[x, y, s] + i * M.fits[M.pieces - y - count(other & SHARED)] + j


@jit
def thrown_value(V, mine, other, x, y, M):
    """Returns the chance to win through throws with a move, and the probability of a pass, for the player about to throw."""
    home, total, passed = M.pieces - x - count(mine), 0.0, 0.0
    for n in range(5):
        bits = starts(mine, other, home, n)
        best = 0.0
        if bits == 0:
            passed += THROWS[n]
        while bits:
            a = count((bits & -bits) - 1)
            to, rest = a + n, mine & ~(1 << a)
            bits &= bits - 1
            if to == OFF_BOARD:
                value = 1.0 - V[index_of(other, rest, y, x + 1, M)]
            elif ROSETTES >> to & 1:
                value = V[index_of(rest | 1 << to, other, x, y, M)]
            else:
                value = 1.0 - V[index_of(captured(other, to), rest | 1 << to, y, x, M)]
            best = max(best, value)
        total += THROWS[n] * best
    return total, passed


@jit
def sweep(V, x, y, part, stop, M):
    """Updates a thread's share of a layer in place; returns the largest change of a value."""
    most = 0.0
    for s in range(FILLED - 1 - part, -1, -THREADS):
        left, others = M.pieces - x - count(M.shared[0, s]), M.pieces - y - count(M.shared[1, s])
        if stop[0] or left < 0 or others < 0:
            continue
        for i in range(M.fits[left] - 1, -1, -1):
            for j in range(M.fits[others] - 1, -1, -1):
                mine, other = M.shared[0, s] | M.lane[i], M.shared[1, s] | M.lane[j]
                if x == y and mine < other:
                    continue
                first, second = index_of(mine, other, x, y, M), index_of(other, mine, y, x, M)
                value, passed = thrown_value(V, mine, other, x, y, M)
                reply, passed_back = thrown_value(V, other, mine, y, x, M)
                # p = value + passed (1 - q), q = reply + passed_back (1 - p)
                value = (value + passed * (1.0 - reply - passed_back)) / (1.0 - passed * passed_back)
                reply += passed_back * (1.0 - value)
                most = max(most, abs(value - V[first]), abs(reply - V[second]))
                V[first], V[second] = value, reply
    return most


def kept_file(pieces: int, folder: Path | None = None) -> Path:
    """Returns the cache file of a variant's values."""
    return (folder or cache_root() / "ur") / f"chances-{pieces}.npy"


def memory_mb(pieces: int) -> float:
    """Returns the memory of the solver in MB: none with cached values, else 12 bytes a position."""
    return 0.0 if kept_file(pieces).exists() else float(np.ceil(12e-6 * make_order(pieces).size))


class Solver:
    """Solves every position of a variant at the first call, and caches the values in a file.

    If it is stopped, it saves its values and continues from there. It also solves positions before a throw (`solves_chance`).
    Raises ValueError for a file with other data.
    """

    solves_chance = True

    def __init__(self, game: Game, table_mb: float = 64, folder: Path | None = None) -> None:
        self.game, self.stop, self.nodes = game, np.zeros(1, dtype=np.uint8), 0
        self.order = make_order(game.options.pieces)
        self.file = kept_file(game.options.pieces, folder)
        self.unfinished = self.file.with_suffix(".part.npy")
        self.values = self._kept(self.file) if self.file.exists() else None

    def value(self, state: State) -> float:
        """Returns the chance to win of the player in turn, before a throw; the first call solves all positions."""
        values = self._all() if self.values is None else self.values
        row, mover = state.row.tolist(), int(state.row[MOVER])
        boards, off = row[BOARD : BOARD + 2], row[OFF : OFF + 2]
        return float(values[index_of(boards[mover], boards[1 - mover], off[mover], off[1 - mover], self.order)])

    def solve(self, state: State, actions: str = "all") -> Solution:
        """Solves a position where a player acts or is about to throw: values are chances to win minus chances to lose."""
        if state.game != self.game or actions not in ("all", "best", "none", "move"):
            raise ValueError(f"ur: expected a position of {self.game!r}, and all, best, none or move, got {actions!r}")
        if state.is_terminal:
            raise ValueError(f"ur: expected a position in which the game goes on, got {str(state)!r}")
        started, player = time.perf_counter(), state.row[MOVER]
        self.nodes = self.stop[0] = 0
        if self.values is None:
            stoppable(self._all, self.stop)
        values, seconds = dict[str, float](), time.perf_counter() - started
        if self.stop[0]:
            return Solution(None, None, nodes=self.nodes, seconds=seconds, complete=False)
        for name in () if state.is_chance else state.legal_names:
            after = state.play(name)
            worth = 1.0 if after.is_terminal else 2 * self.value(after) - 1
            values[name] = worth if after.is_terminal or after.row[MOVER] == player else -worth
        best = max(values.values()) if values else 2 * self.value(state) - 1
        good = tuple(name for name, value in values.items() if value > best - TINY)[: 1 if actions == "none" else None]
        action_values = values if actions == "all" else {}
        line, work = good[:1], {"nodes": self.nodes, "seconds": seconds}
        return Solution(best, None, good, action_values, line=line, depth=len(line), bounds=(best, best), **work)

    def known(self) -> dict[str, Any]:
        """Returns `bounds` of the value, and `nodes`: positions valued so far."""
        return {"bounds": (-1, 1), "nodes": self.nodes}

    def _kept(self, file: Path) -> NDArray[np.float32]:
        """Maps the values of a file into memory."""
        values: NDArray[Any] = np.load(file, mmap_mode="r", allow_pickle=False)
        if (values.dtype, values.shape) != (np.float32, (self.order.size,)):
            raise ValueError(f"ur: expected {self.order.size:,} values in {str(file)!r}, got others: remove the file")
        return values

    def _keep(self, values: NDArray[np.float32], file: Path) -> None:
        """Writes values to a file, whole or not at all."""
        file.parent.mkdir(parents=True, exist_ok=True)
        partial = file.with_suffix(f".{os.getpid()}.npy")
        try:
            np.save(partial, values)
            partial.replace(file)
        finally:
            partial.unlink(missing_ok=True)

    def _all(self) -> NDArray[Any]:
        """Solves all positions, saves and returns their values; if stopped, those so far."""
        M, pieces = self.order, self.order.pieces
        V = np.array(self._kept(self.unfinished), float) if self.unfinished.exists() else np.zeros(M.size)
        V[M.start[pieces, 0, 0] :] = 1.0  # a player with all pieces off has won
        is_announced = False
        with ThreadPoolExecutor(THREADS) as pool:
            for x, y in sorted(combinations_with_replacement(range(pieces), 2), key=sum, reverse=True):
                n = int(M.start[x, y + 1, 0] - M.start[x, y, 0]) * (2 - (x == y))
                moved = 1.0
                while moved > TINY and not self.stop[0]:
                    begun = time.perf_counter()
                    jobs = [pool.submit(sweep, V, x, y, part, self.stop, M) for part in range(THREADS)]
                    moved = max(job.result() for job in jobs)
                    self.nodes += n
                    minutes = SWEEPS * M.size / n * (time.perf_counter() - begun) / 60
                    if n > 100_000 and minutes > 0.5 and not is_announced:
                        is_announced = True
                        words = f"{M.size:,} positions take about {minutes:.0f} min; Ctrl-C keeps what is done"
                        print(f"ur: {words}", file=sys.stderr)
        file = self.unfinished if self.stop[0] else self.file
        self._keep(V.astype(np.float32), file)
        if file == self.file:
            self.unfinished.unlink(missing_ok=True)
            self.values = self._kept(file)
        return V
