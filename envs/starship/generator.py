"""Makes ships: runs the stages, retries, and reads the result off the state row."""

from __future__ import annotations

import dataclasses

import numpy as np

from leafwise.envs.core.errors import UserError
from leafwise.envs.starship import presets
from leafwise.envs.starship import tables as at
from leafwise.envs.starship.catalogue import CORRIDOR
from leafwise.envs.starship.hulls import Hull, hull_mask
from leafwise.envs.starship.order import final, runs
from leafwise.envs.starship.presets import CLASSIC, Parameters
from leafwise.envs.starship.report import reported
from leafwise.envs.starship.ship import Ship
from leafwise.envs.starship.stages import build
from leafwise.envs.starship.tables import new_rows, new_tables

DEFAULT_ATTEMPTS = CLASSIC.max_attempts


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
        elif not final(parameters).shape.enabled:
            raise UserError("stage Shape can be disabled only where a hull is supplied")
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
        build(self._rows, self._tables, key, np.uint64(attempt), False)
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
            raise UserError(
                f"seed {seed} should give a valid ship within {self.parameters.max_attempts} attempts, "
                f"got {', '.join(best.reasons)} at best"
            )
        return best

    def stages(self, seed: int, attempt: int = 0) -> list[tuple[str, Ship]]:
        """Returns the ship after each run of a stage, as (stage name, ship), in the order they run."""
        rows = new_rows(self.parameters, len(runs(self.parameters)) + 1)
        rows[0] = self._start
        key = _seed(seed)
        build(rows, self._tables, key, np.uint64(attempt), True)
        return [
            (run.title, reported(rows[n + 1], self._tables, self._kept, int(key), attempt))
            for n, run in enumerate(runs(self.parameters))
        ]


def generate(
    seed: int, parameters: Parameters | str = "classic", *, hull: Hull | None = None, strict: bool = False
) -> Ship:
    """Returns the ship of a seed: the same bytes for the same seed and parameters, everywhere and for ever.

    `parameters` may be the name of a preset. For `hull` and `strict` see `Generator`.
    """
    return Generator(parameters, hull=hull).ship(seed, strict=strict)


def _rank(ship: Ship) -> tuple[int, float]:
    return -len(ship.reasons), ship.stats["potential"]


def _seed(seed: int) -> np.uint64:
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or not 0 <= seed < 1 << 64:
        raise UserError(f"seed should be an integer from 0 to 2**64 - 1, got {seed!r}")
    return np.uint64(seed)
