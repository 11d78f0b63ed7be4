"""Steps environments: their buffers and settings, and the one compiled function that runs them.

One call takes actions, draws chance, plays for the opponent and starts episodes, in n environments. `make_step` makes the
function for a game, a reward and an opponent; rows 0..n-1 of `S` are the environments, and the rows after them scratch.
`Stepper` owns the buffers and calls it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from functools import cache
from operator import index
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.arrays import Array, Bools, Bytes, Floats, Ints, Words
from leafwise.envs.core.compile.emitted import bind_arguments
from leafwise.envs.core.compile.jit import bind
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.rules import CHANCE, TERMINAL, Compiled, Rules, copy_row
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.contract.stream import SEEDS, below, u64
from leafwise.envs.core.errors import UserError, short
from leafwise.envs.core.gym.keywords import (
    NEXT_STEP,
    NO_LIMIT,
    NOOP,
    RAISE,
    RANDOM_SEAT,
    SAME_STEP,
    SEAT_NAMES,
    SEATS,
    EnvOptions,
)
from leafwise.envs.core.gym.observation import Arrays, Info, new_observations
from leafwise.envs.core.play.players import check_picklable, resolve_opponent, rows_needed
from leafwise.envs.core.ranges import need_in

OVER, TERMINATED, TRUNCATED, ILLEGAL, SEAT = 0, 1, 2, 3, 4
"""Rows of `StepBuffers.flags`."""

GOING, ENDED, CUT_OFF, UNBEGUN = 0, 1, 2, 3
"""Values of OVER: the episode goes on; the game is over; the episode was truncated before the end of the game; none has begun."""

ACT, BEGIN, SHOW = 0, 1, 2
"""Values of `StepBuffers.task`: take the action, start an episode, or show the position again."""

STEPS, IN_A_ROW = 0, 1
"""Rows of `StepBuffers.counts`: steps of the episode, illegal actions since a legal one."""

SOME_TERMINATED, SOME_TRUNCATED, SOME_ILLEGAL = 1, 2, 4
SOME_ENDED = SOME_TERMINATED | SOME_TRUNCATED
"""Bits in the result of `step_batch`."""

OVER_IN_A_ROW, MORE_WITH_PLIES = 500, 20
"""Games that are begun in search of one in which the agent decides, and further ones for each random action of the openings."""
MOST_BETWEEN = 1_000_000
"""The largest number of acts of chance and of the opponent between two decisions."""
UNDECIDED = 2
"""Result of `play_on` if there are more, besides 0 and 1."""


class StepBuffers(NamedTuple):
    """The arrays that a step reads and writes, for n environments and A actions."""

    S: Array
    """[n + scratch, width]: the rows."""
    R: Words
    """[n, 2]: the streams."""
    action: Ints
    """[n]: the agents' actions; only read."""
    obs: Any
    """[n, ...]: the agents' observations, one array or a NamedTuple of arrays."""
    final: Any
    """[n, ...]: the last observations of episodes that ended in this step (SAME_STEP only)."""
    mask: NDArray[np.int8]
    """[n, A]: 1 for each legal action; all ones after the end of the game."""
    final_mask: NDArray[np.int8]
    """[n, A]: the last masks of episodes that ended in this step (SAME_STEP only); zeros for other environments."""
    last: Array
    """[n, width]: the last rows of episodes that ended in this step (SAME_STEP only)."""
    reward: Floats
    """[n]"""
    so_far: Floats
    """[n]: player 0's return at the row; used if rewards are its differences."""
    flags: Bytes
    """[5, n]: OVER (the episode has ended and none has begun), TERMINATED, TRUNCATED and ILLEGAL in this step, SEAT."""
    counts: Ints
    """[2, n]: STEPS and IN_A_ROW; an episode is truncated when one reaches its limit."""
    patience: int
    """The limit of IN_A_ROW."""
    task: Bytes
    """[n]: what the next call does in each environment: ACT, BEGIN or SHOW."""
    legal: Ints
    """[max_actions]: scratch."""
    P: Floats
    """[n + scratch]: scratch for probabilities."""
    options: Any
    """`StepOptions`: the environment's options as numbers."""


