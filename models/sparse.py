"""Networks with a sparse first layer: a sum of the embeddings of active features, then small dense layers.

A network sees the game's sparse features, the observation, or both (`leafwise.models.seen`). The first layer is a sum over the few
active features (torch's EmbeddingBag), as in Nasu, "Efficiently updatable neural-network-based evaluation functions for computer
shogi" (2018). The other layers are dense, with ReLU between all.

The heads:
- `value`: one value. In single-player games it is the return still to come, in two-player games it goes through tanh.
- `max`: one value for each action; the largest of a legal action is the value.
- `policy`: one value, and a logit for each action.
- `chance`: the chance of a return of 1, by the logistic function, in single-player games with a return of 0 or 1.
- `wdl`: in two-player games the softmax of three outputs are the chances to win, draw and lose, as in Lc0
  (github.com/LeelaChessZero/lc0, 2020). The value is the chance to win minus the chance to lose.

Values are in units of `scale`; in two-player games that is by default the most that a game is worth.

Values come in three forms that agree to rounding: compiled and inline (`Evaluator.value`), NumPy (`Evaluator.batch`), and torch
for training (`leafwise.training.networks`).
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.arrays import Array, Floats, Floats32, Ints
from leafwise.envs.core.compile.intrinsics import (
    dense,
    logistic,
    logistic_of,
    sum_rows,
    win_less_loss,
    win_less_loss_of,
)
from leafwise.envs.core.compile.jit import bind
from leafwise.envs.core.contract.evaluator import Evaluator, Speed
from leafwise.envs.core.contract.features import FeatureTable, SparseFeatures
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.rules import CHANCE, TERMINAL, Compiled
from leafwise.envs.core.contract.stream import u64
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.ranges import Range, need_among, need_in
from leafwise.models.files import load_network
from leafwise.models.network import Metadata, NetworkKind, Tensors, check_tensors, network_kind
from leafwise.models.seen import BOTH, FEATURES, OBSERVATION, cells_of, cells_seen, features_of, seen_by

BOUND = 0.9999
"""Bound of values in two-player games, as a share of the scale: a game that is won is worth more than any unfinished one."""
CHUNK = 2048
"""Number of rows that the NumPy form values at a time."""

BLOCK = 4
"""The sizes of hidden layers are multiples of this."""

HEADS = ("value", "max", "chance", "policy", "wdl")
WITH_ACTIONS = ("max", "policy")
"""Heads with an output for each action."""


class SparseWeights(NamedTuple):
    """The evaluator's part of `T`."""

    embedding: Floats32
    """[features + 1, first layer]; the last row is zero."""
    bias: Floats32
    """[first layer]"""
    dense: Floats32
    """Weights [inputs, outputs] and biases [outputs] of each dense layer, one after another."""
    sizes: Ints
    """Number of outputs of each layer, the first included."""
    scale: float
    """Unit of the output."""
    first_of: Ints
    """The feature of value 0 of each cell of the observation, [cells]; empty if the network does not see it. With both features and
    observation [2 cells]: for player 0, then for player 1, since features may take one player's side."""
    seen: Array
    """Scratch: an observation, [1, ...] of cells."""
    features: Ints
    """Scratch: active features."""
    hidden: Floats32
    """Scratch: outputs of each layer, [layers, largest size]."""
    legal: Ints
    """Scratch: legal actions."""


class SparseFunctions(NamedTuple):
    """Compiled functions of networks for a game."""

    value: Compiled
    """`(S, i, T)` -> the value of row i for the player who acts (at a chance stage for player 0)."""
    describe_rows: Callable[..., None]
    """`(S, F, L, signs, T)`: writes the inputs of rows; see `SparseNetwork.describe`."""
    policy: Compiled
    """`(S, i, P, T)` -> the same value; writes the logits of actions to P; see `Evaluator.policy`."""


