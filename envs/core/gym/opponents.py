"""Who sits on the other side of an environment: a compiled function where there can be one, else a player that is asked.

Compiled are `random`, and `greedy` with any leaf that has compiled code, a trained network too: it breaks ties at random from the
episode's stream (`greedy:ties=first` plays the first best action). Every other player is asked in
Python: those named by a text, `Player` objects, and functions of a state.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from leafwise.envs import registry
from leafwise.envs.core.contract.evaluator import Evaluator
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.play.players import (
    UnknownPlayer,
    compiled_greedy,
    compiled_sampled,
    own_programs,
    random_opponent,
    split,
)


class Chooser(Protocol):
    """Chooses actions. One that draws has its random numbers in `stream`, which becomes the environment's."""

    def choose(self, state: State) -> int:
        """Returns the id (or name) of a legal action at a decision."""


Opponent = str | Evaluator | Chooser | Callable[[State], int]
"""What `opponent=` takes: a player's text, an evaluator, an object with `choose(state)`, or a function of the state. An evaluator's
actions are drawn from its policy where it has one, else chosen as `greedy` does."""


class Seated(NamedTuple):
    """An opponent as the step calls it."""

    act: Callable[..., Any] | None = None
    """`(S, i, o, A, P, R, T)` -> the action at row i; rows and P from o on and A are scratch, R [2] the stream.

    None: there is no opponent."""
    evaluator: Evaluator | None = None
    """What it evaluates with, if `T` is to hold its weights."""
    asked: bool = False
    """Whether `act` is a Python function."""


def seated(game: Game, opponent: Opponent | None) -> Seated:
    """Returns an opponent as the step calls it; raises ValueError, listing what there is, for what is none."""
    if game.players == 1:
        return Seated()
    if isinstance(opponent, str):
        return _named(game, opponent)
    if isinstance(opponent, Evaluator):
        by_policy = opponent.policy is not None
        return Seated((compiled_sampled if by_policy else compiled_greedy)(game, opponent), opponent)
    if callable(getattr(opponent, "choose", None)):
        return Seated(_asking(game, opponent, getattr(opponent, "name", type(opponent).__name__)), asked=True)
    if callable(opponent):
        return Seated(_asking(game, _Function(opponent), getattr(opponent, "__name__", "function")), asked=True)
    raise UserError(_expected(game, opponent))


def check_picklable(game: Game, opponent: Opponent | None) -> None:
    """Raises ValueError for an opponent that cannot be copied or sent to another process."""
    if isinstance(opponent, str):
        return
    try:
        pickle.dumps(opponent)
    except Exception as problem:  # pickle raises whatever the object's own methods do
        raise UserError(
            f"{game.name}: expected an opponent that can be pickled, or named by a text, to copy the environment, "
            f"got {type(opponent).__name__}: {problem}"
        ) from None


def _named(game: Game, text: str) -> Seated:
    """Returns the opponent that a player's text names."""
    kind, _, rest = text.partition(":")
    words = split(rest)
    try:
        if text.endswith(":"):
            raise UnknownPlayer
        if text == "random":
            return Seated(random_opponent(game.rules, game.room))
        if kind == "greedy" and len(words) < 2 and "ties=first" not in words:
            words = [word for word in words if word != "ties=random"]
            evaluator = registry.leaf(words[0], game) if words else game.score()
            if evaluator.value is not None and not evaluator.python_only:
                return Seated(compiled_greedy(game, evaluator), evaluator)
        return Seated(_asking(game, registry.player(text, game), text), asked=True)
    except UnknownPlayer:
        raise UserError(_expected(game, text)) from None
    except UserError as problem:
        raise UserError(f"{game.name}: opponent {text!r}: {str(problem).removeprefix(f'{game.name}: ')}") from None


def _expected(game: Game, got: object) -> str:
    """Returns the line that lists what there is."""
    scores = [f"greedy:{name}" for name in game.scores]
    own = [name for names in own_programs(game).values() for name in names]
    known = ", ".join(["random", "greedy", *scores, *own, *registry.MORE_PLAYERS, "level:easy"])
    return f"{game.name}: expected opponent among {known}, a Player or a function of the state, got {got!r}"


class _Function:
    """A function of the state as a player."""

    def __init__(self, choose: Callable[[State], int]) -> None:
        self.choose = choose


def _asking(game: Game, player: Any, name: str) -> Callable[..., int]:
    """Returns a player in the form of a compiled opponent; one with a `stream` draws from the environment's."""
    draws = hasattr(player, "stream")

    def opponent(S: Any, i: Any, o: Any, A: Any, P: Any, R: Any, T: Any) -> int:
        if draws:
            player.stream = R
        state = State.unchecked(game, S[i])
        choice = player.choose(state)
        try:
            action = game.action(choice)
        except UserError:
            action = -1
        if action not in state.legal_actions:
            raise UserError(f"{game.name}: expected a legal action from opponent {name!r}, got {choice!r} at {state}")
        return action

    return opponent
