"""Exchanges left and right in ships. Each term of the quality stays the same; the crew's detours can be measured differently."""

from __future__ import annotations

import numpy as np

from leafwise.envs.core.arrays import Ints
from leafwise.envs.starship import tables as at
from leafwise.envs.starship.catalogue import FACTS, PARTS, ROTATIONS, SIZE, SLOTS
from leafwise.envs.starship.tables import Rows

TURNED = np.array([0, 3, 2, 1])
"""Facings and rotations with east and west exchanged."""
ROTATED = np.array([TURNED if FACTS[p, ROTATIONS] == 4 else np.arange(4) for p in range(len(PARTS))])
"""The rotation of a part in the mirror; shape [part, rotation]."""


def _mirrored_slots() -> Ints:
    """Returns the number of each door slot in the mirror; shape [part, rotation, slot]."""
    slot_numbers = np.zeros(SLOTS.shape[:3], np.int64)
    for p in range(len(PARTS)):
        for r in range(4):
            mirrored_part_slots = [tuple(slot) for slot in SLOTS[p, ROTATED[p, r]]]
            for k, (dx, dy, d) in enumerate(SLOTS[p, r]):
                slot_numbers[p, r, k] = (
                    mirrored_part_slots.index((SIZE[p, r, 0] - 1 - dx, dy, TURNED[d])) if d >= 0 else k
                )
    return slot_numbers


SLOT_OF = _mirrored_slots()


def mirrored(rows: Rows, grid: int) -> Rows:
    """Returns rows [n, words] on a grid of this side with left and right exchanged, requests in sight too."""
    mirrored_rows = rows.copy()
    # Requests: those in sight, and those that have no place
    queue = mirrored_rows[:, at.QUEUE : at.QUEUE + at.PREVIEW]
    entry = queue.astype(np.int64) - 1
    queue[:] = np.where(queue > 0, entry // 4 * 4 + TURNED[entry % 4] + 1, 0)
    known = mirrored_rows[:, at.EXHAUSTED].astype(np.int64)
    mirrored_rows[:, at.EXHAUSTED] = sum((known >> e & 1) << (e // 4 * 4 + TURNED[e % 4]) for e in range(12))
    # Cells, with their doors
    board = mirrored_rows[:, at.HEADER : at.HEADER + grid**2].reshape(-1, grid, grid)
    flipped = board[:, :, ::-1]
    east = np.zeros_like(board)
    east[:, :, :-1] = flipped[:, :, 1:] & at.DOOR_EAST
    board[:] = (flipped & ~np.uint16(at.DOOR_EAST)) | east
    # The parts that are placed
    words = mirrored_rows[:, at.HEADER + grid**2 :].reshape(len(rows), -1, 2)
    placed = np.arange(words.shape[1]) < rows[:, at.PARTS_PLACED, None]
    what, where = words[..., 0].astype(np.int64), words[..., 1].astype(np.int64)
    part, r, slot = np.minimum(what & 15, len(PARTS) - 1), what >> 4 & 3, what >> 8
    x = grid - (where & 255) - SIZE[part, r, 0]
    turned = part | ROTATED[part, r] << 4 | SLOT_OF[part, r, np.minimum(slot, SLOT_OF.shape[2] - 1)] << 8
    words[..., 0] = np.where(placed, turned, what)
    words[..., 1] = np.where(placed, x | where >> 8 << 8, where)
    return mirrored_rows
