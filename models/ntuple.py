"""N-tuple networks: sums of table entries, one per tuple of cells and symmetry, as compiled leaf evaluators.

Source: Lucas, "Learning to play Othello with n-tuple systems", 2008; Szubert and Jaskowski, "Temporal difference
learning of n-tuple networks for the game 2048", CIG 2014.

What is learned is the potential still to come, where the potential of a board is the sum over its cells of (points of the
cell)**power. The evaluator's value is the potential so far plus the learned value; a finished game has nothing to come.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.cells import CellFeatures
from leafwise.envs.core.evaluator import Evaluator
from leafwise.envs.core.game import Game
from leafwise.envs.core.jit import specialise
from leafwise.envs.core.rules import TERMINAL

LINE = np.uint64(0xFFFF)
S16, S32, S48 = np.uint64(16), np.uint64(32), np.uint64(48)
CELLS = 16


class NTupleWeights(NamedTuple):
    """The evaluator's part of `T`: tables, and where each tuple's index comes from."""

    table: NDArray[np.float32]
    """All tables, one after another."""
    offsets: NDArray[np.uint64]
    """Start of each tuple's table, then of each small table."""
    pieces: NDArray[np.uint64]
    """(shift right, mask, shift left) of each run of neighbouring cells, [tuples, runs, 3]; unused ones have mask 0."""
    potential: NDArray[np.float32]
    """Potential of each line of four cells, [65536]."""


def tuple_index(b, t, W):
    """Returns the index of tuple t for board b in `W.table`."""
    index = W.offsets[t]
    for p in range(RUNS):
        index += ((b >> W.pieces[t, p, 0]) & W.pieces[t, p, 1]) << W.pieces[t, p, 2]
    return index


def potential(S, i, T):
    """Returns the potential of the board of row i."""
    b, lines = S[i, 0], T.leaf.potential
    return np.float64(lines[b & LINE]) + lines[(b >> S16) & LINE] + lines[(b >> S32) & LINE] + lines[b >> S48]


def to_come(S, i, T):
    """Returns the learned potential still to come, finished or not."""
    W = T.leaf
    n = W.pieces.shape[0]
    total = np.float32(0.0)
    seen = boards(S, i, T)
    for t in range(n):
        for b in seen:
            total += W.table[tuple_index(b, t, W)]
    for k in range(EXTRAS):
        total += W.table[W.offsets[n + k] + extra(S, i, k, T)]
    return np.float64(total)


def add_to_weights(S, i, change, T):
    """Adds `change` to every weight that row i uses."""
    W = T.leaf
    n = W.pieces.shape[0]
    change = np.float32(change)
    seen = boards(S, i, T)
    for t in range(n):
        for b in seen:
            W.table[tuple_index(b, t, W)] += change
    for k in range(EXTRAS):
        W.table[W.offsets[n + k] + extra(S, i, k, T)] += change


def ntuple_value(S, i, T):
    """Returns the potential so far plus what is still to come."""
    so_far = potential(S, i, T)
    if current_player(S, i, T) == TERMINAL:
        return so_far
    return so_far + to_come(S, i, T)


@functools.cache
def compiled(game: Game, most_runs: int) -> dict[str, Any]:
    """Returns the compiled functions, by name, of n-tuple networks for a game and tuples of at most `most_runs` runs."""
    cells = features(game)
    scope: dict[str, Any] = {**game.rules.injected(), "boards": cells.boards, "extra": cells.extra}
    scope |= {"EXTRAS": len(cells.extra_sizes), "RUNS": most_runs}
    for template in (tuple_index, potential, to_come, add_to_weights, ntuple_value):
        scope[template.__name__] = specialise(template, f"{game.name}_{most_runs}", scope, game.room, inline=True)
    return scope


def features(game: Game) -> CellFeatures:
    """Returns the game's cell features; raises ValueError for a game without."""
    if game.cells is None:
        raise ValueError(f"n-tuple networks: expected a game with cell features, got {game.name!r}")
    return game.cells


@dataclass(frozen=True)
class NTupleNetwork:
    """The shape of a network, and its weights."""

    game: Game
    tuples: tuple[tuple[int, ...], ...]
    """Cells of each tuple, 0..15 in row-major order."""
    power: float
    weights: NTupleWeights

    @staticmethod
    def create(
        game: Game, tuples: Sequence[Sequence[int]], power: float, table: NDArray[np.float32] | None = None
    ) -> NTupleNetwork:
        """Builds a network; without `table` all weights are 0. Raises ValueError for tuples that are none."""
        cells = features(game)
        checked = tuple(tuple(t) for t in tuples)
        for t in checked:
            if not 1 <= len(t) <= 7 or len(set(t)) != len(t) or not all(0 <= c < CELLS for c in t):
                raise ValueError(f"n-tuple networks: expected tuples of 1 to 7 different cells 0..15, got {t!r}")
        if not checked or not 0 < power <= 1:
            raise ValueError(f"n-tuple networks: expected a tuple and a power in (0, 1], got {checked!r}, {power!r}")
        sizes = [16 ** len(t) for t in checked] + list(cells.extra_sizes)
        if table is None:
            table = np.zeros(sum(sizes), dtype=np.float32)
        if table.shape != (sum(sizes),) or table.dtype != np.float32:
            raise ValueError(f"n-tuple networks: expected float32 [{sum(sizes)}], got {table.dtype} {table.shape}")
        pieces = [runs(t) for t in checked]
        most = max(len(p) for p in pieces)
        points = np.array(cells.points) ** power
        lines = np.arange(65536)
        weights = NTupleWeights(
            table=table,
            offsets=np.cumsum([0, *sizes[:-1]]).astype(np.uint64),
            pieces=np.array([p + [(0, 0, 0)] * (most - len(p)) for p in pieces], dtype=np.uint64),
            potential=sum(points[(lines >> (4 * k)) & 15] for k in range(4)).astype(np.float32),
        )
        return NTupleNetwork(game, checked, power, weights)

    @property
    def active(self) -> int:
        """How many weights add up to one value."""
        cells = features(self.game)
        return cells.symmetries * len(self.tuples) + len(cells.extra_sizes)

    @property
    def functions(self) -> dict[str, Any]:
        """The compiled functions that work on this network's weights, by name."""
        return compiled(self.game, self.weights.pieces.shape[1])

    def evaluator(self, name: str) -> Evaluator:
        """Returns the network as a leaf evaluator."""
        value = self.functions["ntuple_value"]
        return Evaluator(name, value, self.weights, features(self.game).stage, terminal="evaluate")


def runs(cells: Sequence[int]) -> list[tuple[int, int, int]]:
    """Splits a tuple into runs of neighbouring cells, as (shift right, mask, shift left) in bits."""
    pieces: list[tuple[int, int, int]] = []
    start = 0
    for k in range(1, len(cells) + 1):
        if k == len(cells) or cells[k] != cells[k - 1] + 1:
            pieces.append((4 * cells[start], (1 << 4 * (k - start)) - 1, 4 * start))
            start = k
    return pieces


def parse_tuples(text: str) -> tuple[tuple[int, ...], ...]:
    """Reads tuples as words of hexadecimal cells, `0123 4567 569a`; raises ValueError otherwise."""
    try:
        return tuple(tuple(int(c, 16) for c in word) for word in text.split())
    except ValueError:
        raise ValueError(f"expected tuples as words of cells 0-9, a-f, like '0123 569a', got {text!r}") from None
