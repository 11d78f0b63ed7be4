"""Players without a search, chosen by name, and the loop that plays a game: greedy, by a policy, random, and a room's own.

A text names a room's own player: `minimax`, `dfs:canonical`, `solver:level=easy`. The greedy choice is the action with the
highest expected value after the following chance stages. It looks one decision ahead with an `Evaluator`, in compiled code
without recursion: the open chance stages of one action are on a stack of rows.

`resolve_opponent` prepares the opponent of an environment: a compiled function if possible, else a player in Python. Compiled
are `random`, and `greedy` with any compiled leaf, also of a trained network. Greedy breaks ties at random from the episode's
stream (`greedy:ties=first` plays the first best action). All other players run in Python: those named by other texts, `Player`
objects, and functions of a state.
"""

from __future__ import annotations

import copyreg
import pickle
import re
from collections.abc import Callable
from functools import cache
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple, Protocol

import numpy as np

from leafwise.envs import registry
from leafwise.envs.core.compile.intrinsics import softmax_term
from leafwise.envs.core.compile.jit import bind
from leafwise.envs.core.contract.evaluator import (
    DECISION,
    EVALUATE,
    Evaluator,
    LeafSpec,
    finished_value,
    for_player_zero,
    is_asked,
    leaf_spec,
)
from leafwise.envs.core.contract.game import Game, OwnSearch, Programs
from leafwise.envs.core.contract.rules import CHANCE, TERMINAL, Compiled, Rules
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.contract.stream import below, u64, uniform
from leafwise.envs.core.errors import UserError, asked_of_plugin


class UnknownPlayer(UserError):
    """No player has the name at the front of a text."""


class ByName:
    """A player that is pickled and copied as the text that names it, and its position in its random stream."""

    by_name: tuple[str, Game] | None = None
    """The text and the game, if `leafwise.player` made it; otherwise None."""

    def __reduce__(self):
        if self.by_name is None:
            return copyreg.__newobj__, (type(self),), vars(self)  # type: ignore[attr-defined]
        stream = getattr(self, "stream", None)
        return player_by_name, (*self.by_name, None if stream is None else stream.copy())


def player_by_name(text: str, game: Game, stream: Any) -> Any:
    """Returns the player that a text names, drawing from `stream`; None for a player that draws nothing."""
    who = registry.player(text, game)
    if stream is not None:
        who.stream = stream
    return who


def split(text: str) -> list[str]:
    """Splits at commas outside quotes: a path with a comma or colon is quoted."""
    words = re.findall(r"""(?:"[^"]*"|'[^']*'|[^,"'])+""", text)
    return [re.sub(r"""["']""", "", word) for word in words]


def named_ai(game: Game, text: str) -> Any:
    """Returns the room's own player that `text` names; None if there is none. Raises ValueError for unknown words after the
    name.

    The player has `name` and `choose(state)`. One that draws has its random numbers in `stream`, an array [2] of
    `leafwise.envs.core.contract.stream` that its user may replace.
    """
    kind, _, rest = text.partition(":")
    make = game.ais.get(kind)
    if make is None or isinstance(make, OwnSearch):
        return None
    player = asked_of_plugin(lambda: make(game, kind, split(rest)), f"player {text!r}: ")
    player.name = text
    return player


def room_players(game: Game) -> dict[str, tuple[str, ...]]:
    """Returns the players of a game's room: their names, and for each the texts that need no further options."""
    return {
        name: tuple(f"{name}:{word}" for word in made.words) if isinstance(made, Programs) else (name,)
        for name, made in game.ais.items()
    }


def room_level(game: Game, level: str) -> str | None:
    """Returns the text of a game's own player for a level; None if the level is the same as in other games."""
    programs = [(name, made) for name, made in game.ais.items() if isinstance(made, Programs)]
    return next((f"{name}:{made.levels[level]}" for name, made in programs if level in made.levels), None)


def play_out(
    state: State,
    choose: Callable[[State], int],
    settle: Callable[[State], State] = lambda state: state,
    play: Callable[[State, int], State] = State.play,
    most: int = 0,
) -> State:
    """Plays a game from a decision or a chance stage to its end, and returns the last position.

    `choose` returns the action at each decision. `settle` draws chance up to the next decision, by `State.settle` or a dealer
    (default: for games without chance). `play` returns the position after an action, and may record it. After `most` decisions
    the game stops there (0: no limit).
    """
    state = settle(state)
    for _ in range(most) if most else count():
        if state.is_terminal:
            break
        state = settle(play(state, choose(state)))
    return state


