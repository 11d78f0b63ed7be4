"""The options of the building game, and the tables, sizes and pictures that follow from them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.contract.options import RULE_ONLY, need_one_of
from leafwise.envs.starship.draw import rgb, svg
from leafwise.envs.starship.presets import PRESETS, preset
from leafwise.envs.starship.report import reported
from leafwise.envs.starship.ship import Ship
from leafwise.envs.starship.tables import GameTables, new_tables, row_length
from leafwise.envs.starship.text import PRESET_OF_GRID, action_names


@dataclass(frozen=True)
class Options:
    """The variant; raises ValueError for a preset that there is not."""

    preset: str = field(default="scout", metadata=RULE_ONLY)
    """Whose hulls and parts: a name in `presets.PRESETS`; one network serves all."""

    def __post_init__(self) -> None:
        need_one_of("starship", self, {"preset": tuple(PRESETS)})


def make_tables(options: Options) -> GameTables:
    """Returns the tables of a preset."""
    return GameTables(new_tables(preset(options.preset)), np.zeros(1, dtype=np.uint8))


def width(options: Options) -> int:
    """Returns the number of words of a row."""
    return row_length(preset(options.preset))


def names(options: Options) -> tuple[str, ...]:
    """Returns the names of the actions."""
    return action_names(preset(options.preset).grid)


def ship_at(row: NDArray[Any], T: GameTables, seed: int = 0) -> Ship:
    """Returns a row as a ship, as it stands; `seed` is written into it."""
    return reported(row, T.ship, PRESETS[PRESET_OF_GRID[T.ship.grid]], seed, targets=False)


def to_board(row: NDArray[Any], T: GameTables) -> str:
    """Returns the ship in letters, one row of the grid a line."""
    return ship_at(row, T).text


class ShipPicture:
    """The picture of the ship in a row, of one size for all ships of a preset."""

    def __init__(self, row: NDArray[Any], T: GameTables) -> None:
        self.ship = ship_at(row, T)

    def svg(self) -> str:
        """Returns the picture as SVG text."""
        return svg(self.ship, whole=True).rstrip()

    def rgb(self) -> NDArray[np.uint8]:
        """Returns the picture as uint8 [height, width, 3]."""
        return rgb(self.ship, whole=True)