def make_step(
    rules: Rules,
    opponent_action: Compiled | None,
    other_reward: Compiled | None,
    return_range: tuple[float, float],
    room: Path,
    plain: bool = False,
) -> Compiled:
    """Compiles `step_batch(bound)`, for `compile.emitted.bind_arguments` with `StepBuffers` B and the game's tables T.

    `opponent_action` is None in a single-player game. `other_reward` is one of `game.rewards`, or None for the difference of
    returns; `return_range` is player 0's. `plain` leaves it plain Python around the compiled rules, for an opponent that is a
    Python function.
    """
    initial_state, current_player, legal_actions = rules.initial_state, rules.current_player, rules.legal_actions
    sample_outcome, apply_action, returns = rules.sample_outcome, rules.apply_action, rules.returns
    observe, observe_as = rules.observe, rules.observe_as
    alone, (low, high) = opponent_action is None, return_range
    inlined = bind(room, inline=True, plain=plain)  # passing all the arrays would cost more than the work

    @inlined
    def play_on(S, i, o, seat, R, B, T):
        """Plays row i on until the agent decides (returns 0) or the game is over (1); rows from o on are scratch.

        Returns UNDECIDED if neither happens within MOST_BETWEEN acts.
        """
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

    @inlined
    def open_randomly(S, i, plies, R, B, T):
        """Plays up to `plies` random actions at row i, for both players."""
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
        """Starts an episode, with the first game in which the agent gets to decide; returns whether there is one."""
        i, o, R = u64(e), u64(B.reward.shape[0]), B.R[e]
        # The seat of this episode.
        seat = B.options.seat
        if seat == RANDOM_SEAT:
            seat = np.int64(below(R, 2))
        B.flags[SEAT, e] = seat
        # New games until the agent decides in one.
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
    def act(e, B, T):
        """Takes the action of environment e, legal or not, and plays on to the agent's next decision.

        Writes the reward, the difference of returns or `other_reward`. Returns whether the game is over, or UNDECIDED.
        """
        S, i, after = B.S, u64(e), u64(B.reward.shape[0])
        seat = np.int64(B.flags[SEAT, e])
        B.counts[STEPS, e] += 1
        # An illegal action does nothing, or ends the episode with the lowest return.
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
            # `other_reward` gets three rows: the decision, right after the action, and the next decision.
            now = after + u64(1)
            apply_action(S, i, B.action[e], after, T)
            copy_row(S, after, now)
            over = play_on(S, now, now + u64(1), seat, B.R[e], B, T)
            reward = other_reward(S, i, after, now, T)
            copy_row(S, now, i)
        B.reward[e] = -reward if seat == 1 else reward
        return over

    @inlined
    def show(e, obs, mask, B, T):
        """Writes the agent's observation and mask to row e of `obs` and `mask`; the mask is all ones after the end."""
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

    @bind(room, plain=plain)
    def step_batch(bound):
        """Does the task of every environment, and sets it to ACT; returns bits SOME_..., or a negative number if it fails.

        -1 - e: environment e refuses its action: it is not an id, or illegal under RAISE, or its episode is over. Nothing changes.
        -1 - n: an agent does not get to decide any more; the call stopped there.
        """
        B, T = bound[0], bound[1]
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
            if B.flags[TERMINATED, e] | B.flags[TRUNCATED, e]:
                B.final_mask[e, :] = 0
            B.flags[TERMINATED, e] = 0
            B.flags[TRUNCATED, e] = 0
            B.flags[ILLEGAL, e] = 0
            B.reward[e] = 0.0
            # Act if the episode goes on, and determine whether it ends.
            start = task == BEGIN or B.flags[OVER, e] != GOING
            if not start:
                over = act(e, B, T)
                if over == UNDECIDED:
                    B.flags[OVER, e] = UNBEGUN
                    return -1 - n

                # The episode ends if the game is over, or a count has reached its limit.
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

                # Under SAME_STEP the next episode starts at once; the last observation of this one is stored.
                if (over or cut) and B.options.autoreset_mode == SAME_STEP:
                    show(e, B.final, B.final_mask, B, T)
                    for word in range(B.last.shape[1]):
                        B.last[e, word] = B.S[e, word]
                    start = True
                elif B.flags[ILLEGAL, e] and not over:
                    continue  # nothing has changed
            # Start the next episode if needed, and write the observation.
            if start and not begin(e, B, T):
                return -1 - n
            show(e, B.obs, B.mask, B, T)
        return summary

    return step_batch


