"""N-tuple networks: sums of table entries, one per tuple of cells and symmetry, as compiled leaf evaluators.

Source: Lucas, "Learning to play Othello with n-tuple systems", 2008; Szubert and Jaskowski, "Temporal difference
learning of n-tuple networks for the game 2048", CIG 2014.

What is learned is what is still to come: of the potential, the sum over a board's cells of (points of the cell)**power,
or of moves. The evaluator's value is the potential so far plus the learned value; a finished game has nothing to come.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.compile.fingerprint import label
from leafwise.envs.core.compile.intrinsics import prefetch
from leafwise.envs.core.compile.jit import bind
from leafwise.envs.core.contract.cells import CellFeatures
from leafwise.envs.core.contract.evaluator import Evaluator
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.rules import TERMINAL, Compiled

LINE = np.uint64(0xFFFF)
S16, S32, S48 = np.uint64(16), np.uint64(32), np.uint64(48)
CELLS = 16
FAR = np.uint64(1 << 18)
"""Tables with more entries are fetched ahead: they do not stay in the cache."""


class NTupleWeights(NamedTuple):
    """The evaluator's part of `T`: tables, and where each tuple's index comes from."""

    table: NDArray[np.float32] | NDArray[np.int16]
    """All tables one after another, once per stage."""
    scales: NDArray[np.float32]
    """What one unit of a table's entries is worth, [tuples + small tables]."""
    offsets: NDArray[np.uint64]
    """Start of each tuple's table, then of each of the game's small tables, used or not; last the size of a stage."""
    pieces: NDArray[np.uint64]
    """(shift right, mask, shift left) of each run of neighbouring cells, [tuples, runs, 3]; unused ones have mask 0."""
    splits: NDArray[np.uint64]
    """Highest ranks at which the second, third, ... stage begins, ascending."""
    potential: NDArray[np.float32]
    """Potential of each line of four cells, [65536]."""
    constants: NDArray[np.float64]
    """What every state is worth before anything is learned, and what every move counts."""


class Kind(NamedTuple):
    """What compiled code depends on, besides the game."""

    runs: int
    """Most runs of neighbouring cells in a tuple."""
    small: tuple[str, ...]
    """Names of the small tables."""
    packed: bool
    """Whether tables are of int16."""
    staged: bool
    """Whether there is more than one stage."""
    fetched: bool
    """Whether tables are large enough to be fetched ahead."""


class NTupleFunctions(NamedTuple):
    """Compiled functions of one kind of networks, to be inlined; W are the weights, b is a board, S [rows, width]."""

    name: str
    """What tells the kind from others of the game."""
    tuple_index: Compiled
    """`(b, t, W)` -> the index of tuple t in a stage's tables."""
    stage_start: Compiled
    """`(b, W)` -> where the tables of the board's stage begin."""
    potential: Compiled
    """`(S, i, T)` -> the potential of the board of row i."""
    fetch: Compiled
    """`(S, i, T)`: starts to load what the value of row i will read."""
    to_come: Compiled
    """`(S, i, T)` -> the learned potential still to come at row i, finished or not."""
    ntuple_value: Compiled
    """`(S, i, T)` -> the potential so far plus what is still to come."""


def make_table_functions(cells: CellFeatures, kind: Kind, name: str, room: Path) -> tuple[Compiled, Compiled]:
    """Compiles `tuple_index` and `stage_start`: where in the tables of a network a board's entries are."""
    runs, staged, highest = kind.runs, kind.staged, cells.highest

    @bind(name, room, inline=True)
    def tuple_index(b, t, W):
        index = W.offsets[t]
        for p in range(runs):
            index += ((b >> W.pieces[t, p, 0]) & W.pieces[t, p, 1]) << W.pieces[t, p, 2]
        return index

    @bind(name, room, inline=True)
    def stage_start(b, W):
        start = np.uint64(0)
        if staged:
            rank = highest(b)
            for k in range(W.splits.shape[0]):
                if rank >= W.splits[k]:
                    start += W.offsets[W.offsets.shape[0] - 1]
        return start

    return tuple_index, stage_start


