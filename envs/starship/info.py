"""What environments report of a ship in `info`: the request at every step, and at the end the quality and its terms."""

from __future__ import annotations

from typing import Any

import numpy as np

from leafwise.envs.core.arrays import Array
from leafwise.envs.core.contract.game import StepInfo
from leafwise.envs.core.contract.state import FIRST
from leafwise.envs.starship import tables as at
from leafwise.envs.starship.catalogue import PARTS
from leafwise.envs.starship.quality import TERMS
from leafwise.envs.starship.ship import measure_row, reasons_of
from leafwise.envs.starship.tables import GameTables, Rows
from leafwise.envs.starship.targets import NAMES, WAYS, standing

MOST_STAGES, MOST_ENTRIES = 16, 12


def _request_names() -> Array:
    """Returns the names of requests by stage and by number in the QUEUE word, "" for none."""
    names = np.full((MOST_STAGES, MOST_ENTRIES + 1), "", dtype=object)
    for stage, kinds in at.KINDS.items():
        for entry in range(4 * len(kinds)):
            part = PARTS[kinds[entry // 4]]
            names[stage, entry + 1] = f"{part.name} {WAYS[entry % 4]}" if part.directional else part.name
    return names


REQUESTS = _request_names().ravel()


def always(rows: Rows, T: GameTables) -> dict[str, Array]:
    """Returns `request` [n], the part to be placed and its facing: "thruster_small north"; "" at the end."""
    return {"request": REQUESTS.take(rows[:, at.PHASE] * (MOST_ENTRIES + 1) + rows[:, at.QUEUE])}


def at_end(row: Rows, T: GameTables) -> dict[str, Any]:
    """Returns `quality`, its six `terms` from 0 to 1, and `reasons`, why the ship is not valid (empty if it is)."""
    figures = measure_row(np.array([row], np.uint16), T.ship)
    terms = {name: round(figures[name], 6) for name in TERMS}
    info = {"quality": round(figures["quality"], 6), "terms": terms, "reasons": reasons_of(row)}
    if asked := {k: count for k, count in enumerate(T.ship.asked.tolist()) if count >= 0}:
        info["targets"] = {NAMES[k]: count for k, count in asked.items()}
        info["reached"] = {NAMES[k]: int(standing(row[None], FIRST, T.ship, k)) for k in asked}
    return info


INFO = StepInfo(
    always,
    at_end,
    keys={
        "request": 'after every step: the requested part and the way that it has to face, such as `"thruster_small north"`',
        "quality": "at the end: the quality of the ship",
        "terms": f"at the end: the terms of the quality before weighting, each from 0 to 1: {', '.join(TERMS)}",
        "reasons": "at the end: the reasons why the ship is not valid; empty if the ship is valid",
        "targets": f"at the end, with the option `targets`: what the ship must have, one or more of {', '.join(NAMES)}",
        "reached": "at the end, with the option `targets`: what the ship has of each of these",
    },
)