shared_step = cache(make_step)
"""`make_step`, once for all environments of a game; an opponent in Python needs a step of its own."""


STEP_ROWS = 2
"""Scratch rows of a step: right after the action, and the next decision."""

PATIENCE = 100
"""Consecutive illegal actions that end an episode under "noop"; in a game with more actions, the number of its actions."""


def reset_options(options: Any, game: Game, known: tuple[str, ...] = ()) -> Mapping[str, Any]:
    """Returns the options of a reset, empty for None; raises ValueError for anything but a dict, and for unknown keys."""
    if options is None:
        return {}
    if not isinstance(options, Mapping):
        raise UserError(f"{game.name}: expected options of reset() as a dict or None, got {options!r}")
    for key in options:
        if key not in known:
            expected = f"options of reset() among {', '.join(known)}" if known else "no options of reset()"
            raise UserError(f"{game.name}: expected {expected}, got {key!r}")
    return options


def new_key(random: np.random.Generator) -> np.uint64:
    """Draws the 64-bit key of a stream."""
    return random.integers(2**64 - 1, dtype=np.uint64, endpoint=True)


def key_of(seed: int, game: Game) -> np.uint64:
    """Returns the key of a seed, which is the seed itself: the first game after `reset(seed)` is `game.new(seed)`.

    Raises ValueError for a seed that does not have 64 bits.
    """
    return np.uint64(need_in(seed, SEEDS, "a seed", game.name, int))


def action_id(action: Any, game: Game, where: str = "") -> int:
    """Returns an action id as int, from any integer type; raises ValueError, naming `where`, for anything else.

    The steps of all environments take ids; `State.play` also takes names.
    """
    try:
        a = index(action)
    except TypeError:
        raise UserError(f"{game.name}: expected an action id, got {action!r}") from None
    if not 0 <= a < len(game.actions):
        raise UserError(f"{game.name}: expected an action in 0..{len(game.actions) - 1}{where}, got {a!r}")
    return a


def patience(game: Game) -> int:
    """Returns how many consecutive illegal actions end an episode under "noop"."""
    return max(PATIENCE, len(game.actions))


def illegal_text(game: Game, action: int, illegal: str | None, *, truncated: bool) -> str:
    """Returns the message about an illegal action."""
    nothing = "nothing happens, and the episode is truncated" if truncated else "nothing happens"
    what = nothing if illegal == "noop" else "the game is lost"
    return f"{game.name}: {game.actions[action]!r} is not legal here, {what}"


def variant_number(game: Game) -> int:
    """Returns a 64-bit number that identifies a game with its options."""
    text = f"{game.name} {json.dumps(game.given_options, sort_keys=True)}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8])


def nothing_to_decide(game: Game, seat: int | None = None) -> UserError:
    """Returns the error for a game in which a player, of a `seat` or alone, never gets to decide."""
    who, other = ("a player", "options") if seat is None else (f"the {SEAT_NAMES[seat]} player", "a seat or options")
    return UserError(f"expected {other} with which {who} gets to decide, got {game!r}, where that never happens")


def first_decision(game: Game, stream: Words) -> State:
    """Returns the first decision of a game, with chance drawn from `stream`; raises ValueError if there never is one."""
    for _ in range(OVER_IN_A_ROW):
        if not (state := game.start().settle(stream)).is_terminal:
            return state
    raise nothing_to_decide(game)


def not_begun() -> int:
    """Replaces the compiled function until the first reset: environment 0 refuses its action."""
    return -1


