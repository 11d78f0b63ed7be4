"""The dice race in plain Python, written from its docstring alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from random import Random
from typing import Any

LANES = ("left", "right")


@dataclass(frozen=True)
class Position:
    """Ways of both players, steps of this turn, lane rolled for, die on the table."""

    ways: tuple[tuple[int, int], tuple[int, int]]
    turn: int
    steps: tuple[int, int] = (0, 0)
    roll: str = ""
    die: str = ""


def plus(pair: tuple[int, int], lane: str, n: int) -> tuple[int, int]:
    return (pair[0] + n * (lane == "left"), pair[1] + n * (lane == "right"))


class Twin:
    """The rules of one variant."""

    def __init__(self, options: Any) -> None:
        self.length, self.turns = options.length, options.turns

    def is_over(self, p: Position) -> bool:
        return p.turn == self.turns or (self.length, self.length) in p.ways

    def player(self, p: Position) -> str:
        if p.roll:
            return "chance"
        return "nobody" if self.is_over(p) else ("first", "second")[p.turn % 2]

    def returns(self, p: Position) -> float:
        if not self.is_over(p):
            return 0.0
        first, second = map(sum, p.ways)
        return float((first > second) - (first < second))

    def not_home(self, p: Position) -> list[str]:
        own = p.ways[p.turn % 2]
        return [lane for k, lane in enumerate(LANES) if own[k] + p.steps[k] < self.length]

    def legal(self, p: Position) -> list[str]:
        out = self.not_home(p)
        return out + ["hold"] * (p.steps != (0, 0)) + ["wild"] * (bool(out) and not p.die)

    def play(self, p: Position, name: str) -> Position:
        if name == "wild":
            return replace(p, die="wild")
        if name in LANES:
            return replace(p, roll=name)
        ways = list(p.ways)
        old = ways[p.turn % 2]
        ways[p.turn % 2] = (min(self.length, old[0] + p.steps[0]), min(self.length, old[1] + p.steps[1]))
        return Position((ways[0], ways[1]), p.turn + 1)

    def outcomes(self, p: Position) -> list[tuple[float, Position]]:
        if not p.die:
            return [(2 / 3, replace(p, die="plain")), (1 / 3, replace(p, die="wild"))]
        faces = [(1 / 2, 1), (1 / 3, 2)] if p.die == "plain" else [(1 / 2, 3)]
        after = [(q, replace(p, steps=plus(p.steps, p.roll, n), roll="", die="")) for q, n in faces]
        return [*after, (1 / 6 if p.die == "plain" else 1 / 2, Position(p.ways, p.turn + 1))]

    def write(self, p: Position) -> str:
        (a, b), (c, d) = p.ways
        text = f"{a},{b} {c},{d} turn={p.turn} steps={p.steps[0]},{p.steps[1]}"
        return text + (f" roll={p.roll}" if p.roll else "") + (f" {p.die}" if p.die else "")

    def read(self, text: str) -> Position:
        """Reads what `write` writes; trusts it."""
        first, second, turn, steps, *rest = text.split()
        pairs = [tuple(map(int, word.split(","))) for word in (first, second, steps.removeprefix("steps="))]
        roll = "".join(word.removeprefix("roll=") for word in rest if word.startswith("roll="))
        die = "".join(word for word in rest if not word.startswith("roll="))
        return Position((pairs[0], pairs[1]), int(turn.removeprefix("turn=")), pairs[2], roll, die)  # type: ignore[arg-type]

    def unusual(self, rng: Random) -> Iterator[str]:
        """Yields nothing: random play meets every kind of position."""
        yield from ()
