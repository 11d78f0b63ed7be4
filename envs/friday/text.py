"""Text of a position in one line, and back: words in any order, empty ones left out.

`turn=fight phase=green life=20 pirates=P3,P7 stack=S1*5,S2*7 hazards=W1*2 aging=G1,D1 active=E3 left=S2,W8!,C1^E7 free=3`

Piles list kinds with their numbers; `stack` is the part whose order is not known, under the cards `top` (the next to come
first) and above those at the `bottom`. On the table ! marks a used card and ^ a doubled one, with the card that doubles it.
`hazards` and `away` are the hazard stack and discard, `active` the hazards revealed or fought, `fought` and `beaten` the
pirates, `free` counts the free draws made, `uses` the abilities used, `lowered` lists the cards that lower the phase. The
ability under way has its name, its `steps` left, its card and the cards looked at: `ability=sort acting=right:F4 look=S1`.
`points` and `from` say what may still be removed after a lost fight, `to` where a card that chance draws will go.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.friday import layout as at
from leafwise.envs.friday.cards import ABILITIES, CARDS, DOUBLERS, LOWERERS, NAMES, PHASES
from leafwise.envs.friday.layout import SHIFTS, WIDTHS
from leafwise.envs.friday.tables import Tables

TURNS = (
    *("pirate", "aging", "hazard", "card"),
    *("choose", "fight", "target", "offer", "arrange", "order", "remove", "won", "lost"),
)
"""Names of the modes."""
PLACES = ("left", "right", "look", "setup")
ABILITY_NAMES = (*ABILITIES, "exchange-again")
NUMBERS = {"life": 31, "debt": 63, "free": 99, "uses": 64, "steps": 2, "points": 31}
"""Words that are numbers, and their most."""
PILES = ("stack", "discard", "hazards", "away", "aging", "down")
SEQUENCES = {
    "top": 3,
    "bottom": 7,
    "active": 2,
    "look": 3,
    "lowered": 3,
    "pirates": 2,
    "fought": 1,
    "beaten": 2,
    "from": 1,
}
CHOICES = {"turn": TURNS, "phase": PHASES, "ability": ABILITY_NAMES[1:], "to": PLACES}
ALIASES = {name: kind for kind, first in enumerate(NAMES) for name in [first]} | {
    f"{name[0]}{int(name[1:]) + k}": kind
    for kind, name in enumerate(NAMES)
    if name[0] != "S"
    for k in range(CARDS[kind].copies)
}
"""Every printed card's name -> its kind."""


def field(word: Any, where: np.uint64, mask: np.uint64) -> int:
    """Reads a field as an int."""
    return int(word) >> int(where) & int(mask)


def cards_in(word: Any) -> dict[int, int]:
    """Returns the cards that a word counts: kind -> number."""
    found = {k: int(word) >> SHIFTS[k] & (1 << WIDTHS[k]) - 1 for k in range(len(CARDS))}
    return {kind: n for kind, n in found.items() if n}


def sequence_in(word: int) -> list[int]:
    """Returns the kinds of a list of known cards, the lowest field first."""
    kinds = []
    while word:
        kinds.append((word & 63) - 1)
        word >>= 6
    return kinds


def table_cards(row: NDArray[Any]) -> list[tuple[int, int, int, str]]:
    """Returns the face-up cards on the table in the order of their slots: (kind, side, used, doubled by).

    The last is "" for a card that is not doubled, else the name of the card that doubles it.
    """
    entries = []
    word = int(row[at.DOUBLED])
    while word:
        entries.append(word & 1023)
        word >>= 10
    cards = []
    for side in range(2):
        here = [cards_in(row[at.LEFT + 2 * side + used]) for used in range(2)]
        for kind in sorted({*here[0], *here[1]}):
            for used in range(2):
                n = here[used].get(kind, 0)
                by = [DOUBLERS[e & 3] for e in entries if e >> 2 == (kind + 1) << 2 | side << 1 | used]
                cards += [(kind, side, used, name) for name in [""] * (n - len(by)) + by]
    return cards


def acting_card(row: NDArray[Any]) -> tuple[int, int, str] | None:
    """Returns kind, side and doubler of the card whose ability is under way."""
    acting = field(row[at.FIGHT], at.ACTING_AT, at.ACTING_MASK)
    if not acting:
        return None
    return (acting >> 4) - 1, acting >> 3 & 1, DOUBLERS[(acting & 7) - 1] if acting & 7 else ""


def pirates_of(row: NDArray[Any]) -> list[int]:
    """Returns the numbers of the pirates that are known."""
    both = [field(row[at.STATUS], where, at.M4) for where in (at.PIRATE_AT, at.SECOND_PIRATE_AT)]
    return [number for number in both if number]


def pile_text(cards: dict[int, int]) -> str:
    """Writes a pile."""
    return ",".join(NAMES[kind] + (f"*{n}" if n > 1 else "") for kind, n in cards.items())


