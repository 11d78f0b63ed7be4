"""What hazards, pirates and tables are worth in the naive twin of Friday, and fights to test."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Iterator
from math import ceil
from random import Random

from twins.friday_position import AGING, CARDS, DANGER, ISLAND, PIRATES, ROBINSON, OnTable, Position, Texts


class Worth(Texts):
    """Totals, values and what can be drawn."""

    aging_cards: int
    most_life: int

    @abstractmethod
    def legal(self, p: Position) -> list[str]:
        """Returns the names of the legal actions."""

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
