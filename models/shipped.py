"""Which model ships for a game, and so which leaf is the best there is."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.errors import UserError
from leafwise.models.tensors import WEIGHTS, load_metadata

LEARNED = "learned"
"""The leaf that the shipped model is."""


def shipped_name(game: Game) -> str:
    """Returns the name of the model that ships for a game: its Gymnasium id in lower case, else the game's name and options.

    Options that no model is tied to (`Game.rule_options`) count as their defaults; only others than those are named, as in
    `trap-size5`.
    """
    free = {name: game.defaults[name] for name in game.rule_options}
    for short, options in game.ids.items():
        if game.variant(**{**game.defaults, **options, **free}) == game.variant(**free):
            return short.lower()
    own = {name: value for name, value in game.given_options.items() if name not in game.rule_options}
    return game.name + re.sub(r"[^A-Za-z0-9.-]", "_", "".join(f"-{name}{value}" for name, value in own.items()))


def shipped_model(game: Game) -> Path | None:
    """Returns the file of the model that ships for a game in this variant; None if there is none."""
    path = WEIGHTS / f"{shipped_name(game)}.safetensors"
    if not path.exists():
        return None
    return path if is_for(game, load_metadata(path)) else None


def is_for(game: Game, told: Mapping[str, Any]) -> bool:
    """Whether a model file that says so of itself is for a game in this variant."""
    options = told.get("options")
    if told.get("game") != game.name or not isinstance(options, dict):
        return False
    seen, expected = (
        {name: value for name, value in given.items() if name not in game.rule_options}
        for given in (options, game.given_options)
    )
    return seen == expected


def need_shipped(game: Game) -> str:
    """Returns the name of the model that ships for a game in this variant; raises ValueError that names those it ships for."""
    if shipped_model(game) is not None:
        return shipped_name(game)
    told = [load_metadata(path) for path in sorted(WEIGHTS.glob(f"{game.name}-*.safetensors"))]
    by_file = [one["options"] for one in told if one.get("game") == game.name and isinstance(one.get("options"), dict)]
    variants = [game.variant(**{**game.defaults, **options}) for options in [*game.ids.values(), *by_file]]
    shipped = dict.fromkeys(repr(variant) for variant in variants if shipped_model(variant) is not None)
    known = ", ".join(shipped) or "none of this game"
    raise UserError(
        f"{game.name}: expected a variant that a model ships for ({known}), got {game!r}; hand-made leaves are "
        f"{', '.join(game.scores)}"
    )


def best_leaf(game: Game) -> str:
    """Returns the name of the best leaf there is: `learned` where a model ships for the variant, else the default score."""
    return game.default_score if shipped_model(game) is None else LEARNED
