"""Players named by a text, those with models among them: what `leafwise.player` and every command take."""

from __future__ import annotations

from leafwise.envs.core.contract.game import Game
from leafwise.models.files import game_of, leaf, model_path, shipped_name
from leafwise.search.players import Player
from leafwise.search.players import player as named


def player(text: str, game: Game, seed: int = 0) -> Player:
    """Returns the player that `text` names; raises ValueError with what was expected.

    `sb3:FILE.zip` acts by the policy of a model of Stable-Baselines3 (loading one runs code kept in it), `best` searches with
    the network that ships for this variant, else with the default score; all others are those of `leafwise.search.players`,
    with any leaf.
    """
    if text.startswith("sb3:"):
        from leafwise.models.sb3 import PolicyPlayer, files_of, load

        model, normalize = files_of(text)
        return PolicyPlayer(game, load(model), text, normalize)
    if text == "best":
        found = named("search:learned" if has_shipped(game) else "search", game, seed, leaf)
        found.name = text
        return found
    return named(text, game, seed, leaf)


def has_shipped(game: Game) -> bool:
    """Whether a model ships for this very variant."""
    name = shipped_name(game)
    if not model_path(name).exists():
        return False
    free = {option: game.defaults[option] for option in game.rule_options}
    return game_of(name).variant(**free) == game.variant(**free)
