"""The exact solver of the Royal Game of Ur: the chance to win of who is about to throw, in every position.

Value iteration in layers. A layer holds the positions with so many pieces borne off by the player in turn and by the other. A
piece that is borne off never comes back, so a layer depends on itself, on the layer of the same numbers for the other player, and
on later ones: the last two layers come first, each pair is swept in place until no value moves by more than TINY.
"""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leafwise.authoring import Game, Solution, State, cache_root, jit, stoppable
from leafwise_ur import BOARD, MOVER, OFF, OFF_BOARD, PASS, ROSETTES, THROW, THROWS, TO_THROW, captured, count, starts

TINY = 1e-10
SHARED = 3**8
"""Ways to fill the eight shared squares: each empty, of the player in turn, or of the other."""
LANES = 64
"""Ways to fill the six squares of one's own."""
THREADS = 2


class Places(NamedTuple):
    """Where positions stand in the table."""

    pieces: int
    start: NDArray[np.int64]
    """[pieces + 1, pieces + 1, SHARED]: the first place with so many borne off by the player in turn and the other, and these
    pieces on shared squares."""
    threes: NDArray[np.int64]
    """[256]: squares of one player -> their share of the index into SHARED."""
    shared: NDArray[np.int64]
    """[2, SHARED]: squares of the player in turn and of the other, as bits 5 to 12 of a board."""
    lane: NDArray[np.int64]
    """[LANES]: the squares of one's own as bits of a board, those with fewer pieces first."""
    rank: NDArray[np.int64]
    """[LANES]: bits of squares 1 to 4, 13 and 14 -> their place in `lane`."""
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
        threes=np.array([sum(3**k for k in range(8) if bits >> k & 1) for bits in range(256)]),
        shared=squares << 5,
        lane=np.array([(bits & 15) << 1 | (bits >> 4) << 13 for bits in order]),
        rank=np.argsort(order),
        fits=fits,
        size=int(ends[-1]),
    )


@jit
def place(own, other, x, y, M):
    """Returns where a position stands, from the boards and pieces borne off of the player in turn and of the other."""
    mine, theirs = own >> 5 & 255, other >> 5 & 255
    first = M.start[x, y, M.threes[mine] + 2 * M.threes[theirs]]
    i, j = M.rank[(own >> 1 & 15) | (own >> 13) << 4], M.rank[(other >> 1 & 15) | (other >> 13) << 4]
    return first + i * M.fits[M.pieces - y - count(theirs)] + j


@jit
def moved_value(V, own, other, x, y, a, n, M):
    """Returns the chance to win of who moves a piece from square `a` by `n`, or passes."""
    to = a + n
    if a == PASS:
        return 1.0 - V[place(other, own, y, x, M)]
    own &= ~(1 << a)
    if to == OFF_BOARD:
        return 1.0 if x + 1 == M.pieces else 1.0 - V[place(other, own, y, x + 1, M)]
    own, other = own | 1 << to, captured(other, to)
    if ROSETTES >> to & 1:
        return np.float64(V[place(own, other, x, y, M)])
    return 1.0 - V[place(other, own, y, x, M)]


@jit
def thrown_value(V, own, other, x, y, M):
    """Returns the chance to win of who is about to throw, one turn ahead."""
    home = M.pieces - x - count(own)
    total = 0.0
    for n in range(5):
        bits = starts(own, other, home, n)
        best = moved_value(V, own, other, x, y, PASS, n, M) if bits == 0 else 0.0
        while bits:
            a = count((bits & -bits) - 1)
            best = max(best, moved_value(V, own, other, x, y, a, n, M))
            bits &= bits - 1
        total += THROWS[n] * best
    return total


@jit
def sweep(V, x, y, part, parts, stop, M):
    """Values a share of a layer anew, in place; returns by how much a value has moved at most."""
    most = 0.0
    for s in range(part, M.shared.shape[1], parts):
        mine, theirs = M.shared[0, s], M.shared[1, s]
        left, others = M.pieces - x - count(mine), M.pieces - y - count(theirs)
        if left < 0 or others < 0 or stop[0]:
            continue
        here = M.start[x, y, s]
        for i in range(M.fits[left]):
            for j in range(M.fits[others]):
                value = thrown_value(V, mine | M.lane[i], theirs | M.lane[j], x, y, M)
                most = max(most, abs(value - V[here]))
                V[here] = value
                here += 1
    return most


