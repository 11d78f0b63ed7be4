"""Makes ships: runs the stages, retries, and reads the result off the state row."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.starship import presets
from leafwise.envs.starship import tables as at
from leafwise.envs.starship.catalogue import CORRIDOR
from leafwise.envs.starship.check import connected
from leafwise.envs.starship.presets import CLASSIC, STAGES, Parameters
from leafwise.envs.starship.report import reported
from leafwise.envs.starship.ship import Ship
from leafwise.envs.starship.stages import build
from leafwise.envs.starship.tables import new_rows, new_tables

DEFAULT_ATTEMPTS = CLASSIC.max_attempts
ORDER = np.array([number for number, _, _ in STAGES], dtype=np.int64)
Hull = Sequence[str] | NDArray[np.bool_]


class Generator:
    """Makes ships of one set of parameters, any number of them; not to be shared between threads.

    `hull`, a mask of grid by grid cells (booleans, or rows of "." and " "), takes the place of stage 1. It must be
    4-connected and leave the outermost ring free.
    """

    def __init__(self, parameters: Parameters | str = "classic", *, hull: Hull | None = None) -> None:
        if isinstance(parameters, str):
            parameters = presets.preset(parameters)
        if hull is not None:
            parameters = dataclasses.replace(parameters, shape=dataclasses.replace(parameters.shape, enabled=False))
        elif not parameters.shape.enabled:
            raise ValueError("stage Shape can be disabled only where a hull is supplied")
        self.parameters = parameters
        self._kept = dataclasses.replace(parameters, max_attempts=DEFAULT_ATTEMPTS)
        self._tables = new_tables(parameters)
        self._rows = new_rows(parameters, 1)
        self._start = self._rows[0].copy()
        if hull is not None:
            mask = hull_mask(hull, parameters.grid)
            self._start[at.HEADER : at.HEADER + mask.size][mask.ravel()] = CORRIDOR

    def attempt(self, seed: int, attempt: int) -> Ship:
        """Returns one attempt at a seed, valid or not."""
        self._rows[0] = self._start
        key = _seed(seed)
        build(self._rows, self._tables, ORDER, key, np.uint64(attempt), False)
        return reported(self._rows[0], self._tables, self._kept, int(key), attempt)

    def ship(self, seed: int, *, strict: bool = False) -> Ship:
        """Returns the first valid attempt at a seed (an integer of 64 bits).

        Without one, returns the attempt with the fewest reasons and, among those, the highest weighted sum of terms;
        with `strict` raises ValueError instead.
        """
        best: Ship | None = None
        for attempt in range(self.parameters.max_attempts):
            ship = self.attempt(seed, attempt)
            if ship.valid:
                return ship
            if best is None or _rank(ship) > _rank(best):
                best = ship
        assert best is not None  # max_attempts is at least 1
        if strict:
            raise ValueError(
                f"seed {seed} should give a valid ship within {self.parameters.max_attempts} attempts, "
                f"got {', '.join(best.reasons)} at best"
            )
        return best

    def stages(self, seed: int, attempt: int = 0) -> list[tuple[str, Ship]]:
        """Returns the ship after each stage that is enabled, as (stage name, ship), in the order they run."""
        rows = new_rows(self.parameters, len(ORDER) + 1)
        rows[0] = self._start
        key = _seed(seed)
        build(rows, self._tables, ORDER, key, np.uint64(attempt), True)
        return [
            (name, reported(rows[n + 1], self._tables, self._kept, int(key), attempt))
            for n, (_, field, name) in enumerate(STAGES)
            if getattr(self.parameters, field).enabled
        ]

    def first_attempt_reasons(self, seed: int) -> int:
        """Returns the bits of `REASON_NAMES` for attempt 0 at a seed, without reading the ship off."""
        self._rows[0] = self._start
        build(self._rows, self._tables, ORDER, _seed(seed), np.uint64(0), False)
        return int(self._rows[0, at.REASONS])


def generate(
    seed: int, parameters: Parameters | str = "classic", *, hull: Hull | None = None, strict: bool = False
) -> Ship:
    """Returns the ship of a seed: the same bytes for the same seed and parameters, everywhere and for ever.

    `parameters` may be the name of a preset. For `hull` and `strict` see `Generator`.
    """
    return Generator(parameters, hull=hull).ship(seed, strict=strict)


def hull_mask(hull: Hull, grid: int) -> NDArray[np.bool_]:
    """Returns a supplied hull as booleans [grid, grid]; ValueError unless it is 4-connected and keeps off the ring."""
    if isinstance(hull, np.ndarray):
        mask = hull.astype(bool)
    else:
        lines = [str(line) for line in hull]
        if any(len(line) != len(lines[0]) or set(line) - {".", " "} for line in lines):
            raise ValueError('hull should be rows of equal length of "." and " "')
        mask = np.array([[c == "." for c in line] for line in lines], dtype=bool)
    if mask.shape != (grid, grid):
        raise ValueError(f"hull should be {grid} by {grid} cells, got shape {mask.shape!r}")
    if mask[[0, -1], :].any() or mask[:, [0, -1]].any():
        raise ValueError("hull should leave the outermost ring of the grid free")
    cells = {(int(x), int(y)) for y, x in np.argwhere(mask)}
    if not cells or len(connected(cells)) != len(cells):
        raise ValueError(f"hull should be one 4-connected piece, got {len(cells)} cells that are not")
    return mask


def _rank(ship: Ship) -> tuple[int, float]:
    return -len(ship.reasons), ship.stats["potential"]


def _seed(seed: int) -> np.uint64:
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or not 0 <= seed < 1 << 64:
        raise ValueError(f"seed should be an integer from 0 to 2**64 - 1, got {seed!r}")
    return np.uint64(seed)
