"""The players that a game's room brings along, named by a text: `minimax`, `dfs:canonical`, `solver:level=easy`."""

from __future__ import annotations

import copyreg
import re
from typing import Any

from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.parts import OwnSearch, Programs
from leafwise.envs.core.errors import UserError, asked_of_plugin


class UnknownPlayer(UserError):
    """No player goes by the name at the front of a text."""


class ByName:
    """A player that is pickled and copied as the text that names it, and where it is in its random numbers."""

    by_name: tuple[str, Game] | None = None
    """The text and the game, where `leafwise.player` made it of them; None where somebody else did."""

    def __reduce__(self) -> Any:
        if self.by_name is None:
            return copyreg.__newobj__, (type(self),), vars(self)  # type: ignore[attr-defined]
        stream = getattr(self, "stream", None)
        return player_by_name, (*self.by_name, None if stream is None else stream.copy())


def player_by_name(text: str, game: Game, stream: Any) -> Any:
    """Returns the player that a text names, with random numbers from `stream` on, None where it draws none."""
    from leafwise.envs import registry

    who = registry.player(text, game)
    if stream is not None:
        who.stream = stream
    return who


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
    found = asked_of_plugin(lambda: make(game, kind, split(rest)), f"player {text!r}: ")
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