class Solver:
    """Solves every position of a variant on the first question, and keeps the values in a file of the cache.

    Raises ValueError for less memory than it takes, before it begins, and for a file that holds something else.
    """

    def __init__(self, game: Game, table_mb: float = 64, folder: Path | None = None) -> None:
        self.game, self.stop, self.nodes = game, np.zeros(1, dtype=np.uint8), 0
        self.places = make_places(game.options.pieces)
        self.file = (folder or cache_root() / "ur") / f"values-{game.options.pieces}.npy"
        self.values = self._kept() if self.file.exists() else None
        if self.values is None and table_mb * 1e6 < 12 * self.places.size:
            raise ValueError(
                f"ur: expected {12 * self.places.size / 1e6:,.0f} MB of memory for {self.places.size:,} positions, got {table_mb:g}"
            )

    def value(self, state: State) -> float:
        """Returns the chance to win of whose turn it is, before a throw; all positions are solved at the first call."""
        return float(self._all()[place(*self._told(state), self.places)])

    def solve(self, state: State, actions: str = "all") -> Solution:
        """Solves a position in which a player acts: values are chances to win less those to lose."""
        if state.game != self.game or actions not in ("all", "best", "none", "move"):
            raise ValueError(f"ur: expected a position of {self.game!r}, and all, best, none or move, got {actions!r}")
        if state.is_terminal or state.row[THROW] == TO_THROW:
            raise ValueError(f"ur: expected a position in which a player acts, got {str(state)!r}")
        started = time.perf_counter()
        self.nodes = self.stop[0] = 0
        V = stoppable(self._all, self.stop)
        if self.stop[0]:
            return Solution(None, None, nodes=self.nodes, seconds=time.perf_counter() - started, complete=False)
        names, told = self.game.actions, self._told(state)
        n = int(state.row[THROW])
        values = {names[a]: 2 * moved_value(V, *told, a, n, self.places) - 1 for a in state.legal_actions}
        best = max(values.values())
        good = tuple(name for name, value in values.items() if value > best - TINY)
        return Solution(
            value=best,
            score=None,
            best_actions=good[: None if actions != "none" else 1],
            action_values=values if actions == "all" else {},
            line=good[:1],
            nodes=self.nodes,
            depth=1,
            seconds=time.perf_counter() - started,
            bounds=(best, best),
        )

    def known(self) -> dict[str, Any]:
        """Returns `bounds` of the value and `nodes`, positions valued so far."""
        return {"bounds": (-1, 1), "nodes": self.nodes}

    def _told(self, state: State) -> tuple[int, int, int, int]:
        """Returns the boards and pieces borne off of whose turn it is and of the other."""
        mover, row = int(state.row[MOVER]), state.row
        return (*(int(row[BOARD + p]) for p in (mover, 1 - mover)), *(int(row[OFF + p]) for p in (mover, 1 - mover)))  # type: ignore[return-value]

    def _kept(self) -> NDArray[np.float32]:
        """Returns the values in the file, mapped."""
        values: NDArray[Any] = np.load(self.file, mmap_mode="r", allow_pickle=False)
        if (values.dtype, values.shape) != (np.float32, (self.places.size,)):
            raise ValueError(
                f"ur: expected {self.places.size:,} values in {str(self.file)!r}, got others: remove the file"
            )
        return values

    def _all(self) -> NDArray[Any]:
        """Returns the values of all positions; where they are not known yet, solves and keeps them unless it is stopped."""
        if self.values is not None:
            return self.values
        V, M, last = np.full(self.places.size, 0.5), self.places, self.places.pieces - 1
        bounds = [*M.start[:, :, 0].reshape(-1), M.size]
        sizes = np.array([b - a for a, b in pairwise(bounds)]).reshape(M.start.shape[:2])
        with ThreadPoolExecutor(THREADS) as pool:
            for total in range(2 * last, -1, -1):
                for x in range(max(0, total - last), total // 2 + 1):
                    layers = {(x, total - x), (total - x, x)}
                    moved = 1.0
                    while moved > TINY and not self.stop[0]:
                        jobs = [
                            pool.submit(sweep, V, *layer, part, THREADS, self.stop, M)
                            for layer in sorted(layers)
                            for part in range(THREADS)
                        ]
                        moved = max(job.result() for job in jobs)
                        self.nodes += sum(int(sizes[layer]) for layer in layers)
        if self.stop[0]:
            return V
        self.file.parent.mkdir(parents=True, exist_ok=True)
        unfinished = self.file.with_suffix(f".{os.getpid()}.npy")
        np.save(unfinished, V.astype(np.float32))
        unfinished.replace(self.file)
        self.values = self._kept()
        return self.values