def names_text(kinds: list[int]) -> str:
    """Writes cards in order."""
    return ",".join(NAMES[kind] for kind in kinds)


def mark_text(by: str, T: Tables) -> str:
    """Writes how a card is doubled."""
    return f"^{by if T.needs_source else ''}" if by else ""


def side_text(row: NDArray[Any], side: int, T: Tables) -> str:
    """Writes one side of the table."""
    words = [NAMES[k] + "!" * used + mark_text(by, T) for k, s, used, by in table_cards(row) if s == side]
    return ",".join(word + (f"*{n}" if n > 1 else "") for word, n in Counter(words).items())


def unknown_cards(row: NDArray[Any]) -> dict[int, int]:
    """Returns the part of the stack whose order is not known."""
    known = Counter(sequence_in(int(row[at.KNOWN]) & int(at.QUEUE_MASK)))
    known += Counter(sequence_in(int(row[at.KNOWN]) >> int(at.TOP_AT)))
    return {kind: n - known[kind] for kind, n in cards_in(row[at.STACK]).items() if n > known[kind]}


def to_text(row: NDArray[Any], T: Tables) -> str:
    """Returns the position as one line that `parse_row` reads back."""
    status, fight, known = int(row[at.STATUS]), int(row[at.FIGHT]), int(row[at.KNOWN])
    hazards = int(row[at.HAZARDS])
    shift, bits = int(at.HAZARD_SHIFT), int(at.HAZARD_BITS)
    pirates, fought = pirates_of(row), field(status, at.FOUGHT_AT, at.M2)
    beaten = [p for k, p in enumerate(pirates) if field(status, at.BEATEN_AT, at.M2) >> k & 1]
    active = [field(status, where, at.M6) - 1 for where in (at.HAZARD_AT, at.SECOND_HAZARD_AT)]
    acting, turn = acting_card(row), TURNS[field(status, at.MODE_AT, at.M4)]
    lowest = field(fight, at.FROM_AT, at.M6)
    to = field(status, at.TO_AT, at.M2)
    lowered = [name for k, name in enumerate(LOWERERS) if field(fight, at.LOWERED_AT, at.M3) >> k & 1]
    ability = field(fight, at.KIND_AT, at.M4)
    parts = {
        "turn": turn,
        "phase": PHASES[field(status, at.PHASE_AT, at.M2)],
        "life": str(field(status, at.LIFE_AT, at.M5)),
        "debt": number_text(field(status, at.DEBT_AT, at.M6)),
        "pirates": ",".join(f"P{p}" for p in pirates),
        "fought": f"P{pirates[fought - 1]}" if fought else "",
        "beaten": ",".join(f"P{p}" for p in beaten),
        "top": names_text(sequence_in(known >> int(at.TOP_AT))),
        "stack": pile_text(unknown_cards(row)),
        "bottom": names_text(sequence_in(known & int(at.QUEUE_MASK))),
        "discard": pile_text(cards_in(row[at.DISCARD])),
        "hazards": pile_text(cards_in((hazards & int(at.HAZARD_MASK)) << shift)),
        "away": pile_text(cards_in(hazards >> bits << shift)),
        "aging": pile_text(cards_in(field(status, at.AGING_AT, at.M11) << int(at.AGING_SHIFT))),
        "active": names_text([kind for kind in active if kind >= 0]),
        "left": side_text(row, 0, T),
        "right": side_text(row, 1, T),
        "down": pile_text(cards_in(row[at.DOWN])),
        "free": number_text(field(fight, at.FREE_AT, at.M7)),
        "uses": number_text(field(fight, at.USES_AT, at.M7)),
        "lowered": ",".join(lowered),
        "ability": ABILITY_NAMES[ability] if ability else "",
        "steps": number_text(field(fight, at.STEPS_AT, at.M2)),
        "acting": f"{PLACES[acting[1]]}:{NAMES[acting[0]]}{mark_text(acting[2], T)}" if acting else "",
        "look": names_text(sequence_in(field(fight, at.LOOKED_AT, at.M18))),
        "points": number_text(field(fight, at.POINTS_AT, at.M5)),
        "from": NAMES[lowest] if lowest else "",
        "to": PLACES[to] if turn in ("aging", "card") else "",
    }
    return " ".join(f"{name}={value}" for name, value in parts.items() if value)


def number_text(n: int) -> str:
    """Writes a number, 0 as nothing."""
    return str(n) if n else ""


