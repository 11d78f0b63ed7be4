"""The course's board, and any board of its programs as an array."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.errors import UserError
from leafwise.envs.trap.baselines.course.starter.Grid import Cell, Grid

__all__ = ["Cell", "Grid", "map_of"]


def map_of(grid: Any) -> NDArray[np.int64]:
    """Returns the cells of any board with `getMap()` or `map`; raises ValueError if it is not square."""
    cells = np.asarray(grid.getMap() if hasattr(grid, "getMap") else grid.map)
    if cells.ndim != 2 or cells.shape[0] != cells.shape[1]:
        raise UserError(f"trap: expected a square map, got shape {cells.shape}")
    return cells.astype(np.int64)
