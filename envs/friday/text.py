"""Text of a position in one line, and back: words in any order, empty ones left out.

`turn=fight phase=green life=20 pirates=P3,P7 stack=S1*5,S2*7 hazards=W1*2 aging=G1,D1 active=E3 left=S2,W8!,C1^E7 free=3`

Piles list kinds with their numbers. `stack` is the part of unknown order, under the cards `top` (the next to come first) and
above those at the `bottom`. On the table ! marks a used card and ^ a doubled one, with the card that doubles it. `hazards` and
`away` are the hazard stack and discard, `active` the hazards revealed or fought, `fought` and `beaten` the pirates. `free`
counts the free draws made, `uses` the abilities used, `lowered` lists the cards that lower the phase. The current ability has
its name, its `steps` left, its card and the cards looked at: `ability=sort acting=right:F4 look=S1`. `points` and `from`
describe what may still be removed after a lost fight, `to` is the place of a card that chance draws.

Cards that are listed nowhere have left the game. So that none is merely forgotten, an empty stack, hazard stack or aging pile
must be `stack=none` if cards that begin the game there are listed nowhere; in the first turn, when none can have left, it is
filled.

`WORDS` has the words with their fields in the row; between text and row a position is a dict of values by word. Then come the
checks of typed positions (no card more often than printed, and a possible current step), and at the end cards, actions and
outcomes in words for people.
"""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from leafwise.envs.core.arrays import Array, Words
from leafwise.envs.core.contract.texts import need, words_by_name, written
from leafwise.envs.core.errors import UserError
from leafwise.envs.friday import layout as at
from leafwise.envs.friday import valid
from leafwise.envs.friday.cards import (
    ABILITIES,
    CARDS,
    COSTLY,
    DOUBLERS,
    FIRST_AGING,
    FIRST_KNOWLEDGE,
    HAZARDS,
    KIND,
    LOWERERS,
    NAMES,
    PHASES,
    PIRATES,
    Card,
)
from leafwise.envs.friday.figures import ROW, figures
from leafwise.envs.friday.layout import COST, RowField, at_start, fact, field
from leafwise.envs.friday.tables import Tables, counts

TURNS = (
    *("pirate", "aging", "hazard", "card"),
    *("choose", "fight", "target", "offer", "arrange", "order", "remove", "won", "lost"),
)
"""Names of the modes."""
CHANCE, OVER = TURNS[:4], TURNS[-2:]
ABILITY_TURNS = ("target", "offer", "arrange", "order")
PLACES = ("left", "right", "look", "setup")
NONE = "none"
"""The text of an empty pile if a card that may be in it is missing."""
KINDS = {
    name if k == 0 else f"{name[0]}{int(name[1:]) + k}": kind
    for kind, name in enumerate(NAMES)
    for k in range(1 if name[0] == "S" else CARDS[kind].copies)
}
"""Every printed card's name -> its kind."""
CARD = re.compile(r"([A-Z]\d{1,2})(!?)((?:\^(?:[A-Z]\d)?)?)(?:\*(\d{1,2}))?", re.ASCII)
"""Name, used or not, how doubled, how many."""
HOMES = {
    "stack": range(FIRST_KNOWLEDGE),
    "hazards": range(FIRST_KNOWLEDGE, FIRST_AGING),
    "aging": range(FIRST_AGING, len(CARDS)),
}
"""Piles in which cards begin the game -> their kinds."""
WordValues = dict[str, Any]
"""The value of each word of a position."""


# Words: conversion of their values from text and row, and back.


def parts_of(typed: str) -> list[str]:
    """Returns the items that a word lists."""
    return [] if typed == NONE else [part for part in typed.split(",") if part]


def kind_of(card: str, name: str) -> int:
    """Returns the kind of a printed card; raises ValueError that names the word."""
    need(card in KINDS, f"cards like S1 or W8 in {name}", card)
    return KINDS[card]


def card_of(part: str, name: str, expected: str, *, plain: bool = False) -> tuple[int, int, str, int]:
    """Returns kind, 1 if used, how it is doubled ("", "^", or "^" and the card that doubles it), and how many."""
    match = CARD.fullmatch(part)
    if match is None or (plain and (match[2] or match[3])):
        raise UserError(f"expected cards like {expected} {name}, got {part[:40]!r}")
    return kind_of(match[1], name.split()[-1]), len(match[2]), match[3], int(match[4] or 1)


