"""The exact solver of the Royal Game of Ur: the chance to win of who is about to throw, in every position.

Value iteration in layers. A layer holds the positions with so many pieces borne off by the player in turn and by the other. A
piece that is borne off never comes back, so a layer depends on itself, on the layer of the same numbers for the other player, and
on later ones: the last two layers come first, each pair is swept in place until no value moves by more than TINY. Every move but a
capture brings the pieces on, so a sweep goes from the pieces that have come furthest to those at the start, and what depends on
one another by a pass, a position and the same one with the other player to throw, is solved together: only what captures send
back needs another sweep.
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
from leafwise_ur import BOARD, MOVER, OFF, OFF_BOARD, ROSETTES, THROWS, captured, count, starts

TINY = 1e-10
SHARED, LANES = 3**8, 64
"""Ways to fill the eight shared squares, each empty, of the player in turn, or of the other; and the six squares of one's own."""
THREADS = 2
SIDE = 15
"""Bits of a board."""
BLOCK = 1024
"""Pairs that one thread values before the next ones are the other's."""
SWEEPS = 60
"""About how often a position is valued, as counted with 2 to 4 pieces."""


class Places(NamedTuple):
    """Where positions stand in the table: those with the same pieces borne off and on shared squares side by side."""

    pieces: int
    start: NDArray[np.int64]
    """[pieces + 1, pieces + 1, SHARED]: the first place, by pieces borne off by the player in turn and the other, and by those on
    shared squares."""
    threes: NDArray[np.int64]
    """[256]: squares of one player -> their share of the index into SHARED."""
    shared: NDArray[np.int64]
    """[2, SHARED]: squares of the player in turn and of the other, as bits 5 to 12 of a board."""
    lane: NDArray[np.int64]
    """[LANES]: the squares of one's own as bits of a board, those with fewer pieces first."""
    rank: NDArray[np.int64]
    """[LANES]: bits of squares 1 to 4, 13 and 14 -> their place in `lane`."""
    width: NDArray[np.int64]
    """[pieces + 1, SHARED]: pieces borne off by the other, pieces on shared squares -> ways to fill the other's own squares."""
    way: NDArray[np.int64]
    """[1 << 14]: squares of a player as bits from square 1 on -> their sum."""
    fits: NDArray[np.int64]
    """[9]: pieces -> ways to place at most so many on the squares of one's own."""
    size: int
    """Positions, finished and impossible ones too."""


def make_places(pieces: int) -> Places:
    """Returns the order of positions of a game with so many pieces."""
    ones = np.array([bits.bit_count() for bits in range(256)])
    order = sorted(range(LANES), key=lambda bits: (bits.bit_count(), bits))
    fits = np.array([sum(bits.bit_count() <= k for bits in range(LANES)) for k in range(9)])
    digits = np.arange(SHARED)[:, None] // 3 ** np.arange(8) % 3
    squares = np.array([(digits == who) @ (1 << np.arange(8)) for who in (1, 2)])
    sizes = np.zeros((pieces + 1, pieces + 1, SHARED), np.int64)
    for x, y in np.ndindex(pieces + 1, pieces + 1):
        left = pieces - x - ones[squares[0]], pieces - y - ones[squares[1]]
        can = (left[0] >= 0) & (left[1] >= 0)
        sizes[x, y][can] = fits[left[0][can]] * fits[left[1][can]]
    ends = np.cumsum(sizes)
    return Places(
        pieces,
        start=(ends - sizes.reshape(-1)).reshape(sizes.shape),
        threes=(np.arange(256)[:, None] >> np.arange(8) & 1) @ 3 ** np.arange(8),
        shared=squares << 5,
        lane=np.array([(bits & 15) << 1 | (bits >> 4) << 13 for bits in order]),
        rank=np.argsort(order),
        width=fits[np.maximum(pieces - np.arange(pieces + 1)[:, None] - ones[squares[1]], 0)],
        way=(np.arange(1 << 14)[:, None] >> np.arange(14) & 1) @ np.arange(1, 15),
        fits=fits,
        size=int(ends[-1]),
    )


@jit(inline=True)
def place(own, other, x, y, M):
    """Returns where a position stands, from the boards and pieces borne off of the player in turn and of the other."""
    s = M.threes[own >> 5 & 255] + 2 * M.threes[other >> 5 & 255]
    i, j = M.rank[(own >> 1 & 15) | (own >> 13) << 4], M.rank[(other >> 1 & 15) | (other >> 13) << 4]
    return M.start[x, y, s] + i * M.width[y, s] + j


