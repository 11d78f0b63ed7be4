"""The one compiled function of environments: a call acts, draws, answers for the opponent and starts episodes, in n of them.

`make_step` makes it for a game, a reward and an opponent. Rows 0..n-1 of `S` are the environments, the rows after them
scratch. `leafwise.envs.core.gym.stepper.Stepper` owns the buffers and calls it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.compile.jit import bind
from leafwise.envs.core.contract.rules import CHANCE, TERMINAL, Compiled, Rules, copy_row
from leafwise.envs.core.contract.stream import below, u64
from leafwise.envs.core.gym.options import NEXT_STEP, NOOP, RAISE, RANDOM_SEAT, SAME_STEP

OVER, TERMINATED, TRUNCATED, ILLEGAL, SEAT = 0, 1, 2, 3, 4
"""Rows of `Buffers.flags`."""

GOING, ENDED, CUT_OFF, UNBEGUN = 0, 1, 2, 3
"""Values of OVER: an episode goes on; the game is over; it was truncated, and the game is not over; none has begun yet."""

ACT, BEGIN, SHOW = 0, 1, 2
"""Values of `Buffers.task`: take the action, start an episode, or show again what is there."""

STEPS, IN_A_ROW = 0, 1
"""Rows of `Buffers.counts`: steps of the episode, illegal actions since a legal one."""

SOME_TERMINATED, SOME_TRUNCATED, SOME_ILLEGAL = 1, 2, 4
SOME_ENDED = SOME_TERMINATED | SOME_TRUNCATED
"""Bits of what `step_batch` returns."""

OVER_IN_A_ROW, MORE_WITH_PLIES = 500, 20
"""So many games are begun in search of one in which the agent decides, and for each random action of the openings so many more:
one opening of all lengths has none."""
MOST_BETWEEN = 1_000_000
"""Acts of chance and of the opponent that may lie between two decisions."""
UNDECIDED = 2
"""What `play_on` returns, beside 0 and 1, where there are more."""
Binder = Callable[[Callable[..., Any]], Compiled]
"""What compiles a part of the step into it."""


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
    """[n, A]: 1 for each legal action; all ones where the game is over."""
    final_mask: NDArray[np.int8]
    """[n, A]: the last masks of episodes that ended in this step (SAME_STEP only)."""
    last: NDArray[Any]
    """[n, width]: the last rows of episodes that ended in this step (SAME_STEP only)."""
    reward: NDArray[np.float64]
    """[n]"""
    so_far: NDArray[np.float64]
    """[n]: player 0's return at the row; kept where rewards are its differences."""
    flags: NDArray[np.uint8]
    """[5, n]: OVER (the episode has ended and none has begun), TERMINATED, TRUNCATED and ILLEGAL in this step, SEAT."""
    counts: NDArray[np.int64]
    """[2, n]: STEPS and IN_A_ROW; an episode is truncated when one reaches its limit."""
    patience: int
    """Where IN_A_ROW ends an episode."""
    task: NDArray[np.uint8]
    """[n]: what the next call does in each environment, ACT, BEGIN or SHOW."""
    legal: NDArray[np.int64]
    """[max_actions]: scratch."""
    P: NDArray[np.float64]
    """[n + scratch]: scratch for probabilities."""
    options: Any
    """`StepOptions`: the environment's options as numbers."""


@cache
def random_opponent(rules: Rules, room: Path) -> Compiled:
    """Compiles the opponent that plays at random."""
    legal_actions = rules.legal_actions

    @bind(room)
    def random_action(S, i, o, A, P, R, T):
        """Returns a legal action drawn from stream R [2]; A [actions] is scratch."""
        return A[below(R, legal_actions(S, i, A, T))]

    return random_action


def make_play_on(rules: Rules, opponent_action: Compiled | None, inlined: Binder) -> Compiled:
    """Compiles `(S, i, o, seat, R, B, T)`: plays row i on until the agent decides (0) or the game is over (1).

    It returns UNDECIDED where neither comes. Rows from o on are scratch.
    """
    current_player, sample_outcome, apply_action = rules.current_player, rules.sample_outcome, rules.apply_action

    @inlined
    def play_on(S, i, o, seat, R, B, T):
        for _ in range(MOST_BETWEEN):
            player = current_player(S, i, T)
            if player == CHANCE:
                sample_outcome(S, i, R, T)
            elif player == TERMINAL:
                return 1
            elif opponent_action is None or player == seat:
                return 0
            else:
                apply_action(S, i, opponent_action(S, i, o, B.legal, B.P, R, T), i, T)
        return UNDECIDED

    return play_on


