"""The test solitaire in plain Python, written from its docstring alone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from random import Random
from typing import Any

PILES = ("left", "right")


@dataclass(frozen=True)
class Position:
    """Cards left in the deck by number, tops of the piles, the card turned up (0: none)."""

    deck: tuple[int, ...]
    piles: tuple[int, int]
    card: int
    discards: int
    points: int


class Twin:
    """The rules, which are the same for every variant."""

    def __init__(self, options: Any) -> None:
        self.options = options

    def player(self, p: Position) -> str:
        if p.card:
            return "first" if self.legal(p) else "nobody"
        return "chance" if any(p.deck) else "nobody"

    def returns(self, p: Position) -> float:
        return float(p.points)

    def legal(self, p: Position) -> list[str]:
        fits = [name for name, top in zip(PILES, p.piles, strict=True) if not top > p.card]
        return fits + ["discard"] * (p.discards > 0)

    def play(self, p: Position, name: str) -> Position:
        if name == "discard":
            return replace(p, card=0, discards=p.discards - 1)
        left, right = (p.card if pile == name else top for pile, top in zip(PILES, p.piles, strict=True))
        return replace(p, card=0, piles=(left, right), points=p.points + p.card)

    def outcomes(self, p: Position) -> list[tuple[float, Position]]:
        cards = [card for card, n in enumerate(p.deck, 1) for _ in range(n)]
        after = [
            (n / len(cards), replace(p, deck=(*p.deck[: card - 1], n - 1, *p.deck[card:]), card=card))
            for card, n in enumerate(p.deck, 1)
        ]
        return [(q, position) for q, position in after if q]

    def write(self, p: Position) -> str:
        card = f" card={p.card}" if p.card else ""
        deck, piles = ",".join(map(str, p.deck)), ",".join(map(str, p.piles))
        return f"deck={deck} piles={piles}{card} discards={p.discards} points={p.points}"

    def read(self, text: str) -> Position:
        """Reads what `write` writes; trusts it."""
        n = [int(word) for word in re.findall(r"\d+", text)]
        return Position(tuple(n[:5]), (n[5], n[6]), n[7] if "card=" in text else 0, n[-2], n[-1])

    def unusual(self, rng: Random) -> Iterator[str]:
        """Yields nothing: random play meets every kind of position."""
        yield from ()
