"""The article's own solver: depth-first search for "does player 0 win?", with a choice of what a board is stored under.

Edges are tried in order of their numbers, up to the first that decides. Every position that the search finishes (not
those with a triangle) is stored once, in one table per number of coloured edges. Source: "The best AI for cassis".
"""

from __future__ import annotations

from collections.abc import Callable, Hashable

import numpy as np

from leafwise.envs.cassis.solver import canonical, make_scratch
from leafwise.envs.cassis.tables import Tables, make_tables
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.play.solver import FunctionPlayer
from leafwise.envs.core.ranges import need_among

Key = Callable[[int, int, Tables], Hashable]
"""(edges of player 0, edges of player 1, T) -> what the board is stored under."""


def as_it_is(first: int, second: int, T: Tables) -> Hashable:
    """Keys a board by itself."""
    return first, second


def by_degree(first: int, second: int, T: Tables) -> Hashable:
    """Keys a board after sorting the points by degree, highest first, ties in point order."""
    degree = degrees(first | second, T)
    return renamed(first, second, sorted(range(T.n), key=lambda point: -degree[point]), T)


def by_colours(first: int, second: int, T: Tables) -> Hashable:
    """Keys a board after sorting the points by degree, then by the number of player 0's edges, highest first."""
    degree, own = degrees(first | second, T), degrees(first, T)
    return renamed(first, second, sorted(range(T.n), key=lambda point: (-degree[point], -own[point])), T)


def by_canonical_form(first: int, second: int, T: Tables) -> Hashable:
    """Keys a board by its true canonical form."""
    return int(canonical(np.uint64(first), np.uint64(second), make_scratch(), T))


KEYS: dict[str, Key] = {
    "board": as_it_is,
    "degree": by_degree,
    "colours": by_colours,
    "canonical": by_canonical_form,
}


def degrees(edges: int, T: Tables) -> list[int]:
    """Returns how many of `edges` meet at each point."""
    count = [0] * T.n
    for e in range(T.edges):
        if edges >> e & 1:
            for point in T.ends[e]:
                count[point] += 1
    return count


def renamed(first: int, second: int, order: list[int], T: Tables) -> tuple[int, int]:
    """Returns a board whose point k is point order[k] of the given one."""
    name = {point: k for k, point in enumerate(order)}
    sides = [0, 0]
    for e in range(T.edges):
        for player, edges in enumerate((first, second)):
            if edges >> e & 1:
                a, b = T.ends[e]
                sides[player] |= 1 << int(T.edge_of[name[a], name[b]])
    return sides[0], sides[1]


class DepthFirst:
    """The search and its tables; a table fills on the first question and serves all later ones."""

    def __init__(self, game: Game, key: str = "colours") -> None:
        need_among(key, KEYS, "key", "cassis")
        self.game = game
        self.tables = make_tables(game.options)
        self._key = KEYS[key]
        self._sides = [[int(one) | int(other) for one, other in self.tables.sides[e]] for e in range(self.tables.edges)]
        self.stored: list[dict[Hashable, bool]] = [{} for _ in range(self.tables.edges + 1)]
        """Number of coloured edges -> key -> whether player 0 wins."""

    def player_zero_wins(self, state: State) -> bool:
        """Answers the question for a position, finished or not."""
        if state.is_terminal:
            return state.returns > 0
        return self._wins(int(state.row[0]), int(state.row[1]), int(state.row[0] | state.row[1]).bit_count())

    def choose(self, state: State) -> int:
        """Returns the first edge that decides; where none does, the first that closes no triangle, or the first."""
        player = state.current_player
        safe = state.legal_actions[0]
        closed = True
        for edge in state.legal_actions:
            after = state.play(edge)
            if after.is_terminal and after.returns != 0:
                continue
            if closed:
                safe, closed = edge, False
            if self.player_zero_wins(after) == (player == 0):
                return edge
        return safe

    def _wins(self, first: int, second: int, coloured: int) -> bool:
        key = self._key(first, second, self.tables)
        table = self.stored[coloured]
        if key not in table:
            player = coloured % 2
            own = second if player else first
            result = player == 1
            for e in range(self.tables.edges):
                if (first | second) >> e & 1:
                    continue
                if any(own & two == two for two in self._sides[e]):
                    wins = player == 1
                elif player == 0:
                    wins = self._wins(first | 1 << e, second, coloured + 1)
                else:
                    wins = self._wins(first, second | 1 << e, coloured + 1)
                if wins == (player == 0):
                    result = wins
                    break
            table[key] = result
        return table[key]


def dfs_player(game: Game, name: str, words: list[str]) -> FunctionPlayer:
    """Returns the player `dfs`, or `dfs:KEY`; raises ValueError for an unknown key."""
    if len(words) > 1:
        raise UserError(f"expected dfs:KEY with a key among {', '.join(KEYS)}, got {','.join(words)!r}")
    return FunctionPlayer(name, DepthFirst(game, *words).choose)
