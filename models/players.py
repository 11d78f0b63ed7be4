"""Players and priors named by a text, also those with models: what `leafwise.player` and all commands accept."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.arrays import Floats
from leafwise.envs.core.contract.game import Game, Programs
from leafwise.envs.core.errors import UserError, short
from leafwise.envs.core.play.players import split
from leafwise.envs.core.play.program import PROGRAM
from leafwise.envs.registry import game, games
from leafwise.models.files import best_leaf, exists, load_network, model_path
from leafwise.models.leaves import named_leaf
from leafwise.models.sb3 import PolicyPlayer, files_of, load
from leafwise.models.sparse import WITH_ACTIONS
from leafwise.search.mcts import PRIORS, Policy
from leafwise.search.players import BEST, LEVEL, Player
from leafwise.search.players import player as named

KINDS = ("random", BEST, "greedy", "search", "mcts", "rollout", LEVEL, PROGRAM, "sb3")
"""How the texts of players for any game begin."""
TEMPERATURE = 0.2
"""Divides action values, scaled to 0 to 1 at each position, in the softmax that makes them a prior; see `Mcts`."""


def player(text: str, game: Game, seed: int = 0) -> Player:
    """Returns the player that `text` names; raises ValueError that says what was expected.

    `sb3:FILE.zip` plays the policy of a model of Stable-Baselines3; loading one runs code in the file. All others, like `best`, are
    those of `leafwise.search.players`, with any leaf.
    """
    if not isinstance(text, str):
        raise UserError(f"expected a player as text, such as 'greedy', got {short(repr(text))}")
    if text.startswith("sb3:"):
        model, normalize = files_of(text)
        who = PolicyPlayer(game, load(model), text, normalize)
        who.by_name = text, game
        return who
    return named(text, game, seed, named_leaf, policy)


def check_kind(text: str) -> None:
    """Raises ValueError for a text that begins like a player of no game. The rest is checked once the game is known."""
    kind = text.strip().partition(":")[0]
    if kind not in KINDS and not any(kind in game(name).ais for name in games()):
        raise UserError(f"expected a player that begins with {', '.join(KINDS)} or a game's own, got {text!r}")


def runs_code(text: str, game: Game) -> bool:
    """Whether making the player, leaf or prior of a text runs code from outside the package and the game.

    These are models of Stable-Baselines3 (`sb3:` anywhere in the text), `program:COMMAND` and programs named by a path. Only the
    command line and Python may name them: check every text from a file, a request or a model's metadata.
    """
    plain = re.sub("[\"']", "", text)
    kind, _, rest = plain.partition(":")
    programs = game.ais.get(kind)
    return "sb3:" in plain or kind == PROGRAM or (isinstance(programs, Programs) and programs.runs_code(split(rest)))


def best_player(game: Game) -> str:
    """Returns the full text of the player `best`: its search, with the best leaf and the default limits."""
    search, leaf = game.search, best_leaf(game)
    limits = {"search": {"depth": search.depth, "nodes": search.nodes}, "mcts": {"simulations": search.simulations}}
    given = limits.get(search.best, {}).items()
    return ",".join([f"{search.best}:{leaf}", *(f"{name}={limit}" for name, limit in given if limit)])


def policy(game: Game, name: str) -> Policy:
    """Returns the prior that a text names.

    `sb3:FILE.zip`: the probabilities or action values of a model of Stable-Baselines3; loading one runs code in the file. A run
    folder or model file: a network with outputs for actions, as `dqn` and `alphazero` train it. Raises ValueError for others.
    """
    if name.startswith("sb3:"):
        model, normalize = files_of(name)
        player = PolicyPlayer(game, load(model), name, normalize)
        scaled = by_values if player.values_actions else by_logits
        return lambda rows, T: padded(game, scaled(player.preferences(rows)))
    if not exists(name):
        raise UserError(
            f"{game.name}: expected a prior among {', '.join(PRIORS)}, sb3:FILE.zip or a model's path, got {name!r}"
        )
    network: Any = load_network(model_path(name), game)
    if not hasattr(network, "action_values") or network.head not in WITH_ACTIONS:
        raise UserError(
            f"{game.name}: expected a prior with a value for each action, got {name!r}, which has one value"
        )
    T = game.tables(network.evaluator(name))
    weights = by_logits if network.head == "policy" else by_values
    return lambda rows, _: padded(game, weights(network.action_values(rows, T)))


def padded(game: Game, weights: Floats) -> Floats:
    """Pads the weights of a variant's actions [n, A] with 0 to [n, game.max_actions]."""
    return np.pad(weights, ((0, 0), (0, game.max_actions - weights.shape[1])))


def by_logits(logits: NDArray[np.floating[Any]]) -> Floats:
    """Returns the softmax of logits, [n, A]; -inf: illegal.

    Raises ValueError for nan, infinity, or a row without a legal action.
    """
    shifted = logits.astype(np.float64)
    weights: Floats = np.exp(shifted - _greatest(shifted))
    return weights / weights.sum(axis=1, keepdims=True)


def by_values(values: NDArray[np.floating[Any]]) -> Floats:
    """Returns a prior [n, A] of action values: their softmax after scaling each row to 0 to 1; -inf: illegal.

    Raises ValueError as `by_logits` does.
    """
    numbers: Floats = values.astype(np.float64)
    legal = numbers != -np.inf
    least = np.where(legal, numbers, np.inf).min(axis=1, keepdims=True)
    span = _greatest(numbers) - least
    scaled = np.where(legal, (numbers - least) / np.where(span > 0, span, 1), -np.inf)
    return by_logits(scaled / TEMPERATURE)


def _greatest(numbers: Floats) -> Floats:
    """Returns the largest number of each row, [n, 1]; raises ValueError if one is not finite."""
    greatest: Floats = numbers.max(axis=1, keepdims=True)
    for wrong in greatest[~np.isfinite(greatest)]:
        raise UserError(f"expected a policy with a finite number for the best action of each decision, got {wrong:g}")
    return greatest
