"""Positions that an earlier run learned from, for a run that goes on from them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.contract.game import Game
from leafwise.training.runs.checkpoints import Checkpoints
from leafwise.training.runs.folder import config_file
from leafwise.training.runs.options import read_options


def replay_of(run: str, config: Any, game: Game) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """Returns rows [n, width] and targets [n] of a run's replay, the oldest first.

    Raises ValueError for a folder without a run's state, or with that of another game, variant or method.
    """
    path = Path(run)
    file, found = config_file(path), Checkpoints(path).load()
    if file is None or found is None:
        raise ValueError(f"expected a run with a state as --replay-from, got {run!r}")
    options, wanted = read_options(file, type(config)), (config.game, config.variant)
    if (options["game"], options["variant"]) != wanted or not {"rows", "targets"} <= set(found[0]):
        raise ValueError(f"expected --replay-from of {' '.join(wanted)} by this method, got {run!r}")
    rows, targets, begin = found[0]["rows"], found[0]["targets"], int(found[1]["next"]) % max(len(found[0]["rows"]), 1)
    if rows.dtype != game.dtype or rows.shape[1:] != (game.width,) or len(rows) != len(targets):
        raise ValueError(f"expected rows of {game.width} words in the replay of {run!r}, got {list(rows.shape)}")
    return np.roll(rows, -begin, axis=0), np.roll(targets, -begin)
