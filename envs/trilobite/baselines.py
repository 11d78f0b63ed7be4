"""The article's own player: it walks the whole tree of moves, without sharing or cut-offs, and takes the first best.

Source: "Trilobite: a System of Game Rules and AI" (Lisp). Its tree builder exhausts the stack on large boards. This walk needs
one row per ply, but the tree is as large as ever, so a walk has a limit of nodes.
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
from leafwise.envs.trilobite.rules import apply_action, current_player, legal_actions, mover, returns
from leafwise.envs.trilobite.tables import MAX_CELLS, MAX_SIDE, make_tables

NODE_LIMIT = 200_000_000
NONE = -2


@dataclass(frozen=True)
class MoveTree:
    """The values and sizes of the whole tree of moves from a position."""

    value: int
    """1, 0 or -1 for player 0."""
    ratings: dict[str, int]
    """Column -> the value after a chip there, for player 0, left to right."""
    nodes: tuple[int, ...]
    """Nodes per ply, the position itself first."""
    leaves: dict[int, int]
    """Value for player 0 -> number of finished games."""


@jit
def walk(S, A, frames, nodes, leaves, limit, T):
    """Walks the tree below row 0, depth first; returns its value for player 0, or NONE beyond `limit` nodes."""
    ply = total = 0
    while True:
        # A new position: its value so far, its number of moves, and the next one.
        nodes[ply] += 1
        value, moves = NONE, 0
        if current_player(S, u64(ply), T) == TERMINAL:
            value = int(returns(S, u64(ply), T))
            leaves[value + 1] += 1
        else:
            moves = legal_actions(S, u64(ply), A[ply], T)
        frames[ply, 0], frames[ply, 1], frames[ply, 2] = value, moves, 0
        # Goes up from positions without moves left.
        while frames[ply, 2] == frames[ply, 1]:
            value = frames[ply, 0]
            if ply == 0:
                return value
            ply -= 1
            best = frames[ply, 0]
            if best == NONE or (value < best if mover(S, u64(ply)) else value > best):
                frames[ply, 0] = value
        # The next move.
        total += 1
        if total > limit:
            return NONE
        apply_action(S, u64(ply), A[ply, frames[ply, 2]], u64(ply + 1), T)
        frames[ply, 2] += 1
        ply += 1


def tree(state: State, limit: int = NODE_LIMIT) -> MoveTree:
    """Walks the whole tree below a position.

    Raises ValueError if the game is over there, or if the tree has more than `limit` nodes.
    """
    if state.is_terminal:
        raise UserError(f"minimax: expected a game that is not over, got {str(state)!r}")
    game, plies = state.game, MAX_CELLS + 2
    nodes, leaves = np.zeros(plies, dtype=np.int64), np.zeros(3, dtype=np.int64)
    nodes[0] = 1
    ratings = {}
    for name in state.legal_names:
        S = game.rows(plies)
        S[0] = state.play(name).row
        A, frames = np.zeros((plies, MAX_SIDE), dtype=np.int64), np.zeros((plies, 3), dtype=np.int64)
        value = int(walk(S, A, frames, nodes[1:], leaves, limit - int(nodes.sum()), make_tables(game.options)))
        if value == NONE:
            raise UserError(f"minimax: expected a tree of at most {limit} nodes, got more below {str(state)!r}")
        ratings[name] = value
    return MoveTree(
        value=(min if state.current_player else max)(ratings.values()),
        ratings=ratings,
        nodes=tuple(np.trim_zeros(nodes, "b").tolist()),
        leaves={value: int(leaves[value + 1]) for value in (1, -1, 0)},
    )


def choose(state: State, limit: int = NODE_LIMIT) -> int:
    """Returns the action id of the first best column for the player to move; raises ValueError as `tree` does."""
    walked = tree(state, limit)
    return state.game.action(next(name for name, rating in walked.ratings.items() if rating == walked.value))


def minimax_player(game: Game, name: str, words: list[str]) -> FunctionPlayer:
    """Returns the player `minimax`; raises ValueError for options, since it has none."""
    if words:
        raise UserError(f"expected minimax without options, got {','.join(words)!r}")
    return FunctionPlayer(name, choose)
