"""Players and priors named by a text, those with models among them: what `leafwise.player` and every command take."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.arrays import Floats
from leafwise.envs.core.contract.game import Game, Programs
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.play.players import split
from leafwise.envs.core.play.program import PROGRAM
from leafwise.models.files import best_leaf, is_there, load_network, model_path
from leafwise.models.leaves import named_leaf
from leafwise.models.sb3 import PolicyPlayer, files_of, load
from leafwise.models.sparse import WITH_ACTIONS
from leafwise.search.mcts import PRIORS, Policy
from leafwise.search.players import Player
from leafwise.search.players import player as named

TEMPERATURE = 0.2
"""Divides action values, scaled to 0 to 1 by those of the position, where they become a prior; as `Mcts` does with its own."""


def player(text: str, game: Game, seed: int = 0) -> Player:
    """Returns the player that `text` names; raises ValueError with what was expected.

    `sb3:FILE.zip` acts by the policy of a model of Stable-Baselines3 (loading one runs code kept in it), all others,
    `best` among them, are those of `leafwise.search.players`, with any leaf.
    """
    if text.startswith("sb3:"):
        model, normalize = files_of(text)
        who = PolicyPlayer(game, load(model), text, normalize)
        who.by_name = text, game
        return who
    return named(text, game, seed, named_leaf, policy)


def runs_code(text: str, game: Game) -> bool:
    """Whether making the player, leaf or prior that a text names runs code from outside the package and the game.

    Those are models of Stable-Baselines3 (`sb3:`, wherever it stands in the text), `program:COMMAND` and programs that a path
    names. Only the command line and Python may name them: ask this of every text that comes from a file, a request or a model's
    metadata.
    """
    plain = re.sub("[\"']", "", text)
    kind, _, rest = plain.partition(":")
    programs = game.ais.get(kind)
    return "sb3:" in plain or kind == PROGRAM or (isinstance(programs, Programs) and programs.runs_code(split(rest)))


def best_player(game: Game) -> str:
    """Returns what the player `best` stands for: its search with the best leaf there is, and the limits it has unless told."""
    own, found = game.search, best_leaf(game)
    limits = {"search": {"depth": own.depth, "nodes": own.nodes}, "mcts": {"simulations": own.simulations}}
    told = limits.get(own.best, {}).items()
    return ",".join([f"{own.best}:{found}", *(f"{name}={limit}" for name, limit in told if limit)])


def policy(game: Game, name: str) -> Policy:
    """Returns what a text names: `sb3:FILE.zip`, by the probabilities or the action values of a model of Stable-Baselines3
    (loading one runs code kept in it), or a run folder or model file of a network that says something of each action, like those
    of `dqn` and `alphazero`.

    Raises ValueError for anything else.
    """
    if name.startswith("sb3:"):
        model, normalize = files_of(name)
        player = PolicyPlayer(game, load(model), name, normalize)
        scaled = by_values if player.values_actions else by_logits
        return lambda rows, T: of_all(game, scaled(player.preferences(rows)))
    if not is_there(name):
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
    return lambda rows, _: of_all(game, weights(network.action_values(rows, T)))


def of_all(game: Game, weights: Floats) -> Floats:
    """Returns the weights of a variant's actions [n, A] with those of no variant's action, 0, behind: [n, game.max_actions]."""
    return np.pad(weights, ((0, 0), (0, game.max_actions - weights.shape[1])))


def by_logits(logits: NDArray[np.floating[Any]]) -> Floats:
    """Returns probabilities [n, A] of their logarithms, with any constant; -inf: illegal.

    Raises ValueError for nan, infinity, or a row without a legal action.
    """
    shifted = logits.astype(np.float64)
    weights: Floats = np.exp(shifted - _greatest(shifted))
    return weights / weights.sum(axis=1, keepdims=True)


def by_values(values: NDArray[np.floating[Any]]) -> Floats:
    """Returns a prior [n, A] from action values: their softmax, scaled to 0 to 1 by the least and the greatest; -inf: illegal.

    Raises ValueError as `by_logits` does.
    """
    numbers: Floats = values.astype(np.float64)
    legal = numbers != -np.inf
    least = np.where(legal, numbers, np.inf).min(axis=1, keepdims=True)
    span = _greatest(numbers) - least
    scaled = np.where(legal, (numbers - least) / np.where(span > 0, span, 1), -np.inf)
    return by_logits(scaled / TEMPERATURE)


def _greatest(numbers: Floats) -> Floats:
    """Returns the greatest number of each row, [n, 1]; raises ValueError where one is not finite."""
    found: Floats = numbers.max(axis=1, keepdims=True)
    for unfit in found[~np.isfinite(found)]:
        raise UserError(f"expected a policy with a finite number for the best action of each decision, got {unfit:g}")
    return found
