"""The last positions of a run, in the order of a ring, and those of an earlier run to begin with."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.errors import UserError
from leafwise.models.sparse import SparseNetwork
from leafwise.training.runs.checkpoints import Checkpoints
from leafwise.training.runs.learner import GatedLearner
from leafwise.training.runs.options import config_file, read_options

SURPRISE = 0.5
"""Positions are repeated whose target is further than this from what the network says: half of what a win is more than a draw."""


def replay_of(run: str, config: Any, game: Game) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """Returns rows [n, width] and targets [n] of a run's replay, the oldest first.

    Raises ValueError for a folder without a run's state, or with that of another game, variant or method.
    """
    path = Path(run)
    file, found = config_file(path), Checkpoints(path).load()
    if file is None or found is None:
        raise UserError(f"expected a run with a state as --replay-from, got {run!r}")
    options, wanted = read_options(file, type(config)), (config.game, config.variant)
    if (options["game"], options["variant"]) != wanted or not {"rows", "targets"} <= set(found[0]):
        raise UserError(f"expected --replay-from of {' '.join(wanted)} by this method, got {run!r}")
    rows, targets, begin = found[0]["rows"], found[0]["targets"], int(found[1]["next"]) % max(len(found[0]["rows"]), 1)
    if rows.dtype != game.dtype or rows.shape[1:] != (game.width,) or len(rows) != len(targets):
        raise UserError(f"expected rows of {game.width} words in the replay of {run!r}, got {list(rows.shape)}")
    return np.roll(rows, -begin, axis=0), np.roll(targets, -begin)


class ReplayLearner(GatedLearner):
    """A learner that learns from its last positions, of games in some variants."""

    rows: NDArray[Any]
    """[buffer_size, width]"""
    targets: NDArray[np.float64]
    """What is learned of each, [buffer_size]."""
    places: NDArray[np.int64]
    """Which of `variants` each comes from, [buffer_size]."""
    variants: Sequence[Game]

    @abstractmethod
    def tables(self, network: SparseNetwork, game: Game) -> Any:
        """Returns `T` of a variant with a network's weights."""

    def begin_replay(self) -> None:
        """Begins with no position, or with those of `--replay-from`; a checkpoint has its own."""
        config = self.config
        self.rows, self.targets = self.game.rows(config.buffer_size), np.zeros(config.buffer_size)
        self.places = np.zeros(config.buffer_size, dtype=np.int64)
        self.filled, self.next = 0, 0
        if config.replay_from and not (config.resume and self.folder.checkpoints.last.exists()):
            rows, targets = replay_of(config.replay_from, config, self.game)
            self.put(0, rows[-config.buffer_size :], targets[-config.buffer_size :])

    def keep(self, place: int, rows: NDArray[Any], targets: NDArray[np.float64]) -> None:
        """Puts positions of a variant into the replay, those that surprise the newest network as often as `--repeats` says."""
        if self.config.repeats > 1:
            told = self.newest.batch(rows, self.tables(self.newest, self.variants[place]))
            times = np.where(np.abs(told - targets) > SURPRISE, self.config.repeats, 1)
            rows, targets = rows.repeat(times, axis=0), targets.repeat(times)
        self.put(place, rows, targets)

    def put(self, place: int, rows: NDArray[Any], targets: NDArray[np.float64]) -> None:
        """Puts positions of a variant into the replay, in place of the oldest."""
        size, n = self.config.buffer_size, len(rows)
        places = (self.next + np.arange(n)) % size
        self.rows[places], self.targets[places] = rows, targets
        self.places[places] = place
        self.next = (self.next + n) % size
        self.filled = min(self.filled + n, size)