def outcome_name(before: NDArray[Any], after: NDArray[Any], T: Tables) -> str:
    """Returns the pirate or the card that chance has picked."""
    turn = TURNS[field(before[at.STATUS], at.MODE_AT, at.M4)]
    if turn == "pirate":
        return f"P{next(p for p in pirates_of(after) if p not in pirates_of(before))}"
    if turn == "aging":
        gone = field(before[at.STATUS], at.AGING_AT, at.M11) - field(after[at.STATUS], at.AGING_AT, at.M11)
        return names_text(list(cards_in(gone << int(at.AGING_SHIFT))))
    if turn == "hazard":
        gone = int(before[at.HAZARDS]) - int(after[at.HAZARDS])
        return names_text(list(cards_in(gone << int(at.HAZARD_SHIFT))))
    if field(before[at.STATUS], at.TO_AT, at.M2) != int(at.TO_LOOK):
        return names_text(list(cards_in(int(before[at.STACK]) - int(after[at.STACK]))))
    looked = [Counter(sequence_in(field(row[at.FIGHT], at.LOOKED_AT, at.M18))) for row in (before, after)]
    return names_text(list(looked[1] - looked[0]))


class Words:
    """A position's words, each read once and checked on its own; raises ValueError for a word that is none."""

    def __init__(self, line: str) -> None:
        self.values: dict[str, str] = {}
        known = [*CHOICES, *NUMBERS, *PILES, *SEQUENCES, "left", "right", "acting"]
        for word in line.split():
            name, equals, value = word.partition("=")
            if name not in known or not equals or not value:
                raise ValueError(f"friday: expected words like life=20 among {', '.join(known)}, got {word[:40]!r}")
            if name in self.values:
                raise ValueError(f"friday: expected each word once, got {name!r} twice")
            self.values[name] = value

    def choice(self, name: str, default: str = "") -> str:
        """Returns a word's value out of its choices."""
        value = self.values.get(name, default)
        if value and value not in CHOICES[name]:
            raise ValueError(f"friday: expected {name} among {', '.join(CHOICES[name])}, got {value[:40]!r}")
        return value

    def number(self, name: str) -> int:
        """Returns a word's number, 0 if it is not there."""
        value = self.values.get(name, "0")
        if not re.fullmatch(r"\d{1,2}", value, re.ASCII) or int(value) > NUMBERS[name]:
            raise ValueError(f"friday: expected {name} of 0 to {NUMBERS[name]}, got {value[:40]!r}")
        return int(value)

    def cards(self, name: str) -> Counter[int]:
        """Returns a pile: kind -> number."""
        found: Counter[int] = Counter()
        for part in filter(None, self.values.get(name, "").split(",")):
            match = re.fullmatch(r"([A-Z]\d{1,2})(?:\*(\d{1,2}))?", part, re.ASCII)
            found[self.kind(name, match[1] if match else part)] += int(match[2] or 1) if match else 0
        return found

    def kind(self, name: str, card: str) -> int:
        """Returns the kind of a card."""
        if card not in ALIASES:
            raise ValueError(f"friday: expected cards like S1 or W8 in {name}, got {card[:40]!r}")
        return ALIASES[card]

    def sequence(self, name: str) -> list[int]:
        """Returns the kinds of cards in order, or the numbers of pirates."""
        parts = [part for part in self.values.get(name, "").split(",") if part]
        if len(parts) > SEQUENCES[name]:
            raise ValueError(f"friday: expected at most {SEQUENCES[name]} in {name}, got {len(parts)}")
        if name not in ("pirates", "fought", "beaten"):
            return [self.kind(name, part) for part in parts]
        for part in parts:
            if not re.fullmatch(r"P([1-9]|10)", part, re.ASCII):
                raise ValueError(f"friday: expected {name} among P1 to P10, got {part[:40]!r}")
        return [int(part[1:]) for part in parts]

    def table(self, side: str) -> list[tuple[int, int, str]]:
        """Returns the cards on one side: (kind, used, doubled by)."""
        found: list[tuple[int, int, str]] = []
        for part in filter(None, self.values.get(side, "").split(",")):
            match = re.fullmatch(r"([A-Z]\d{1,2})(!?)(\^([A-Z]\d)?)?(?:\*(\d{1,2}))?", part, re.ASCII)
            if not match:
                raise ValueError(f"friday: expected cards like S1*2, W8! or C1^E7 on the {side}, got {part[:40]!r}")
            kind = self.kind(side, match[1])
            found += [(kind, len(match[2]), match[3] or "")] * int(match[5] or 1)
        return found

    def acting(self) -> tuple[int, int, str] | None:
        """Returns the card whose ability is under way: (kind, side, doubled by)."""
        value = self.values.get("acting", "")
        match = re.fullmatch(r"(left|right):([A-Z]\d{1,2})(\^([A-Z]\d)?)?", value, re.ASCII)
        if value and not match:
            raise ValueError(f"friday: expected acting like left:W8 or right:E7^F5, got {value[:40]!r}")
        return (self.kind("acting", match[2]), PLACES.index(match[1]), match[3] or "") if match else None


def packed(kinds: list[int]) -> int:
    """Packs kinds into fields of 6 bits, the first lowest."""
    return sum((kind + 1) << 6 * k for k, kind in enumerate(kinds))