def rows_needed(game: Game) -> int:
    """Returns the number of scratch rows of one greedy choice: the action's, and every open outcome."""
    return 1 + max(
        game.max_stages * game.max_outcomes, game.max_actions * (game.rules.chance.make_expected is not None)
    )


def compiled_greedy(game: Game, evaluator: Evaluator) -> Compiled:
    """Returns the compiled `greedy_action` of a game and a hand-made score."""
    spec = leaf_spec(evaluator, game.stages)
    return make_greedy(game.rules, evaluator.compiled, spec, game.room)


@cache
def make_greedy(rules: Rules, value: Compiled, spec: LeafSpec, room: Path) -> Compiled:
    """Compiles `greedy_action` for an evaluator's `value`."""
    current_player, stage, returns = rules.current_player, rules.stage, rules.returns
    legal_actions, apply_action, chance_outcomes = rules.legal_actions, rules.apply_action, rules.chance_outcomes
    stages, to_go, rule = spec.stages, spec.to_go, spec.rule
    win, draw, loss = spec.win, spec.draw, spec.loss

    @bind(room, inline=True)
    def row_value(S, i, player, T):
        """Returns player 0's value of row i, at which `player` acts (or TERMINAL, or CHANCE at a stage of the evaluator)."""
        if player == TERMINAL and rule != EVALUATE:
            return finished_value(rule, win, draw, loss, returns(S, i, T))
        row_worth = for_player_zero(value(S, i, T), player)
        if to_go:
            row_worth += returns(S, i, T)
        return row_worth

    @bind(room, inline=True)
    def expected_value(S, o, P, T):
        """Returns player 0's expected value of row o of S [rows, width]; rows and P [rows] from o on are scratch."""
        total = 0.0
        top = o
        P[top] = 1.0
        while True:
            share = P[top]
            if share == 0.0:  # already counted: 0 marks it, since probabilities are positive
                if top == o:
                    return total
                top -= u64(1)
                continue
            # A chance row pushes its outcomes, each with its share; other rows are valued.
            P[top] = 0.0
            player = current_player(S, top, T)
            if player == CHANCE and not is_asked(stages, stage(S, top, T)):
                first = top + u64(1)
                n = u64(chance_outcomes(S, top, P, first, T))
                for k in range(n):
                    P[first + u64(k)] *= share
                top += n
            else:
                total += share * row_value(S, top, player, T)

    @bind(room, inline=True)
    def prepare(S, i, o, P, T):
        """Does nothing."""

    @bind(room, inline=True)
    def expected(S, i, a, o, P, T):
        """Returns player 0's expected value of action a of row i; rows and P from o on are scratch."""
        apply_action(S, i, a, o, T)
        return expected_value(S, o, P, T)

    if rules.chance.make_expected is not None and stages == DECISION:
        prepare, expected = rules.chance.make_expected(row_value)

    @bind(room)
    def greedy_action(S, i, o, A, P, R, T):
        """Returns the best action of the decision at row i of S [rows, width]; stream R [2] breaks ties.

        Rows from o on, A [actions] and P [rows] are scratch.
        """
        player = current_player(S, i, T)
        n = legal_actions(S, i, A, T)
        prepare(S, i, o, P, T)
        best = -np.inf
        choice = A[0]
        ties = 0
        for k in range(n):
            worth = expected(S, i, A[k], o, P, T)
            if player == 1:
                worth = -worth
            if worth > best or ties == 0:
                best, choice, ties = worth, A[k], 1
            elif worth == best:
                ties += 1
                if below(R, ties) == u64(0):
                    choice = A[k]
        return choice

    return greedy_action


def compiled_sampled(game: Game, evaluator: Evaluator) -> Compiled:
    """Returns the compiled `sampled_action` of a game for an evaluator; raises ValueError for one without a policy."""
    if evaluator.policy is None:
        raise UserError(f"{game.name}: expected an evaluator with a policy, got {evaluator.name!r}")
    return make_sampled(game.rules, evaluator.policy, game.room)


@cache
def make_sampled(rules: Rules, policy: Compiled, room: Path) -> Compiled:
    """Compiles `sampled_action` for an evaluator's `policy`."""
    legal_actions = rules.legal_actions

    @bind(room)
    def sampled_action(S, i, o, A, P, R, T):
        """Returns an action of row i of S [rows, width], drawn from stream R [2] with the probabilities of the policy.

        A [actions] and P, of at least as many numbers, are scratch.
        """
        policy(S, i, P, T)
        n = legal_actions(S, i, A, T)
        greatest, total = P[A[0]], 0.0
        for k in range(1, n):
            greatest = max(greatest, P[A[k]])
        for k in range(n):
            P[A[k]] = softmax_term(P[A[k]], greatest)
            total += P[A[k]]
        threshold = uniform(R) * total
        for k in range(n - 1):
            threshold -= P[A[k]]
            if threshold < 0:
                return A[k]
        return A[n - 1]

    return sampled_action


