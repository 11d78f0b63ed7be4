"""Friday in plain Python, written from the rules alone; see `friday_position` for how a position is kept."""

from __future__ import annotations

import copy
import re
from typing import Any

from twins.friday_position import (
    AGING,
    LOWERERS,
    NORMAL,
    ORDER,
    PIRATES,
    OnTable,
    Position,
    ability_of,
    amount_of,
)
from twins.friday_worth import Worth


class Twin(Worth):
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
