"""The players that a game's room brings along, named by a text: `minimax`, `dfs:canonical`, `solver:level=easy`."""

from __future__ import annotations

import re
from typing import Any

from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.parts import OwnSearch, Programs


class UnknownPlayer(ValueError):
    """No player goes by the name at the front of a text."""


def split(text: str) -> list[str]:
    """Splits at commas outside quotes: a path that holds a comma or colon is quoted."""
    words = re.findall(r"""(?:"[^"]*"|'[^']*'|[^,"'])+""", text)
    return [re.sub(r"""["']""", "", word) for word in words]


def named_ai(game: Game, text: str) -> Any:
    """Returns the room's own player that `text` names, or None if it names none; raises ValueError for words it does not know.

    What it returns has `name` and `choose(state)`; one that draws has its random numbers in `stream`, an array [2] of
    `leafwise.envs.core.contract.stream` that its user may replace.
    """
    kind, _, rest = text.partition(":")
    make = game.ais.get(kind)
    if make is None or isinstance(make, OwnSearch):
        return None
    try:
        found = make(game, kind, split(rest))
    except ValueError as problem:
        raise ValueError(f"player {text!r}: {problem}") from None
    found.name = text
    return found


def own_programs(game: Game) -> dict[str, tuple[str, ...]]:
    """Returns the players of a game's room: their names, and of each the texts that need nothing said besides."""
    return {
        name: tuple(f"{name}:{word}" for word in made.words) if isinstance(made, Programs) else (name,)
        for name, made in game.ais.items()
    }


def own_level(game: Game, level: str) -> str | None:
    """Returns the text of the player that is of a level in this game alone; None where the level is as everywhere."""
    programs = [(name, made) for name, made in game.ais.items() if isinstance(made, Programs)]
    return next((f"{name}:{made.levels[level]}" for name, made in programs if level in made.levels), None)
