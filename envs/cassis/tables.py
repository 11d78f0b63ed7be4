"""The variants of Cassis, and the tables of points, edges and triangles that compiled code reads."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import combinations, permutations
from math import comb
from typing import Annotated, Any, NamedTuple

import numpy as np

from leafwise.envs.core.arrays import Array, Bytes, Ints, Words
from leafwise.envs.core.ranges import Range, settle_fields

MAX_POINTS, MAX_EDGES = 8, 28
PART = 5
"""Points in the parts of a board that features describe (all of them on a smaller board)."""


@dataclass(frozen=True)
class Options:
    """The options of a variant; raises ValueError for an impossible number of points. `ABOUT` describes the option."""

    n: Annotated[int, Range(3, MAX_POINTS)] = 6

    def __post_init__(self) -> None:
        settle_fields(self, "cassis")


class Tables(NamedTuple):
    """The tables that compiled code reads."""

    n: int
    """Number of points."""
    edges: int
    all: np.uint64
    """All edges."""
    ends: Ints
    """Edge [28, 2] -> its points, the lower first."""
    edge_of: Ints
    """Points [8, 8] -> edge; -1 on the diagonal."""
    part_count: int
    """Number of sets of five points (of all points if there are fewer)."""
    part_kinds: int
    """Number of classes of colourings of such a set, up to renaming."""
    part_codes: Ints
    """Groups of four edges [7] and subsets of them [16] -> their sum of powers of 3 in each set of five points, [sets]."""
    part_classes: Ints
    """Colouring of a set of five points as a code in base 3 -> its class up to renaming."""
    joined: Words
    """Groups of four edges [7] and subsets of them [16] -> neighbours of each point: bit 8 a + b for points a and b."""
    between: Words
    """Set of points [256], a bit each -> all edges between them."""
    stop: Bytes
    leaf: Any


def edges(n: int) -> list[tuple[int, int]]:
    """Returns the edges of n points in the order of their numbers."""
    return list(combinations(range(n), 2))


def action_names(options: Options) -> tuple[str, ...]:
    """Returns the names of the edges, `0-1` to `(n-2)-(n-1)`."""
    return tuple(f"{a}-{b}" for a, b in edges(options.n))


def part_count(n: int) -> int:
    """Returns the number of parts of a board with n points."""
    return comb(n, min(n, PART))


def sums_by_fours(values: Array) -> Array:
    """Returns the sums of values [edges, *] over subsets of four edges at a time: [7, 16, *]."""
    padded = np.zeros((MAX_EDGES, *values.shape[1:]), dtype=values.dtype)
    padded[: len(values)] = values
    result = np.zeros((MAX_EDGES // 4, 16, *values.shape[1:]), dtype=values.dtype)
    for word in range(16):
        for bit in range(4):
            if word >> bit & 1:
                result[:, word] += padded[bit::4]
    return result


def part_powers(n: int) -> Ints:
    """Returns the power of 3 of each edge in the code of each part, 0 if it is not in the part; [edges, parts]."""
    pairs = edges(n)
    powers = np.zeros((len(pairs), part_count(n)), dtype=np.int64)
    for part, points in enumerate(combinations(range(n), min(n, PART))):
        for place, pair in enumerate(combinations(points, 2)):
            powers[pairs.index(pair), part] = 3**place
    return powers


def joined(n: int) -> Words:
    """Returns `Tables.joined`."""
    return sums_by_fours(np.array([1 << 8 * a + b | 1 << 8 * b + a for a, b in edges(n)], dtype=np.uint64))


def between(n: int) -> Words:
    """Returns `Tables.between`."""
    edges_between = [
        sum(1 << e for e, (a, b) in enumerate(edges(n)) if points >> a & points >> b & 1) for points in range(256)
    ]
    return np.array(edges_between, dtype=np.uint64)


@cache
def part_classes(n: int) -> Ints:
    """Returns the class of every colouring of a part: equal if a renaming of its points maps one to the other."""
    pairs = edges(min(n, PART))
    powers = 3 ** np.arange(len(pairs))
    digits = (np.arange(3 ** len(pairs))[:, None] // powers % 3).astype(np.float32)
    renamings = permutations(range(min(n, PART)))
    renamed_powers = [[3 ** pairs.index((min(p[a], p[b]), max(p[a], p[b]))) for a, b in pairs] for p in renamings]
    least = (digits @ np.array(renamed_powers, dtype=np.float32).T).min(axis=1)  # exact: all below 2**24
    return np.unique(least, return_inverse=True)[1].astype(np.int64)


def make_tables(options: Options) -> Tables:
    """Returns the tables of one variant."""
    n = options.n
    pairs = edges(n)
    ends = np.zeros((MAX_EDGES, 2), dtype=np.int64)
    ends[: len(pairs)] = pairs
    edge_of = np.full((MAX_POINTS, MAX_POINTS), -1, dtype=np.int64)
    for e, (a, b) in enumerate(pairs):
        edge_of[a, b] = edge_of[b, a] = e
    return Tables(
        n=n,
        edges=len(pairs),
        all=np.uint64((1 << len(pairs)) - 1),
        ends=ends,
        edge_of=edge_of,
        part_count=part_count(n),
        part_kinds=int(part_classes(n).max()) + 1,
        part_codes=sums_by_fours(part_powers(n)),
        part_classes=part_classes(n),
        joined=joined(n),
        between=between(n),
        stop=np.zeros(1, dtype=np.uint8),
        leaf=(),
    )