def fields_in(bits: int, width: int) -> list[int]:
    """Returns the numbers in fields of `width` bits, the lowest first, without zeros."""
    numbers = [bits >> shift & (1 << width) - 1 for shift in range(0, 64, width)]
    return [n for n in numbers if n]


def cards_in(word: Any) -> Counter[int]:
    """Returns the cards in a counts word: kind -> number."""
    remaining, cards = int(word), Counter[int]()
    for kind, width in enumerate(at.WIDTHS):  # the first kind has the lowest bits
        if not remaining:
            break
        if n := remaining & (1 << width) - 1:
            cards[kind] = n
        remaining >>= width
    return cards


def pile_text(cards: dict[int, int]) -> str:
    """Returns a pile as text."""
    return ",".join(NAMES[kind] + (f"*{n}" if n > 1 else "") for kind, n in cards.items())


def names_text(kinds: list[int]) -> str:
    """Returns cards in order as text."""
    return ",".join(NAMES[kind] for kind in kinds)


@dataclass(frozen=True)
class Word:
    """A word of the text and its field of the row; this one is a number of at most `most`."""

    field: RowField
    most: int = 0
    choices: tuple[str, ...] = ()
    lowest: int = 0
    """First bit of its lowest kind in a word of counts, if it holds only some kinds."""

    def read(self, name: str, typed: str) -> Any:
        """Returns the value of the text after `name=`, which may be ""; raises ValueError for an impossible one."""
        right = re.fullmatch(r"\d{0,2}", typed, re.ASCII) and int(typed or 0) <= self.most
        need(right, f"{name} of 0 to {self.most}", typed)
        return int(typed or 0)

    def write(self, said: Any) -> str:
        """Returns the text that `read` reads; "" for an empty value."""
        return str(said or "")

    def unpack(self, bits: int) -> Any:
        """Returns the value in the field."""
        return bits

    def pack(self, said: Any) -> int:
        """Returns the field's bits for a value."""
        return int(said)


class Choice(Word):
    """One of its choices; "" if the word is missing."""

    def read(self, name: str, typed: str) -> str:
        need(not typed or typed in self.choices, f"{name} among {', '.join(filter(None, self.choices))}", typed)
        return typed

    def unpack(self, bits: int) -> str:
        return self.choices[bits]

    def pack(self, said: str) -> int:
        return self.choices.index(said) if said else 0


class Pile(Word):
    """Cards without an order: kind -> number."""

    def read(self, name: str, typed: str) -> Counter[int]:
        found: Counter[int] = Counter()
        for part in parts_of(typed):
            kind, _, _, n = card_of(part, f"in {name}", "S1 or W8*2", plain=True)
            found[kind] += n
        return +found

    def write(self, said: Counter[int]) -> str:
        return pile_text(said)

    def unpack(self, bits: int) -> Counter[int]:
        return cards_in(bits << self.lowest)

    def pack(self, said: Counter[int]) -> int:
        return counts(said) >> self.lowest


@dataclass(frozen=True)
class Cards(Word):
    """Kinds of at most `most` cards in order, in fields of `width` bits, or a bit for each of `items`."""

    width: int = 6
    items: tuple[int, ...] = ()
    first: int = 0
    """The value of a field of 1; 0 means none."""

    def read(self, name: str, typed: str) -> list[int]:
        parts = parts_of(typed)
        need(len(parts) <= self.most, f"at most {self.most} in {name}", len(parts))
        need(not self.items or len({*parts}) == len(parts), f"each of {name} once", typed)
        return [self.read_one(name, part) for part in parts]

    def read_one(self, name: str, part: str) -> int:
        """Returns one listed item."""
        return kind_of(part, name)

    def write(self, said: list[int]) -> str:
        return names_text(said)

    def unpack(self, bits: int) -> list[int]:
        if self.items:
            return [item for k, item in enumerate(self.items) if bits >> k & 1]
        return [n - 1 + self.first for n in fields_in(bits, self.width)]

    def pack(self, said: list[int]) -> int:
        if self.items:
            return sum(1 << self.items.index(item) for item in {*said})
        return sum((item + 1 - self.first) << self.width * k for k, item in enumerate(said))


class Pirates(Cards):
    """Numbers of pirates; in the row, fought and beaten ones are places among the game's pirates."""

    def read_one(self, name: str, part: str) -> int:
        need(re.fullmatch(r"P([1-9]|10)", part, re.ASCII), f"{name} among P1 to P10", part)
        return int(part[1:])

    def write(self, said: list[int]) -> str:
        return ",".join(f"P{number}" for number in said)


