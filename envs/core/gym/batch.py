"""The compiled step of a batch of environments: one call acts, draws, answers for the opponent and starts anew.

`make_batch` compiles it for a game, a reward and an opponent. Rows 0..n-1 of `S` are the environments, the rows after them
scratch. `leafwise.envs.core.gym.stepper` owns the buffers.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.compile.held import unpacked
from leafwise.envs.core.compile.jit import bind
from leafwise.envs.core.contract.rules import CHANCE, TERMINAL, Compiled, Rules, copy_row
from leafwise.envs.core.contract.stream import below, u64
from leafwise.envs.core.gym.options import NEXT_STEP, NOOP, RAISE, RANDOM_SEAT, SAME_STEP

OVER, TERMINATED, TRUNCATED, ILLEGAL, SEAT = 0, 1, 2, 3, 4
"""Rows of `Buffers.flags`."""

GOING, ENDED, CUT_OFF, UNBEGUN = 0, 1, 2, 3
"""Values of OVER: an episode goes on; the game is over; it was truncated, and the game is not over; none has begun yet."""

STEPS, IN_A_ROW = 0, 1
"""Rows of `Buffers.counts`: steps of the episode, illegal actions since a legal one."""

SOME_TERMINATED, SOME_TRUNCATED, SOME_ILLEGAL, SOME_UNBEGUN = 1, 2, 4, 8
SOME_ENDED = SOME_TERMINATED | SOME_TRUNCATED
"""Bits of what `step_batch` returns."""

OVER_IN_A_ROW, MORE_WITH_PLIES = 500, 20
"""So many games are begun in search of one in which the agent decides, and for each random action of the openings so many more:
one opening of all lengths has none."""
MOST_BETWEEN = 1_000_000
"""Acts of chance and of the opponent that may lie between two decisions."""
UNDECIDED = 2
"""What `play_on` returns, beside False and True, where there are more."""


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
    fresh: NDArray[np.uint8]
    """[n]: where `refresh` starts an episode; read."""
    legal: NDArray[np.int64]
    """[max_actions]: scratch."""
    P: NDArray[np.float64]
    """[n + scratch]: scratch for probabilities."""
    options: Any
    """`StepOptions`: the environment's options as numbers."""


@cache
def no_opponent(room: Path) -> Compiled:
    """Compiles what stands in where one player plays alone; never reached."""

    @bind(room)
    def no_action(S, i, o, A, P, R, T):
        return A[0]

    return no_action


@cache
def random_opponent(rules: Rules, room: Path) -> Compiled:
    """Compiles the opponent that plays at random."""
    legal_actions = rules.legal_actions

    @bind(room)
    def random_action(S, i, o, A, P, R, T):
        """Returns a legal action drawn from stream R [2]; A [actions] is scratch."""
        return A[below(R, legal_actions(S, i, A, T))]

    return random_action


class Episodes(NamedTuple):
    """Compiled functions on environments of a batch B; e is one of them."""

    play_on: Compiled
    """`(S, i, o, seat, R, B, T)` -> whether the game at row i ends before the agent decides, or UNDECIDED; rows from o on are
    scratch."""
    begin: Compiled
    """`(e, B, T)` -> whether an episode was started: not where the agent never decides."""
    show: Compiled
    """`(e, obs, mask, B, T)`: writes what the agent sees and may do."""


