"""Friday in plain Python, written from the rules alone: piles are lists of card names, the table a list of cards.

First how a position is kept, then the rules, then what hazards, pirates and tables are worth, then fights to test, and texts.
"""

from __future__ import annotations

import copy
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil
from random import Random
from types import SimpleNamespace
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
    1: (5, 0), 2: (6, 20), 3: (7, 25), 4: (7, 16), 5: (8, 30), 6: (9, 35), 7: (9, 22), 8: (10, 52), 9: (10, 40), 10: (0, 0),
}  # fmt: skip
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


WORDS = ("turn", "ability", "lowest", "to")
NUMBERS = ("phase", "life", "debt", "fought", "free", "uses", "steps", "points")
CARDS_IN = ("top", "stack", "bottom", "discard", "hazards", "away", "aging", "active", "down", "lowered", "look")
"""Lists of names of cards; there are those of the pirates, those beaten and the cards on the table besides."""


class Position(SimpleNamespace):
    """Everything that a line of text says."""

    def __init__(self, **given: Any) -> None:
        lists: dict[str, Any] = {name: [] for name in (*CARDS_IN, "pirates", "beaten", "table")}
        super().__init__(**{**dict.fromkeys(WORDS, ""), **dict.fromkeys(NUMBERS, 0), **lists, "acting": None, **given})


def pile(cards: list[str]) -> str:
    return ",".join(
        f"{c}*{n}" if n > 1 else c for c, n in sorted(Counter(cards).items(), key=lambda x: ORDER.index(x[0]))
    )


def ability_of(name: str) -> str:
    return CARDS[name][1].rstrip("12")


def amount_of(name: str) -> int:
    return int(re.sub(r"\D", "", CARDS[name][1]) or 0)