class Side(Word):
    """Cards on one side of the table: kind, 1 if used, how doubled. Its field counts the unused ones; the rest is elsewhere."""

    def read(self, name: str, typed: str) -> list[tuple[int, int, str]]:
        found = []
        for part in parts_of(typed):
            kind, used, mark, n = card_of(part, f"on the {name}", "S1*2, W8! or C1^E7")
            found += [(kind, used, mark)] * n
        return found

    def write(self, said: list[tuple[int, int, str]]) -> str:
        words = Counter(NAMES[kind] + "!" * used + mark for kind, used, mark in said)
        return ",".join(word + (f"*{n}" if n > 1 else "") for word, n in words.items())

    def pack(self, said: list[tuple[int, int, str]]) -> int:
        return counts(Counter(kind for kind, used, _ in said if not used))


class Acting(Word):
    """The card whose ability is in use: kind, side, how doubled; None if there is none."""

    def read(self, name: str, typed: str) -> tuple[int, int, str] | None:
        side, _, card = typed.partition(":")
        match = CARD.fullmatch(card)
        if match and side in PLACES[:2] and not match[2] and not match[4]:
            return kind_of(match[1], name), PLACES.index(side), match[3]
        need(not typed, "acting like left:W8 or right:E7^F5", f"{side}:{card}")
        return None

    def write(self, said: tuple[int, int, str] | None) -> str:
        return f"{PLACES[said[1]]}:{NAMES[said[0]]}{said[2]}" if said else ""

    def unpack(self, bits: int) -> tuple[int, int, str] | None:
        mark = f"^{DOUBLERS[(bits & 7) - 1]}" if bits & 7 else ""
        return ((bits >> 4) - 1, bits >> 3 & 1, mark) if bits else None

    def pack(self, said: tuple[int, int, str] | None) -> int:
        return (said[0] + 1) << 4 | said[1] << 3 | (1 + doubler(said[2]) if said[2] else 0) if said else 0


def doubler(mark: str) -> int:
    """Returns the number of the card that doubles, 0 if there is none."""
    return DOUBLERS.index(mark[1:]) if mark[1:] else 0


WORDS: dict[str, Word] = {
    "turn": Choice(at.MODE_AT, choices=TURNS),
    "phase": Choice(at.PHASE_AT, choices=PHASES),
    "life": Word(at.LIFE_AT, 31),
    "debt": Word(at.DEBT_AT, 63),
    "pirates": Pirates(at.PIRATES_AT, 2, width=4, first=1),
    "fought": Pirates(at.FOUGHT_AT, 1, items=(0, 1)),
    "beaten": Pirates(at.BEATEN_AT, 2, items=(0, 1)),
    "top": Cards(at.TOP_AT, 3),
    "stack": Pile(field(at.STACK, 0, 64)),
    "bottom": Cards(at.QUEUE_AT, at.QUEUE_CARDS),
    "discard": Pile(field(at.DISCARD, 0, 64)),
    "hazards": Pile(at.HAZARDS_AT, lowest=int(at.HAZARD_SHIFT)),
    "away": Pile(at.AWAY_AT, lowest=int(at.HAZARD_SHIFT)),
    "aging": Pile(at.AGING_AT, lowest=int(at.AGING_SHIFT)),
    "active": Cards(at.ACTIVE_AT, 2),
    "left": Side(field(at.LEFT, 0, 64)),
    "right": Side(field(at.RIGHT, 0, 64)),
    "down": Pile(field(at.DOWN, 0, 64)),
    "free": Word(at.FREE_AT, 99),
    "uses": Word(at.USES_AT, int(at.MAX_USES)),
    "lowered": Cards(at.LOWERED_AT, 3, items=tuple(KIND[name] for name in LOWERERS)),
    "ability": Choice(at.KIND_AT, choices=("", *ABILITIES[1:], "exchange-again")),
    "steps": Word(at.STEPS_AT, 2),
    "acting": Acting(at.ACTING_AT),
    "look": Cards(at.LOOKED_AT, 3),
    "points": Word(at.POINTS_AT, 31),
    "from": Cards(at.FROM_AT, 1, first=1),
    "to": Choice(at.TO_AT, choices=PLACES),
}
"""The words in the order of the text."""


