"""Games of self-play: recorded in the learner's process from one stream, or as pieces of work with streams of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.contract.evaluator import Evaluator
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.interrupts import stoppable
from leafwise.envs.core.play.solver import exact_labels
from leafwise.models.files import model_path
from leafwise.models.network import Learned
from leafwise.models.sparse_files import load_sparse
from leafwise.training.execution.executor import Shared
from leafwise.training.games.playing import forget, new_table
from leafwise.training.games.recording import new_record
from leafwise.training.selfplay.kernels import kernels

LABELS_MB = 16.0
"""Table of the search that exact targets come from: one that stays in the processor's cache is the fastest."""
ROOM = 2000
"""Positions beyond those asked for, since games are recorded whole."""


class Recorded(NamedTuple):
    """Positions of some games."""

    rows: NDArray[Any]
    """[n, width]"""
    targets: NDArray[np.float64]
    """[n]"""
    counts: NDArray[np.int64]
    """As in `leafwise.training.games.playing.Table`, of the games that these are of."""


def guide_of(game: Game, name: str) -> Evaluator | None:
    """Returns the leaf of a guide: a hand-made score, or a sparse network by a shipped model's name, a run folder or a file.

    Raises ValueError for a name of neither.
    """
    if not name:
        return None
    if name in game.scores or not model_path(name).exists():
        return game.score(name)
    return load_sparse(model_path(name), game).evaluator("guide")


def taught_by(game: Game, guide: str) -> str:
    """Returns the model that a guide names; nothing for a hand-made score."""
    return "" if guide in game.scores else guide


class Recorder:
    """Records games in the variants of a run, by its options: by a network's searches, or by a guide's."""

    def __init__(
        self, variants: Sequence[Game], newest: Learned, options: Any, *, own: bool = False, positions: int = 0
    ) -> None:
        """`options` has the fields of the method's `Config` that say how games are played; `own` is the learner's."""
        self.variants, self.options, self.own = variants, options, own
        self.positions, self._first = positions, newest
        game = variants[0]
        self.solo, self.guide = game.players == 1, guide_of(game, options.guide)
        leaf, deepest = newest.evaluator("newest"), max(options.depth, options.guide_depth)
        limits = {"rare": options.rare, "nodes": options.nodes}
        self.table = new_table(game, deepest, options.seed, leaf, **limits)
        self.guide_table = new_table(game, deepest, options.seed, self.guide, **limits)._replace(R=self.table.R)
        self.room = new_record(game, positions + ROOM)
        self.kernels = kernels(game, leaf)
        self.guide_kernels = kernels(game, self.guide) if self.guide else None
        self.labels = exact_labels(game, LABELS_MB) if options.exact_nodes else None

    def __reduce__(self) -> Any:
        return _rebuilt, (self.variants, self._first, self.options, self.own, self.positions)

    def warm(self) -> None:
        """Loads the code: records one position of each kind of games."""
        for guided in (False, *([True] if self.guide else [])):
            self.piece(self.variants[0], 1, self._first, self._first, 0, guided=guided)

    def tables(self, network: Learned, game: Game) -> Any:
        """Returns `T` of a variant with a network's weights."""
        return game.tables(network.evaluator("selfplay"), self.options.candidates or None)

    def record(self, game: Game, count: int, newest: Learned, earlier: Learned, *, guided: bool, credit: float) -> int:
        """Records `count` positions or some more to `room`; returns how many. `earlier` is the network of some seats."""
        options, table = self.options, self.guide_table if guided else self.table
        forget(table)
        if guided:
            assert self.guide_kernels is not None
            T = other = game.tables(self.guide, options.guide_candidates or options.candidates or None)
            alone = (0.0, 0.0, 1.0) if self.solo else (options.exploration, 0.0, options.td_lambda)
            run, depth = self.guide_kernels.record_games, options.guide_depth or options.depth
        else:
            T, other = self.tables(newest, game), self.tables(earlier, game)
            alone = (options.exploration, 0.0 if self.solo else options.earlier, options.td_lambda)
            run, depth = self.kernels.record_games, options.depth
        own = self.own and not guided
        how = options.plies, options.even, *alone, own, credit
        n = int(stoppable(lambda: run(table, self.room, count, depth, *how, T, other), T.stop, other.stop))
        if self.labels is not None:
            self.label(n, T)
        return n

    def label(self, n: int, T: Any) -> None:
        """Gives positions that are solved within `exact_nodes` their exact values, and those before them what follows of these."""
        assert self.labels is not None
        exact = self.labels(self.room.rows[:n], self.room.first[:n], self.options.exact_nodes)
        self.kernels.write_all_targets(self.room, n, exact, self.options.td_lambda, T)

    def piece(
        self, game: Game, count: int, newest: Learned, earlier: Learned, key: int | None = None, *,
        guided: bool = False, credit: float = 0.0,
    ) -> Recorded:  # fmt: skip
        """Returns games whose chance and choices come from a stream of this key alone, or from where the last games' ended."""
        table = self.guide_table if guided else self.table
        if key is not None:
            table.R[0], table.R[1] = np.uint64(key), np.uint64(0)
        table.counts[:] = 0
        n = self.record(game, count, newest, earlier, guided=guided, credit=credit)
        return Recorded(self.room.rows[:n].copy(), self.room.targets[:n].copy(), table.counts.copy())


def _rebuilt(variants: Sequence[Game], newest: Learned, options: Any, own: bool, positions: int) -> Recorder:
    return Recorder(variants, newest, options, own=own, positions=positions)


@dataclass(frozen=True)
class Games:
    """A piece of work: games of one variant."""

    recorder: Shared[Recorder]
    networks: Shared[Mapping[str, Learned]]
    place: int
    """Which of the recorder's variants."""
    count: int
    """Positions to record, at least."""
    key: int
    guided: bool
    credit: float

    def __call__(self) -> Recorded:
        """Returns the positions."""
        recorder, networks = self.recorder.get(), self.networks.get()
        return recorder.piece(
            recorder.variants[self.place], self.count, networks["newest"], networks["earlier"], self.key,
            guided=self.guided, credit=self.credit,
        )  # fmt: skip