class Twin:
    """The rules of one variant."""

    def __init__(self, options: Any) -> None:
        self.options = options
        self.most_life = max(20 if options.level == 4 else 22, options.start_life)
        self.aging_cards = 11 if options.level >= 3 else 10

    # who acts

    def player(self, p: Position) -> str:
        if p.turn in ("pirate", "aging", "hazard", "card"):
            return "chance"
        return "nobody" if p.turn in ("won", "lost") else "first"

    def returns(self, p: Position) -> float:
        return float(p.turn == "won")

    def can_use(self, p: Position, acting: OnTable, ability: str) -> bool:
        others = [c for c in p.table if c is not acting]
        if ability in ("draw", "sort"):
            return self.can_draw(p)
        if ability == "exchange":
            return bool(others) and self.can_draw(p, discarding=True)
        if ability == "phase":
            return p.phase < 3 and len(p.lowered) < p.phase
        if ability == "double":
            return any(not c.by for c in others) and sum(bool(c.by) for c in p.table) < 6
        if ability == "copy":
            return any(self.can_be_copied(p, acting, c) for c in others)
        return ability == "life" or (ability in ("destroy", "below") and bool(others))

    def can_be_copied(self, p: Position, acting: OnTable, card: OnTable) -> bool:
        ability = ability_of(card.name)
        return ability not in ("", "copy") and self.can_use(p, acting, ability)

    def first_of_kind(self, p: Position, slots: list[int]) -> list[int]:
        seen: list[Any] = []
        kept = []
        for slot in slots:
            if p.table[slot].place() not in seen:
                kept.append(slot)
            seen.append(p.table[slot].place())
        return kept

    def can_end(self, p: Position) -> bool:
        if p.fought:
            return p.free > 0 and self.total(p) >= self.value(p) and p.life >= self.hunger(p)
        return p.free > 0

    def legal(self, p: Position) -> list[str]:
        if p.turn == "choose":
            if p.phase == 3 or len(set(p.active)) == 2:
                return ["first", "second"]
            return ["first"] if len(p.active) == 2 else ["first", "discard"]
        if p.turn == "fight":
            names = self.draws(p) + ["end"] * self.can_end(p)
            if p.uses < 64:
                slots = [k for k, c in enumerate(p.table) if not c.used and self.can_use(p, c, ability_of(c.name))]
                names += [f"use{k}" for k in self.first_of_kind(p, slots)]
            return names
        if p.turn == "offer":
            return ["end", "draw"]
        if p.turn in ("arrange", "order"):
            places = [k for k, c in enumerate(p.look) if c not in p.look[:k]]
            return ["end"] * (p.turn == "arrange") + [f"card{k}" for k in places]
        if p.turn == "remove":
            slots = [
                k for k, c in enumerate(p.table)
                if ORDER.index(c.name) >= ORDER.index(p.lowest or "S1") and p.points >= 1 + (c.name in AGING)
            ]  # fmt: skip
            return ["end"] + [f"card{k}" for k in self.first_of_kind(p, slots)]
        acting = self.acting_slot(p)
        slots = []
        for k, c in enumerate(p.table):
            ok = k != acting
            if p.ability == "copy":
                ok = ok and self.can_be_copied(p, p.table[acting], c)
            if p.ability == "double":
                ok = ok and not c.by
            slots += [k] * ok
        names = [f"card{k}" for k in self.first_of_kind(p, slots)]
        return ["end"] * (p.ability == "exchange-again") + names

    def draws(self, p: Position) -> list[str]:
        if p.free == 0:
            return ["free"]
        if not self.can_draw(p):
            return []
        stopped = any(c.name == "G8" and c.side == "left" for c in p.table)
        if p.free < self.free_cards(p) and not stopped:
            return ["free"]
        return ["pay"] if p.life >= (2 if p.fought == 4 else 1) else []

    def acting_slot(self, p: Position) -> int:
        """Returns the slot of the card whose ability is under way; of several alike the last."""
        assert p.acting is not None
        return max(k for k, c in enumerate(p.table) if c.place() == p.acting.place())

    # actions

    def play(self, old: Position, name: str) -> Position:
        p = copy.deepcopy(old)
        slot = int(re.sub(r"\D", "", name) or -1)
        if name in ("first", "second", "discard"):
            self.choose(p, name)
        elif name == "free":
            p.free += 1
            self.draw(p, "left")
        elif name == "pay":
            p.life -= 2 if p.fought == 4 else 1
            self.draw(p, "right")
        elif name.startswith("use"):
            card = p.table[slot]
            card.used, p.acting, p.uses = True, card, p.uses + 1
            self.start(p, card.name)
        elif p.turn == "fight":
            self.end_fight(p)
        elif p.turn == "remove":
            self.remove(p, name, slot)
        elif p.turn == "target" and name != "end":
            self.hit(p, slot)
        elif p.turn == "offer" and name == "draw":
            p.steps -= p.ability == "draw"
            self.draw(p, {"draw": "right", "sort": "look", "below": "left"}[p.ability])
        elif p.turn in ("arrange", "order"):
            self.looked(p, name, slot)
        elif p.ability == "sort":
            p.turn = "arrange"
        else:
            self.back(p)
        p.table.sort(key=OnTable.place)
        return p

    def choose(self, p: Position, name: str) -> None:
        if p.phase == 3:
            p.fought = p.pirates[name == "second"]
            p.turn = "fight"
        elif name == "discard":
            p.away.append(p.active.pop())
            self.next_turn(p)
        else:
            if len(p.active) == 2:
                p.away.append(p.active.pop(0 if name == "second" else 1))
            p.turn = "fight"

    def draw(self, p: Position, to: str) -> None:
        p.to, p.turn = to, "card"
        if not self.stack_size(p):
            if p.aging:
                p.turn = "aging"
            elif self.options.empty_aging == "reshuffle_only" and p.discard:
                p.stack, p.discard = p.discard, []
            else:
                p.turn, p.debt, p.to = "lost", 63, ""

    def start(self, p: Position, name: str) -> None:
        """Begins the ability of the card `name` for the acting card."""
        assert p.acting is not None
        p.ability, n = ability_of(name), amount_of(name)
        if p.ability == "life":
            p.life = min(self.most_life, p.life + n)
            self.back(p)
        elif p.ability == "phase":
            p.lowered = sorted([*p.lowered, p.acting.name], key=LOWERERS.index)
            self.back(p)
        elif p.ability == "draw":
            p.steps = n - 1
            self.draw(p, "right")
        elif p.ability == "sort":
            self.draw(p, "look")
        else:
            p.turn, p.steps = "target", n

    def hit(self, p: Position, slot: int) -> None:
        assert p.acting is not None
        acting = p.table[self.acting_slot(p)]
        p.acting = acting
        card = p.table[slot]
        if p.ability == "copy":
            self.start(p, card.name)
        elif p.ability == "double":
            card.by = acting.name if self.options.double_needs_source else "?"
            self.back(p)
        else:
            del p.table[slot]
            self.gone(p, card)
            if p.ability == "destroy":
                if self.options.destroy == "face_down":
                    p.down.append(card.name)
                self.back(p)
            elif p.ability == "below":
                p.bottom.append(card.name)
                if card.side == "left":
                    p.turn = "offer"
                else:
                    self.back(p)
            else:
                p.discard.append(card.name)
                p.steps -= 1
                self.draw(p, card.side)

    def gone(self, p: Position, card: OnTable) -> None:
        if card.name in p.lowered:
            p.lowered.remove(card.name)
        for other in p.table:
            if other.by == card.name:
                other.by = ""

    def looked(self, p: Position, name: str, slot: int) -> None:
        if name != "end":
            card = p.look.pop(slot)
            if p.turn == "arrange":
                p.discard.append(card)
            else:
                self.on_top(p, card)
        if len(set(p.look)) > 1:
            p.turn = "order"
            return
        for card in p.look:
            self.on_top(p, card)
        p.look = []
        self.back(p)

    def on_top(self, p: Position, card: str) -> None:
        (p.top if p.stack else p.bottom).insert(0, card)

    def back(self, p: Position) -> None:
        """Returns to the fight."""
        p.turn, p.ability, p.steps, p.acting, p.look = "fight", "", 0, None, []
        p.table.sort(key=OnTable.place)
        if p.fought and not self.legal(p):
            p.turn = "lost"

    def clear(self, p: Position) -> None:
        p.table, p.down, p.lowered = [], [], []
        p.free = p.uses = p.points = 0
        p.lowest = ""

    def end_fight(self, p: Position) -> None:
        def pay(n: int) -> bool:
            if p.life < n:
                p.turn, p.debt, p.life = "lost", min(n - p.life, 62), 0
                return False
            p.life -= n
            return True

        if not pay(self.hunger(p)):
            return
        missing = self.value(p) - self.total(p)
        cards = [c.name for c in p.table]
        if p.fought:
            p.discard += cards
            p.beaten.append(p.fought)
            p.fought = next((q for q in p.pirates if q not in p.beaten), 0)
            self.clear(p)
            p.turn = "fight" if p.fought else "won"
        elif missing <= 0:
            p.discard += [*cards, *p.active]
            p.active = []
            self.clear(p)
            self.next_turn(p)
        elif pay(missing):
            p.away += p.active
            p.active = []
            self.clear(p)
            p.table = [OnTable(name, "left") for name in cards]
            p.turn, p.points = "remove", missing

    def remove(self, p: Position, name: str, slot: int) -> None:
        if name == "end":
            p.discard += [c.name for c in p.table]
            self.clear(p)
            self.next_turn(p)
        else:
            card = p.table.pop(slot)
            p.points -= 1 + (card.name in AGING)
            p.lowest = "" if card.name == "S1" else card.name

    def next_turn(self, p: Position) -> None:
        p.turn = "hazard"
        if not p.hazards:
            p.phase = p.phase + 1 if p.away else 3
            if p.phase == 3:
                p.turn = "choose"
            else:
                p.hazards, p.away = p.away, []

    # chance

    def outcomes(self, p: Position) -> list[tuple[float, Position]]:
        if p.turn == "pirate":
            found = [q for q in PIRATES if q not in p.pirates]
            return [(1 / len(found), self.with_pirate(p, q)) for q in found]
        if p.turn == "hazard":
            cards = p.hazards
        elif p.turn == "aging":
            cards = [c for c in p.aging if c in NORMAL] or p.aging
        else:
            cards = p.top[:1] or p.stack or p.bottom[:1]
        return [(1 / len(cards), self.with_card(p, card)) for card in cards]

    def with_pirate(self, old: Position, pirate: int) -> Position:
        p = copy.deepcopy(old)
        p.pirates = sorted([*p.pirates, pirate])
        if len(p.pirates) == 2:
            p.turn = "hazard"
            if self.options.level > 1:
                p.turn, p.to = "aging", "setup"
        return p

    def with_card(self, old: Position, card: str) -> Position:
        p = copy.deepcopy(old)
        if p.turn == "hazard":
            p.hazards.remove(card)
            p.active = sorted([*p.active, card], key=ORDER.index)
            if len(p.active) == 2 or not p.hazards:
                p.turn = "choose"
        elif p.turn == "aging":
            p.aging.remove(card)
            p.stack += [*p.discard, card]
            p.discard = []
            if p.to == "setup":
                p.turn, p.to = "hazard", ""
            else:
                p.turn = "card"
        else:
            (p.top or p.stack or p.bottom).remove(card)
            self.drawn(p, card)
        p.table.sort(key=OnTable.place)
        return p

    def drawn(self, p: Position, card: str) -> None:
        to, p.to = p.to, ""
        if to == "look":
            p.look = sorted([*p.look, card], key=ORDER.index)
            p.turn = "offer" if len(p.look) < 3 and self.can_draw(p) else "arrange"
            return
        p.table.append(OnTable(card, to))
        if p.ability == "draw" and p.steps and self.can_draw(p):
            p.turn = "offer"
        elif p.ability == "exchange" and p.steps and self.can_draw(p, discarding=True):
            p.turn, p.ability = "target", "exchange-again"
        else:
            self.back(p)

    # what hazards, pirates and tables are worth, and fights to test

    def free_cards(self, p: Position) -> int:
        if p.fought == 10:
            return max(1, sum(DANGER[h[0]][0] for h in p.hazards + p.away))
        return PIRATES[p.fought][0] if p.fought else DANGER[p.active[0][0]][0]

    def value(self, p: Position) -> int:
        if p.fought == 10:
            return sum(DANGER[h[0]][3] for h in p.hazards + p.away)
        if p.fought == 1:
            return 2 * (self.aging_cards - len(p.aging))
        if p.fought:
            return PIRATES[p.fought][1]
        return DANGER[p.active[0][0]][1 + max(0, p.phase - len(p.lowered))]

    def total(self, p: Position) -> int:
        cards = [(CARDS[c.name][0] * (2 if c.by else 1), c.name) for c in p.table]
        if p.fought == 7:
            places = ceil(len(cards) / 2)
            cards.sort(key=lambda c: (c[1] in AGING, c[0]), reverse=True)
            cards = cards[:places]
        worth = sorted((v for v, _ in cards), reverse=True)
        scared = sum(name == "G5" for _, name in cards)
        if scared and self.options.scared_stacking == "one":
            scared = 1
        for k in range(min(scared, len(worth))):
            worth[k] = min(worth[k], 0)
        return sum(worth) + (len(p.table) if p.fought == 8 else 0)

    def hunger(self, p: Position) -> int:
        return sum({"G7": 1, "D1": 2}.get(c.name, 0) for c in p.table)

    def stack_size(self, p: Position) -> int:
        return len(p.top) + len(p.stack) + len(p.bottom)

    def can_draw(self, p: Position, discarding: bool = False) -> bool:
        if self.stack_size(p) or p.aging:
            return True
        return self.options.empty_aging == "reshuffle_only" and bool(p.discard or discarding)

    def unusual(self, rng: Random) -> Iterator[str]:
        """Yields fights of every phase with many abilities on the table, against hazards and pirates, and their ends."""
        for k in range(30):
            p = self.random_fight(rng, pirates=k % 2 == 1)
            if self.legal(p):  # a pirate who can neither be beaten nor drawn against any more has won: no fight
                yield self.write(p)
        p = self.random_fight(rng, pirates=True)
        p.beaten, p.fought, p.turn = p.pirates, 0, "won"
        p.table, p.free, p.life = [], 0, 7
        yield self.write(p)

    def random_fight(self, rng: Random, pirates: bool) -> Position:
        """Returns a fight in the middle, every card somewhere."""
        p = Position(turn="fight", pirates=sorted(rng.sample(range(1, 11), 2)), free=1)
        p.phase, p.life = 3 if pirates else rng.randrange(3), rng.randrange(1, self.most_life + 1)
        island = [c for c, (_, _, n) in ISLAND.items() for _ in range(n)]
        aging = [c for c, (_, _, n) in AGING.items() for _ in range(n) if c != "G4" or self.options.level > 2]
        own = [c for c, (_, _, n) in ROBINSON.items() for _ in range(n)]
        rng.shuffle(island)
        rng.shuffle(own)
        left = rng.randrange(4, 15)
        p.away, won = island[:left], island[left:]
        if pirates:
            p.fought = p.pirates[0]
        else:
            p.active = [p.away.pop()]
            p.hazards = [p.away.pop() for _ in range(2)]
        gone = rng.randrange(3 if self.options.level > 1 else 2, len(aging) + 1)
        drawn, p.aging = aging[:gone], aging[gone:]
        own = own[rng.randrange(12) :]
        n = rng.randrange(3, 10)
        table = rng.sample(won, n) + rng.sample(own, 1) + rng.sample(drawn, 2)
        p.table = [OnTable(c, rng.choice(["left", "right"])) for c in table]
        p.table.sort(key=OnTable.place)
        others = list((Counter(won + own + drawn) - Counter(table)).elements())
        rng.shuffle(others)
        cut = rng.choice([0, 0, 2, len(others)])
        p.stack, p.discard = others[:cut], others[cut:]
        if len(p.stack) > 4:
            p.bottom = [p.stack.pop()]
        return p

    # texts

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

        p = Position(turn=words["turn"], phase=PHASES.index(words["phase"]))
        for name in ("life", "debt", "free", "uses", "steps", "points"):
            setattr(p, name, int(words.get(name, 0)))
        for name in CARDS_IN:
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