@jit
def thrown_value(V, L, K, own, other, x, y, M):
    """Returns what the throws with a move add to the chance to win of who is about to throw, and how probable a pass is.

    L has the values of this layer, K those of the same numbers for the other player, V those of later ones.
    """
    home, total, passed = M.pieces - x - count(own), 0.0, 0.0
    for n in range(5):
        bits = starts(own, other, home, n)
        best = 0.0
        if bits == 0:
            passed += THROWS[n]
        while bits:
            a = count((bits & -bits) - 1)
            to, rest = a + n, own & ~(1 << a)
            bits &= bits - 1
            if to == OFF_BOARD:
                value = 1.0 - V[place(other, rest, y, x + 1, M)]
            elif ROSETTES >> to & 1:
                value = L[place(rest | 1 << to, other, x, y, M) - M.start[x, y, 0]]
            else:
                value = 1.0 - K[place(captured(other, to), rest | 1 << to, y, x, M) - M.start[y, x, 0]]
            best = max(best, value)
        total += THROWS[n] * best
    return total, passed


@jit
def enlist(order, back, x, y, M):
    """Writes the pairs of a layer to `order`, the boards of the player in turn and, SIDE bits above, of the other, and to `back`
    how far their pieces have to go. Returns how many they are; of two that are the same pair one is listed."""
    n = 0
    for s in range(M.shared.shape[1]):
        left, others = M.pieces - x - count(M.shared[0, s]), M.pieces - y - count(M.shared[1, s])
        if left < 0 or others < 0:
            continue
        for i in range(M.fits[left]):
            for j in range(M.fits[others]):
                own, other = M.shared[0, s] | M.lane[i], M.shared[1, s] | M.lane[j]
                if x != y or own >= other:
                    order[n], back[n] = own | other << SIDE, -M.way[own >> 1] - M.way[other >> 1]
                    n += 1
    return n


@jit
def sweep(V, L, K, order, x, y, part, stop, M):
    """Values a share of a layer's pairs anew, in place; returns by how much a value has moved at most."""
    most = 0.0
    for k in range(order.shape[0]):
        if k // BLOCK % THREADS != part:
            continue
        if stop[0]:
            break
        own, other = np.int64(order[k]) & (1 << SIDE) - 1, np.int64(order[k]) >> SIDE
        first = place(own, other, x, y, M) - M.start[x, y, 0]
        second = place(other, own, y, x, M) - M.start[y, x, 0]
        value, passed = thrown_value(V, L, K, own, other, x, y, M)
        reply, passed_back = thrown_value(V, K, L, other, own, y, x, M)
        # p = value + passed (1 - q), q = reply + passed_back (1 - p)
        value = (value + passed * (1.0 - reply - passed_back)) / (1.0 - passed * passed_back)
        reply += passed_back * (1.0 - value)
        most = max(most, abs(value - L[first]), abs(reply - K[second]))
        L[first], K[second] = value, reply
    return most


def kept_file(pieces: int, folder: Path | None = None) -> Path:
    """Returns where the values of a variant are kept."""
    return (folder or cache_root() / "ur") / f"chances-{pieces}.npy"


def memory_mb(pieces: int) -> float:
    """Returns the memory that the solver takes: nothing once values are kept, else 4 bytes a position and 34 for each of the
    largest layer.
    """
    if kept_file(pieces).exists():
        return 0.0
    places = make_places(pieces)
    largest = int(np.diff(places.start[0, :, 0], append=places.start[1, 0, 0]).max())
    return float(np.ceil((4 * places.size + 34 * largest) / 1e6))


