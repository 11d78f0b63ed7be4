"""Draws a position of Threes with the value of every swipe, in people's units if they are known.

`python -m leafwise.experiments.threes.picture` writes `values.png`.
"""

from __future__ import annotations

import io
from dataclasses import dataclass

from PIL import Image

from leafwise.envs.core.pictures import captioned
from leafwise.envs.core.play.gamefile import pictured, play_game
from leafwise.envs.registry import game as find_game
from leafwise.envs.threes.draw import draw
from leafwise.experiments.study import Study, command
from leafwise.models.files import write_atomically
from leafwise.models.leaves import named_leaf
from leafwise.models.units import PLAIN, units_of
from leafwise.search import Search
from leafwise.search.players import player


@dataclass(frozen=True)
class Config(Study):
    """Draws a position with the value of every swipe."""

    leaf: str = "learned"
    """Leaf: a score, `learned`, or a model's path."""
    depth: int = 3
    """Depth of the search for the values."""
    moves: int = 500
    """Move of the drawn position, in a game played at depth 1."""
    seed: int = 1_000_002
    """Seed of the game."""


def study(config: Config) -> None:
    """Plays to the position and draws it."""
    target, game = config.target("values.png"), find_game("threes")
    who = player(f'search:"{config.leaf}",depth=1', game, leaf=named_leaf)
    states = pictured(play_game(game, [who], config.seed, config.moves).record())
    state = next(state for state in reversed(states) if not state.is_terminal)
    search = Search(game, named_leaf(game, config.leaf), depth=config.depth)
    units, action_values = units_of(game, config.leaf), search(state).action_values
    values = {name: units(value) for name, value in action_values.items()} if units else action_values
    picture = Image.fromarray(draw(state.row, game.tables(), values).rgb())
    data = io.BytesIO()
    captioned(picture, f"numbers: {units.name if units else PLAIN}").save(data, "PNG")
    write_atomically(target, data.getvalue())
    print(f"{state}\n{values}\n{target}")


main = command(Config, study)

if __name__ == "__main__":
    raise SystemExit(main())
