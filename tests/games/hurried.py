"""Threes with mistakes in what it does for many positions at once, to be faster."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from leafwise.envs.core.compile.jit import jit
from leafwise.envs.core.contract.evaluator import Evaluator, Siblings
from leafwise.envs.core.contract.game import Game
from leafwise.envs.threes import GAME, rules
from leafwise.envs.threes import row as r
from leafwise.envs.threes.lines import make_line_siblings
from leafwise.envs.threes.scores import ROOM

PLANTED: dict[str, Game] = {}
SAID: dict[str, str] = {}
SOUND = GAME.score("rows")
SHARED, MEAN = SOUND.siblings or Siblings(None, None)  # type: ignore[arg-type]


def planted(said: str, name: str, siblings: Siblings | None = None, **changes: Any) -> None:
    """Keeps the game with a mistake in its rules of chance, or in the siblings of its leaf; what `said` says is expected."""
    chance = replace(GAME.rules.chance, **changes)
    scores = GAME.scores
    if siblings is not None:

        def score(options: Any) -> Evaluator:
            return replace(SOUND, siblings=siblings)

        scores = {"rows": score}
    PLANTED[name] = replace(GAME, module=__name__, rules=replace(GAME.rules, chance=chance), scores=scores)
    SAID[name] = said


@jit
def one_slide_less(S, i, j, T):
    return max(0, rules.afterstates(S, i, j, T) - 1)


@jit
def too_far(S, i, j, T):
    return rules.afterstates(S, i, j + r.ONE, T)


@jit
def also_before_a_tile_enters(S, i, j, T):
    n = rules.afterstates(S, i, j, T)
    if S[i, 1] & r.THREE == r.ENTER:
        S[j, 0], S[j, 1] = S[i, 0], S[i, 1]
        n = 1
    return n


@jit
def of_another_card(S, k, o, j, T):
    S[j, 0] = S[k, 0]
    S[j, 1] = (S[o, 1] | S[k, 1]) ^ r.FOUR


@jit
def over_the_outcome(S, k, o, j, T):
    S[o, 0] = S[k, 0]
    rules.joined(S, k, o, j, T)


@jit
def mean_of_all_but_one(S, j, shared, P, o, T):
    n, mean = MEAN(S, j, shared, P, o, T)
    return max(0, n - 1), mean


@jit
def mean_a_little_off(S, j, shared, P, o, T):
    n, mean = MEAN(S, j, shared, P, o, T)
    return n, mean * (1.0 + 1e-15)


@jit
def shared_by_one_alone(S, j, T):
    return (S[j, 1],)


@jit
def mean_by_one_alone(S, j, shared, P, o, T):
    n, mean = MEAN(S, j, SHARED(S, j, T), P, o, T)
    return n, mean if shared[0] == S[j, 1] else 0.0


planted(r"afterstates: expected \d legal actions, got \d, at '", "fewer", afterstates=one_slide_less)
planted(r"afterstates: expected row 0 to 6 of S to be written, got 7", "too far", afterstates=too_far)
planted(
    r"afterstates: expected outcomes that are decisions, got one", "too early", afterstates=also_before_a_tile_enters
)
planted(r"joined: expected the row that apply_action writes, \[.*\(action '\w+'\)", "card", joined=of_another_card)
planted(r"joined: expected only rows \(3\) of S to be written, got row 2", "over", joined=over_the_outcome)
planted(r"score rows: expected siblings to count \d+ outcomes, got \d+", "n", Siblings(SHARED, mean_of_all_but_one))
planted(
    r"score rows: expected the mean of leaves one by one, .* of siblings", "off", Siblings(SHARED, mean_a_little_off)
)
planted(r"score rows: expected the mean of leaves", "alone", Siblings(shared_by_one_alone, mean_by_one_alone))
planted(
    r"score rows: expected the mean of leaves",
    "undying",
    make_line_siblings("undying", ROOM, loses=False, twice=False),
)
