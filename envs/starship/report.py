"""What is said of a ship beside its plan: quality, terms and figures by name."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.starship import tables as at
from leafwise.envs.starship.presets import Parameters
from leafwise.envs.starship.quality import FIGURES, MEASURES, TERM_WEIGHTS, TERMS, measure
from leafwise.envs.starship.ship import Ship, fill_row, ship_of_row
from leafwise.envs.starship.tables import Tables, new_rows, new_tables

WHOLE = frozenset(FIGURES) - {"mass", "corridor_length", "symmetry"}
"""Figures that are whole numbers."""


def measured(S: NDArray[np.uint16], T: Tables) -> dict[str, Any]:
    """Returns the figures of row 0: `quality` (0 if not valid), the six terms, and what is reported beside them.

    Price in credits, mass in tonnes, `forward_acceleration` in thrust per tonne; fractions rounded to 6 digits.
    """
    out = np.empty(MEASURES, dtype=np.float64)
    measure(S, np.uint64(0), T, out)
    values = out.tolist()
    stats: dict[str, Any] = dict(zip((*TERMS, *FIGURES), values, strict=True))
    potential = sum(weight * term for weight, term in zip(TERM_WEIGHTS, values, strict=False))
    stats["potential"] = potential
    stats["quality"] = 0.0 if S[0, at.REASONS] else potential
    stats["forward_acceleration"] = stats["forward_thrust"] / stats["mass"] if stats["mass"] else 0.0
    stats["seats_per_operator"] = stats["seats"] / stats["operators"] if stats["operators"] else 0.0
    stats["price_per_firepower"] = stats["price"] / stats["firepower"] if stats["firepower"] else 0.0
    return {name: int(value) if name in WHOLE else round(value, 6) for name, value in sorted(stats.items())}


def reported(
    row: NDArray[np.uint16], T: Tables, parameters: Parameters, seed: int, attempt: int = 0, *, targets: bool = True
) -> Ship:
    """Returns a row as a ship with its figures, and with the thrust and weapon scores that it was asked for."""
    rows = np.array([row], dtype=np.uint16)
    stats = measured(rows, T)
    if targets:
        stats["thrust_target"] = int(row[at.TARGET + at.STAGE_THRUSTERS])
        stats["weapon_target"] = int(row[at.TARGET + at.STAGE_WEAPONS])
    return ship_of_row(rows[0], parameters, seed, attempt, dict(sorted(stats.items())))


def stats_of(ship: Ship) -> dict[str, Any]:
    """Returns the figures of a ship, measured anew; the targets are taken from its own stats."""
    S, T = new_rows(ship.parameters, 1), new_tables(ship.parameters)
    fill_row(S[0], ship)
    figures: dict[str, Any] = measured(S, T)
    figures.update({name: ship.stats[name] for name in ("thrust_target", "weapon_target") if name in ship.stats})
    return dict(sorted(figures.items()))
