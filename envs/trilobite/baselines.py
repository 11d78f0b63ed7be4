"""The article's own player: it walks the whole tree of moves, without sharing or cut-offs, and takes the first best.

Source: "Trilobite: a System of Game Rules and AI" (Lisp). Its tree builder exhausts the stack on large boards; this
one needs a row a ply, but the tree itself still grows as it grows, so a walk has a limit of nodes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from leafwise.envs.core.compile.jit import jit
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.rules import TERMINAL
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.contract.stream import u64
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.play.solver import FunctionPlayer
from leafwise.envs.trilobite.rules import apply_action, current_player, landing_cells, returns
from leafwise.envs.trilobite.tables import MAX_CELLS, make_tables

NODE_LIMIT = 200_000_000
NONE = -2


@dataclass(frozen=True)
class Tree:
    """The whole tree of moves from a position."""

    value: int
    """1, 0 or -1 for player 0."""
    ratings: dict[str, int]
    """Column -> the value after a chip there, for player 0, left to right."""
    nodes: tuple[int, ...]
    """Nodes per ply, the position itself first."""
    leaves: dict[int, int]
    """Value for player 0 -> finished games."""

    @property
    def action(self) -> str:
        """The article's choice for player 0: the first column with the highest rating."""
        return max(self.ratings, key=lambda name: self.ratings[name])


@jit
def walk(S, following, values, nodes, leaves, limit, T):
    """Walks the tree below row 0, depth first; returns its value for player 0, or NONE beyond `limit` nodes."""
    total = 0
    ply = 0
    nodes[0] += 1
    following[0] = 0
    values[0] = NONE
    while True:
        player = current_player(S, u64(ply), T)
        result = NONE
        if player == TERMINAL:
            result = int(returns(S, u64(ply), T))
            leaves[result + 1] += 1
        else:
            landing = landing_cells(S[ply, 0] | S[ply, 1], T)
            column = (u64(1) << (T.stride - u64(1))) - u64(1)
            while following[ply] < T.width and landing & (column << (T.stride * u64(following[ply]))) == u64(0):
                following[ply] += 1
            if following[ply] == T.width:
                result = values[ply]
        if result == NONE:
            total += 1
            if total > limit:
                return NONE
            apply_action(S, u64(ply), following[ply], u64(ply + 1), T)
            following[ply] += 1
            ply += 1
            following[ply] = 0
            values[ply] = NONE
            nodes[ply] += 1
            continue
        if ply == 0:
            return result
        ply -= 1
        best = values[ply]
        minimises = current_player(S, u64(ply), T) == 1
        if best == NONE or (result < best if minimises else result > best):
            values[ply] = result


def tree(state: State, limit: int = NODE_LIMIT) -> Tree:
    """Walks the whole tree below a position.

    Raises ValueError if the game is over there, or if the tree has more than `limit` nodes.
    """
    if state.is_terminal:
        raise UserError(f"minimax: expected a game that is not over, got {str(state)!r}")
    T = make_tables(state.game.options)
    nodes = np.zeros(MAX_CELLS + 2, dtype=np.int64)
    leaves = np.zeros(3, dtype=np.int64)
    nodes[0] = 1
    ratings = {}
    for name in state.legal_names:
        S = state.game.rows(MAX_CELLS + 2)
        S[0] = state.play(name).row
        buffers = np.zeros((2, MAX_CELLS + 2), dtype=np.int64)
        value = int(walk(S, buffers[0], buffers[1], nodes[1:], leaves, limit - int(nodes.sum()), T))
        if value == NONE:
            raise UserError(f"minimax: expected a tree of at most {limit} nodes, got more below {str(state)!r}")
        ratings[name] = value
    best = max if state.current_player == 0 else min
    return Tree(
        value=best(ratings.values()),
        ratings=ratings,
        nodes=tuple(int(n) for n in np.trim_zeros(nodes, "b")),
        leaves={value: int(leaves[value + 1]) for value in (1, -1, 0)},
    )


def choose(state: State, limit: int = NODE_LIMIT) -> int:
    """Returns the action id of the first best column for the player to move; raises ValueError as `tree` does."""
    found = tree(state, limit)
    return state.game.action(next(name for name, rating in found.ratings.items() if rating == found.value))


def minimax_player(game: Game, name: str, words: list[str]) -> FunctionPlayer:
    """Returns the player `minimax`; raises ValueError for options, which it has none of."""
    if words:
        raise UserError(f"expected minimax without options, got {','.join(words)!r}")
    return FunctionPlayer(name, choose)
