"""The words of a position's text, each read and checked on its own."""

from __future__ import annotations

import re
from collections import Counter

from leafwise.envs.core.contract.texts import need, words_by_name
from leafwise.envs.core.errors import UserError
from leafwise.envs.friday.cards import ABILITIES, CARDS, NAMES, PHASES

TURNS = (
    *("pirate", "aging", "hazard", "card"),
    *("choose", "fight", "target", "offer", "arrange", "order", "remove", "won", "lost"),
)
"""Names of the modes."""
PLACES = ("left", "right", "look", "setup")
ABILITY_NAMES = (*ABILITIES, "exchange-again")


NUMBERS = {"life": 31, "debt": 63, "free": 99, "uses": 64, "steps": 2, "points": 31}
"""Words that are numbers, and their most."""
NONE = "none"
"""What is said of an empty pile where something is missing that may lie in it."""
PILES = ("stack", "discard", "hazards", "away", "aging", "down")
CARDS_IN_ORDER = {"top": 3, "bottom": 7, "active": 2, "look": 3, "lowered": 3, "from": 1}
PIRATES_IN_ORDER = {"pirates": 2, "fought": 1, "beaten": 2}
"""Words that list cards, or pirates, and the most that they list."""
CHOICES = {"turn": TURNS, "phase": PHASES, "ability": ABILITY_NAMES[1:], "to": PLACES}
KNOWN = (*CHOICES, *NUMBERS, *PILES, *CARDS_IN_ORDER, *PIRATES_IN_ORDER, "left", "right", "acting")
KINDS = {name: kind for kind, name in enumerate(NAMES)} | {
    f"{name[0]}{int(name[1:]) + k}": kind
    for kind, name in enumerate(NAMES)
    if name[0] != "S"
    for k in range(CARDS[kind].copies)
}
"""Every printed card's name -> its kind."""
CARD = re.compile(r"([A-Z]\d{1,2})(!?)(\^(?:[A-Z]\d)?)?(?:\*(\d{1,2}))?", re.ASCII)
"""Name, used or not, how doubled, how many."""

TableCard = tuple[int, int, str]
"""Kind, 1 if used, and how it is doubled: "", "^", or "^" and the card that doubles it."""


class Words:
    """A position's words; raises ValueError for one that is none, and when one is read that is not what it should be."""

    def __init__(self, line: str) -> None:
        self.values = words_by_name(line.split(), KNOWN)
        for name, value in self.values.items():
            need(value, f"a value after {name}=")

    def parts(self, name: str) -> list[str]:
        """Returns what a word lists."""
        value = self.values.get(name, "")
        return [part for part in value.split(",") if part and value != NONE]

    def choice(self, name: str) -> str:
        """Returns a word's value out of its choices, "" if it is not there."""
        value = self.values.get(name, "")
        need(not value or value in CHOICES[name], f"{name} among {', '.join(CHOICES[name])}", value)
        return value

    def number(self, name: str) -> int:
        """Returns a word's number, 0 if it is not there."""
        value, most = self.values.get(name, "0"), NUMBERS[name]
        need(re.fullmatch(r"\d{1,2}", value, re.ASCII) and int(value) <= most, f"{name} of 0 to {most}", value)
        return int(value)

    def cards(self, name: str) -> Counter[int]:
        """Returns a pile: kind -> number."""
        found: Counter[int] = Counter()
        for part in self.parts(name):
            match = CARD.fullmatch(part)
            if match is None or match[2] or match[3]:
                raise UserError(f"expected cards like S1 or W8*2 in {name}, got {part[:40]!r}")
            found[kind_of(match[1], name)] += int(match[4] or 1)
        return found

    def sequence(self, name: str) -> list[int]:
        """Returns the kinds of cards in order, or the numbers of pirates."""
        parts, most = self.parts(name), (CARDS_IN_ORDER | PIRATES_IN_ORDER)[name]
        need(len(parts) <= most, f"at most {most} in {name}", len(parts))
        if name in CARDS_IN_ORDER:
            return [kind_of(part, name) for part in parts]
        for part in parts:
            need(re.fullmatch(r"P([1-9]|10)", part, re.ASCII), f"{name} among P1 to P10", part)
        return [int(part[1:]) for part in parts]

    def table(self, side: str) -> list[TableCard]:
        """Returns the cards on one side."""
        found: list[TableCard] = []
        for part in self.parts(side):
            match = CARD.fullmatch(part)
            if match is None:
                raise UserError(f"expected cards like S1*2, W8! or C1^E7 on the {side}, got {part[:40]!r}")
            found += [(kind_of(match[1], side), len(match[2]), match[3] or "")] * int(match[4] or 1)
        return found

    def acting(self) -> tuple[int, int, str] | None:
        """Returns the card whose ability is under way: kind, side, and how it is doubled."""
        side, _, card = self.values.get("acting", "").partition(":")
        match = CARD.fullmatch(card)
        if match and side in ("left", "right") and not match[2] and not match[4]:
            return kind_of(match[1], "acting"), PLACES.index(side), match[3] or ""
        need("acting" not in self.values, "acting like left:W8 or right:E7^F5", f"{side}:{card}")
        return None


def kind_of(card: str, name: str) -> int:
    """Returns the kind of a printed card; raises ValueError that names the word it stands in."""
    need(card in KINDS, f"cards like S1 or W8 in {name}", card)
    return KINDS[card]
