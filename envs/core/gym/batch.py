"""The compiled step of a batch of environments: one call acts, draws, answers for the opponent and starts anew.

The templates below are cloned for each game, reward and opponent by `compiled_batch`. Rows 0..n-1 of `S` are the
environments, the rows after them scratch. `leafwise.envs.core.gym.stepper` owns the buffers.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.compile.jit import specialise
from leafwise.envs.core.contract.rules import CHANCE, TERMINAL, Rules, copy_row
from leafwise.envs.core.contract.stream import below, u64

OVER, TERMINATED, ILLEGAL, SEAT = 0, 1, 2, 3
"""Rows of `Buffers.flags`."""

WAIT, SAME_STEP, NEXT_STEP = 0, 1, 2
"""What follows the end of an episode: a call of reset, a new start in the same step, or one in the next."""

LOSE, NOOP, RAISE = 0, 1, 2
"""What an illegal action does."""

RANDOM_SEAT = 2

AUTORESET, ON_ILLEGAL, SEATING = 0, 1, 2
"""Indices of `Buffers.options`."""

SOME_DONE, SOME_ILLEGAL = 1, 2
"""Bits of what `step_batch` returns."""


class Buffers(NamedTuple):
    """The arrays that a step reads and writes; n environments, A actions."""

    S: NDArray[Any]
    """[n + scratch, width]: the rows."""
    R: NDArray[np.uint64]
    """[n, 2]: the streams."""
    action: NDArray[np.int64]
    """[n]: what the agents do; read."""
    obs: Any
    """[n, ...]: what the agents see, one array or a NamedTuple of arrays."""
    final: Any
    """[n, ...]: what was seen last in episodes that ended in this step (SAME_STEP only)."""
    mask: NDArray[np.int8]
    """[n, A]: 1 for each legal action; all ones at the end."""
    reward: NDArray[np.float64]
    """[n]"""
    flags: NDArray[np.uint8]
    """[4, n]: OVER (the episode has ended and none has begun), TERMINATED and ILLEGAL in this step, SEAT."""
    legal: NDArray[np.int64]
    """[max_actions]: scratch."""
    P: NDArray[np.float64]
    """[n + scratch]: scratch for probabilities."""
    options: NDArray[np.int64]
    """[3]: what to do about AUTORESET, ON_ILLEGAL and SEATING."""


def no_opponent(S, i, o, L, P, R, T):
    """Stands in where one player plays alone; never reached."""
    return L[0]


def no_reward(S, i, j, k, T):
    """Stands in for the difference of returns, which needs no rows; never reached."""
    return 0.0


def random_action(S, i, o, L, P, R, T):
    """Returns a legal action drawn from stream R."""
    return L[below(R, legal_actions(S, i, L, T))]


def play_on(S, i, o, seat, R, B, T):
    """Plays chance and the opponent at row i until the agent decides (False) or the game is over (True)."""
    while True:
        player = current_player(S, i, T)
        if player == CHANCE:
            sample_outcome(S, i, R, T)
        elif player == TERMINAL:
            return True
        elif player == seat:
            return False
        else:
            apply_action(S, i, opponent_action(S, i, o, B.legal, B.P, R, T), i, T)


def begin(e, B, T):
    """Starts an episode: the first game in which the agent gets to decide."""
    i, o, R = u64(e), u64(B.reward.shape[0]), B.R[e]
    seat = B.options[SEATING]
    if seat == RANDOM_SEAT:
        seat = np.int64(below(R, 2))
    B.flags[SEAT, e] = seat
    over = True
    while over:
        initial_state(B.S, i, T)
        over = play_on(B.S, i, o, seat, R, B, T)
    B.flags[OVER, e] = 0


def show(e, B, T):
    """Writes what the agent sees and may do; where the episode is over everything may be done."""
    over = B.flags[OVER, e]
    observe(B.S, u64(e), B.obs, e, T)
    for a in range(B.mask.shape[1]):
        B.mask[e, a] = over
    if not over:
        for k in range(legal_actions(B.S, u64(e), B.legal, T)):
            B.mask[e, B.legal[k]] = 1


def refresh(fresh, B, T):
    """Starts an episode in every environment (fresh) or only shows again what stands there."""
    for e in range(B.reward.shape[0]):
        if fresh:
            begin(e, B, T)
        show(e, B, T)


def refused(B):
    """Returns the first environment whose action cannot be taken, or -1 if there is none."""
    for e in range(B.reward.shape[0]):
        a = B.action[e]
        if a < 0 or a >= B.mask.shape[1]:
            return e
        if B.flags[OVER, e]:
            if B.options[AUTORESET] != NEXT_STEP:
                return e
        elif B.options[ON_ILLEGAL] == RAISE and B.mask[e, a] == 0:
            return e
    return -1


def act(e, B, T):
    """Acts at row e and plays on to the agent's next decision; writes the reward, returns whether it is the end."""
    S, R, a, i = B.S, B.R[e], B.action[e], u64(e)
    seat = np.int64(B.flags[SEAT, e])
    after = u64(B.reward.shape[0])
    if OTHER_REWARD:
        apply_action(S, i, a, after, T)
        now = after + u64(1)
        copy_row(S, after, now)
        over = play_on(S, now, now + u64(1), seat, R, B, T)
        reward = other_reward(S, i, after, now, T)
        copy_row(S, now, i)
    else:
        before = returns(S, i, T)
        apply_action(S, i, a, i, T)
        over = play_on(S, i, after, seat, R, B, T)
        reward = returns(S, i, T) - before
    B.reward[e] = -reward if seat == 1 else reward
    return over


