"""Draws a position with the network's value of every action, so that its progress is visible in TensorBoard."""

from __future__ import annotations

import numpy as np

from leafwise.envs.core.arrays import Bytes
from leafwise.envs.core.contract.evaluator import Evaluator
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.contract.stream import new_stream
from leafwise.envs.core.pictures import text_picture
from leafwise.search.engine import Search
from leafwise.training.runs import SELECTION_SEED
from leafwise.training.runs.tags import figure

MOST_DECISIONS, MOST_NODES, MOST_ACTIONS = 400, 1000, 12
"""Maximum numbers: decisions of the random game, nodes of the search, actions in the picture."""


def middle_of(game: Game) -> State:
    """Returns a fixed position half way through a random game."""
    stream, rng = new_stream(SELECTION_SEED), np.random.default_rng(SELECTION_SEED)
    state = game.new(seed=SELECTION_SEED)
    visited: list[State] = []
    while not state.is_terminal and len(visited) < MOST_DECISIONS:
        visited.append(state)
        state = state.play(int(rng.choice(state.legal_actions))).settle(stream)
    return visited[len(visited) // 2]


def picture(state: State, leaf: Evaluator) -> Bytes:
    """Returns a picture of the position above the actions' values at depth 1, best first, uint8 [height, width, 3].

    A game without a picture shows its text.
    """
    values = Search(state.game, leaf, depth=1, nodes=MOST_NODES)(state).action_values
    best = sorted(values.items(), key=lambda item: -item[1])
    lines = [f"{name}: {figure(value)}" for name, value in best[:MOST_ACTIONS]]
    left = len(best) - MOST_ACTIONS
    table = text_picture("\n".join(lines + [f"and {left} more"] * (left > 0)))
    parts = [state.rgb(), table.rgb()]
    width = max(part.shape[1] for part in parts)
    wide = [np.pad(part, ((0, 0), (0, width - part.shape[1]), (0, 0)), constant_values=255) for part in parts]
    return np.concatenate(wide)
