"""Text of a position in one line, and back: words in any order, empty ones left out.

`turn=fight phase=green life=20 pirates=P3,P7 stack=S1*5,S2*7 hazards=W1*2 aging=G1,D1 active=E3 left=S2,W8!,C1^E7 free=3`

Piles list kinds with their numbers; `stack` is the part whose order is not known, under the cards `top` (the next to come
first) and above those at the `bottom`. On the table ! marks a used card and ^ a doubled one, with the card that doubles it.
`hazards` and `away` are the hazard stack and discard, `active` the hazards revealed or fought, `fought` and `beaten` the
pirates, `free` counts the free draws made, `uses` the abilities used, `lowered` lists the cards that lower the phase. The
ability under way has its name, its `steps` left, its card and the cards looked at: `ability=sort acting=right:F4 look=S1`.
`points` and `from` say what may still be removed after a lost fight, `to` where a card that chance draws will go.

Cards that are listed nowhere have left the game. So that none is only forgotten, an empty stack, hazard stack or aging pile is
`stack=none` where cards that begin the game there are listed nowhere; in the first turn, when none can have left, it is filled.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.contract.texts import written
from leafwise.envs.friday import layout as at
from leafwise.envs.friday.cards import (
    CARDS,
    DOUBLERS,
    FIRST_AGING,
    FIRST_KNOWLEDGE,
    LOWERERS,
    NAMES,
    PHASES,
)
from leafwise.envs.friday.tables import Tables, at_start
from leafwise.envs.friday.words import ABILITY_NAMES, NONE, PILES, PLACES, TURNS

FIELDS: dict[str, tuple[int, Any, Any]] = {
    "turn": (at.STATUS, at.MODE_AT, at.M4),
    "phase": (at.STATUS, at.PHASE_AT, at.M2),
    "life": (at.STATUS, at.LIFE_AT, at.M5),
    "debt": (at.STATUS, at.DEBT_AT, at.M6),
    "pirates": (at.STATUS, at.PIRATE_AT, 255),
    "fought": (at.STATUS, at.FOUGHT_AT, at.M2),
    "beaten": (at.STATUS, at.BEATEN_AT, at.M2),
    "top": (at.KNOWN, at.TOP_AT, at.M18),
    "stack": (at.STACK, 0, at.ALL_BITS),
    "bottom": (at.KNOWN, 0, at.QUEUE_MASK),
    "discard": (at.DISCARD, 0, at.ALL_BITS),
    "hazards": (at.HAZARDS, 0, at.HAZARD_MASK),
    "away": (at.HAZARDS, at.HAZARD_BITS, at.HAZARD_MASK),
    "aging": (at.STATUS, at.AGING_AT, at.M11),
    "active": (at.STATUS, at.HAZARD_AT, 4095),
    "left": (at.LEFT, 0, at.ALL_BITS),
    "right": (at.RIGHT, 0, at.ALL_BITS),
    "down": (at.DOWN, 0, at.ALL_BITS),
    "free": (at.FIGHT, at.FREE_AT, at.M7),
    "uses": (at.FIGHT, at.USES_AT, at.M7),
    "lowered": (at.FIGHT, at.LOWERED_AT, at.M3),
    "ability": (at.FIGHT, at.KIND_AT, at.M4),
    "steps": (at.FIGHT, at.STEPS_AT, at.M2),
    "acting": (at.FIGHT, at.ACTING_AT, at.ACTING_MASK),
    "look": (at.FIGHT, at.LOOKED_AT, at.M18),
    "points": (at.FIGHT, at.POINTS_AT, at.M5),
    "from": (at.FIGHT, at.FROM_AT, at.M6),
    "to": (at.STATUS, at.TO_AT, at.M2),
}
"""Words of the text in their order -> word of the row, shift and mask of what they tell (the table: only of unused cards)."""
HOMES = {
    "stack": range(FIRST_KNOWLEDGE),
    "hazards": range(FIRST_KNOWLEDGE, FIRST_AGING),
    "aging": range(FIRST_AGING, len(CARDS)),
}
"""Where cards begin the game -> their kinds."""
LOWEST = {"hazards": int(at.HAZARD_SHIFT), "away": int(at.HAZARD_SHIFT), "aging": int(at.AGING_SHIFT)}
"""Piles that lie as the counts of some kinds alone -> where the lowest of these begin among all."""


def field(word: Any, where: Any, mask: Any) -> int:
    """Reads a field as an int."""
    return int(word) >> int(where) & int(mask)


def number(row: NDArray[Any], name: str) -> int:
    """Returns a field of a row."""
    word, where, mask = FIELDS[name]
    return field(row[word], where, mask)


def write(row: NDArray[Any], name: str, value: int) -> None:
    """Writes a field that is still 0."""
    word, where, _ = FIELDS[name]
    row[word] |= np.uint64(value << int(where))


def cards_in(word: Any) -> dict[int, int]:
    """Returns the cards that a word counts: kind -> number."""
    found = {k: int(word) >> at.SHIFTS[k] & (1 << at.WIDTHS[k]) - 1 for k in range(len(CARDS))}
    return {kind: n for kind, n in found.items() if n}


def pile(row: NDArray[Any], name: str) -> dict[int, int]:
    """Returns the cards of a pile: kind -> number."""
    return cards_in(number(row, name) << LOWEST.get(name, 0))


def sequence_in(word: int) -> list[int]:
    """Returns the kinds of a list of known cards, the lowest field first."""
    return [kind - 1 for kind in fields_in(word, 6)]


def fields_in(word: int, bits: int) -> list[int]:
    """Returns the numbers in fields of so many bits, the lowest first, without zeros."""
    found = [word >> shift & (1 << bits) - 1 for shift in range(0, 64, bits)]
    return [n for n in found if n]


def sequence(row: NDArray[Any], name: str) -> list[int]:
    """Returns the kinds of cards in their order."""
    return sequence_in(number(row, name))


def table_cards(row: NDArray[Any]) -> list[tuple[int, int, int, str]]:
    """Returns the face-up cards on the table in the order of their slots: (kind, side, used, doubled by).

    The last is "" for a card that is not doubled, else the name of the card that doubles it.
    """
    entries = fields_in(int(row[at.DOUBLED]), 10)
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
    acting = number(row, "acting")
    if not acting:
        return None
    return (acting >> 4) - 1, acting >> 3 & 1, DOUBLERS[(acting & 7) - 1] if acting & 7 else ""


def pirates_of(row: NDArray[Any]) -> list[int]:
    """Returns the numbers of the pirates that are known."""
    return fields_in(number(row, "pirates"), 4)


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
    return dict(Counter(pile(row, "stack")) - Counter(sequence(row, "bottom") + sequence(row, "top")))


def lost_from(home: str, lying: Counter[int], T: Tables) -> Counter[int]:
    """Returns the cards that began the game in a pile and are not among those that lie somewhere: kind -> number."""
    start = Counter(cards_in(at_start(list(HOMES).index(home), T)))
    return start - Counter({kind: n for kind, n in lying.items() if kind in HOMES[home]})


def may_be_empty(home: str, turn: str, phase: str, active: int) -> bool:
    """Whether nothing need be said of a pile that is empty: the game is over, or the rules leave no card in it."""
    if turn in ("won", "lost"):
        return True
    return home == "hazards" and (phase == PHASES[3] or (turn == "choose" and active < 2))


def all_cards(row: NDArray[Any]) -> Counter[int]:
    """Returns all cards in the game: kind -> number."""
    lying = Counter(sequence(row, "look") + sequence(row, "active") + [kind for kind, *_ in table_cards(row)])
    for name in PILES:
        lying += Counter(pile(row, name))
    return lying


def to_text(row: NDArray[Any], T: Tables) -> str:
    """Returns the position as one line that `parse_row` reads back."""
    turn, pirates, acting = TURNS[number(row, "turn")], pirates_of(row), acting_card(row)
    ability, lowest = number(row, "ability"), number(row, "from")
    words: dict[str, Any] = {name: number(row, name) for name in FIELDS}
    words |= {name: pile_text(pile(row, name)) for name in PILES}
    words |= {name: names_text(sequence(row, name)) for name in ("top", "bottom", "active", "look")}
    words |= {
        "turn": turn,
        "phase": PHASES[words["phase"]],
        "life": str(words["life"]),
        "pirates": ",".join(f"P{p}" for p in pirates),
        "fought": f"P{pirates[words['fought'] - 1]}" if words["fought"] else "",
        "beaten": ",".join(f"P{p}" for k, p in enumerate(pirates) if words["beaten"] >> k & 1),
        "stack": pile_text(unknown_cards(row)),
        "lowered": ",".join(name for k, name in enumerate(LOWERERS) if words["lowered"] >> k & 1),
        "ability": ABILITY_NAMES[ability] if ability else "",
        "acting": f"{PLACES[acting[1]]}:{NAMES[acting[0]]}{mark_text(acting[2], T)}" if acting else "",
        "from": NAMES[lowest] if lowest else "",
        "to": PLACES[words["to"]] if turn in ("aging", "card") else "",
        "left": side_text(row, 0, T),
        "right": side_text(row, 1, T),
    }
    for home in HOMES:
        told = words[home] or (home == "stack" and (words["top"] or words["bottom"]))
        empty = not told and not may_be_empty(home, turn, words["phase"], len(sequence(row, "active")))
        if empty and lost_from(home, all_cards(row), T):
            words[home] = NONE
    return written(words)


def outcome_name(before: NDArray[Any], after: NDArray[Any], T: Tables) -> str:
    """Returns the pirate or the card that chance has picked."""
    turn = TURNS[number(before, "turn")]
    if turn == "pirate":
        return f"P{next(p for p in pirates_of(after) if p not in pirates_of(before))}"
    if turn == "card" and number(before, "to") == int(at.TO_LOOK):
        looked = [Counter(sequence(row, "look")) for row in (before, after)]
        return names_text(list(looked[1] - looked[0]))
    name = {"aging": "aging", "hazard": "hazards"}.get(turn, "stack")
    return names_text(list(Counter(pile(before, name)) - Counter(pile(after, name))))


def action(typed: str) -> str:
    """Returns the name of an action that is spelt otherwise, "use3" for "use 3"."""
    return typed.replace(" ", "").lower()