def number(row: Array, name: str) -> int:
    """Returns the number in a word's field of a row."""
    word, shift, mask = map(int, WORDS[name].field)
    return int(row[word]) >> shift & mask


def value(row: Array, name: str) -> Any:
    """Returns the value of a word in a row; the stack includes the cards in known places."""
    return WORDS[name].unpack(number(row, name))


def table_cards(row: Array) -> list[tuple[int, int, int, str]]:
    """Returns the face-up cards on the table in the order of their slots: (kind, side, used, how doubled).

    The last is "" for a card that is not doubled, otherwise "^" and the name of the card that doubles it.
    """
    entries = fields_in(int(row[at.DOUBLED]), 10)
    cards = []
    for side in range(2):
        counts_by_use = [cards_in(row[at.LEFT + 2 * side + used]) for used in range(2)]
        for kind in sorted({*counts_by_use[0], *counts_by_use[1]}):
            for used in range(2):
                by = [f"^{DOUBLERS[e & 3]}" for e in entries if e >> 2 == (kind + 1) << 2 | side << 1 | used]
                cards += [(kind, side, used, mark) for mark in [""] * (counts_by_use[used][kind] - len(by)) + by]
    return cards


def word_values(row: Array, T: Tables) -> WordValues:
    """Returns the values of all words of a row."""
    values = {name: value(row, name) for name in WORDS}
    shown = None if T.needs_source else 1  # letters of the mark of a doubled card
    for side in range(2):
        values[PLACES[side]] = [(kind, used, by[:shown]) for kind, s, used, by in table_cards(row) if s == side]
    if values["acting"]:
        values["acting"] = (*values["acting"][:2], values["acting"][2][:shown])
    values["stack"] -= Counter(values["bottom"] + values["top"])
    for name in ("fought", "beaten"):
        values[name] = [values["pirates"][place] for place in values[name]]
    if values["turn"] not in ("aging", "card"):
        values["to"] = ""
    return values


def row_of(values: WordValues) -> Words:
    """Returns the row with these values, the inverse of `word_values`."""
    places = {name: [values["pirates"].index(p) for p in values[name]] for name in ("fought", "beaten")}
    values = values | places | {"stack": values["stack"] + Counter(values["top"] + values["bottom"])}
    row = np.zeros(at.WIDTH, dtype=np.uint64)
    for name, word in WORDS.items():
        row[int(word.field.word)] |= np.uint64(word.pack(values[name]) << int(word.field.shift))
    entries = []
    for kind, side, used, mark in on_table(values):
        if used:
            row[at.LEFT + 2 * side + 1] += np.uint64(counts({kind: 1}))
        if mark:
            entries.append((kind + 1) << 4 | side << 3 | used << 2 | doubler(mark))
    row[at.DOUBLED] = sum(entry << 10 * k for k, entry in enumerate(sorted(entries)))
    return row


def on_table(values: WordValues) -> list[tuple[int, int, int, str]]:
    """Returns the cards on both sides: (kind, side, used, how doubled)."""
    return [(kind, side, used, mark) for side in range(2) for kind, used, mark in values[PLACES[side]]]


def owned(values: WordValues) -> Counter[int]:
    """Returns Robinson's cards: kind -> number."""
    table = (card[0] for card in on_table(values))
    return (
        values["stack"]
        + values["discard"]
        + values["down"]
        + Counter([*values["top"], *values["bottom"], *table, *values["look"]])
    )


def all_cards(values: WordValues) -> Counter[int]:
    """Returns all cards in the game: kind -> number."""
    return owned(values) + values["hazards"] + values["away"] + Counter(values["active"]) + values["aging"]


def missing_from(home: str, values: WordValues, T: Tables) -> Counter[int]:
    """Returns the cards that began the game in a pile that the text leaves out, and are nowhere: kind -> number.

    There are none if an empty pile need not be listed: the game is over, or the rules leave no card in it.
    """
    is_listed = values[home] or (home == "stack" and (values["top"] or values["bottom"]))
    passed = values["phase"] == PHASES[3] or (values["turn"] == "choose" and len(values["active"]) < 2)
    if is_listed or values["turn"] in OVER or (home == "hazards" and passed):
        return Counter()
    start = cards_in(at_start(list(HOMES).index(home), T))
    return start - Counter({kind: n for kind, n in all_cards(values).items() if kind in HOMES[home]})