class Stepper:
    """n environments of one game: their arrays, and the one compiled function that changes them.

    Making a stepper compiles nothing. The first `reset` compiles `step_batch` of `make_step`, with the game's rules, the reward
    and the opponent inside, or loads it from the cache on disk. `reset`, `step` and `set_state` all run this function, so a
    step compiles nothing more.

    `options` must be checked ones; raises ValueError for an unknown opponent. Every call overwrites the buffers.
    """

    def __init__(self, game: Game, n: int, options: EnvOptions) -> None:
        self.game, self.n, self.options = game, n, options
        play, evaluator, is_python = resolve_opponent(game, options.opponent)
        other = game.rewards.get(options.reward)  # type: ignore[arg-type]  # checked: it names a reward
        self._parts, self._is_python = (
            game.rules_seen(options.observation), play, other, game.return_range, game.room
        ), is_python  # fmt: skip
        self.call: Callable[[], int] = not_begun
        """The compiled function, from the first reset on; see `make_step`."""
        self.tables = game.tables(evaluator)
        scratch = STEP_ROWS + (rows_needed(game) if evaluator is not None else 0)
        self.buffers = StepBuffers(
            S=game.rows(n + scratch),
            R=np.zeros((n, 2), dtype=np.uint64),
            action=np.zeros(n, dtype=np.int64),
            obs=new_observations(game, n, options.observation),
            final=new_observations(game, n, options.observation),
            mask=np.ones((n, len(game.actions)), dtype=np.int8),
            final_mask=np.zeros((n, len(game.actions)), dtype=np.int8),
            last=game.rows(n),
            reward=np.zeros(n),
            so_far=np.zeros(n),
            flags=np.zeros((5, n), dtype=np.uint8),
            counts=np.zeros((2, n), dtype=np.int64),
            patience=patience(game),
            task=np.zeros(n, dtype=np.uint8),
            legal=np.zeros(game.max_actions, dtype=np.int64),
            P=np.zeros(max(n + scratch, game.max_actions)),
            options=options.compiled(),
        )
        self.buffers.flags[OVER] = UNBEGUN  # until the first reset

    def start(self, keys: Mapping[int, np.uint64], where: Bools | None = None) -> None:
        """Starts an episode in all environments, or in those selected by `where` [n], with new streams for the environments in
        `keys`.

        The others show their positions again. Raises ValueError if the agent never gets to decide.
        """
        for e, key in keys.items():
            self.buffers.R[e] = key, 0
        self._run(BEGIN if where is None else np.where(where, BEGIN, SHOW))

    def _run(self, task: int | Array) -> None:
        """Does a task other than ACT, once, in each environment; the first call compiles."""
        if self.call is not_begun:
            step = make_step(*self._parts, plain=True) if self._is_python else shared_step(*self._parts)
            self.call = bind_arguments(step, self.buffers, self.tables)
        self.buffers.task[:] = task
        try:
            self.step()
        except BaseException:  # an opponent in Python may raise anything
            self.buffers.task[:] = ACT
            raise

    def step(self) -> int:
        """Takes `buffers.action`; returns the bits of the call, and raises ValueError as `fail` does."""
        summary = self.call()
        if summary < 0:
            self.fail(summary)
        return summary

    def fail(self, summary: int) -> NoReturn:
        """Raises ValueError: says why an action was refused, or that an agent does not get to decide any more."""
        e, game, flags = -1 - summary, self.game, self.buffers.flags
        if e == self.n:
            e = int(np.flatnonzero(flags[OVER] == UNBEGUN)[0])
            raise nothing_to_decide(game, int(flags[SEAT, e]) if game.players > 1 else None)
        where = f" in environment {e}" if self.n > 1 else ""
        action = action_id(self.buffers.action[e], game, where)
        if flags[OVER, e]:
            raise UserError(f"{game.name}: expected reset() before step(){where}, the episode is over or has not begun")
        legal = ", ".join(game.actions[a] for a in np.flatnonzero(self.buffers.mask[e]))
        raise UserError(f"{game.name}: expected a legal action ({legal}){where}, got {game.actions[action]!r}")

    def illegal_message(self, e: int) -> str:
        """Returns the message about the illegal action of environment e in the last step."""
        truncated = bool(self.buffers.flags[TRUNCATED, e])
        return illegal_text(self.game, int(self.buffers.action[e]), self.options.illegal, truncated=truncated)

    def step_info(self) -> Arrays:
        """Returns the game's own entries of `info` for every environment, arrays [n] by key."""
        spec = self.game.observation.info
        return dict(spec.always(self.buffers.S[: self.n], self.tables)) if spec is not None else {}

    def end_info(self, row: Array) -> Info:
        """Returns the game's own entries of `info` for the last row of an episode."""
        spec = self.game.observation.info
        if spec is None:
            return {}
        always = spec.always(row[None], self.tables)
        return {name: array[0] for name, array in always.items()} | dict(spec.at_end(row, self.tables))

    def state(self, e: int) -> State:
        """Returns the position of environment e."""
        return State.unchecked(self.game, self.buffers.S[e])

    def _state_arrays(self) -> Arrays:
        """Returns the parts of the buffers that the future depends on, by their names in a state."""
        flags, counts = self.buffers.flags, self.buffers.counts
        return {
            "rows": self.buffers.S[: self.n], "streams": self.buffers.R, "seats": flags[SEAT], "over": flags[OVER],
            "steps": counts[STEPS], "illegal_in_a_row": counts[IN_A_ROW],
        }  # fmt: skip

    def get_state(self) -> Arrays:
        """Returns copies of everything that the future depends on: rows [n, width], streams [n, 2], and arrays [n].

        The latter are the seats; whether each episode goes on (0), is over (1), was truncated (2) or has not begun (3); its
        steps; its illegal actions since a legal one; the number of the game's variant.
        """
        variant = np.full(self.n, variant_number(self.game), dtype=np.uint64)
        return {name: part.copy() for name, part in self._state_arrays().items()} | {"variant": variant}

    def set_state(self, state: Arrays) -> None:
        """Goes on from a result of `get_state`, after checking every row; raises ValueError, and changes nothing, if it does
        not fit.
        """
        state = self._checked(state)
        for name, part in self._state_arrays().items():
            part[:] = state[name]
        self._run(SHOW)

    def _checked(self, state) -> Arrays:
        """Returns a state with all its arrays; raises ValueError for one that `get_state` cannot have returned."""
        current, name = self.get_state(), self.game.name
        if not isinstance(state, Mapping):
            raise UserError(f"{name}: expected a state from get_state, got {type(state).__name__}")
        state = dict(state)
        if set(state) != set(current):
            raise UserError(
                f"{name}: expected a state from get_state with {', '.join(current)}, got {', '.join(map(str, state))}"
            )
        for key, array in current.items():
            given = state[key] = np.array(state[key])
            if given.shape != array.shape or given.dtype != array.dtype:
                expected, got = f"{array.dtype} {array.shape}", f"{given.dtype} {given.shape}"
                raise UserError(f"{name}: expected {key} of a state as {expected}, got {got}")
        if (state["variant"] != current["variant"]).any():
            raise UserError(f"{name}: expected a state of {self.game!r}, got one of another game or variant")
        seats = [0, 1] if self.options.seat == "random" else [SEATS[self.options.seat]]
        self._need("seats", state["seats"], seats[0], seats[-1])
        self._need("over", state["over"], GOING, UNBEGUN)
        for key in ("steps", "illegal_in_a_row"):
            self._need(key, state[key], 0, NO_LIMIT)
        checked: dict[bytes, State] = {}
        for e, row in enumerate(state["rows"]):
            if state["over"][e] == UNBEGUN and not row.any():
                continue
            position = checked.get(row.tobytes()) or State(self.game, row)
            checked[row.tobytes()] = position
            if state["over"][e] != UNBEGUN:
                self._check_position(position, int(state["seats"][e]), int(state["over"][e]))
        return state

    def _need(self, key: str, given: Array, low: int, high: int) -> None:
        wrong = given[(given < low) | (given > high)]
        if len(wrong):
            expected = str(low) if low == high else f"{low}..{high}"
            raise UserError(f"{self.game.name}: expected {key} of a state in {expected}, got {int(wrong[0])}")

    def _check_position(self, position: State, seat: int, over: int) -> None:
        """Raises ValueError unless an episode that goes on, or was truncated, is at a decision of its agent."""
        acts = position.current_player
        if acts == CHANCE or (over != ENDED and acts != seat):
            expected = "no chance stage" if over == ENDED else f"a decision of player {seat}"
            raise UserError(f"{self.game.name}: expected {expected} in the row of a state, got {short(position)}")

    def __reduce__(self):
        check_picklable(self.game, self.options.opponent)
        return _rebuild, (self.game, self.n, self.options, self.get_state())


def _rebuild(game: Game, n: int, options: EnvOptions, state: Arrays) -> Stepper:
    if not isinstance(options, EnvOptions):
        raise UserError(f"{game.name}: expected an environment pickled by this version of leafwise, got an older one")
    stepper = Stepper(game, n, options)
    stepper.set_state(state)
    return stepper