def make_episodes(rules: Rules, opponent_action: Compiled, room: Path, plain: bool) -> Episodes:
    """Compiles what happens between two decisions of the agent."""
    initial_state, current_player, legal_actions = rules.initial_state, rules.current_player, rules.legal_actions
    sample_outcome, apply_action, observe_as = rules.sample_outcome, rules.apply_action, rules.observe_as
    returns = rules.returns
    inlined = bind(room, inline=True, plain=plain)  # handing all the arrays on costs more than the work

    @inlined
    def play_on(S, i, o, seat, R, B, T):
        """Plays chance and the opponent at row i until the agent decides (0) or the game is over (1); UNDECIDED: neither comes."""
        for _ in range(MOST_BETWEEN):
            player = current_player(S, i, T)
            if player == CHANCE:
                sample_outcome(S, i, R, T)
            elif player == TERMINAL:
                return 1
            elif player == seat:
                return 0
            else:
                apply_action(S, i, opponent_action(S, i, o, B.legal, B.P, R, T), i, T)
        return UNDECIDED

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
        """Starts an episode, the first game in which the agent gets to decide; returns whether there is one."""
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

    @inlined
    def show(e, obs, mask, B, T):
        """Writes what the agent sees and may do to row e of `obs` and `mask`; all may be done where the game is over."""
        over = B.flags[OVER, e] == ENDED or B.flags[OVER, e] == UNBEGUN
        observe_as(B.S, u64(e), np.int64(B.flags[SEAT, e]), obs, e, T)
        for a in range(mask.shape[1]):
            mask[e, a] = over
        if not over:
            for k in range(legal_actions(B.S, u64(e), B.legal, T)):
                mask[e, B.legal[k]] = 1

    return Episodes(play_on, begin, show)


def make_act(rules: Rules, episodes: Episodes, other_reward: Compiled | None, room: Path, plain: bool) -> Compiled:
    """Compiles `act(e, B, T)`: acts at row e and plays on to the agent's next decision.

    It writes the reward, the difference of returns or `other_reward`, and returns whether the game is over, or UNDECIDED.
    """
    apply_action, returns, play_on = rules.apply_action, rules.returns, episodes.play_on
    inlined = bind(room, inline=True, plain=plain)

    if other_reward is None:

        @inlined
        def reward_and_end(e, B, seat, T):
            S, i, after = B.S, u64(e), u64(B.reward.shape[0])
            apply_action(S, i, B.action[e], i, T)
            over = play_on(S, i, after, seat, B.R[e], B, T)
            before = B.so_far[e]
            B.so_far[e] = returns(S, i, T)
            return B.so_far[e] - before, over
    else:

        @inlined
        def reward_and_end(e, B, seat, T):
            S, i, after = B.S, u64(e), u64(B.reward.shape[0])
            now = after + u64(1)
            apply_action(S, i, B.action[e], after, T)
            copy_row(S, after, now)
            over = play_on(S, now, now + u64(1), seat, B.R[e], B, T)
            reward = other_reward(S, i, after, now, T)
            copy_row(S, now, i)
            return reward, over

    @inlined
    def act(e, B, T):
        seat = np.int64(B.flags[SEAT, e])
        reward, over = reward_and_end(e, B, seat, T)
        B.reward[e] = -reward if seat == 1 else reward
        return over

    return act


def refused(B):
    """Returns the first environment whose action cannot be taken, or -1 if there is none."""
    for e in range(B.reward.shape[0]):
        a = B.action[e]
        if a < 0 or a >= B.mask.shape[1]:
            return e
        if B.flags[OVER, e]:
            if B.options.autoreset_mode != NEXT_STEP or B.flags[OVER, e] == UNBEGUN:
                return e
        elif B.options.illegal == RAISE and B.mask[e, a] == 0:
            return e
    return -1


class Batch(NamedTuple):
    """The two calls of a batch, for `compile.held.hold` with `Buffers` B and the game's tables T."""

    step: Callable[..., int]
    """`step_batch(held)`."""
    refresh: Callable[..., int]
    """`refresh(held)`."""


@cache
def make_batch(
    rules: Rules,
    opponent: Compiled,
    other_reward: Compiled | None,
    return_range: tuple[float, float],
    room: Path,
) -> Batch:
    """Compiles the step of a game.

    `opponent` is compiled, as is `other_reward`, one of `game.rewards`, or None for the difference of returns; `return_range` is
    player 0's.
    """
    return _batch(rules, opponent, other_reward, return_range, room, plain=False)


