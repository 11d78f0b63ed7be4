"""Cassis positions as one line of text, and as the article's board code.

`.x.../..o./.../../.`: for each point but the last, its edges to the points after it, x for the edges of the player who
moved first, o for the other's, a dot for an uncoloured one. Who is to move follows from the number of coloured edges.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.cassis.rules import LOST, has_triangle
from leafwise.envs.cassis.tables import Tables
from leafwise.envs.core.contract.texts import SIDES, last_player, marked
from leafwise.envs.core.ranges import Range, need_in


def colours(row: NDArray[Any], T: Tables) -> list[int]:
    """Returns what colour each edge has, in order of their numbers: 0 none, 1 player 0's, 2 player 1's."""
    first, second = int(row[0]), int(row[1])
    return [(first >> e & 1) + 2 * (second >> e & 1) for e in range(T.edges)]


def to_text(row: NDArray[Any], T: Tables) -> str:
    """Returns the line of text for a row."""
    marks = "".join(SIDES[colour] for colour in colours(row, T))
    starts = [int(T.edge_of[point, point + 1]) for point in range(T.n - 1)] + [T.edges]
    return "/".join(marks[a:b] for a, b in pairwise(starts))


def parse_row(text: str, T: Tables) -> NDArray[np.uint64]:
    """Returns the row that a line of text describes; raises ValueError if no game leads there."""
    lengths = [T.n - 1 - point for point in range(T.n - 1)]
    shape = f"groups of {', '.join(map(str, lengths))} edges"
    return row_of(marked(text, lengths, SIDES, shape, "edges"), T, text)


def to_code(row: NDArray[Any], T: Tables) -> int:
    """Returns the article's board code: the colour of edge e times 3**e, summed."""
    return sum(colour * 3**e for e, colour in enumerate(colours(row, T)))


def parse_code(code: int, T: Tables) -> NDArray[np.uint64]:
    """Returns the row of a board code; raises ValueError if it is none, or no game leads there."""
    code = need_in(code, Range(0, 3**T.edges - 1), "a board code", "cassis", int)
    return row_of([code // 3**e % 3 for e in range(T.edges)], T, str(code))


def edge_name(text: str) -> str:
    """Returns the name of the edge that a person means: `0-5` for `5-0`, `05`, `0,5`, `(0, 5)` and `AF`; another text as it is."""
    found = re.fullmatch(
        r"[({\[]?\s*(?:([0-9])\s*[-–—,: ]?\s*([0-9])|([A-Ha-h])\s*[-–—,: ]?\s*([A-Ha-h]))\s*[)}\]]?", text.strip()
    )
    if found is None:
        return text
    ends = [end if end.isdigit() else str("abcdefgh".index(end.lower())) for end in found.groups() if end]
    return "-".join(sorted(ends))


def row_of(colour: list[int], T: Tables, text: str) -> NDArray[np.uint64]:
    """Returns the row with these colours; raises ValueError if no game leads there."""
    sides = [sum(1 << e for e, c in enumerate(colour) if c == player + 1) for player in range(2)]
    row = np.array(sides, dtype=np.uint64)
    last = last_player(row, -1, lambda side: bool(has_triangle(side, T)), "triangle", "edge that closed", text)
    if has_triangle(row[last], T):
        row[last] |= LOST
    return row
