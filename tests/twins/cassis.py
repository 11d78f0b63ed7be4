"""Cassis in plain Python, written from its rules alone; it also values late positions."""

from collections.abc import Iterator
from itertools import combinations
from random import Random
from typing import Any

Edge = tuple[int, int]
Position = tuple[frozenset[Edge], frozenset[Edge]]
"""The edges of either player, each as (lower point, higher point)."""


class Twin:
    """The rules for one number of points."""

    def __init__(self, options: Any) -> None:
        self.n = int(options.n)
        self.edges = list(combinations(range(self.n), 2))
        self._values: dict[Position, int] = {}

    def player(self, p: Position) -> str:
        if any(map(self.triangle, p)) or not self.free(p):
            return "nobody"
        return ("first", "second")[self.turn(p)]

    def returns(self, p: Position) -> float:
        return float(self.triangle(p[1])) - float(self.triangle(p[0]))

    def legal(self, p: Position) -> list[str]:
        return [f"{a}-{b}" for a, b in self.free(p)]

    def play(self, p: Position, name: str) -> Position:
        a, b = name.split("-")
        return self.colour(p, (int(a), int(b)))

    def outcomes(self, p: Position) -> list[tuple[float, Position]]:
        return []

    def turn(self, p: Position) -> int:
        return (len(p[0]) + len(p[1])) % 2

    def free(self, p: Position) -> list[Edge]:
        return [edge for edge in self.edges if edge not in p[0] and edge not in p[1]]

    def colour(self, p: Position, edge: Edge) -> Position:
        sides = list(p)
        sides[self.turn(p)] |= {edge}
        return sides[0], sides[1]

    def triangle(self, edges: frozenset[Edge]) -> bool:
        return any({(a, b), (a, c), (b, c)} <= edges for a, b, c in combinations(range(self.n), 3))

    def write(self, p: Position) -> str:
        mark = {edge: "x" if edge in p[0] else "o" if edge in p[1] else "." for edge in self.edges}
        return "/".join("".join(mark[a, b] for b in range(a + 1, self.n)) for a in range(self.n - 1))

    def read(self, text: str) -> Position:
        """Reads what `write` writes; trusts it."""
        marks = dict(zip(self.edges, text.replace("/", ""), strict=True))
        return frozenset(e for e in self.edges if marks[e] == "x"), frozenset(e for e in self.edges if marks[e] == "o")

    def unusual(self, rng: Random) -> Iterator[str]:
        """Yields boards full of edges, as random play seldom meets them."""
        for _ in range(12):
            yield self.write(self.random_position(rng, len(self.edges)))

    def random_position(self, rng: Random, coloured: int) -> Position:
        """Plays safe edges at random while there are any, up to so many coloured ones."""
        p: Position = (frozenset(), frozenset())
        while self.turn(p) + 2 * len(p[1]) < coloured:
            safe = [edge for edge in self.free(p) if not any(map(self.triangle, self.colour(p, edge)))]
            if not safe:
                break
            p = self.colour(p, rng.choice(safe))
        return p

    def value(self, p: Position) -> int:
        """The mover's value: 1, 0 or -1."""
        if p not in self._values:
            self._values[p] = max((self.value_of(p, edge) for edge in self.free(p)), default=0)
        return self._values[p]

    def value_of(self, p: Position, edge: Edge) -> int:
        """What colouring an edge is worth to the mover."""
        after = self.colour(p, edge)
        return -1 if self.triangle(after[self.turn(p)]) else -self.value(after)
