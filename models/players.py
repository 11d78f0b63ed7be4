"""Players named by a text, those with models among them: what `leafwise.player` and every command take."""

from __future__ import annotations

import re

from leafwise.envs.core.contract.game import Game, Programs
from leafwise.envs.core.play.players import split
from leafwise.models.leaves import named_leaf
from leafwise.models.shipped import best_leaf
from leafwise.search.mcts import Policy
from leafwise.search.players import Player
from leafwise.search.players import player as named


def player(text: str, game: Game, seed: int = 0) -> Player:
    """Returns the player that `text` names; raises ValueError with what was expected.

    `sb3:FILE.zip` acts by the policy of a model of Stable-Baselines3 (loading one runs code kept in it), all others,
    `best` among them, are those of `leafwise.search.players`, with any leaf.
    """
    if text.startswith("sb3:"):
        from leafwise.models.sb3 import PolicyPlayer, files_of, load

        model, normalize = files_of(text)
        who = PolicyPlayer(game, load(model), text, normalize)
        who.by_name = text, game
        return who
    return named(text, game, seed, named_leaf, policy)


def runs_code(text: str, game: Game) -> bool:
    """Whether making the player, leaf or prior that a text names runs code that is no part of the package or of the game.

    Those are models of Stable-Baselines3 (`sb3:`, wherever it stands in the text) and programs that a path names. Only the command
    line and Python may name them: ask this of every text that comes from a file, a request or a model's metadata.
    """
    plain = re.sub("[\"']", "", text)
    kind, _, rest = plain.partition(":")
    programs = game.ais.get(kind)
    return "sb3:" in plain or (isinstance(programs, Programs) and programs.runs_code(split(rest)))


def best_player(game: Game) -> str:
    """Returns what the player `best` stands for: its search with the best leaf there is, and the limits it has unless told."""
    own, found = game.search, best_leaf(game)
    limits = {"search": {"depth": own.depth, "nodes": own.nodes}, "mcts": {"simulations": own.simulations}}
    told = limits.get(own.best, {}).items()
    return ",".join([f"{own.best}:{found}", *(f"{name}={limit}" for name, limit in told if limit)])


def policy(game: Game, name: str) -> Policy:
    """Returns a trained policy or Q-network as a prior; see `leafwise.models.policies.policy`."""
    from leafwise.models.policies import policy as made  # which knows all networks

    return made(game, name)
