"""The cards and positions of the naive twin of Friday: piles are lists of card names, the table a list of cards."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

# name: (value, ability, copies)
ROBINSON = {
    "S1": (-1, "", 5), "S2": (0, "", 8), "S3": (1, "", 3), "S4": (2, "", 1), "S5": (0, "life2", 1),
}  # fmt: skip
ISLAND = {
    "W1": (0, "life1", 2), "W3": (0, "draw2", 2), "W5": (0, "exchange2", 2), "W7": (0, "copy", 1), "W8": (0, "destroy", 1),
    "W9": (0, "phase", 1), "W10": (0, "below", 1), "E1": (1, "life1", 2), "E3": (2, "", 2), "E5": (1, "copy", 1),
    "E6": (1, "destroy", 1), "E7": (1, "double", 1), "E8": (1, "below", 1), "F1": (2, "life1", 1), "F2": (2, "destroy", 1),
    "F3": (2, "draw1", 1), "F4": (2, "sort", 1), "F5": (2, "double", 1), "F6": (2, "exchange1", 1), "N1": (3, "destroy", 1),
    "N2": (3, "exchange1", 1), "N3": (3, "sort", 1), "N4": (3, "draw1", 1), "C1": (4, "", 2),
}  # fmt: skip
NORMAL = {"G1": (-1, "", 1), "G2": (-2, "", 2), "G4": (-3, "", 1), "G5": (0, "", 2), "G7": (0, "", 1), "G8": (0, "", 1)}
DIFFICULT = {"D1": (0, "", 1), "D2": (-4, "", 1), "D3": (-5, "", 1)}
AGING = {**NORMAL, **DIFFICULT}
CARDS = {**ROBINSON, **ISLAND, **AGING}
ORDER = list(CARDS)
DANGER = {"W": (1, 0, 1, 3), "E": (2, 1, 3, 6), "F": (3, 2, 5, 8), "N": (4, 4, 7, 11), "C": (5, 5, 9, 14)}
PIRATES = {
    1: (5, 0),
    2: (6, 20),
    3: (7, 25),
    4: (7, 16),
    5: (8, 30),
    6: (9, 35),
    7: (9, 22),
    8: (10, 52),
    9: (10, 40),
    10: (0, 0),
}
PHASES = ["green", "yellow", "red", "pirates"]
SOURCES = ["E7", "F5", "W7", "E5"]
LOWERERS = ["W9", "W7", "E5"]


@dataclass
class OnTable:
    """A face-up card; `by` names the card that doubles it ("?" where that does not matter)."""

    name: str
    side: str
    used: bool = False
    by: str = ""

    def place(self) -> tuple[Any, ...]:
        by = -1 if not self.by else SOURCES.index(self.by) if self.by in SOURCES else 0
        return self.side, ORDER.index(self.name), self.used, by


@dataclass
class Position:
    """Everything that a line of text says."""

    turn: str = ""
    phase: int = 0
    life: int = 0
    debt: int = 0
    pirates: list[int] = field(default_factory=list)
    fought: int = 0
    beaten: list[int] = field(default_factory=list)
    top: list[str] = field(default_factory=list)
    stack: list[str] = field(default_factory=list)
    bottom: list[str] = field(default_factory=list)
    discard: list[str] = field(default_factory=list)
    hazards: list[str] = field(default_factory=list)
    away: list[str] = field(default_factory=list)
    aging: list[str] = field(default_factory=list)
    active: list[str] = field(default_factory=list)
    table: list[OnTable] = field(default_factory=list)
    down: list[str] = field(default_factory=list)
    free: int = 0
    uses: int = 0
    lowered: list[str] = field(default_factory=list)
    ability: str = ""
    steps: int = 0
    acting: OnTable | None = None
    look: list[str] = field(default_factory=list)
    points: int = 0
    lowest: str = ""
    to: str = ""


def pile(cards: list[str]) -> str:
    return ",".join(
        f"{c}*{n}" if n > 1 else c for c, n in sorted(Counter(cards).items(), key=lambda x: ORDER.index(x[0]))
    )


def ability_of(name: str) -> str:
    return CARDS[name][1].rstrip("12")


def amount_of(name: str) -> int:
    return int(re.sub(r"\D", "", CARDS[name][1]) or 0)


class Texts:
    """Positions as lines of text."""

    options: Any

    def write(self, p: Position) -> str:
        def slot(c: OnTable) -> str:
            by = "" if not c.by else "^" + c.by if self.options.double_needs_source else "^"
            return c.name + "!" * c.used + by

        def side(name: str) -> str:
            found = Counter(slot(c) for c in sorted(p.table, key=OnTable.place) if c.side == name)
            return ",".join(f"{c}*{n}" if n > 1 else c for c, n in found.items())

        acting = ""
        if p.acting is not None:
            acting = f"{p.acting.side}:{slot(p.acting).replace('!', '')}"
        words = {
            "turn": p.turn, "phase": PHASES[p.phase], "life": str(p.life), "debt": p.debt or "",
            "pirates": ",".join(f"P{q}" for q in p.pirates), "fought": f"P{p.fought}" if p.fought else "",
            "beaten": ",".join(f"P{q}" for q in sorted(p.beaten)), "top": ",".join(p.top), "stack": pile(p.stack),
            "bottom": ",".join(p.bottom), "discard": pile(p.discard), "hazards": pile(p.hazards), "away": pile(p.away),
            "aging": pile(p.aging), "active": ",".join(p.active), "left": side("left"), "right": side("right"),
            "down": pile(p.down), "free": p.free or "", "uses": p.uses or "", "lowered": ",".join(p.lowered),
            "ability": p.ability, "steps": p.steps or "", "acting": acting, "look": ",".join(p.look),
            "points": p.points or "", "from": p.lowest, "to": p.to,
        }  # fmt: skip
        return " ".join(f"{name}={value}" for name, value in (words | self.empty(p)).items() if value)

    def empty(self, p: Position) -> dict[str, str]:
        """Returns `name=none` for the piles that are empty though cards of theirs are nowhere, unless they have to be."""
        here = Counter([c.name for c in p.table] + p.look + p.active + p.top + p.bottom + p.down)
        for cards in (p.stack, p.discard, p.hazards, p.away, p.aging):
            here += Counter(cards)
        aging = {c: v for c, v in AGING.items() if c != "G4" or self.options.level > 2}
        no_hazards = p.phase == 3 or (p.turn == "choose" and len(p.active) == 1)
        piles = {
            "stack": (ROBINSON, not p.stack + p.top + p.bottom),
            "hazards": (ISLAND, not p.hazards and not no_hazards),
            "aging": (aging, not p.aging),
        }
        return {
            name: "none"
            for name, (start, empty) in piles.items()
            if empty and p.turn not in ("won", "lost") and any(here[c] < n for c, (_, _, n) in start.items())
        }

    def read(self, text: str) -> Position:
        """Reads what `write` writes; trusts it."""
        words = dict(word.split("=", 1) for word in text.split())

        def cards(name: str) -> list[str]:
            found = []
            for word in filter(None, words.get(name, "").replace("none", "").split(",")):
                card, _, n = word.partition("*")
                found += [card] * int(n or 1)
            return found

        def slot(word: str, side: str) -> OnTable:
            head, mark, by = word.partition("^")
            return OnTable(head.rstrip("!"), side, "!" in head, (by or "?") if mark else "")

        p = Position(turn=words["turn"], phase=PHASES.index(words["phase"]), table=[])
        for name in ("life", "debt", "free", "uses", "steps", "points"):
            setattr(p, name, int(words.get(name, 0)))
        for name in (
            "top",
            "stack",
            "bottom",
            "discard",
            "hazards",
            "away",
            "aging",
            "active",
            "down",
            "lowered",
            "look",
        ):
            setattr(p, name, cards(name))
        for name in ("pirates", "beaten"):
            setattr(p, name, [int(c[1:]) for c in cards(name)])
        p.fought = int(words.get("fought", "P0")[1:])
        p.ability, p.to, p.lowest = words.get("ability", ""), words.get("to", ""), words.get("from", "")
        p.table = [slot(word, side) for side in ("left", "right") for word in cards(side)]
        if "acting" in words:
            side, _, word = words["acting"].partition(":")
            p.acting = slot(word, side)
            p.acting.used = True
        return p