def to_text(row: Array, T: Tables) -> str:
    """Returns the position as one line that `parse_row` reads back."""
    values = word_values(row, T)
    words: WordValues = {name: word.write(values[name]) for name, word in WORDS.items()} | {"life": str(values["life"])}
    return written(words | {home: NONE for home in HOMES if missing_from(home, values, T)})


# Typed positions.


def parse_row(line: str, T: Tables) -> Words:
    """Returns the row that a line of text describes; raises ValueError in the game's terms."""
    typed = words_by_name(line.split(), WORDS)
    for name, text in typed.items():
        need(text, f"a value after {name}=")
    for name in ("turn", "phase"):
        need(name in typed, f"a {name} among {', '.join(WORDS[name].choices)}")
    values = {name: word.read(name, typed.get(name, "")) for name, word in WORDS.items()}
    complete(values, typed, T)
    pirates, met = values["pirates"], {*values["fought"], *values["beaten"]}
    need(
        met <= {*pirates},
        f"fought and beaten among the pirates {typed.get('pirates')}",
        WORDS["fought"].write(sorted(met)),
    )
    drawn = values["turn"] in ("aging", "card")
    need(bool(values["to"]) == drawn, "to= at turn=aging and turn=card only", values["to"] or "none")
    check_cards(values, T)
    if not values["stack"]:  # if the whole stack is known, its cards are bottom cards
        values["top"], values["bottom"] = [], values["top"] + values["bottom"]
    need(
        len(values["bottom"]) <= at.QUEUE_CARDS,
        f"at most {at.QUEUE_CARDS} cards whose place is known",
        len(values["bottom"]),
    )
    for name in ("pirates", "active", "look"):
        values[name].sort()
    row = row_of(values)
    if fault_number := valid.fault(row[None], ROW, T):
        expected, words = valid.FAULTS[fault_number - 1]
        got = " ".join(f"{name}={typed.get(name, '')}" for name in words.split())
        raise UserError(f"expected {expected.format(life=T.max_life)}, got {got!r}")
    return row


def complete(values: WordValues, typed: dict[str, str], T: Tables) -> None:
    """Fills in the stack, the hazard stack and the aging pile if the text leaves them out: in the first turn with the missing
    cards.

    Later, when cards may have left the game, raises ValueError for missing cards.
    """
    few_away = values["away"].total() < 2 and not values["discard"]
    first_turn = (
        values["phase"] == PHASES[0] and few_away and not any(kind in HOMES["hazards"] for kind in owned(values))
    )
    for home in HOMES:
        if typed.get(home) == NONE:
            del typed[home]
        elif home not in typed and (missing := missing_from(home, values, T)):
            text = pile_text(missing)
            need(first_turn, f"{home}=, as {text} lie nowhere ({home}={NONE} says that they have left the game)")
            typed[home], values[home] = text, missing


def check_cards(values: WordValues, T: Tables) -> None:
    """Checks what no row can hold: cards in more places than there are copies, and cards in impossible places."""
    for name, pile in {
        "hazards": values["hazards"] + values["away"] + Counter(values["active"]),
        "aging": values["aging"],
    }.items():
        kinds = HOMES[name]
        strange = [kind for kind in pile if kind not in kinds]
        need(not strange, f"{name} from {NAMES[kinds[0]]} to {NAMES[kinds[-1]]}", names_text(strange))
    start = cards_in(sum(int(at_start(pile, T)) for pile in range(3)))
    for kind, n in all_cards(values).items():
        need(n <= start[kind], f"at most {start[kind]} of {NAMES[kind]} in all", n)
    marks = [mark for *_, mark in on_table(values) if mark]
    need(len(marks) <= at.ENTRIES, f"at most {at.ENTRIES} doubled cards", len(marks))
    for mark in [*marks, *(values["acting"] or ("",))[2:]]:
        expected = f"^ and one of {', '.join(DOUBLERS)}" if T.needs_source else "^ alone"
        need(not mark or (mark[1:] in DOUBLERS if T.needs_source else mark == "^"), expected, mark)
    lowered = [NAMES[kind] for kind in values["lowered"]]
    need({*lowered} <= {*LOWERERS}, f"lowered among {', '.join(LOWERERS)}", ",".join(lowered))


def action(typed: str) -> str:
    """Returns the name of an action in another spelling, "use3" for "use 3"."""
    return typed.replace(" ", "").lower()


