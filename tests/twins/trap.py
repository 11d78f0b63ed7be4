"""Trap in plain Python with exact fractions, written from its rules alone."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from random import Random
from typing import Any

Cell = tuple[int, int]
NAMES = ("N", "NE", "E", "SE", "S", "SW", "W", "NW")
STEPS = ((-1, 0), (-1, 1), (0, 1), (1, 1), (1, 0), (1, -1), (0, -1), (-1, -1))
WAYS = dict(zip(NAMES, STEPS, strict=True))


def crowded(size: int, traps: int, rng: Random) -> str:
    """Returns a board with so many traps, anything anywhere, as a line of text."""
    marks = ["1", "2", *"#" * traps, *"." * (size * size - traps - 2)]
    rng.shuffle(marks)
    return "/".join("".join(marks[k : k + size]) for k in range(0, size * size, size))


def crowded_state(game: Any, traps: int, rng: Random, more: str = "") -> Any:
    """Returns a position of the game with so many traps, in which both players can move."""
    twin = Twin(game.options)
    while True:
        state = game.parse(f"{crowded(game.options.size, traps, rng)} turn={rng.randrange(2)}{more}")
        p = twin.read(str(state))
        if not state.is_terminal and twin.free_around(p, 0) and twin.free_around(p, 1):
            return state


@dataclass(frozen=True)
class Position:
    """Cells of both players, traps, turns played, what is due, target of a trap in the air, winner (2: draw)."""

    players: tuple[Cell, Cell]
    traps: frozenset[Cell]
    turn: int
    due: str = "move"
    target: Cell | None = None
    end: int | None = None


class Twin:
    """The rules of one variant; sizes without limit."""

    def __init__(self, options: Any) -> None:
        self.size, self.immediate = options.size, options.self_trap == "immediate"
        self.cap = 4 * self.size * self.size if options.max_turns is None else options.max_turns
        self.board = [(row, column) for row in range(self.size) for column in range(self.size)]

    def around(self, cell: Cell) -> list[Cell]:
        near = [(cell[0] + down, cell[1] + right) for down, right in WAYS.values()]
        return [c for c in near if c in self.board]

    def free_around(self, p: Position, player: int) -> list[Cell]:
        return [c for c in self.around(p.players[player]) if c not in p.traps and c not in p.players]

    def player(self, p: Position) -> str:
        if p.end is not None:
            return "nobody"
        return "chance" if p.target else ("first", "second")[p.turn % 2]

    def returns(self, p: Position) -> float:
        return {None: 0.0, 0: 1.0, 1: -1.0, 2: 0.0}[p.end]

    def legal(self, p: Position) -> list[str]:
        if p.due == "move":
            row, column = p.players[p.turn % 2]
            free = self.free_around(p, p.turn % 2)
            return [name for name, (down, right) in WAYS.items() if (row + down, column + right) in free]
        return [f"{row},{column}" for row, column in self.board if (row, column) not in p.players]

    def play(self, p: Position, name: str) -> Position:
        me = p.turn % 2
        if name not in WAYS:
            row, column = map(int, name.split(","))
            return replace(p, target=(row, column))
        row, column = (a + b for a, b in zip(p.players[me], WAYS[name], strict=True))
        players = ((row, column), p.players[1]) if me == 0 else (p.players[0], (row, column))
        after = replace(p, players=players, due="throw")
        return after if self.free_around(after, 1 - me) else replace(after, end=me)

    def chances(self, p: Position) -> dict[Cell, Fraction]:
        """Returns the probability of each cell where the trap in the air can land."""
        assert p.target is not None
        me = p.players[p.turn % 2]
        distance = abs(me[0] - p.target[0]) + abs(me[1] - p.target[1])
        hit = min(Fraction(1), max(Fraction(0), 1 - Fraction(distance - 1, 20)))
        spill = [c for c in self.around(p.target) if c not in p.players]
        found = {c: (1 - hit) / len(spill) for c in spill}
        found[p.target] = hit
        return {c: chance for c, chance in found.items() if chance}

    def landed(self, p: Position, cell: Cell) -> Position:
        me = p.turn % 2
        after = replace(p, traps=p.traps | {cell}, turn=p.turn + 1, due="move", target=None)
        if not self.free_around(after, 1 - me):
            return replace(after, end=me)
        if self.immediate and not self.free_around(after, me):
            return replace(after, end=1 - me)
        return replace(after, end=2) if after.turn == self.cap else after

    def exact_outcomes(self, p: Position) -> dict[Position, Fraction]:
        found: dict[Position, Fraction] = {}
        for cell, chance in self.chances(p).items():
            after = self.landed(p, cell)
            found[after] = found.get(after, Fraction(0)) + chance
        return found

    def outcomes(self, p: Position) -> list[tuple[float, Position]]:
        return [(float(chance), after) for after, chance in self.exact_outcomes(p).items()]

    def write(self, p: Position) -> str:
        def mark(cell: Cell) -> str:
            return "12"[p.players.index(cell)] if cell in p.players else "#" if cell in p.traps else "."

        rows = ["".join(mark((row, column)) for column in range(self.size)) for row in range(self.size)]
        words = ["/".join(rows), f"turn={p.turn}"]
        if p.target:
            words.append(f"throw={p.target[0]},{p.target[1]}")
        elif p.due == "throw":
            words.append("throw")
        return " ".join(words + ([] if p.end is None else [("won=1", "won=2", "draw")[p.end]]))

    def read(self, text: str) -> Position:
        """Reads what `write` writes; trusts it."""
        rows, *words = text.split()
        marks = {(y, x): mark for y, line in enumerate(rows.split("/")) for x, mark in enumerate(line)}
        at = {mark: cell for cell, mark in marks.items()}
        fields = dict(word.partition("=")[::2] for word in words)
        thrown = fields.get("throw", "")
        row, _, column = thrown.partition(",")
        end = 2 if "draw" in fields else int(fields["won"]) - 1 if "won" in fields else None
        return Position(
            (at["1"], at["2"]),
            frozenset(cell for cell, mark in marks.items() if mark == "#"),
            int(fields["turn"]),
            "throw" if "throw" in fields else "move",
            (int(row), int(column)) if thrown else None,
            end,
        )

    def unusual(self, rng: Random) -> Iterator[str]:
        """Yields crowded boards, and boards just before the last turn."""
        for k in range(16):
            free = self.size * self.size - rng.randint(5, 7)
            cells = rng.sample(self.board, 2 + (free if k % 4 else 3))
            turn = self.cap - rng.randint(1, min(2, self.cap)) if k % 2 else rng.randrange(min(20, self.cap))
            p = Position((cells[0], cells[1]), frozenset(cells[2:]), turn)
            if self.free_around(p, 0) and self.free_around(p, 1):
                yield self.write(p)
