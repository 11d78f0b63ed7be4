"""Players without a search, and the loop of a game: greedy, by a policy, at random, and the room's own by name.

A room's own players are named by a text: `minimax`, `dfs:canonical`, `solver:level=easy`. The greedy choice is the action whose
expected value after the chance that follows is highest. It looks one decision ahead with an `Evaluator`, in compiled code without
recursion: the open chance stages of one action lie on a stack of rows. It is the built-in opponent of the environments.
"""

from __future__ import annotations

import copyreg
import re
from collections.abc import Callable
from functools import cache
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from leafwise.envs.core.compile.intrinsics import softmax_term
from leafwise.envs.core.compile.jit import bind
from leafwise.envs.core.contract.evaluator import (
    EVALUATE,
    Evaluator,
    LeafSpec,
    finished_value,
    for_player_zero,
    leaf_spec,
)
from leafwise.envs.core.contract.game import Game, OwnSearch, Programs
from leafwise.envs.core.contract.rules import CHANCE, TERMINAL, Compiled, Rules
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.contract.stream import below, u64, uniform
from leafwise.envs.core.errors import UserError, asked_of_plugin

if TYPE_CHECKING:
    from leafwise.envs.core.contract.game import Game


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


def play_out(
    state: State,
    choose: Callable[[State], int],
    settle: Callable[[State], State] = lambda state: state,
    play: Callable[[State, int], State] = State.play,
    most: int = 0,
) -> State:
    """Plays a game on from a decision, or from where chance acts, and returns its end.

    `choose` returns the action of each decision; `settle` draws what chance does up to the next one, by `State.settle` or a dealer
    (default: for games without chance). `play` returns the position after an action, and may keep it. `most` are the decisions
    after which it returns the position then (0: the end).
    """
    state = settle(state)
    for _ in range(most) if most else count():
        if state.is_terminal:
            break
        state = settle(play(state, choose(state)))
    return state


def rows_needed(game: Game) -> int:
    """Returns how many scratch rows one greedy choice takes: the action's, and every open outcome."""
    return 1 + game.max_stages * game.max_outcomes


def compiled_greedy(game: Game, evaluator: Evaluator) -> Compiled:
    """Returns the compiled `greedy_action` of a game and one of its hand-made scores."""
    spec = leaf_spec(evaluator, game.stages)
    return make_greedy(game.rules, evaluator.compiled, spec, game.room)


@cache
def make_greedy(rules: Rules, value: Compiled, spec: LeafSpec, room: Path) -> Compiled:
    """Compiles `greedy_action` by an evaluator's `value`."""
    current_player, stage, returns = rules.current_player, rules.stage, rules.returns
    legal_actions, apply_action, chance_outcomes = rules.legal_actions, rules.apply_action, rules.chance_outcomes
    leaf_stage, to_go, rule = spec.stage, spec.to_go, spec.rule
    win, draw, loss = spec.win, spec.draw, spec.loss

    @bind(room, inline=True)
    def row_value(S, i, player, T):
        """Returns player 0's value of row i, at which `player` acts (or TERMINAL, or CHANCE at the asked stage)."""
        if player == TERMINAL and rule != EVALUATE:
            return finished_value(rule, win, draw, loss, returns(S, i, T))
        worth = for_player_zero(value(S, i, T), player)
        if to_go:
            worth += returns(S, i, T)
        return worth

    @bind(room, inline=True)
    def expected_value(S, o, P, T):
        """Returns player 0's expected value of row o of S [rows, width]; rows and P [rows] from o on are scratch."""
        total = 0.0
        top = o
        P[top] = 1.0
        while True:
            share = P[top]
            if share == 0.0:  # counted; probabilities are positive, so 0 can mark it
                if top == o:
                    return total
                top -= u64(1)
                continue
            # Chance opens its outcomes on the stack, each with its share; other rows are valued
            P[top] = 0.0
            player = current_player(S, top, T)
            if player == CHANCE and stage(S, top, T) != leaf_stage:
                first = top + u64(1)
                n = u64(chance_outcomes(S, top, P, first, T))
                for k in range(n):
                    P[first + u64(k)] *= share
                top += n
            else:
                total += share * row_value(S, top, player, T)

    @bind(room)
    def greedy_action(S, i, o, A, P, R, T):
        """Returns the best action of the decision at row i of S [rows, width], ties broken by stream R [2].

        Rows from o on, A [actions] and P [rows] are scratch.
        """
        player = current_player(S, i, T)
        n = legal_actions(S, i, A, T)
        best = -np.inf
        choice = A[0]
        ties = 0
        for k in range(n):
            apply_action(S, i, A[k], o, T)
            worth = expected_value(S, o, P, T)
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
    """Returns the compiled `sampled_action` of a game and an evaluator; raises ValueError for one without a policy."""
    if evaluator.policy is None:
        raise UserError(f"{game.name}: expected an evaluator with a policy, got {evaluator.name!r}")
    return make_sampled(game.rules, evaluator.policy, game.room)


@cache
def make_sampled(rules: Rules, policy: Compiled, room: Path) -> Compiled:
    """Compiles `sampled_action` by an evaluator's `policy`."""
    legal_actions = rules.legal_actions

    @bind(room)
    def sampled_action(S, i, o, A, P, R, T):
        """Returns an action of row i of S [rows, width] drawn from stream R [2], each as probable as the policy says.

        A [actions] and P, of at least as many numbers, are scratch.
        """
        policy(S, i, P, T)
        n = legal_actions(S, i, A, T)
        most, total = P[A[0]], 0.0
        for k in range(1, n):
            most = max(most, P[A[k]])
        for k in range(n):
            P[A[k]] = softmax_term(P[A[k]], most)
            total += P[A[k]]
        left = uniform(R) * total
        for k in range(n - 1):
            left -= P[A[k]]
            if left < 0:
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