def outcome_name(before: Array, after: Array, T: Tables) -> str:
    """Returns the pirate or the card that chance has picked."""
    turn = value(before, "turn")
    if turn == "pirate":
        return f"P{next(p for p in value(after, 'pirates') if p not in value(before, 'pirates'))}"
    if turn == "card" and value(before, "to") == "look":
        return names_text(list(Counter(value(after, "look")) - Counter(value(before, "look"))))
    name = {"aging": "aging", "hazard": "hazards"}.get(turn, "stack")
    return names_text(list(value(before, name) - value(after, name)))


# Words for people: names of cards instead of codes.

LEGEND_WIDTH = 120
ON_CARD = {
    "exchange": "exchange {}",
    "exchange-again": "exchange {} too",
    "copy": "copy {}",
    "destroy": "destroy {}",
    "double": "double {}",
    "below": "put {} below the pile",
}
"""The effect of an ability on its target."""
NO_MORE = {"arrange": "discard none of them", "remove": "remove no more", "target": "exchange no more"}
"""Texts for `end`, by turn."""
NO_OFFER = {"draw": "draw no more", "sort": "look at no more", "below": "draw no card for it"}
"""Texts for `end` at an offer, by ability."""


def title_of(card: Card) -> str:
    """Returns a card's title, with its value if cards with other values have the same title."""
    alike = [other for other in CARDS if other.title == card.title]
    if len({other.value for other in alike}) > 1:
        return f"{card.title} {card.value}"
    return f"{card.title} (aging)" if len(alike) > 1 and CARDS.index(card) >= FIRST_AGING else card.title


TITLES = tuple(title_of(card) for card in CARDS)
"""Unique name of each kind for people: "weak", "food 1", "distracted (aging)"."""


def in_words(kind: int) -> str:
    """Returns a card with its value and its effect: "food 1 (+1 life)"."""
    card = CARDS[kind]
    value = "" if TITLES[kind].endswith(f" {card.value}") else f" {card.value}"
    return f"{TITLES[kind]}{value}" + (f" ({card.words})" if card.words else "")


def listed(kinds: list[int]) -> str:
    """Returns cards by name, equal ones together: "weak, distracted x2"."""
    return ", ".join(TITLES[kind] + (f" x{n}" if n > 1 else "") for kind, n in Counter(kinds).items())


def hazard_in_words(kind: int, phase: int) -> str:
    """Returns a hazard card with both halves: "wild animals (value 4, 4 free) for vision 3 (sort 3 cards)"."""
    hazard = HAZARDS[NAMES[kind][0]]
    return f"{hazard.title.lower()} (value {hazard.values[min(phase, 2)]}, {hazard.free} free) for {in_words(kind)}"


def pirate_in_words(row: Array, pirate: int, T: Tables) -> str:
    """Returns a pirate with its current value."""
    card = PIRATES[pirate - 1]
    asked = pirate_values(row, T)[value(row, "pirates").index(pirate)]
    free = f"{card.free} free" if card.free else "all their free cards"
    return f"pirate {pirate} (value {asked}, {free}" + (f", {card.words})" if card.words else ")")


def pirate_values(row: Array, T: Tables) -> tuple[int, int]:
    """Returns the current values of the two pirates."""
    numbers = figures(row, T)
    return numbers.first_pirate, numbers.second_pirate


def missing(row: Array, T: Tables) -> int:
    """Returns the points that the table lacks against the current hazard or pirate; 0 if it has enough."""
    numbers = figures(row, T)
    return max(0, numbers.asked - numbers.total)


def hunger(row: Array, T: Tables) -> int:
    """Returns the life that cards on the table cost at the end of the fight."""
    return figures(row, T).hunger


def fought_pirate(row: Array) -> int:
    """Returns the number of the pirate in the current fight, 0 for none."""
    return sum(value(row, "pirates")[place] for place in value(row, "fought"))


def ending_in_words(row: Array, T: Tables) -> str:
    """Returns the result of ending the fight now: "win weapon 2", "lose 2 life", "lose the game"."""
    short, hungry, life = missing(row, T), hunger(row, T), number(row, "life")
    if short + hungry > life:
        return f"lose the game ({short + hungry} life to pay, {life} left)"
    paid = f", pay {hungry} life" if hungry else ""
    if short:
        return f"lose {short + hungry} life"
    pirate = fought_pirate(row)
    return f"beat pirate {pirate}{paid}" if pirate else f"win {in_words(value(row, 'active')[0])}{paid}"