@functools.cache
def _compiled(game: Game, active: Compiled, first_view: bool, side: Compiled | None, head: str) -> SparseFunctions:
    rules, room = game.rules, game.room
    current_player, legal_actions = rules.current_player, rules.legal_actions
    single_player = game.players == 1
    head_max, head_chance, head_wdl = head == "max", head == "chance", head == "wdl"
    has_side = side is not None

    @bind(room, inline=True)
    def other_side(S, i, T):
        """Whether the output for row i is of the opposite player to the value."""
        if first_view:
            return current_player(S, i, T) == 1
        if has_side and current_player(S, i, T) == CHANCE:
            return side(S, i, T) == 1  # type: ignore[misc]
        return False

    @bind(room, inline=True)
    def sparse_value(S, i, T):
        """Returns the value of row i of S [rows, width] for the player who acts (at a chance stage for player 0)."""
        # The layers: each writes its outputs to a row of `hidden`
        W = T.leaf
        n = active(S, i, W.features, T)
        x = W.hidden[0]
        sum_rows(x, W.bias, W.embedding, W.features, n)
        start = 0
        for layer in range(1, W.sizes.shape[0]):
            rows, columns = W.sizes[layer - 1], W.sizes[layer]
            y = W.hidden[layer]
            dense(y, x, W.dense, start, rows, columns)
            start += (rows + 1) * columns
            x = y
        # The head: the largest output of a legal action, a chance, a return, or chances to win, draw and lose
        best = np.float64(x[0])
        if head_max:
            n = legal_actions(S, i, W.legal, T)
            best = np.float64(x[W.legal[0]])
            for k in range(1, n):
                best = max(best, np.float64(x[W.legal[k]]))
        if head_chance:
            return logistic(best)
        if single_player:
            return best * W.scale
        if head_wdl:
            bounded = BOUND * win_less_loss(best, np.float64(x[1]), np.float64(x[2])) * W.scale
        else:
            bounded = BOUND * math.tanh(best) * W.scale
        return -bounded if other_side(S, i, T) else bounded

    @bind(room)
    def describe_rows(S, F, L, signs, T):
        """Writes the active features of each row of S [n, width] to F [n, most], its legal actions to L [n, A], its sign to signs
        [n].

        F is padded with the number of features. The sign makes the output a value for the player who acts (at a chance stage for
        player 0): -1 if the features take the other side.
        """
        W = T.leaf
        for i in range(S.shape[0]):
            n = active(S, u64(i), W.features, T)
            for k in range(F.shape[1]):
                F[i, k] = W.features[k] if k < n else W.embedding.shape[0] - 1
            signs[i] = -1.0 if other_side(S, u64(i), T) else 1.0
            if current_player(S, u64(i), T) != TERMINAL and L.shape[1]:
                for k in range(legal_actions(S, u64(i), W.legal, T)):
                    L[i, W.legal[k]] = 1

    @bind(room)
    def sparse_policy(S, i, P, T):
        """Writes the logit of each action to P [max_actions]; returns the value of row i."""
        worth = sparse_value(S, i, T)
        W = T.leaf
        last = W.sizes.shape[0] - 1
        for a in range(W.sizes[last] - 1):
            P[a] = W.hidden[last, 1 + a]
        return worth

    return SparseFunctions(sparse_value, describe_rows, sparse_policy)


def compiled(game: Game, head: str, sees: str) -> SparseFunctions:
    """Returns the compiled `value` and `describe_rows` of networks for a game (the same for all its variants)."""
    features = features_of(game, sees)
    first_view = features.view == "first" and head != "max"  # what an action is worth is said for who takes it
    return _compiled(game.with_defaults, features.active, first_view, features.side, head)


def outputs_of(game: Game, head: str) -> int:
    """Returns the number of outputs of networks with a head."""
    if head == "wdl":
        return 3
    return (head != "max") + (len(game.actions) if head in WITH_ACTIONS else 0)


