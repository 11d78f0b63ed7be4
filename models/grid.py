"""Small convolutional networks over a room's grid (`game.features["grid"]`), without torch at run time.

A 3 by 3 convolution reads the code of each cell (an embedding for each code and neighbour) and the maps at the cell. A 1 by 1
convolution follows. The outputs are summed over all cells. With the numbers beside the grid they go through a hidden layer to one
value, which is added to the base of `see`. All layers have ReLU. For single-player games.

Values come in two forms that agree to rounding: compiled (`Evaluator.value`) and torch for training
(`leafwise.training.starship.grid`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from leafwise.envs.core.arrays import Array, Bools, Floats32, Ints
from leafwise.envs.core.compile.intrinsics import dense, sum_rows
from leafwise.envs.core.compile.jit import bind, jit
from leafwise.envs.core.contract.evaluator import Evaluator, Speed
from leafwise.envs.core.contract.features import FeatureTable, GridFeatures
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.rules import TERMINAL, Compiled
from leafwise.envs.core.contract.stream import u64
from leafwise.envs.core.errors import UserError
from leafwise.models.files import load_network
from leafwise.models.network import Metadata, NetworkKind, Tensors, check_tensors

TAPS = 9
"""Cells of the convolution: rows above, here, below; columns left, here, right."""
CELLS_SUMMED = 100.0
"""Sums over cells are divided by this."""
TENSORS = ("embedding", "maps", "first_bias", "second", "second_bias", "hidden", "hidden_bias", "out", "out_bias")


class GridWeights(NamedTuple):
    """The evaluator's part of `T`; widths: a of the first, b of the second, h of the hidden layer."""

    embedding: Floats32
    """[9 * codes, a]: neighbour * codes + code."""
    maps: Floats32
    """[maps, a]"""
    first_bias: Floats32
    second: Floats32
    """[a, b]"""
    second_bias: Floats32
    hidden: Floats32
    """[b + numbers, h]"""
    hidden_bias: Floats32
    out: Floats32
    """[h]"""
    out_bias: Floats32
    """[1]"""
    seen_codes: Ints
    """Scratch: written by `see`, like the next two."""
    seen_maps: Floats32
    seen_numbers: Floats32
    maps_out: Floats32
    """Scratch: outputs of a layer, like the next three."""
    first_out: Floats32
    summed: Floats32
    hidden_out: Floats32
    taps: Ints
    """Scratch: the rows of `embedding` that a cell sees."""
    last_codes: Ints
    """Scratch: `seen_codes` of the last position."""
    last_maps: Floats32
    """Scratch: `seen_maps` of the last position."""
    changed: Bools
    """Scratch: cells, with the margin, whose outputs may differ from the last position."""
    cells_out: Floats32
    """Scratch: outputs of the second convolution at each cell of the last position, before ReLU."""
    dense_maps: Floats32
    """`maps` and `first_bias` one after another, as `dense` takes them."""
    dense_second: Floats32
    """`second` and `second_bias`."""


SCRATCH = GridWeights._fields[len(TENSORS) : -2]
ZERO = np.float32(0.0)
ints: Any = partial(np.zeros, dtype=np.int64)
floats: Any = partial(np.zeros, dtype=np.float32)


@jit
def mark_changes(W, side):
    """Marks the cells whose outputs may differ from the last position, and stores the codes and maps of this one."""
    codes, maps = W.seen_codes, W.seen_maps
    for row in range(side):
        for column in range(side):
            at, here = (row + 1) * (side + 2) + column + 1, row * side + column
            if codes[at] != W.last_codes[at]:
                W.last_codes[at] = codes[at]
                for near in range(at - side - 3, at - side):
                    W.changed[near], W.changed[near + side + 2], W.changed[near + 2 * side + 4] = True, True, True
            if codes[at] != 0:
                for m in range(maps.shape[1]):
                    if maps[here, m] != W.last_maps[here, m]:
                        W.last_maps[here, m] = maps[here, m]
                        W.changed[at] = True


