"""N-tuple networks: sums of table entries, one per tuple of cells and symmetry, as compiled leaf evaluators.

Source: Lucas, "Learning to play Othello with n-tuple systems", 2008; Szubert and Jaskowski, "Temporal difference
learning of n-tuple networks for the game 2048", CIG 2014.

What is learned is what is still to come: of the potential, the sum over a board's cells of (points of the cell)**power,
or of moves. The evaluator's value is the potential so far plus the learned value; a finished game has nothing to come.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.contract.evaluator import Evaluator, Speed
from leafwise.envs.core.contract.features import SmallTable
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.ranges import need_among
from leafwise.models.boards import EXTRACTED, extracted, pieces_of, points_table, worth_of
from leafwise.models.network import NetworkKind, Tensors, network_kind
from leafwise.models.ntuple_functions import FAR, Layout, NTupleFunctions, NTupleWeights, compiled, features
from leafwise.models.ntuple_siblings import SCRATCH, near_cells
from leafwise.models.packed_tables import pack

LARGEST = 28
"""Most bits of the index into a tuple's table."""
USUAL_POWER = 0.7
"""Exponent of points in the potential, unless another is named."""
DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
"""Cells 0 to 35 in the text of a tuple."""


@dataclass(frozen=True)
class Shape:
    """Everything about a network but its weights: which tables there are, and what their sum means."""

    tuples: tuple[tuple[int, ...], ...]
    """Cells of each tuple, in the order of the features' cells."""
    power: float | None = None
    """Exponent of a cell's points in the potential; 0: no potential, every move counts 1; 1 without points: the return so far
    (None: 0.7 where cells have points, else 1)."""
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
        tuples, most = tuple(tuple(t) for t in self.tuples), LARGEST // cells.bits
        for t in tuples:
            if not 1 <= len(t) <= most or len(set(t)) != len(t) or not all(0 <= c < cells.cells for c in t):
                expected = f"tuples of 1 to {most} different cells 0..{cells.cells - 1}"
                raise UserError(f"n-tuple networks: expected {expected}, got {t!r}")
        small, stage = tuple(self.tables(game)), self.stage or cells.stages[0]
        power = (USUAL_POWER if cells.points else 1.0) if self.power is None else float(self.power)
        if not tuples or not 0 <= power <= 1:
            raise UserError(f"n-tuple networks: expected a tuple and a power in [0, 1], got {tuples!r}, {power!r}")
        if 0 < power < 1 and not cells.points:
            expected = "a power of 0 or 1 in a game whose score is not a sum over cells"
            raise UserError(f"n-tuple networks: expected {expected}, got {power!r}")
        if not set(self.small or ()) <= set(cells.tables):
            known, given = ", ".join(cells.tables) or "none", ", ".join(map(str, self.small or ()))
            raise UserError(f"n-tuple networks: expected small tables among {known}, got {given!r}")
        need_among(stage, cells.stages, "a stage", "n-tuple networks")
        if list(self.splits) != sorted(set(self.splits)) or not all(0 < s < cells.values for s in self.splits):
            expected = f"ascending ranks of 1 to {cells.values - 1} as splits"
            raise UserError(f"n-tuple networks: expected {expected}, got {self.splits!r}")
        if not np.isfinite(self.base):
            raise UserError(f"n-tuple networks: expected a finite base, got {self.base!r}")
        return Shape(tuples, power, stage, small, tuple(self.splits), float(self.base))

    def tables(self, game: Game) -> dict[str, SmallTable]:
        """Returns the small tables, in the room's order."""
        known = features(game).tables
        return {k: table for k, table in known.items() if (table.usual if self.small is None else k in self.small)}

    def sizes(self, game: Game) -> list[int]:
        """Returns the size of each table of one stage: the tuples', then the small tables'."""
        cells = features(game)
        return [cells.values ** len(t) for t in self.tuples] + [table.size for table in self.tables(game).values()]

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
            raise UserError(f"n-tuple networks: expected {np.dtype(kind)} [{total}], got {table.dtype} {table.shape}")
        if scales is not None and len(scales) != len(sizes):
            raise UserError(f"n-tuple networks: expected {len(sizes)} scales, got {len(scales)}")
        weights = NTupleWeights(
            table=table,
            scales=np.ones(len(sizes), dtype=np.float32) if scales is None else np.array(scales, dtype=np.float32),
            offsets=np.cumsum([0, *sizes]).astype(np.uint64),
            tuples=len(shape.tuples),
            pieces=pieces_of(cells, shape.tuples),
            splits=np.array(shape.splits, dtype=np.uint64),
            potential=points_table(cells, shape.power or 0.0),
            constants=np.array([shape.base, 0.0 if shape.power else 1.0]),
            near=near_cells(cells, shape.tuples, len(shape.small or ())),
        )
        return NTupleNetwork(game, shape, weights)

    @property
    def active(self) -> int:
        """How many weights add up to one value."""
        return len(features(self.game).views) * len(self.shape.tuples) + len(self.shape.small or ())

    @property
    def packed(self) -> bool:
        """Whether the tables are of int16: smaller and faster, and not to be trained."""
        return bool(self.weights.table.dtype == np.int16)

    @property
    def kind(self) -> NetworkKind:
        """Its kind: with tables of float32, or of int16 that only hold what training has seen."""
        return network_kind("ntuple-packed" if self.packed else "ntuple")

    @property
    def metadata(self) -> dict[str, Any]:
        """What a file says of its shape."""
        shape = self.shape
        found: dict[str, Any] = {"tuples": [list(t) for t in shape.tuples], "power": shape.power, "stage": shape.stage}
        return found | {"small": list(shape.small or ()), "splits": list(shape.splits), "base": shape.base}

    @property
    def tensors(self) -> Tensors:
        """What a file holds."""
        if not self.packed:
            return {"table": self.weights.table}
        return pack(self.weights.table, self.weights.scales, self.shape.sizes(self.game) * self.shape.copies)

    @property
    def layout(self) -> Layout:
        """What compiled code for this network depends on."""
        W, cells = self.weights, features(self.game)
        large = max(cells.values ** len(t) for t in self.shape.tuples) > FAR
        worth = worth_of(cells, self.shape.power or 0.0)
        runs = EXTRACTED if extracted(cells, self.shape.tuples) else W.pieces.shape[1]
        return Layout(runs, self.shape.small or (), self.packed, len(W.splits) > 0, large, worth)

    def tables(self, stage: int) -> dict[tuple[int, ...] | str, NDArray[np.float32] | NDArray[np.int16]]:
        """Returns a stage's tables, as views: by the cells of each tuple, and by the name of each small table."""
        sizes = self.shape.sizes(self.game)
        starts = np.cumsum([stage * sum(sizes), *sizes])
        names: list[tuple[int, ...] | str] = [*self.shape.tuples, *(self.shape.small or ())]
        return {
            name: self.weights.table[start : start + size]
            for name, start, size in zip(names, starts[:-1], sizes, strict=True)
        }

    @property
    def functions(self) -> NTupleFunctions:
        """The compiled functions that work on this network's weights."""
        return compiled(self.game, self.layout)

    def evaluator(self, name: str) -> Evaluator:
        """Returns the network as a leaf evaluator."""
        own = self.functions
        return Evaluator(
            name,
            own.ntuple_value,
            self.weights,
            self.shape.stage,
            terminal="evaluate",
            scratch=SCRATCH,
            speed=Speed(prefetch=own.fetch, sibling_values=own.siblings.get(self.shape.stage)),
        )


def parse_tuples(text: str) -> tuple[tuple[int, ...], ...]:
    """Reads tuples as words of cells 0-9, a-z (10 to 35), `0123 4567 569a`, or with commas, `0,1,40`.

    Raises ValueError for other text.
    """
    try:
        return tuple(
            tuple(int(c) for c in word.split(",")) if "," in word else tuple(DIGITS.index(c) for c in word.lower())
            for word in text.split()
        )
    except ValueError:
        expected = "tuples as words of cells 0-9, a-z, like '0123 569a', or '0,1,40'"
        raise UserError(f"expected {expected}, got {text!r}") from None
