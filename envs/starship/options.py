"""The options of the building game, and the tables, sizes and pictures that follow from them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.errors import UserError
from leafwise.envs.core.fields import RULE_ONLY, from_file
from leafwise.envs.core.ranges import OneOf, settle_fields
from leafwise.envs.starship import variants
from leafwise.envs.starship.draw import rgb, svg
from leafwise.envs.starship.presets import PRESETS, Parameters
from leafwise.envs.starship.ship import Ship, reported
from leafwise.envs.starship.tables import GameTables, new_tables, parameters_of, row_length
from leafwise.envs.starship.targets import asked_of, read_targets
from leafwise.envs.starship.text import action_names


@dataclass(frozen=True)
class Options:
    """The variant; raises ValueError for what makes no sense.

    Parameters, hull and targets may be given in any form that `variants` reads, and are kept as short texts.
    """

    preset: Annotated[str, OneOf(tuple(PRESETS))] = field(default="scout", metadata=RULE_ONLY)
    """Whose hulls and parts: a name in `presets.PRESETS`; one network serves all."""
    parameters: str = field(default="", metadata=RULE_ONLY | from_file(variants.is_settings))
    """What differs from the preset: JSON."""
    hull: str = field(default="", metadata=RULE_ONLY | from_file(variants.is_hull))
    """The hull in place of a drawn one: run lengths."""
    targets: str = field(default="", metadata=RULE_ONLY)
    """What the ship is to have: JSON."""

    def __post_init__(self) -> None:
        settle_fields(self, "starship")
        try:
            if not isinstance(self.parameters, str) or self.parameters:
                preset, parameters = variants.read_parameters(self.parameters, self.preset)
                object.__setattr__(self, "preset", preset)
                object.__setattr__(self, "parameters", parameters)
            object.__setattr__(self, "targets", variants.told_targets(self.targets))
            if not isinstance(self.hull, str) or self.hull:
                grid = variants.built(self.preset, self.parameters, "given", self.targets).grid
                object.__setattr__(self, "hull", variants.read_hull(self.hull, grid))
            _ = self.built
        except UserError as problem:
            raise UserError(f"starship: {str(problem).removeprefix('starship: ')}") from None

    @property
    def built(self) -> Parameters:
        """All parameters of the variant."""
        return variants.built(self.preset, self.parameters, self.hull, self.targets)


def make_tables(options: Options) -> GameTables:
    """Returns the tables of a variant."""
    asked = asked_of(read_targets(options.targets))
    hull = variants.mask_of(options.hull, options.built.grid)
    return GameTables(new_tables(options.built, hull=hull, asked=asked), np.zeros(1, dtype=np.uint8))


def width(options: Options) -> int:
    """Returns the number of words of a row."""
    return row_length(options.built)


def names(options: Options) -> tuple[str, ...]:
    """Returns the names of the actions."""
    return action_names(options.built.grid)


def ship_at(row: NDArray[Any], T: GameTables, seed: int = 0) -> Ship:
    """Returns a row as a ship, as it stands; `seed` is written into it."""
    return reported(row, T.ship, parameters_of(T.ship), seed, targets=False)


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
