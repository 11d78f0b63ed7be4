"""The article's own solver: a depth-first search for "does player 0 win?", with a choice of keys for stored boards.

Edges are tried in the order of their numbers, up to the first that decides. Every position that the search finishes (not those
with a triangle) is stored once, in one table per number of coloured edges. Source: "The best AI for cassis".
"""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from leafwise.envs.cassis.solver import canonical, make_scratch
from leafwise.envs.cassis.tables import edges, make_tables
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.play.solver import FunctionPlayer
from leafwise.envs.core.ranges import need_among

KEYS = ("board", "degree", "colours", "canonical")
"""The key of a stored board: the board itself; the board with points sorted by degree, highest first, ties in point order;
sorted by degree, then by the number of player 0's edges; its true canonical form.
"""


class DepthFirst:
    """The search and its tables; the first question fills a table, which serves all later ones."""

    def __init__(self, game: Game, key: str = "colours") -> None:
        need_among(key, KEYS, "key", "cassis")
        self.game, self.key = game, key
        self.tables = T = make_tables(game.options)
        bits = self._bits = [[1 << max(e, 0) for e in line[: T.n]] for line in T.edge_of.tolist()]
        """Points [n, n] -> the edge between them as a bit."""
        self._pairs = [[bits[a][c] | bits[b][c] for c in range(T.n) if c not in (a, b)] for a, b in edges(T.n)]
        """For each edge the pairs of edges, as bits, that form a triangle with it."""
        self.stored: list[dict[Hashable, bool]] = [{} for _ in range(T.edges + 1)]
        """Number of coloured edges -> key -> whether player 0 wins."""

    def player_zero_wins(self, state: State) -> bool:
        """Whether player 0 wins from a position, finished or not."""
        return state.returns > 0 if state.is_terminal else self._wins(int(state.row[0]), int(state.row[1]))

    def choose(self, state: State) -> int:
        """Returns the first edge that decides; if there is none, the first that closes no triangle, or the first of all."""
        safe: list[int] = []
        for edge in state.legal_actions:
            after = state.play(edge)
            if after.is_terminal and after.returns != 0:
                continue
            safe.append(edge)
            if self.player_zero_wins(after) == (state.current_player == 0):
                return edge
        return [*safe, state.legal_actions[0]][0]

    def _key(self, first: int, second: int) -> Hashable:
        """Returns the key of a board."""
        if self.key == "board":
            return first, second
        if self.key == "canonical":
            return int(canonical(np.uint64(first), np.uint64(second), make_scratch(), self.tables))
        points = range(self.tables.n)
        ends = [sum(self._bits[a][b] for b in points if b != a) for a in points]
        ranks = [(-((first | second) & at).bit_count(), -(first & at).bit_count()) for at in ends]
        order = sorted(points, key=lambda point: ranks[point][: 1 + (self.key == "colours")])
        names = [(self._bits[a][b], self._bits[order[a]][order[b]]) for a in points for b in range(a)]
        return tuple(sum(new for new, old in names if side & old) for side in (first, second))

    def _wins(self, first: int, second: int) -> bool:
        """Whether player 0 wins: an edge of player 0's decides if player 0 moves, or none of player 1's if player 1 does."""
        coloured = first | second
        table = self.stored[coloured.bit_count()]
        key = self._key(first, second)
        if key not in table:
            is_zero = coloured.bit_count() % 2 == 0
            edges_of_mover = first if is_zero else second
            table[key] = is_zero == any(
                self._wins(first | is_zero << e, second | (not is_zero) << e) == is_zero
                for e in range(self.tables.edges)
                if not coloured >> e & 1 and not any(edges_of_mover & two == two for two in self._pairs[e])
            )
        return table[key]


def dfs_player(game: Game, name: str, words: list[str]) -> FunctionPlayer:
    """Returns the player `dfs`, or `dfs:KEY`; raises ValueError for an unknown key."""
    if len(words) > 1:
        raise UserError(f"expected dfs:KEY with a key among {', '.join(KEYS)}, got {','.join(words)!r}")
    return FunctionPlayer(name, DepthFirst(game, *words).choose)