def step_batch(B, T):
    """Steps every environment; returns bits SOME_DONE and SOME_ILLEGAL, or -1 - e if environment e refuses.

    Nothing changes if one refuses: its action is no id, or illegal under RAISE, or its episode is over.
    """
    e = refused(B)
    if e >= 0:
        return -1 - e
    summary = 0
    autoreset = B.options[AUTORESET]
    for e in range(B.reward.shape[0]):
        B.flags[TERMINATED, e] = 0
        B.flags[ILLEGAL, e] = 0
        B.reward[e] = 0.0
        start = False
        over = False
        if B.flags[OVER, e]:
            start = True
        elif B.mask[e, B.action[e]]:
            over = act(e, B, T)
        else:
            B.flags[ILLEGAL, e] = 1
            summary |= SOME_ILLEGAL
            if B.options[ON_ILLEGAL] == NOOP:
                continue
            over = True
            so_far = returns(B.S, u64(e), T)
            B.reward[e] = so_far - HIGH if B.flags[SEAT, e] else LOW - so_far
        if over:
            summary |= SOME_DONE
            B.flags[TERMINATED, e] = 1
            B.flags[OVER, e] = 1
            if autoreset == SAME_STEP:
                observe(B.S, u64(e), B.final, e, T)
                start = True
        if start:
            begin(e, B, T)
        show(e, B, T)
    return summary


class Compiled(NamedTuple):
    """The two calls of a batch."""

    step: Callable[..., int]
    """`step_batch(B, T)`."""
    refresh: Callable[..., None]
    """`refresh(fresh, B, T)`."""


@cache
def compiled_batch(
    rules: Rules,
    name: str,
    room: Path,
    opponent: Callable[..., Any],
    other_reward: Callable[..., Any] | None,
    return_range: tuple[float, float],
) -> Compiled:
    """Returns the compiled step of a game; `name` must tell game, reward and opponent.

    `opponent` is compiled, or the template `random_action` or `no_opponent`; `other_reward` is one of `game.rewards`, or None for
    the difference of returns; `return_range` is player 0's.
    """
    if opponent in (random_action, no_opponent):
        opponent = specialise(opponent, name, rules.injected(), room)
    return _specialised(rules, name, room, opponent, other_reward, return_range, plain=False)


def plain_batch(
    rules: Rules,
    opponent: Callable[..., Any],
    other_reward: Callable[..., Any] | None,
    return_range: tuple[float, float],
) -> Compiled:
    """Returns the same step as plain Python around the compiled rules, for an opponent that is a Python function."""
    return _specialised(rules, "plain", Path(), opponent, other_reward, return_range, plain=True)


def _specialised(
    rules: Rules,
    name: str,
    room: Path,
    opponent: Callable[..., Any],
    other_reward: Callable[..., Any] | None,
    return_range: tuple[float, float],
    *,
    plain: bool,
) -> Compiled:
    scope: dict[str, Any] = dict(rules.injected())
    scope |= {"opponent_action": opponent}
    scope |= {
        "OTHER_REWARD": other_reward is not None,
        "other_reward": other_reward or specialise(no_reward, name, {}, room, plain=plain),
    }
    scope |= {"LOW": return_range[0], "HIGH": return_range[1]}
    for template in (play_on, begin, show, refused, act):
        # inlined: handing all the arrays on costs more than the work
        scope[template.__name__] = specialise(template, name, scope, room, inline=True, plain=plain)
    step, again = (specialise(template, name, scope, room, plain=plain) for template in (step_batch, refresh))
    return Compiled(step, again)