def make_begin(rules: Rules, play_on: Compiled, inlined: Binder) -> Compiled:
    """Compiles `(e, B, T)`: starts an episode, the first game in which the agent gets to decide; returns whether there is one."""
    initial_state, current_player, legal_actions = rules.initial_state, rules.current_player, rules.legal_actions
    sample_outcome, apply_action, returns = rules.sample_outcome, rules.apply_action, rules.returns

    @inlined
    def open_randomly(S, i, plies, R, B, T):
        """Plays up to so many random actions at row i, whoever is to act."""
        left = np.int64(below(R, plies + 1)) if plies else np.int64(0)
        for _ in range(MOST_BETWEEN):
            if left == 0:
                return
            player = current_player(S, i, T)
            if player == TERMINAL:
                return
            if player == CHANCE:
                sample_outcome(S, i, R, T)
            else:
                left -= 1
                apply_action(S, i, B.legal[below(R, legal_actions(S, i, B.legal, T))], i, T)

    @inlined
    def begin(e, B, T):
        i, o, R = u64(e), u64(B.reward.shape[0]), B.R[e]
        seat = B.options.seat
        if seat == RANDOM_SEAT:
            seat = np.int64(below(R, 2))
        B.flags[SEAT, e] = seat
        over = 1
        for _ in range(OVER_IN_A_ROW + MORE_WITH_PLIES * B.options.plies):
            initial_state(B.S, i, T)
            open_randomly(B.S, i, B.options.plies, R, B, T)
            over = play_on(B.S, i, o, seat, R, B, T)
            if over != 1:
                break
        if over != 0:
            B.flags[OVER, e] = UNBEGUN
            return False
        B.so_far[e] = returns(B.S, i, T)
        B.flags[OVER, e] = GOING
        B.counts[STEPS, e] = 0
        B.counts[IN_A_ROW, e] = 0
        return True

    return begin


def make_act(
    rules: Rules, play_on: Compiled, other_reward: Compiled | None, return_range: tuple[float, float], inlined: Binder
) -> Compiled:
    """Compiles `(e, B, T)`: takes the action of environment e, be it legal or not, and plays on to the agent's next decision.

    It writes the reward, the difference of returns or `other_reward`, and returns whether the game is over, or UNDECIDED.
    """
    apply_action, returns = rules.apply_action, rules.returns
    low, high = return_range

    @inlined
    def act(e, B, T):
        S, i, after = B.S, u64(e), u64(B.reward.shape[0])
        seat = np.int64(B.flags[SEAT, e])
        B.counts[STEPS, e] += 1
        # An illegal action does nothing, or ends the episode with the least that there is to get.
        if not B.mask[e, B.action[e]]:
            B.flags[ILLEGAL, e] = 1
            B.counts[IN_A_ROW, e] += 1
            if B.options.illegal == NOOP:
                return 0
            so_far = returns(S, i, T)
            B.reward[e] = so_far - high if seat == 1 else low - so_far
            return 1
        B.counts[IN_A_ROW, e] = 0
        if other_reward is None:
            apply_action(S, i, B.action[e], i, T)
            over = play_on(S, i, after, seat, B.R[e], B, T)
            before = B.so_far[e]
            B.so_far[e] = returns(S, i, T)
            reward = B.so_far[e] - before
        else:
            # Such a reward is told the rows of the decision, right after the action, and of the next decision.
            now = after + u64(1)
            apply_action(S, i, B.action[e], after, T)
            copy_row(S, after, now)
            over = play_on(S, now, now + u64(1), seat, B.R[e], B, T)
            reward = other_reward(S, i, after, now, T)
            copy_row(S, now, i)
        B.reward[e] = -reward if seat == 1 else reward
        return over

    return act


