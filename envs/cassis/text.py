"""Cassis positions as one line of text.

`.x.../..o./.../../.`: for each point but the last, its edges to the points after it: x for edges of the player who moved first,
o for the other player's, a dot for an uncoloured one. The number of coloured edges tells who is to move.
"""

from __future__ import annotations

import re
from itertools import pairwise

import numpy as np

from leafwise.envs.cassis.rules import LOST, has_triangle
from leafwise.envs.cassis.tables import Tables
from leafwise.envs.core.arrays import Array, Words
from leafwise.envs.core.contract.texts import SIDES, last_player, marked


def colours(row: Array, T: Tables) -> list[int]:
    """Returns the colour of each edge, in order of their numbers: 0 none, 1 player 0's, 2 player 1's."""
    first, second = int(row[0]), int(row[1])
    return [(first >> e & 1) + 2 * (second >> e & 1) for e in range(T.edges)]


def to_text(row: Array, T: Tables) -> str:
    """Returns the line of text for a row."""
    marks = "".join(SIDES[colour] for colour in colours(row, T))
    starts = [int(T.edge_of[point, point + 1]) for point in range(T.n - 1)] + [T.edges]
    return "/".join(marks[a:b] for a, b in pairwise(starts))


def parse_row(text: str, T: Tables) -> Words:
    """Returns the row that a line of text describes; raises ValueError if no game leads there."""
    lengths = [T.n - 1 - point for point in range(T.n - 1)]
    colour = marked(text, lengths, SIDES, f"groups of {', '.join(map(str, lengths))} edges", "edges")
    sides = [sum(1 << e for e, c in enumerate(colour) if c == player + 1) for player in range(2)]
    row = np.array(sides, dtype=np.uint64)
    last = last_player(row, -1, lambda side: bool(has_triangle(side, T)), "triangle", "edge that closed", text)
    if has_triangle(row[last], T):
        row[last] |= LOST
    return row


def edge_name(text: str) -> str:
    """Returns the name of the edge that a person typed: `0-5` for `5-0`, `05`, `0,5`, `(0, 5)` and `AF`; other texts unchanged."""
    match = re.fullmatch(
        r"[({\[]?\s*(?:([0-9])\s*[-–—,: ]?\s*([0-9])|([A-Ha-h])\s*[-–—,: ]?\s*([A-Ha-h]))\s*[)}\]]?", text.strip()
    )
    if match is None:
        return text
    ends = [end if end.isdigit() else str("abcdefgh".index(end.lower())) for end in match.groups() if end]
    return "-".join(sorted(ends))