@jit
def pool_cells(W, side):
    """Sums the outputs of the two convolutions over all cells into the front of `summed`; computes only cells that changed.

    Successive positions are mostly children of one parent and differ in few cells.
    """
    x, total, codes, kinds = W.first_out, W.summed, W.seen_codes, W.embedding.shape[0] // 9
    n, a, b = W.maps.shape[0], W.first_bias.shape[0], W.second_bias.shape[0]
    mark_changes(W, side)
    for c in range(b):
        total[c] = ZERO
    for row in range(side):
        for column in range(side):
            at, here = (row + 1) * (side + 2) + column + 1, row * side + column
            if codes[at] == 0:
                continue
            y = W.cells_out[here]
            if W.changed[at]:
                for tap in range(9):
                    near = at + (tap // 3 - 1) * (side + 2) + tap % 3 - 1
                    W.taps[tap] = tap * kinds + codes[near]
                dense(W.maps_out, W.seen_maps[here], W.dense_maps, 0, n, a)
                sum_rows(x, W.maps_out, W.embedding, W.taps, 9)
                dense(y, x, W.dense_second, 0, a, b)
                W.changed[at] = False
            for c in range(b):
                total[c] += max(y[c], ZERO)
    for c in range(b):
        total[c] /= np.float32(CELLS_SUMMED)


def features_of(game: Game) -> GridFeatures:
    """Returns the grid features of a game; raises ValueError if it has none."""
    if "grid" not in game.features:
        raise UserError(f"grid networks: expected a game with maps over a grid, got {game.name!r}")
    return game.features["grid"]


class GridFunctions(NamedTuple):
    """Compiled functions of networks for a game."""

    value: Compiled
    """`(S, i, T)` -> the value of row i; of a finished game its return."""
    describe: Callable[..., None]
    """`(S, codes, maps, numbers, base, T)`: writes the inputs of rows; see `GridNetwork.describe`."""


@functools.cache
def _compiled(game: Game, see: Compiled) -> GridFunctions:
    current_player, returns = game.rules.current_player, game.rules.returns
    room = game.room

    @bind(room)
    def grid_value(S, i, T):
        """Returns the value of row i; of a finished game its return."""
        if current_player(S, i, T) == TERMINAL:
            return np.float64(returns(S, i, T))
        W = T.leaf
        base = see(S, i, W.seen_codes, W.seen_maps, W.seen_numbers, T)
        pool_cells(W, np.int64(np.sqrt(np.float64(W.seen_maps.shape[0]))))
        pooled, h = W.second.shape[1], W.hidden_out
        for k in range(W.seen_numbers.shape[1]):
            W.summed[pooled + k] = W.seen_numbers[0, k]
        for c in range(h.shape[0]):
            h[c] = W.hidden_bias[c]
        for k in range(W.hidden.shape[0]):
            value, weights = W.summed[k], W.hidden[k]
            if value != ZERO:
                for c in range(h.shape[0]):
                    h[c] += value * weights[c]
        out = W.out_bias[0]
        for c in range(h.shape[0]):
            out += max(h[c], ZERO) * W.out[c]
        return base + np.float64(out)

    @bind(room)
    def describe_grid(S, codes, maps, numbers, base, T):
        """Writes the inputs of each row: codes [n, cells], maps [n, side ** 2, maps], numbers [n, numbers] and base [n]."""
        W = T.leaf
        for i in range(S.shape[0]):
            base[i] = see(S, u64(i), W.seen_codes, W.seen_maps, W.seen_numbers, T)
            for k in range(codes.shape[1]):
                codes[i, k] = W.seen_codes[k]
            for k in range(maps.shape[1]):
                for m in range(maps.shape[2]):
                    maps[i, k, m] = W.seen_maps[k, m]
            for k in range(numbers.shape[1]):
                numbers[i, k] = W.seen_numbers[0, k]

    return GridFunctions(grid_value, describe_grid)


def compiled(game: Game) -> GridFunctions:
    """Returns the compiled `value` and `describe` of networks for a game (the same for all its variants)."""
    return _compiled(game.with_defaults, features_of(game).see)


@dataclass(frozen=True)
class GridNetwork:
    """The weights of a network for one game."""

    game: Game
    weights: GridWeights

    @staticmethod
    def create(game: Game, hidden: Sequence[int], *, tensors: dict[str, Floats32] | None = None) -> GridNetwork:
        """Builds a network with three layers of `hidden` outputs; without `tensors` all weights are 0.

        Raises ValueError for sizes or tensors that do not fit.
        """
        features = features_of(game)
        if len(hidden) != 3 or not all(isinstance(h, int) and 4 <= h <= 1024 and h % 4 == 0 for h in hidden):
            raise UserError(f"grid networks: expected three layers, multiples of 4 to 1024, got {tuple(hidden)!r}")
        a, b, h = hidden
        shapes: dict[str, tuple[int, ...]] = {
            "embedding": (TAPS * features.codes, a),
            "maps": (features.maps, a),
            "first_bias": (a,),
            "second": (a, b),
            "second_bias": (b,),
            "hidden": (b + features.numbers, h),
            "hidden_bias": (h,),
            "out": (h,),
            "out_bias": (1,),
        }
        if tensors is None:
            tensors = {name: floats(shape) for name, shape in shapes.items()}
        check_tensors("grid networks", tensors, shapes)
        side = features.side(game.options)
        return GridNetwork(
            game,
            GridWeights(
                **{name: np.ascontiguousarray(tensors[name]) for name in TENSORS},
                seen_codes=ints((side + 2) ** 2),
                seen_maps=floats((side**2, features.maps)),
                seen_numbers=floats((1, features.numbers)),
                maps_out=floats(a),
                first_out=floats(a),
                summed=floats(b + features.numbers),
                hidden_out=floats(h),
                taps=ints(TAPS),
                last_codes=ints((side + 2) ** 2),
                last_maps=floats((side**2, features.maps)),
                changed=np.zeros((side + 2) ** 2, dtype=np.bool_),
                cells_out=floats((side**2, b)),
                dense_maps=np.concatenate([tensors["maps"].ravel(), tensors["first_bias"]]),
                dense_second=np.concatenate([tensors["second"].ravel(), tensors["second_bias"]]),
            ),
        )

    @property
    def kind(self) -> NetworkKind:
        """Its kind."""
        return KIND

    @property
    def metadata(self) -> dict[str, Any]:
        """What a file stores of its shape."""
        return {"hidden": list(self.hidden)}

    @property
    def tensors(self) -> dict[str, Floats32]:
        """What a file stores of its weights."""
        return {name: getattr(self.weights, name) for name in TENSORS}

    @property
    def hidden(self) -> tuple[int, ...]:
        """Number of outputs of each layer."""
        W = self.weights
        return W.embedding.shape[1], W.second.shape[1], len(W.out)

    def describe(self, rows: Array, T: Any, out: tuple[Array, ...] | None = None) -> tuple[Array, ...]:
        """Returns the inputs of rows: codes uint8 [n, (side + 2) ** 2], maps [n, side ** 2, maps], numbers [n, numbers], base [n].

        `T` is that of `evaluator`. `out`, the arrays of an earlier call for at least as many rows, are written again: new memory
        takes as long as the work.
        """
        n, W = len(rows), self.weights
        if out is None:
            codes, maps = (
                np.zeros((n, len(W.seen_codes)), dtype=np.uint8),
                np.zeros((n, *W.seen_maps.shape), np.float32),
            )
            out = codes, maps, np.zeros((n, W.seen_numbers.shape[1]), dtype=np.float32), np.zeros(n, dtype=np.float32)
        views = tuple(array[:n] for array in out)
        compiled(self.game).describe(np.ascontiguousarray(rows), *views, T)
        return views

    def evaluator(self, name: str) -> Evaluator:
        """Returns the network as a leaf evaluator."""
        stage = features_of(self.game).stage
        return Evaluator(
            name,
            compiled(self.game).value,
            self.weights,
            stage,
            scratch=SCRATCH,
            speed=Speed(cache_values=True),
            game=self.game,
        )


def create(
    game: Game, metadata: Metadata, tensors: Tensors | None = None, tables: Mapping[str, FeatureTable] | None = None
) -> GridNetwork:
    """Returns a network as `NetworkKind.create` does; features that its file does not have get weights of 0."""
    if tensors is None or tables is None:
        return GridNetwork.create(game, metadata["hidden"], tensors=None if tensors is None else dict(tensors))
    return GridNetwork.create(game, metadata["hidden"], tensors=widened(dict(tensors), tables, features_of(game)))


def widened(tensors: dict[str, Array], tables: Mapping[str, FeatureTable], now: GridFeatures) -> dict[str, Array]:
    """Returns a file's tensors with weights of 0 for codes, maps and numbers that the room has added since."""
    added = {name: table.size - tables[name].size for name, table in now.tables.items() if name in tables}
    if not any(added.values()) or set(tensors) != set(TENSORS):
        return tensors
    codes, embedding = tables["codes"].size, tensors["embedding"]
    if len(embedding) == TAPS * codes:
        by_tap = embedding.reshape(TAPS, codes, -1)
        tensors["embedding"] = np.pad(by_tap, ((0, 0), (0, added["codes"]), (0, 0))).reshape(TAPS * now.codes, -1)
    tensors["maps"] = np.pad(tensors["maps"], ((0, added["maps"]), (0, 0)))
    tensors["hidden"] = np.pad(tensors["hidden"], ((0, added["numbers"]), (0, 0)))
    return tensors


KIND = NetworkKind(
    "grid",
    create,
    needs={"hidden": list},
    tables=lambda game, metadata: features_of(game).tables,
    version=lambda game, metadata: features_of(game).version,
    module="leafwise.training.starship.grid:GridModule",
)

load_grid: Callable[[Path, Game], GridNetwork] = partial(load_network, kinds=(KIND.name,))
"""Reads such a network for a game; raises ValueError that names what does not fit."""