def make_show(rules: Rules, alone: bool, inlined: Binder) -> Compiled:
    """Compiles `(e, obs, mask, B, T)`: writes what the agent sees and may do to row e of `obs` and `mask`.

    All may be done where the game is over.
    """
    observe, observe_as, legal_actions = rules.observe, rules.observe_as, rules.legal_actions

    @inlined
    def show(e, obs, mask, B, T):
        if alone:
            observe(B.S, u64(e), obs, e, T)
        else:
            observe_as(B.S, u64(e), np.int64(B.flags[SEAT, e]), obs, e, T)
        over = B.flags[OVER, e] == ENDED or B.flags[OVER, e] == UNBEGUN
        for a in range(mask.shape[1]):
            mask[e, a] = over
        if not over:
            for k in range(legal_actions(B.S, u64(e), B.legal, T)):
                mask[e, B.legal[k]] = 1

    return show


def make_step(
    rules: Rules,
    opponent_action: Compiled | None,
    other_reward: Compiled | None,
    return_range: tuple[float, float],
    room: Path,
    plain: bool = False,
) -> Compiled:
    """Compiles `step_batch(held)`, for `compile.held.hold` with `Buffers` B and the game's tables T.

    `opponent_action` is None where one player plays alone. `other_reward` is one of `game.rewards`, or None for the difference of
    returns; `return_range` is player 0's. `plain` leaves it plain Python around the compiled rules, for an opponent that is a
    Python function.
    """
    inlined = bind(room, inline=True, plain=plain)  # handing all the arrays on costs more than the work
    play_on = make_play_on(rules, opponent_action, inlined)
    begin = make_begin(rules, play_on, inlined)
    act = make_act(rules, play_on, other_reward, return_range, inlined)
    show = make_show(rules, opponent_action is None, inlined)
    returns = rules.returns

    @bind(room, plain=plain)
    def step_batch(held):
        """Does the task of every environment, which is ACT afterwards; returns bits SOME_..., or a negative number if it fails.

        -1 - e: environment e refuses its action, which is no id, or illegal under RAISE, or its episode is over; nothing changes.
        -1 - n: an agent does not get to decide any more, and the call broke off there.
        """
        B, T = held[0], held[1]
        n = B.reward.shape[0]

        # Refusals come first, before anything changes.
        for e in range(n):
            if B.task[e] != ACT:
                continue
            a, over = B.action[e], B.flags[OVER, e]
            if a < 0 or a >= B.mask.shape[1]:
                return -1 - e
            if over:
                if B.options.autoreset_mode != NEXT_STEP or over == UNBEGUN:
                    return -1 - e
            elif B.options.illegal == RAISE and B.mask[e, a] == 0:
                return -1 - e

        summary = 0
        for e in range(n):
            task = B.task[e]
            B.task[e] = ACT
            if task == SHOW:
                if B.flags[OVER, e] == GOING:
                    B.so_far[e] = returns(B.S, u64(e), T)
                show(e, B.obs, B.mask, B, T)
                continue
            B.flags[TERMINATED, e] = 0
            B.flags[TRUNCATED, e] = 0
            B.flags[ILLEGAL, e] = 0
            B.reward[e] = 0.0
            # Act where an episode goes on, and say how it ends.
            start = task == BEGIN or B.flags[OVER, e] != GOING
            if not start:
                over = act(e, B, T)
                if over == UNDECIDED:
                    B.flags[OVER, e] = UNBEGUN
                    return -1 - n

                # Whether the episode ends: the game is over, or a count has reached its limit.
                cut = B.counts[STEPS, e] >= B.options.max_episode_steps or B.counts[IN_A_ROW, e] >= B.patience
                if B.flags[ILLEGAL, e]:
                    summary |= SOME_ILLEGAL
                if cut:
                    summary |= SOME_TRUNCATED
                    B.flags[TRUNCATED, e] = 1
                    B.flags[OVER, e] = CUT_OFF
                if over:
                    summary |= SOME_TERMINATED
                    B.flags[TERMINATED, e] = 1
                    B.flags[OVER, e] = ENDED

                # Under SAME_STEP the next episode starts at once, and the end of this one is kept beside it.
                if (over or cut) and B.options.autoreset_mode == SAME_STEP:
                    show(e, B.final, B.final_mask, B, T)
                    for word in range(B.last.shape[1]):
                        B.last[e, word] = B.S[e, word]
                    start = True
                elif B.flags[ILLEGAL, e] and not over:
                    continue  # all is as it was
            # Start the next one where it is over, and show what there is
            if start and not begin(e, B, T):
                return -1 - n
            show(e, B.obs, B.mask, B, T)
        return summary

    return step_batch


shared_step = cache(make_step)
"""`make_step`, once for all environments of a game. An opponent that is a Python function goes with its environment instead."""