def action_words(row: Array, action: int, T: Tables) -> str:
    """Returns a legal action in a position, in words."""
    turn = value(row, "turn")
    ability = value(row, "ability")
    if action >= at.USE:
        return card_action(row, action, turn, ability, T)
    if action == at.FREE:
        return f"draw a free card ({number(row, 'free') + 1} of {figures(row, T).free})"
    if action == at.PAY:
        return f"pay {2 if fought_pirate(row) == COSTLY else 1} life for a card"
    if action in (at.FIRST, at.SECOND):
        place = action - at.FIRST
        if number(row, "phase") == 3:
            return f"fight {pirate_in_words(row, value(row, 'pirates')[place], T)}"
        return f"fight {hazard_in_words(value(row, 'active')[place], number(row, 'phase'))}"
    if action == at.REJECT:
        return "reject the last hazard"
    if action == at.DRAW_MORE:
        return "look at one more" if ability == "sort" else "draw on"
    if turn == "fight":
        return f"end the fight: {ending_in_words(row, T)}"
    return NO_OFFER[ability] if turn == "offer" else NO_MORE[turn]


def card_action(row: Array, action: int, turn: str, ability: str, T: Tables) -> str:
    """Returns an action with a card on the table, or with one that was looked at, in words."""
    if action < at.CARD:
        return f"use {in_words(table_cards(row)[action - at.USE][0])}"
    place = action - at.CARD
    if turn in ("arrange", "order"):
        name = in_words(value(row, "look")[place])
        return f"discard {name}" if turn == "arrange" else f"put {name} back on top"
    kind, side, _, by = table_cards(row)[place]
    if turn == "remove":
        cost = int(fact(kind, COST, T))
        return f"remove {in_words(kind)} ({cost} point{'s' * (cost > 1)})"
    where = f" on the {('left', 'right')[side]}" + (", doubled" if by else "")
    return ON_CARD[ability].format(in_words(kind)) + where


def outcome_words(before: Array, after: Array, T: Tables) -> str:
    """Returns the pirate or the card that chance has picked, in words."""
    turn, name = value(before, "turn"), outcome_name(before, after, T)
    if turn == "pirate":
        return pirate_in_words(after, int(name[1:]), T)
    kind = NAMES.index(name)
    return hazard_in_words(kind, number(before, "phase")) if turn == "hazard" else in_words(kind)


def legend(row: Array, T: Tables) -> str:
    """Returns the meanings of the codes of all cards in a position, in lines."""
    entries = "; ".join(f"{NAMES[kind]} {in_words(kind)}" for kind in sorted(all_cards(word_values(row, T))))
    return textwrap.fill(entries, LEGEND_WIDTH, break_long_words=False)


FIELD_FACTS = ("most", "choices", "lowest", "width", "items", "first")


def tables(T: Tables) -> dict[str, Any]:
    """Returns the tables from which `alone/texts/friday.js` reads and writes positions, as JSON; `games/cards.js` has the
    cards' effects.
    """
    fields = {}
    for name, word in WORDS.items():
        place = [int(word.field.word), int(word.field.shift), int(word.field.mask).bit_length()]
        facts = {key: getattr(word, key) for key in FIELD_FACTS if hasattr(word, key)}
        fields[name] = {"kind": type(word).__name__.lower(), "at": place, **facts}
    costs = (int(fact(kind, COST, T)) for kind in range(len(CARDS)))
    cards = zip(NAMES, TITLES, costs, at.WIDTHS, strict=True)
    return {
        "width": at.WIDTH,
        "fields": fields,
        "cards": [dict(zip(("name", "title", "cost", "bits"), card, strict=True)) for card in cards],
        "names": KINDS,
        "homes": {home: [kinds[0], kinds[-1]] for home, kinds in HOMES.items()},
        "start": {home: [*cards_in(at_start(place, T)).items()] for place, home in enumerate(HOMES)},
        "hazards": {letter: hazard._asdict() for letter, hazard in HAZARDS.items()},
        "pirates": [pirate._asdict() for pirate in PIRATES],
        "costly": COSTLY,
        "doublers": DOUBLERS,
        "entries": at.ENTRIES,
        "queue": at.QUEUE_CARDS,
        "life": int(T.max_life),
        "on_card": ON_CARD,
        "no_more": NO_MORE,
        "no_offer": NO_OFFER,
    }
