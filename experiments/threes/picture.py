"""Draws a position of a game with the value of every swipe: the README's picture.

`python -m leafwise.experiments.threes.picture` writes `values.png`.
"""

from __future__ import annotations

import io
import sys
from dataclasses import dataclass

from PIL import Image

from leafwise.envs.core.contract.stream import new_stream
from leafwise.envs.registry import game as find_game
from leafwise.envs.threes.draw import draw
from leafwise.experiments.study.config import Study, run
from leafwise.models.files import leaf, write_atomically
from leafwise.search import Search


@dataclass(frozen=True)
class Config(Study):
    """Draws a position with the value of every swipe."""

    leaf: str = "learned"
    """Leaf evaluator: a score, `learned`, or a model's path."""
    depth: int = 3
    """Decisions looked ahead for the values."""
    moves: int = 500
    """Move at which the game, played at depth 1, is drawn."""
    seed: int = 1_000_002
    """Seed of the game."""


def study(config: Config) -> None:
    """Plays to the position and draws it."""
    target, game = config.target("values.png"), find_game("threes")
    evaluator = leaf(game, config.leaf)
    greedy, search = Search(game, evaluator, depth=1), Search(game, evaluator, depth=config.depth)
    stream = new_stream(config.seed)
    state = game.start().settle(stream)
    for _ in range(config.moves):
        action = greedy(state).action
        after = state.play(action).settle(stream) if action is not None else state
        if after.is_terminal:
            break
        state = after
    values = search(state).action_values
    data = io.BytesIO()
    Image.fromarray(draw(state.row, game.tables(), values).rgb()).save(data, "PNG")
    write_atomically(target, data.getvalue())
    print(f"{state}\n{values}\n{target}")


def main(arguments: list[str] | None = None) -> int:
    """Runs the command."""
    return run(Config, study, arguments)


if __name__ == "__main__":
    sys.exit(main())
