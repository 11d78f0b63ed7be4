"""The positions of an earlier run, to begin with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.errors import UserError
from leafwise.training.runs.folder import Checkpoints
from leafwise.training.runs.options import config_file, read_options


def replay_of(run: str, config: Any, game: Game) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """Returns rows [n, width] and targets [n] of a run's replay, the oldest first.

    Raises ValueError for a folder without a run's state, or with that of another game, variant or method.
    """
    path = Path(run)
    file, found = config_file(path), Checkpoints(path).load()
    if file is None or found is None:
        raise UserError(f"expected a run with a state as --replay-from, got {run!r}")
    options, wanted = read_options(file, type(config)), (config.game, config.variant)
    recorded = found[1].get("recorded")
    if (
        (options["game"], options["variant"]) != wanted
        or not {"rows", "targets"} <= set(found[0])
        or type(recorded) is not int
    ):
        raise UserError(f"expected --replay-from of {' '.join(wanted)} by this method, got {run!r}")
    rows, targets = found[0]["rows"], found[0]["targets"]
    if rows.dtype != game.dtype or rows.shape[1:] != (game.width,) or len(rows) != len(targets):
        raise UserError(f"expected rows of {game.width} words in the replay of {run!r}, got {list(rows.shape)}")
    oldest = recorded % max(len(rows), 1)
    return np.roll(rows, -oldest, axis=0), np.roll(targets, -oldest)
