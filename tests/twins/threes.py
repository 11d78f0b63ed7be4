"""Threes in plain Python, written from the rules alone: slow, obvious, and only for comparison."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from random import Random
from typing import Any

LADDER = [3 * 2**k for k in range(13)]
DIRECTIONS = ("up", "down", "left", "right")


@dataclass(frozen=True)
class Position:
    """What the player knows. `cells` are tile values row by row."""

    stage: str
    cells: tuple[int, ...]
    deck: tuple[int, int, int]
    candidates: tuple[int, ...] = ()
    """Values that the next tile may have; one value below 4 is a base card."""
    direction: str = ""
    lanes: tuple[int, ...] = ()
    start: int = 0
    slot: int = 0
    used: bool = False


def lane_cells(direction: str, lane: int) -> list[int]:
    """Returns the four cells of a lane, from the wall that the move goes towards."""
    cells = {
        "up": [4 * k + lane for k in range(4)],
        "down": [4 * k + lane for k in (3, 2, 1, 0)],
        "left": [4 * lane + k for k in range(4)],
        "right": [4 * lane + k for k in (3, 2, 1, 0)],
    }
    return cells[direction]


def tile_score(value: int) -> int:
    return 3 ** (LADDER.index(value) + 1) if value >= 3 else 0


class Twin:
    """The rules of one variant."""

    def __init__(self, options: Any) -> None:
        self.options = options

    def merged(self, a: int, b: int) -> int | None:
        """Returns what two tiles become, None if they do not merge."""
        if {a, b} == {1, 2}:
            return 3
        if a != b or a < 3 or a == 12288 or (a == 6144 and self.options.top == "no_merge_6144"):
            return None
        return 2 * a

    def slid(self, lane: list[int]) -> list[int]:
        """Returns a lane (wall first) after the slide."""
        for k in range(3):
            if lane[k] == 0:
                return lane[:k] + lane[k + 1 :] + [0]
            if lane[k + 1] and (made := self.merged(lane[k], lane[k + 1])):
                return [*lane[:k], made, *lane[k + 2 :], 0]
        return lane

    def slide(self, cells: tuple[int, ...], direction: str) -> tuple[tuple[int, ...], list[int]]:
        """Returns the board after a slide and the lanes that moved."""
        board, moved = list(cells), []
        for lane in range(4):
            places = lane_cells(direction, lane)
            before = [cells[p] for p in places]
            after = self.slid(before)
            if after != before:
                moved.append(lane)
            for place, value in zip(places, after, strict=True):
                board[place] = value
        return tuple(board), moved

    def directions(self, cells: tuple[int, ...]) -> list[str]:
        return [d for d in DIRECTIONS if self.slide(cells, d)[1]]

    def player(self, p: Position) -> str:
        if p.stage == "setup":
            return "chance"
        if self.options.top == "end_at_12288" and 12288 in p.cells:
            return "nobody"
        if p.stage == "enter":
            return "chance"
        if not self.directions(p.cells):
            return "nobody"
        return "first" if p.stage == "decision" else "chance"

    def returns(self, p: Position) -> float:
        return 0.0 if p.stage == "setup" else float(sum(map(tile_score, p.cells)) - p.start)

    def legal(self, p: Position) -> list[str]:
        return self.directions(p.cells)

    def play(self, p: Position, name: str) -> Position:
        cells, moved = self.slide(p.cells, name)
        if self.options.entry == "any_empty_edge":
            moved = [lane for lane in range(4) if cells[lane_cells(name, lane)[3]] == 0]
        return replace(p, stage="enter", cells=cells, direction=name, lanes=tuple(moved))

    def outcomes(self, p: Position) -> list[tuple[float, Position]]:
        return list({"setup": self.set_up, "enter": self.enter, "draw": self.draw}[p.stage](p))

    def set_up(self, p: Position) -> Iterator[tuple[float, Position]]:
        free = [k for k in range(16) if p.cells[k] == 0]
        for card in (1, 2, 3):
            for place in free:
                if p.deck[card - 1]:
                    cells = put(p.cells, place, card)
                    stage = "draw" if sum(map(bool, cells)) == 9 else "setup"
                    after = replace(
                        p, stage=stage, cells=cells, deck=taken(p.deck, card), start=p.start + 3 * (card == 3)
                    )
                    yield p.deck[card - 1] / sum(p.deck) / len(free), after

    def bonus_law(self, values: list[int]) -> list[float]:
        """Returns the probability of each bonus value, given that a bonus comes."""
        n = len(values)
        if self.options.bonus_value == "uniform" or n <= 3:
            return [1 / n] * n
        windows = [range(first, first + 3) for first in range(n - 2)]
        return [sum(k in w for w in windows) / (3 * len(windows)) for k in range(n)]

    def bonus_p(self, p: Position) -> float:
        """Returns the probability that the next draw is a bonus."""
        if max(p.cells) < 48:
            return 0.0
        if self.options.bonus_schedule == "iid":
            return float(self.options.bonus_p)
        return 0.0 if p.used else 1 / (21 - p.slot)

    def enter(self, p: Position) -> Iterator[tuple[float, Position]]:
        white = p.candidates[0] == 3 and len(p.candidates) > 1
        bonuses = [v for v in p.candidates if v > 3]
        law = (
            self.bonus_law(bonuses)
            if bonuses and self.options.hint != "window3"
            else [1 / max(1, len(bonuses))] * len(bonuses)
        )
        share = dict(zip(bonuses, law, strict=True)) or {p.candidates[0]: 1.0}
        if white:
            chance = self.options.bonus_p
            three = (1 - chance) * p.deck[2] / sum(p.deck)
            share = {3: three / (three + chance)} | {v: q * chance / (three + chance) for v, q in share.items()}
        for value, q in share.items():
            for lane in p.lanes:
                deck = taken(p.deck, 3) if white and value == 3 and q else p.deck
                cells = put(p.cells, lane_cells(p.direction, lane)[3], value)
                if q:
                    after = replace(p, stage="draw", cells=cells, deck=deck, candidates=(), direction="", lanes=())
                    yield q / len(p.lanes), after

    def draw(self, p: Position) -> Iterator[tuple[float, Position]]:
        bonus = self.bonus_p(p)
        values = [v for v in LADDER[1:] if 8 * v <= max(p.cells)]
        looks_alike = self.options.hint == "colour" and bonus > 0
        for card in (1, 2, 3):
            q = (1 - bonus) * p.deck[card - 1] / sum(p.deck)
            if q and not (card == 3 and looks_alike):
                yield q, replace(self.slot_on(p, False), stage="decision", deck=taken(p.deck, card), candidates=(card,))
        after = replace(self.slot_on(p, True), stage="decision")
        if looks_alike:
            yield bonus + (1 - bonus) * p.deck[2] / sum(p.deck), replace(after, candidates=(3, *values))
        elif bonus and self.options.hint == "exact":
            for value, q in zip(values, self.bonus_law(values), strict=True):
                yield bonus * q, replace(after, candidates=(value,))
        elif bonus and self.options.hint == "window3" and len(values) > 3:
            for first in range(len(values) - 2):
                yield bonus / (len(values) - 2), replace(after, candidates=tuple(values[first : first + 3]))
        elif bonus:
            yield bonus, replace(after, candidates=tuple(values))

    def slot_on(self, p: Position, bonus: bool) -> Position:
        """Counts a draw in the cycle of 21."""
        if self.options.bonus_schedule == "iid" or max(p.cells) < 48:
            return p
        return replace(p, slot=0, used=False) if p.slot == 20 else replace(p, slot=p.slot + 1, used=p.used or bonus)

    def write(self, p: Position) -> str:
        words = ["/".join(" ".join(map(str, p.cells[k : k + 4])) for k in (0, 4, 8, 12))]
        if p.stage == "setup":
            words.append("setup")
        if p.candidates:
            hidden = p.stage == "decision" and p.candidates[-1] > 3
            sign = {"plus": "+", "colour": "white"}.get(self.options.hint) if hidden else None
            words.append("next=" + (sign or "|".join(map(str, p.candidates))))
        words.append("deck={},{},{}".format(*p.deck))
        if p.stage == "enter":
            words += [f"move={p.direction}", "lanes=" + "".join(map(str, p.lanes))]
        if p.start:
            words.append(f"start={p.start}")
        if p.slot:
            words.append(f"slot={p.slot}" + ",used" * p.used)
        return " ".join(words)

    def read(self, text: str) -> Position:
        """Reads what `write` writes; trusts it."""
        board = " ".join(word for word in text.split() if "=" not in word and word != "setup")
        cells = tuple(int(word) for line in board.split("/") for word in line.split())
        given = dict(word.split("=") for word in text.split() if "=" in word)
        stage = (
            "setup" if "setup" in text else "enter" if "move" in given else "decision" if "next" in given else "draw"
        )
        shown = given.get("next", "")
        bonuses = tuple(v for v in LADDER[1:] if 8 * v <= max(cells))
        if shown in ("+", "white"):
            candidates = bonuses if shown == "+" else (3, *bonuses)
        else:
            candidates = tuple(int(v) for v in shown.split("|") if v)
        ones, twos, threes = (int(n) for n in given["deck"].split(","))
        slot, _, used = given.get("slot", "0").partition(",")
        return Position(
            stage,
            cells,
            (ones, twos, threes),
            candidates,
            given.get("move", ""),
            tuple(int(k) for k in given.get("lanes", "")),
            int(given.get("start", 0)),
            int(slot),
            bool(used),
        )

    def unusual(self, rng: Random) -> Iterator[str]:
        """Yields texts of positions that random play seldom meets."""
        top = {"end_at_12288": 12, "continue": 13, "no_merge_6144": 12}[self.options.top]
        for fill in [1.0] * 12 + [0.9] * 12 + [0.5] * 6:
            ladder = [1, 2, *LADDER[: rng.randint(5, top)]]
            # neighbours on the ladder, so that full boards still merge
            cells = [
                0 if rng.random() > fill else rng.choice(ladder[rng.randrange(len(ladder)) :][:3]) for _ in range(16)
            ]
            deck = rng.choice([(4, 4, 4), (0, 0, 1), (1, 2, 0), (1, 0, 2), (3, 1, 2)])
            slot = ""
            if self.options.bonus_schedule == "slot21" and max(cells) >= 48:
                slot = f" slot={rng.randint(1, 20)}{rng.choice(['', ',used'])}"
            yield self.write(Position("draw", tuple(cells), deck)) + slot


def put(cells: tuple[int, ...], place: int, value: int) -> tuple[int, ...]:
    return (*cells[:place], value, *cells[place + 1 :])


def taken(deck: tuple[int, int, int], card: int) -> tuple[int, int, int]:
    """Takes a card out of the deck, which is refilled at once when empty."""
    ones, twos, threes = (n - (k == card) for k, n in enumerate(deck, 1))
    return (ones, twos, threes) if ones + twos + threes else (4, 4, 4)
