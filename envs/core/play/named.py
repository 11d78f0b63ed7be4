"""The players that a game's room brings along, named by a text: `minimax`, `dfs:canonical`, `solver:level=easy`."""

from __future__ import annotations

import re
from typing import Any

from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.parts import OwnSearch


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