class Solver:
    """Solves every position of a variant on the first question, and keeps the values in a file of the cache.

    Layers that are whole when it is stopped are kept too, and it goes on from there. It says of positions before a throw too what
    they are worth (`solves_chance`). Raises ValueError for a file that holds something else.
    """

    solves_chance = True

    def __init__(self, game: Game, table_mb: float = 64, folder: Path | None = None) -> None:
        self.game, self.stop, self.nodes = game, np.zeros(1, dtype=np.uint8), 0
        self.places = make_places(game.options.pieces)
        self.file = kept_file(game.options.pieces, folder)
        self.unfinished = self.file.with_suffix(".part.npy")
        self.values = self._kept(self.file) if self.file.exists() else None

    def value(self, state: State) -> float:
        """Returns the chance to win of whose turn it is, before a throw; all positions are solved at the first call."""
        mover, row = int(state.row[MOVER]), state.row.tolist()
        told = *(row[BOARD + p] for p in (mover, 1 - mover)), *(row[OFF + p] for p in (mover, 1 - mover))
        return float(self._all()[place(*told, self.places)])

    def solve(self, state: State, actions: str = "all") -> Solution:
        """Solves a position in which a player acts or is about to throw: values are chances to win less those to lose."""
        if state.game != self.game or actions not in ("all", "best", "none", "move"):
            raise ValueError(f"ur: expected a position of {self.game!r}, and all, best, none or move, got {actions!r}")
        if state.is_terminal:
            raise ValueError(f"ur: expected a position in which the game goes on, got {str(state)!r}")
        started, player = time.perf_counter(), state.row[MOVER]
        self.nodes = self.stop[0] = 0
        stoppable(self._all, self.stop)
        if self.stop[0]:
            return Solution(None, None, nodes=self.nodes, seconds=time.perf_counter() - started, complete=False)
        values: dict[str, float] = {}
        if not state.is_chance:
            for name in state.legal_names:
                after = state.play(name)
                worth = 1.0 if after.is_terminal else 2 * self.value(after) - 1
                values[name] = worth if after.is_terminal or after.row[MOVER] == player else -worth
        best = max(values.values()) if values else 2 * self.value(state) - 1
        good = tuple(name for name, value in values.items() if value > best - TINY)
        return Solution(
            value=best,
            score=None,
            best_actions=good[: None if actions != "none" else 1],
            action_values=values if actions == "all" else {},
            line=good[:1],
            nodes=self.nodes,
            depth=len(good[:1]),
            seconds=time.perf_counter() - started,
            bounds=(best, best),
        )

    def known(self) -> dict[str, Any]:
        """Returns `bounds` of the value and `nodes`, positions valued so far."""
        return {"bounds": (-1, 1), "nodes": self.nodes}

    def _kept(self, file: Path) -> NDArray[np.float32]:
        """Returns the values in a file, mapped."""
        values: NDArray[Any] = np.load(file, mmap_mode="r", allow_pickle=False)
        if (values.dtype, values.shape) != (np.float32, (self.places.size,)):
            raise ValueError(f"ur: expected {self.places.size:,} values in {str(file)!r}, got others: remove the file")
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

    def _layer(self, x: int, y: int) -> tuple[NDArray[Any], ...]:
        """Returns a layer's values, those of the other player's, and its pairs, those that have come furthest first."""
        first = self.places.start[:, :, 0]
        size = int(first[x, y + 1] - first[x, y])
        order, back = np.empty(size, np.int32), np.empty(size, np.int16)
        n = enlist(order, back, x, y, self.places)
        values = np.full(size, 0.5)
        return values, values if x == y else values.copy(), order[np.argsort(back[:n], kind="stable")]

    def _tell_time(self, V: NDArray[Any], left: int) -> None:
        """Tells on standard error, where it is minutes, how long it takes, from the time of two sweeps of a small layer."""
        x = max(self.places.pieces - 3, 0)
        L, K, order = self._layer(x, x)
        for _ in range(2):  # the first one compiles
            started = time.perf_counter()
            sweep(V, L, K, order[: BLOCK * 16], x, x, 0, self.stop, self.places)
        per_pair = (time.perf_counter() - started) / max(1, min(len(order), BLOCK * 16) / THREADS)
        minutes = SWEEPS * left / 2 * per_pair / THREADS / 60
        if minutes >= 0.5:
            print(f"ur: {left:,} positions take about {minutes:.0f} min; Ctrl-C keeps what is done", file=sys.stderr)

    def _all(self) -> NDArray[Any]:
        """Returns the values of all positions; where they are not known yet, solves and keeps them, or, stopped, whole layers."""
        if self.values is not None:
            return self.values
        M, last = self.places, self.places.pieces - 1
        first = M.start[:, :, 0]
        V = np.array(self._kept(self.unfinished)) if self.unfinished.exists() else np.zeros(M.size, np.float32)
        for k in range(last + 1):  # who has borne all off has won
            V[first[-1, k] : first[-1, k + 1]] = 1.0
        layers = sorted(combinations_with_replacement(range(last + 1), 2), key=sum, reverse=True)
        layers = [(x, y) for x, y in layers if V[first[x, y]] == 0]  # a chance to win is never 0
        self._tell_time(V, sum(int(first[x, y + 1] - first[x, y]) * (2 - (x == y)) for x, y in layers))
        with ThreadPoolExecutor(THREADS) as pool:
            for x, y in layers:
                L, K, order = self._layer(x, y)
                moved = 1.0
                while moved > TINY and not self.stop[0]:
                    jobs = [pool.submit(sweep, V, L, K, order, x, y, part, self.stop, M) for part in range(THREADS)]
                    moved = max(job.result() for job in jobs)
                    self.nodes += 2 * len(order)
                if self.stop[0]:
                    self._keep(V, self.unfinished)
                    return V
                V[first[x, y] :][: len(L)], V[first[y, x] :][: len(K)] = L, K
        self._keep(V, self.file)
        self.unfinished.unlink(missing_ok=True)
        self.values = self._kept(self.file)
        return self.values
