"""Ships with left and right exchanged: each term of the quality is the same; detours of the crew may be measured otherwise."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.starship import tables as at
from leafwise.envs.starship.catalogue import FACTS, PARTS, ROTATIONS, SIZE, SLOTS

TURNED = np.array([0, 3, 2, 1])
"""Facings and rotations, exchanged: east and west."""
ROTATED = np.array([TURNED if FACTS[p, ROTATIONS] == 4 else np.arange(4) for p in range(len(PARTS))])
"""Rotation of a part in the mirror; shape [part, rotation]."""
MOST_ENTRIES = 12


def _mirrored_slots() -> NDArray[np.int64]:
    """Returns the number of each door slot in the mirror; shape [part, rotation, slot]."""
    found = np.zeros(SLOTS.shape[:3], dtype=np.int64)
    for p in range(len(PARTS)):
        for r in range(4):
            there = [tuple(slot) for slot in SLOTS[p, ROTATED[p, r]]]
            for k, (dx, dy, d) in enumerate(SLOTS[p, r]):
                found[p, r, k] = there.index((SIZE[p, r, 0] - 1 - dx, dy, TURNED[d])) if d >= 0 else k
    return found


SLOT_OF = _mirrored_slots()


def mirrored(rows: NDArray[np.uint16], grid: int) -> NDArray[np.uint16]:
    """Returns rows [n, words] of a grid of this side with left and right exchanged; requests in sight too."""
    found = rows.copy()
    _exchange_requests(found)
    board = found[:, at.HEADER : at.HEADER + grid**2].reshape(-1, grid, grid)
    flipped = board[:, :, ::-1]
    east = np.zeros_like(board)
    east[:, :, :-1] = flipped[:, :, 1:] & at.DOOR_EAST
    board[:] = (flipped & ~np.uint16(at.DOOR_EAST)) | east
    _exchange_parts(found, grid)
    return found


def _exchange_requests(rows: NDArray[np.uint16]) -> None:
    """Exchanges east and west in the requests in sight, and in those that have no place."""
    queue = rows[:, at.QUEUE : at.QUEUE + at.PREVIEW]
    entry = queue.astype(np.int64) - 1
    queue[:] = np.where(queue > 0, entry // 4 * 4 + TURNED[entry % 4] + 1, 0)
    known = rows[:, at.EXHAUSTED].astype(np.int64)
    bits = sum((known >> e & 1) << (e // 4 * 4 + TURNED[e % 4]) for e in range(MOST_ENTRIES))
    rows[:, at.EXHAUSTED] = bits


def _exchange_parts(rows: NDArray[np.uint16], grid: int) -> None:
    """Moves and turns the parts that are placed."""
    words = rows[:, at.HEADER + grid**2 :].reshape(len(rows), -1, 2)
    placed = np.arange(words.shape[1]) < rows[:, at.PARTS_PLACED, None]
    what, where = words[..., 0].astype(np.int64), words[..., 1].astype(np.int64)
    part, r, slot = np.minimum(what & 15, len(PARTS) - 1), what >> 4 & 3, what >> 8
    x = grid - (where & 255) - SIZE[part, r, 0]
    turned = part | ROTATED[part, r] << 4 | SLOT_OF[part, r, np.minimum(slot, SLOT_OF.shape[2] - 1)] << 8
    words[..., 0] = np.where(placed, turned, what)
    words[..., 1] = np.where(placed, x | where >> 8 << 8, where)