def plain_batch(
    rules: Rules,
    opponent: Callable[..., int],
    other_reward: Compiled | None,
    return_range: tuple[float, float],
    room: Path,
) -> Batch:
    """Returns the step in plain Python around the compiled rules, for an opponent that is a Python function.

    Made anew each time, so that the opponent goes with its environment.
    """
    return _batch(rules, opponent, other_reward, return_range, room, plain=True)


def _batch(
    rules: Rules,
    opponent: Compiled,
    other_reward: Compiled | None,
    return_range: tuple[float, float],
    room: Path,
    plain: bool,
) -> Batch:
    """Binds the step of a game."""
    low, high = return_range
    returns = rules.returns
    episodes = make_episodes(rules, opponent, room, plain)
    begin, show = episodes.begin, episodes.show
    act = make_act(rules, episodes, other_reward, room, plain)
    refuse = bind(room, inline=True, plain=plain)(refused)

    @bind(room, inline=True, plain=plain)
    def forfeit(e, B, T):
        """Ends the episode of environment e, whose action is illegal, with the least that there is to get."""
        so_far = returns(B.S, u64(e), T)
        B.reward[e] = so_far - high if B.flags[SEAT, e] else low - so_far

    @bind(room, plain=plain)
    def refresh(held):
        """Starts an episode where `fresh` says so, and shows again what stands elsewhere; returns 0 or SOME_UNBEGUN."""
        B, T = unpacked(held)
        for e in range(B.reward.shape[0]):
            if B.fresh[e]:
                if not begin(e, B, T):
                    return SOME_UNBEGUN
            elif B.flags[OVER, e] == GOING:
                B.so_far[e] = returns(B.S, u64(e), T)
            show(e, B.obs, B.mask, B, T)
        return 0

    @bind(room, inline=True, plain=plain)
    def try_action(e, B, T):
        """Takes the action of environment e, be it legal or not; returns whether the game is over, or UNDECIDED."""
        B.counts[STEPS, e] += 1
        if B.mask[e, B.action[e]]:
            B.counts[IN_A_ROW, e] = 0
            return act(e, B, T)
        B.flags[ILLEGAL, e] = 1
        B.counts[IN_A_ROW, e] += 1
        if B.options.illegal == NOOP:
            return 0
        forfeit(e, B, T)
        return 1

    @bind(room, plain=plain)
    def step_batch(held):
        """Steps every environment; returns bits SOME_..., or -1 - e if environment e refuses. SOME_UNBEGUN alone: it broke off.

        Nothing changes if one refuses: its action is no id, or illegal under RAISE, or its episode is over.
        """
        B, T = unpacked(held)
        e = refuse(B)
        if e >= 0:
            return -1 - e
        summary = 0
        for e in range(B.reward.shape[0]):
            B.flags[TERMINATED, e] = 0
            B.flags[TRUNCATED, e] = 0
            B.flags[ILLEGAL, e] = 0
            B.reward[e] = 0.0
            # Act where an episode goes on, and say how it ends
            start = B.flags[OVER, e] != GOING
            if not start:
                over = try_action(e, B, T)
                if over == UNDECIDED:
                    B.flags[OVER, e] = UNBEGUN
                    return SOME_UNBEGUN
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
                if (over or cut) and B.options.autoreset_mode == SAME_STEP:
                    show(e, B.final, B.final_mask, B, T)
                    for word in range(B.last.shape[1]):
                        B.last[e, word] = B.S[e, word]
                    start = True
                elif B.flags[ILLEGAL, e] and not over:
                    continue  # all is as it was
            # Start the next one where it is over, and show what there is
            if start and not begin(e, B, T):
                return SOME_UNBEGUN
            show(e, B.obs, B.mask, B, T)
        return summary

    return Batch(step_batch, refresh)