@functools.cache
def compiled(game: Game, kind: Kind) -> NTupleFunctions:
    """Returns the compiled functions of one kind of n-tuple networks."""
    cells, current_player = features(game), game.rules.current_player
    boards, extra, extras = cells.boards, cells.extra, len(cells.extra_sizes)
    small = sum(1 << k for k, own in enumerate(cells.extra_sizes) if own in kind.small)
    packed, fetched = kind.packed, kind.fetched
    told = label(current_player, boards, extra, cells.highest, extras, small, kind)
    name, room = f"{game.name}_{told}", game.room
    tuple_index, stage_start = make_table_functions(cells, kind, name, room)

    @bind(name, room, inline=True)
    def potential(S, i, T):
        """Returns the potential of the board of row i of S [rows, width]."""
        b, lines = S[i, 0], T.leaf.potential
        return np.float64(lines[b & LINE]) + lines[(b >> S16) & LINE] + lines[(b >> S32) & LINE] + lines[b >> S48]

    @bind(name, room, inline=True)
    def fetch(S, i, T):
        """Starts to load what the value of row i will read, so that the rows beside it are loaded at the same time."""
        W = T.leaf
        n = W.pieces.shape[0]
        if fetched:
            start = stage_start(S[i, 0], W)
            seen = boards(S, i, T)
            for t in range(n):
                if W.offsets[t + 1] - W.offsets[t] > FAR:
                    for b in seen:
                        prefetch(W.table, start + tuple_index(b, t, W))

    @bind(name, room, inline=True)
    def to_come(S, i, T):
        """Returns the learned potential still to come at row i, finished or not."""
        W = T.leaf
        n = W.pieces.shape[0]
        start = stage_start(S[i, 0], W)
        total = np.float32(W.constants[0])
        seen = boards(S, i, T)
        for t in range(n):
            if packed:
                units = np.int64(0)
                for b in seen:
                    units += W.table[start + tuple_index(b, t, W)]
                total += np.float32(units) * W.scales[t]
            else:
                for b in seen:
                    total += W.table[start + tuple_index(b, t, W)]
        for k in range(extras):
            if small >> k & 1:
                index = start + W.offsets[n + k] + extra(S, i, k, T)
                total += np.float32(W.table[index]) * W.scales[n + k]
        return np.float64(total)

    @bind(name, room, inline=True)
    def ntuple_value(S, i, T):
        """Returns the potential so far plus what is still to come."""
        so_far = potential(S, i, T)
        if current_player(S, i, T) == TERMINAL:
            return so_far
        return so_far + to_come(S, i, T)

    return NTupleFunctions(name, tuple_index, stage_start, potential, fetch, to_come, ntuple_value)


def features(game: Game) -> CellFeatures:
    """Returns the game's cell features; raises ValueError for a game without."""
    if "ntuple" not in game.features:
        raise ValueError(f"n-tuple networks: expected a game with cell features, got {game.name!r}")
    return game.features["ntuple"]


@dataclass(frozen=True)
class Shape:
    """Everything about a network but its weights: which tables there are, and what their sum means."""

    tuples: tuple[tuple[int, ...], ...]
    """Cells of each tuple, 0..15 in row-major order."""
    power: float = 0.7
    """Exponent of a cell's points in the potential; 0: no potential, every move counts 1."""
    stage: str = ""
    """Stage of the game at which a state is valued ("": the features' usual one)."""
    small: tuple[str, ...] | None = None
    """Small tables, by name (None: the features' usual ones)."""
    splits: tuple[int, ...] = ()
    """Highest ranks at which the next copy of all tables takes over, ascending."""
    base: float = 0.0
    """What every state is worth before anything is learned."""

    def check(self, game: Game) -> Shape:
        """Returns the shape with nothing left open; raises ValueError that says what does not fit."""
        cells = features(game)
        tuples = tuple(tuple(t) for t in self.tuples)
        for t in tuples:
            if not 1 <= len(t) <= 7 or len(set(t)) != len(t) or not all(0 <= c < CELLS for c in t):
                raise ValueError(f"n-tuple networks: expected tuples of 1 to 7 different cells 0..15, got {t!r}")
        small = cells.extra_defaults if self.small is None else tuple(self.small)
        stage = self.stage or cells.stages[0]
        if not tuples or not 0 <= self.power <= 1:
            raise ValueError(
                f"n-tuple networks: expected a tuple and a power in [0, 1], got {tuples!r}, {self.power!r}"
            )
        if not set(small) <= set(cells.extra_sizes):
            known = ", ".join(cells.extra_sizes)
            raise ValueError(f"n-tuple networks: expected small tables among {known}, got {', '.join(small)!r}")
        if stage not in cells.stages:
            raise ValueError(f"n-tuple networks: expected a stage among {', '.join(cells.stages)}, got {stage!r}")
        if list(self.splits) != sorted(set(self.splits)) or not all(0 < rank < 16 for rank in self.splits):
            raise ValueError(f"n-tuple networks: expected ascending ranks of 1 to 15 as splits, got {self.splits!r}")
        if not np.isfinite(self.base):
            raise ValueError(f"n-tuple networks: expected a finite base, got {self.base!r}")
        small = tuple(name for name in cells.extra_sizes if name in small)
        return Shape(tuples, float(self.power), stage, small, tuple(self.splits), float(self.base))

    def sizes(self, game: Game) -> list[int]:
        """Returns the size of each table of one stage: the tuples', then the game's small tables, 0 for unused ones."""
        small = [size if name in (self.small or ()) else 0 for name, size in features(game).extra_sizes.items()]
        return [16 ** len(t) for t in self.tuples] + small

    @property
    def copies(self) -> int:
        """How many stages there are."""
        return len(self.splits) + 1