@dataclass(frozen=True)
class SparseNetwork:
    """The shape of a network, and its weights."""

    game: Game
    head: str
    sees: str
    weights: SparseWeights
    half: bool = False
    """Whether the embeddings are rounded to 16 bits, which is how a file then stores them."""

    @staticmethod
    def create(
        game: Game,
        hidden: Sequence[int],
        *,
        head: str = "value",
        sees: str = FEATURES,
        scale: float | None = None,
        tensors: dict[str, Array] | None = None,
    ) -> SparseNetwork:
        """Builds a network with layers of `hidden` outputs, the sparse one first; without `tensors` all weights are 0.

        Embeddings may be float16, as `rounded` makes them. `scale` is by default the most that a two-player game is worth, else 1.

        Raises ValueError for sizes, a head or tensors that do not fit.
        """
        # Check the options against the game and each other
        for what, value, known in (("head", head, HEADS), ("sees", sees, seen_by(game))):
            need_among(value, known, what, "sparse networks")
        scale = (game.stake if game.players == 2 else 1.0) if scale is None else scale
        need_in(scale, Range(0, math.inf, above=True, below=True), "a scale", "sparse networks")
        if head == "chance" and (game.players, game.return_range) != (1, (0.0, 1.0)):
            raise UserError(
                f"sparse networks: expected the head chance for a game that is won or lost, got {game.name!r}"
            )
        if head == "wdl" and game.players != 2:
            raise UserError(f"sparse networks: expected the head wdl for a two-player game, got {game.name!r}")
        features = features_of(game, sees)
        if (game.players, features.view, features.side) == (2, "acting", None) and features.stage != "decision":
            raise UserError(
                f"sparse networks: expected features with a side at the chance stage {features.stage!r}, got none in {game.name!r}"
            )
        if head == "policy" and features.stage != "decision":
            raise UserError(
                f"sparse networks: expected the head policy for a game whose decisions are valued, got {game.name!r}"
            )
        if not 1 <= len(hidden) <= 4 or not all(
            isinstance(h, int) and 4 <= h <= 4096 and h % BLOCK == 0 for h in hidden
        ):
            raise UserError(
                f"sparse networks: expected 1 to 4 layers, multiples of 4 up to 4096, got {tuple(hidden)!r}"
            )
        # The layers give the shapes of the tensors
        sizes = [*hidden, outputs_of(game, head)]
        shapes = {
            "embedding": (features.size(game.options), sizes[0]),
            "bias": (sizes[0],),
            "dense": (sum((a + 1) * b for a, b in itertools.pairwise(sizes)),),
        }
        if tensors is None:
            tensors = {name: np.zeros(shape, dtype=np.float32) for name, shape in shapes.items()}
        half = "embedding" in tensors and tensors["embedding"].dtype == np.float16
        check_tensors("sparse networks", tensors, shapes, ["embedding"] if half else [])
        # The weights for compiled code, with a last row of zeros for padding, and scratch
        first_of, seen = cells_seen(game, sees)
        weights = SparseWeights(
            embedding=np.concatenate([tensors["embedding"], np.zeros((1, sizes[0]))], dtype=np.float32),
            bias=tensors["bias"],
            dense=tensors["dense"],
            sizes=np.array(sizes, dtype=np.int64),
            scale=float(scale),
            first_of=first_of,
            seen=seen,
            features=np.zeros(features.most(game.options), dtype=np.int64),
            hidden=np.zeros((len(sizes), max(sizes)), dtype=np.float32),
            legal=np.zeros(game.max_actions, dtype=np.int64),
        )
        return SparseNetwork(game, head, sees, weights, half)

    def with_tensors(self, tensors: dict[str, Array]) -> SparseNetwork:
        """Returns a network of the same shape with other weights; raises ValueError if they do not fit."""
        return SparseNetwork.create(
            self.game, self.hidden, head=self.head, sees=self.sees, scale=self.weights.scale, tensors=tensors
        )

    @property
    def kind(self) -> NetworkKind:
        """Its kind."""
        return network_kind("sparse")

    @property
    def metadata(self) -> dict[str, Any]:
        """What a file stores of its shape."""
        return {"hidden": list(self.hidden), "head": self.head, "sees": self.sees, "scale": self.weights.scale}

    @property
    def tensors(self) -> dict[str, Array]:
        """What a file stores of its weights."""
        embedding: Array = self.weights.embedding[:-1]
        if self.half:
            embedding = embedding.astype(np.float16)
        return {"embedding": embedding, "bias": self.weights.bias, "dense": self.weights.dense}

    def rounded(self) -> SparseNetwork:
        """Returns the network with embeddings rounded to 16 bits, whose file is half as large."""
        return self.with_tensors({**self.tensors, "embedding": self.tensors["embedding"].astype(np.float16)})

    @property
    def hidden(self) -> tuple[int, ...]:
        """Number of outputs of every layer but the last."""
        return tuple(int(n) for n in self.weights.sizes[:-1])

    @property
    def unit(self) -> float:
        """The value of an output of 1."""
        return self.weights.scale

    def describe(self, rows: Array, T: Any) -> tuple[Ints, NDArray[np.int8], Floats32]:
        """Returns active features [n, most], legal actions [n, A] (A = 0 without outputs for actions) and signs [n] of rows.

        T is that of `evaluator`; signs are as in `describe_rows`.
        """
        n, actions = len(rows), len(self.game.actions) if self.head in WITH_ACTIONS else 0
        F = np.zeros((n, features_of(self.game, self.sees).most(self.game.options)), dtype=np.int64)
        L, signs = np.zeros((n, actions), dtype=np.int8), np.zeros(n, dtype=np.float32)
        compiled(self.game, self.head, self.sees).describe_rows(np.ascontiguousarray(rows), F, L, signs, T)
        return F, L, signs

    def layers(self) -> list[tuple[Floats32, Floats32]]:
        """Returns weights [inputs, outputs] and biases [outputs] of the dense layers, as views."""
        layers, start, sizes = [], 0, self.weights.sizes.tolist()
        for a, b in itertools.pairwise(sizes):
            end_of_weights = start + a * b
            layers.append(
                (
                    self.weights.dense[start:end_of_weights].reshape(a, b),
                    self.weights.dense[end_of_weights : end_of_weights + b],
                )
            )
            start = end_of_weights + b
        return layers

    def batch(self, rows: Array, T: Any) -> Floats:
        """Values rows [n, width] for the players who act; see `Evaluator.batch`."""
        values = np.zeros(len(rows))
        for first in range(0, len(rows), CHUNK):
            chunk = slice(first, first + CHUNK)
            x, L, signs = self._outputs(rows[chunk], T)
            best = (np.where(L, x, -np.inf).max(axis=1) if self.head == "max" else x[:, 0]).astype(np.float64)
            if self.head == "wdl":
                values[chunk] = BOUND * win_less_loss_of(x) * signs * self.weights.scale
            elif self.head == "chance":
                values[chunk] = logistic_of(best)
            else:
                bounded = best if self.game.players == 1 else BOUND * np.tanh(best) * signs
                values[chunk] = bounded * self.weights.scale
        return values

    def _outputs(self, rows: Array, T: Any) -> tuple[Floats32, NDArray[np.int8], Floats32]:
        """Returns the outputs [n, outputs] of a few rows, with legal actions and signs as `describe` returns them."""
        F, L, signs = self.describe(rows, T)
        x = self.weights.embedding[F].sum(axis=1) + self.weights.bias
        for weights, bias in self.layers():
            x = np.maximum(x, 0) @ weights + bias
        return x, L, signs

    def action_values(self, rows: Array, T: Any) -> Floats32:
        """Returns the output of each action, [n, A], for the player who acts; -inf: illegal.

        With the head `max` outputs are values before the last, monotone function; with the head `policy` they are logits. T is
        that of `evaluator`. Raises ValueError for a network without outputs for actions.
        """
        if self.head not in WITH_ACTIONS:
            raise UserError(f"sparse network: expected one with a value for each action, got the head {self.head!r}")
        outputs = np.full((len(rows), len(self.game.actions)), -np.inf, dtype=np.float32)
        for first in range(0, len(rows), CHUNK):
            x, L, _ = self._outputs(rows[first : first + CHUNK], T)
            legal = L.astype(bool)
            outputs[first : first + CHUNK][legal] = x[:, -L.shape[1] :][legal]
        return outputs

    def evaluator(self, name: str) -> Evaluator:
        """Returns the network as a leaf evaluator."""
        two_player, chance, most = self.game.players == 2, self.head == "chance", self.weights.scale
        functions = compiled(self.game, self.head, self.sees)
        return Evaluator(
            name,
            functions.value,
            self.weights,
            features_of(self.game, self.sees).stage,
            to_go=not two_player and not chance,
            low=-most if two_player else 0.0 if chance else None,
            high=most if two_player else 1.0 if chance else None,
            scratch=("seen", "features", "hidden", "legal"),
            speed=Speed(cache_values=True),
            batch=self.batch,
            policy=functions.policy if self.head == "policy" else None,
            game=self.game,
        )