@cache
def random_opponent(rules: Rules, room: Path) -> Compiled:
    """Compiles the opponent that plays at random."""
    legal_actions = rules.legal_actions

    @bind(room)
    def random_action(S, i, o, A, P, R, T):
        """Returns a legal action drawn from stream R [2]; A [actions] is scratch."""
        return A[below(R, legal_actions(S, i, A, T))]

    return random_action


class Chooser(Protocol):
    """Chooses actions. A player that draws has its random numbers in `stream`, which the environment replaces by its own."""

    def choose(self, state: State) -> int:
        """Returns the id (or name) of a legal action at a decision."""


Opponent = str | Evaluator | Chooser | Callable[[State], int]
"""What `opponent=` accepts: a player's text, an evaluator, an object with `choose(state)`, or a function of the state. With an
evaluator, actions are drawn from its policy if it has one, otherwise chosen as `greedy` does.
"""


class ResolvedOpponent(NamedTuple):
    """An opponent in the form that the step calls."""

    act: Callable[..., Any] | None = None
    """`(S, i, o, A, P, R, T)` -> the action at row i; rows and P from o on and A are scratch, R [2] is the stream.

    None: there is no opponent.
    """
    evaluator: Evaluator | None = None
    """The evaluator whose weights `T` has to contain, if any."""
    is_python: bool = False
    """Whether `act` is a Python function."""


def resolve_opponent(game: Game, opponent: Opponent | None) -> ResolvedOpponent:
    """Returns an opponent in the form that the step calls; raises ValueError, listing the known ones, for anything else."""
    if game.players == 1:
        return ResolvedOpponent()
    if isinstance(opponent, str):
        return _named(game, opponent)
    if isinstance(opponent, Evaluator):
        by_policy = opponent.policy is not None
        return ResolvedOpponent((compiled_sampled if by_policy else compiled_greedy)(game, opponent), opponent)
    if callable(getattr(opponent, "choose", None)):
        return ResolvedOpponent(
            _python_opponent(game, opponent, getattr(opponent, "name", type(opponent).__name__)), is_python=True
        )
    if callable(opponent):
        player = SimpleNamespace(choose=opponent)
        return ResolvedOpponent(
            _python_opponent(game, player, getattr(opponent, "__name__", "function")), is_python=True
        )
    raise UserError(_expected(game, opponent))


def check_picklable(game: Game, opponent: Opponent | None) -> None:
    """Raises ValueError for an opponent that cannot be copied or sent to another process."""
    if isinstance(opponent, str):
        return
    try:
        pickle.dumps(opponent)
    except Exception as problem:  # the object's own methods raise what they like
        raise UserError(
            f"{game.name}: expected an opponent that can be pickled, or named by a text, to copy the environment, "
            f"got {type(opponent).__name__}: {problem}"
        ) from None


def _named(game: Game, text: str) -> ResolvedOpponent:
    """Returns the opponent that a player's text names."""
    kind, _, rest = text.partition(":")
    words = split(rest)
    try:
        if text.endswith(":"):
            raise UnknownPlayer
        if text == "random":
            return ResolvedOpponent(random_opponent(game.rules, game.room))
        if kind == "greedy" and len(words) < 2 and "ties=first" not in words:
            words = [word for word in words if word != "ties=random"]
            evaluator = registry.leaf(words[0], game) if words else game.score()
            if evaluator.value is not None and not evaluator.python_only:
                return ResolvedOpponent(compiled_greedy(game, evaluator), evaluator)
        return ResolvedOpponent(_python_opponent(game, registry.player(text, game), text), is_python=True)
    except UnknownPlayer:
        raise UserError(_expected(game, text)) from None
    except UserError as problem:
        raise UserError(f"{game.name}: opponent {text!r}: {str(problem).removeprefix(f'{game.name}: ')}") from None


def _expected(game: Game, got: object) -> str:
    """Returns the line that lists the known opponents."""
    scores = [f"greedy:{name}" for name in game.scores]
    own_players = [name for names in room_players(game).values() for name in names]
    known = ", ".join(["random", "greedy", *scores, *own_players, *registry.MORE_PLAYERS, "level:easy"])
    return f"{game.name}: expected opponent among {known}, a Player or a function of the state, got {got!r}"


def _python_opponent(game: Game, player, name: str) -> Callable[..., int]:
    """Returns a player in the form of a compiled opponent; one with a `stream` draws from the environment's."""
    draws = hasattr(player, "stream")

    def opponent(S, i, o, A, P, R, T) -> int:
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
