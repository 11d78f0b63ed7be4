"""How different the ships of a set are from one another.

Source of the set score: the PCG Benchmark (Khalifa, Gallotta, Barthet, Liapis, Togelius, Yannakakis, 2025): members
that are too much like others are dropped, the one with the most likenesses first, and what is left is counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.starship.catalogue import ARMOUR, COCKPIT, CORRIDOR, LETTERS, PARTS, REACTOR, SPACE
from leafwise.envs.starship.scene import hull_box
from leafwise.envs.starship.ship import Ship
from leafwise.envs.starship.tables import HEADER, PARTS_PLACED

DIFFERENT = 0.4
"""Two ships are different if at least this share of their occupied cells differs."""
LAYERS = {LETTERS[SPACE]: 0, **{part.letter: k for k, part in enumerate(PARTS, 1)}}
LAYERS |= {LETTERS[CORRIDOR]: len(PARTS) + 1, LETTERS[ARMOUR]: len(PARTS) + 2}


def part_map(ship: Ship) -> NDArray[np.uint8]:
    """Returns what each cell holds, the hull's bounding box in the middle; shape [grid, grid].

    0 is space, 1 to 11 the parts of the catalogue, 12 corridor, 13 armour.
    """
    cells = np.array([[LAYERS[letter] for letter in line] for line in ship.text.split("\n")], dtype=np.uint8)
    box = hull_box(ship, 0)
    hull = cells[box.top : box.bottom, box.left : box.right]
    aligned = np.zeros_like(cells)
    top, left = (ship.grid - hull.shape[0]) // 2, (ship.grid - hull.shape[1]) // 2
    aligned[top : top + hull.shape[0], left : left + hull.shape[1]] = hull
    return aligned


def pairwise_distances(ships: Sequence[Ship]) -> NDArray[np.float64]:
    """Returns the share of cells occupied in either ship that differ, for every pair; shape [n, n]."""
    maps = np.array([part_map(ship).ravel() for ship in ships])
    distances = np.zeros((len(ships), len(ships)))
    for k, own in enumerate(maps):
        occupied = ((maps[k + 1 :] != 0) | (own != 0)).sum(axis=1)
        distances[k, k + 1 :] = (maps[k + 1 :] != own).sum(axis=1) / np.maximum(occupied, 1)
    return distances + distances.T


def share_that_differs(one: NDArray[np.uint8], other: NDArray[np.uint8]) -> float:
    """Returns the share of the cells occupied in either of two maps of parts that differ."""
    return float((one != other).sum() / max(1, ((one != 0) | (other != 0)).sum()))


def core_entropy(ships: Sequence[Ship]) -> float:
    """Returns the entropy, in bits, of how the core is laid out: the cockpit's rotation, and where the reactor is from it.

    A builder that always puts the same core in the same way has 0, however much the ships differ elsewhere; ships without
    either part are left out.
    """
    layouts: list[tuple[int, int, int]] = []
    for ship in ships:
        first = {part.id: part for part in reversed(ship.parts)}
        if "cockpit" in first and "reactor" in first:
            cockpit, reactor = first["cockpit"], first["reactor"]
            layouts.append((cockpit.r, reactor.x - cockpit.x, reactor.y - cockpit.y))
    return entropy(layouts)


def set_score(distances: NDArray[np.float64], different: float = DIFFERENT) -> float:
    """Returns the share of ships that is left when the ones too much like others are dropped."""
    alike = distances < different
    np.fill_diagonal(alike, False)
    left = np.ones(len(alike), dtype=bool)
    while (counts := (alike & left).sum(axis=1) * left).any():
        left[int(counts.argmax())] = False
    return float(left.mean())


def core_layout(row: NDArray[np.uint16], grid: int) -> tuple[int, int, int] | None:
    """Returns the cockpit's rotation and how many columns and rows the reactor stands off it; None unless both stand.

    `row` [words] is a state row of a grid of this side.
    """
    first = HEADER + grid**2
    words = row[first : first + 2 * int(row[PARTS_PLACED])].reshape(-1, 2).tolist()
    found = {what & 15: (what >> 4 & 3, where & 255, where >> 8) for what, where in reversed(words)}
    if COCKPIT not in found or REACTOR not in found:
        return None
    (turned, x, y), (_, reactor_x, reactor_y) = found[COCKPIT], found[REACTOR]
    return turned, reactor_x - x, reactor_y - y


def entropy(things: Iterable[Hashable]) -> float:
    """Returns the entropy of how often each of some things occurs, in bits; 0 for none."""
    counts = np.array(list(Counter(things).values()), dtype=float)
    shares = counts / max(1.0, counts.sum())
    return float(-(shares * np.log2(shares)).sum()) + 0.0