def create(
    game: Game, metadata: Metadata, tensors: Tensors | None = None, tables: Mapping[str, FeatureTable] | None = None
) -> SparseNetwork:
    """Returns a network as `NetworkKind.create` does; features that its file does not have get weights of 0."""
    shape = {name: metadata[name] for name in ("head", "sees", "scale")}
    if tensors is None:
        return SparseNetwork.create(game, metadata["hidden"], **shape)
    known, own_tensors = room_tables(game, metadata), dict(tensors)
    if tables is not None and list(tables) != list(known) and "embedding" in own_tensors:
        own_tensors["embedding"] = embedding_of_room(own_tensors["embedding"], tables, known)
    return SparseNetwork.create(game, metadata["hidden"], **shape, tensors=own_tensors)


def embedding_of_room(embedding: Array, tables: Mapping[str, FeatureTable], known: Mapping[str, FeatureTable]) -> Array:
    """Moves the rows of a file's tables to where the room has them now; tables that the file lacks are 0."""
    sizes = [table.size for table in tables.values()]
    if embedding.ndim != 2 or len(embedding) != sum(sizes):
        raise UserError(f"expected embeddings of {sum(sizes)} features, got {list(embedding.shape)}")
    by_table = dict(zip(tables, np.split(embedding, np.cumsum(sizes)[:-1]), strict=True))
    blank = {name: np.zeros((table.size, embedding.shape[1]), embedding.dtype) for name, table in known.items()}
    return np.concatenate([by_table.get(name, blank[name]) for name in known])


def features_seen(game: Game, metadata: Metadata) -> SparseFeatures:
    """Returns the features that the network of a file sees; raises ValueError if the game does not have them."""
    need_among(metadata["sees"], seen_by(game), "sees")
    return features_of(game, metadata["sees"])


def room_tables(game: Game, metadata: Metadata) -> Mapping[str, FeatureTable]:
    """Returns the room's present tables of features for the network of a file."""
    features = features_seen(game, metadata)
    if metadata["sees"] == OBSERVATION:
        return {OBSERVATION: FeatureTable(cells_of(game)[1])}
    if metadata["sees"] == BOTH:
        return {**features_of(game).tables_of(game.options), "cells": FeatureTable(2 * cells_of(game)[1])}
    return features.tables_of(game.options)


KIND = NetworkKind(
    "sparse",
    create,
    needs={"hidden": list, "head": str, "sees": str, "scale": (int, float)},
    tables=room_tables,
    version=lambda game, metadata: features_seen(game, metadata).version,
    module="leafwise.training.networks:SparseModule",
)

load_sparse: Callable[[Path, Game], SparseNetwork] = partial(load_network, kinds=(KIND.name,))
"""Reads such a network for a game; raises ValueError that names what does not fit."""
