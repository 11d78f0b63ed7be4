"""Trilobite in plain Python, written from its rules alone; it also scores small or late positions."""

from collections.abc import Iterator
from random import Random
from typing import Any

Board = tuple[tuple[int, ...], ...]
"""Columns from left to right, each the players' chips from the floor up."""


class Twin:
    """The rules of one variant."""

    def __init__(self, options: Any) -> None:
        width, height = options.board.split("x")
        self.width, self.height, self.k = int(width), int(height), int(options.k)
        self._scores: dict[Board, int] = {}

    def player(self, p: Board) -> str:
        if self.winner(p) is not None or not self.free(p):
            return "nobody"
        return ("first", "second")[self.chips(p) % 2]

    def returns(self, p: Board) -> float:
        return {None: 0.0, 0: 1.0, 1: -1.0}[self.winner(p)]

    def legal(self, p: Board) -> list[str]:
        return [str(c + 1) for c in self.free(p)]

    def play(self, p: Board, name: str) -> Board:
        return self.drop(p, int(name) - 1)

    def outcomes(self, p: Board) -> list[tuple[float, Board]]:
        return []

    def chips(self, p: Board) -> int:
        return sum(len(column) for column in p)

    def free(self, p: Board) -> list[int]:
        return [c for c, column in enumerate(p) if len(column) < self.height]

    def drop(self, p: Board, column: int) -> Board:
        return p[:column] + (p[column] + (self.chips(p) % 2,),) + p[column + 1 :]

    def winner(self, p: Board) -> int | None:
        for column, chips in enumerate(p):
            for row, player in enumerate(chips):
                if self.in_line(p, column, row):
                    return player
        return None

    def in_line(self, p: Board, column: int, row: int) -> bool:
        """Whether a chip lies in a line of k of its player."""

        def run(dx: int, dy: int) -> int:
            x, y, n = column + dx, row + dy, 0
            while 0 <= x < len(p) and 0 <= y < len(p[x]) and p[x][y] == p[column][row]:
                x, y, n = x + dx, y + dy, n + 1
            return n

        return any(run(dx, dy) + run(-dx, -dy) + 1 >= self.k for dx, dy in ((1, 0), (0, 1), (1, 1), (1, -1)))

    def write(self, p: Board) -> str:
        """Writes the rows from the top down."""
        rows = range(self.height - 1, -1, -1)
        return "/".join("".join("xo"[column[y]] if y < len(column) else "." for column in p) for y in rows)

    def read(self, text: str) -> Board:
        """Reads what `write` writes; trusts it."""
        rows = text.split("/")[::-1]
        return tuple(tuple("xo".index(row[c]) for row in rows if row[c] != ".") for c in range(self.width))

    def unusual(self, rng: Random) -> Iterator[str]:
        """Yields crowded boards, as random play seldom meets them."""
        for _ in range(12):
            yield self.write(self.random_board(rng, self.width * self.height - rng.randint(1, 4))[1])

    def random_board(self, rng: Random, chips: int) -> tuple[str, Board]:
        """Plays at random to an undecided position with so many chips, or a few less: (columns played, board)."""
        for attempt in range(1000):
            p: Board = ((),) * self.width
            played = ""
            for _ in range(chips - attempt // 100):
                column = rng.choice(self.free(p))
                p = self.drop(p, column)
                if self.in_line(p, column, len(p[column]) - 1):
                    break
                played += str(column + 1)
            else:
                return played, p
        raise AssertionError("no undecided position found")

    def score(self, p: Board) -> int:
        """The mover's score: (cells + 1 - m) // 2 for a win with m chips before the winning one."""
        if p not in self._scores:
            self._scores[p] = max((self.score_of(p, c) for c in self.free(p)), default=0)
        return self._scores[p]

    def score_of(self, p: Board, column: int) -> int:
        """What a chip in a column is worth to the mover."""
        after = self.drop(p, column)
        if self.in_line(after, column, len(after[column]) - 1):
            return (self.width * self.height + 1 - self.chips(p)) // 2
        return -self.score(after)