@dataclass(frozen=True)
class NTupleNetwork:
    """The shape of a network, and its weights."""

    game: Game
    shape: Shape
    weights: NTupleWeights

    @staticmethod
    def create(
        game: Game,
        shape: Shape,
        table: NDArray[np.float32] | NDArray[np.int16] | None = None,
        scales: Sequence[float] | None = None,
    ) -> NTupleNetwork:
        """Builds a network; without `table` all weights are 0.

        A table of int16 comes with what a unit of each tuple's and small table's entries is worth. Raises ValueError for
        what does not fit.
        """
        shape = shape.check(game)
        cells, sizes = features(game), shape.sizes(game)
        total = sum(sizes) * shape.copies
        if table is None:
            table = np.zeros(total, dtype=np.float32)  # NumPy asks for large pages
        kind = np.float32 if scales is None else np.int16
        if table.shape != (total,) or table.dtype != kind:
            raise ValueError(f"n-tuple networks: expected {np.dtype(kind)} [{total}], got {table.dtype} {table.shape}")
        if scales is not None and len(scales) != len(sizes):
            raise ValueError(f"n-tuple networks: expected {len(sizes)} scales, got {len(scales)}")
        pieces = [runs(t) for t in shape.tuples]
        most = max(len(p) for p in pieces)
        points = np.array(cells.points) ** shape.power if shape.power else np.zeros(CELLS)
        lines = np.arange(65536)
        weights = NTupleWeights(
            table=table,
            scales=np.ones(len(sizes), dtype=np.float32) if scales is None else np.array(scales, dtype=np.float32),
            offsets=np.cumsum([0, *sizes]).astype(np.uint64),
            pieces=np.array([p + [(0, 0, 0)] * (most - len(p)) for p in pieces], dtype=np.uint64),
            splits=np.array(shape.splits, dtype=np.uint64),
            potential=sum(points[(lines >> (4 * k)) & 15] for k in range(4)).astype(np.float32),
            constants=np.array([shape.base, 0.0 if shape.power else 1.0]),
        )
        return NTupleNetwork(game, shape, weights)

    @property
    def active(self) -> int:
        """How many weights add up to one value."""
        return features(self.game).symmetries * len(self.shape.tuples) + len(self.shape.small or ())

    @property
    def packed(self) -> bool:
        """Whether the tables are of int16: smaller and faster, and not to be trained."""
        return bool(self.weights.table.dtype == np.int16)

    @property
    def kind(self) -> Kind:
        """What compiled code for this network depends on."""
        W, large = self.weights, max(16 ** len(t) for t in self.shape.tuples) > FAR
        return Kind(W.pieces.shape[1], self.shape.small or (), self.packed, len(W.splits) > 0, large)

    def tables(self, stage: int) -> dict[tuple[int, ...] | str, NDArray[np.float32] | NDArray[np.int16]]:
        """Returns a stage's tables, as views: by the cells of each tuple, and by the name of each small table."""
        sizes = self.shape.sizes(self.game)
        starts = np.cumsum([stage * sum(sizes), *sizes])
        names: list[tuple[int, ...] | str] = [*self.shape.tuples, *features(self.game).extra_sizes]
        return {
            name: self.weights.table[start : start + size]
            for name, start, size in zip(names, starts[:-1], sizes, strict=True)
        }

    @property
    def functions(self) -> NTupleFunctions:
        """The compiled functions that work on this network's weights."""
        return compiled(self.game, self.kind)

    def evaluator(self, name: str) -> Evaluator:
        """Returns the network as a leaf evaluator."""
        own = self.functions
        return Evaluator(name, own.ntuple_value, self.weights, self.shape.stage, terminal="evaluate", fetch=own.fetch)


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
