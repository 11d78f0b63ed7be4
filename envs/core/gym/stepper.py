"""The buffers and settings behind the environments: what `GameEnv` and `GameVectorEnv` have in common."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from operator import index
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.compile.held import hold
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.rules import CHANCE
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.gym import batch
from leafwise.envs.core.gym.observation import new_observations
from leafwise.envs.core.gym.opponents import check_picklable, seated
from leafwise.envs.core.gym.options import NO_LIMIT, SEAT_NAMES, SEATS, EnvOptions
from leafwise.envs.core.lines import short
from leafwise.envs.core.play.greedy import rows_needed
from leafwise.envs.core.ranges import Range, need_in

SEEDS = Range(0, 2**64 - 1)
STEP_ROWS = 2
"""Scratch rows of a step: right after the action, and the next decision."""

PATIENCE = 100
"""How many illegal actions in a row end an episode under "noop", at least; in a game with more actions, as many as it has."""


def reset_options(options: Any, game: Game, known: tuple[str, ...] = ()) -> Mapping[str, Any]:
    """Returns the options of a reset, none for None; raises ValueError for what is no dict, and for keys that are not known."""
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
    """Returns the key of a seed, the seed itself: an environment's first game after `reset(seed)` is `game.new(seed)`.

    Raises ValueError for a seed that is not of 64 bits.
    """
    return np.uint64(need_in(seed, SEEDS, "a seed", game.name, int))


def action_id(action: Any, game: Game, where: str = "") -> int:
    """Returns an action id, which may be of any type of whole numbers; raises ValueError, which says `where`, for what is none.

    This is what the steps of all environments take: a name is for positions, `State.play`.
    """
    try:
        a = index(action)
    except TypeError:
        raise UserError(f"{game.name}: expected an action id, got {action!r}") from None
    if not 0 <= a < len(game.actions):
        raise UserError(f"{game.name}: expected an action in 0..{len(game.actions) - 1}{where}, got {a!r}")
    return a


def patience(game: Game) -> int:
    """Returns how many illegal actions in a row end an episode under "noop"."""
    return max(PATIENCE, len(game.actions))


def said_of_illegal(game: Game, action: int, illegal: str | None, *, truncated: bool) -> str:
    """Returns what is said of an illegal action."""
    nothing = "nothing happens, and the episode is truncated" if truncated else "nothing happens"
    what = nothing if illegal == "noop" else "the game is lost"
    return f"{game.name}: {game.actions[action]!r} is not legal here, {what}"


def variant_number(game: Game) -> int:
    """Returns a number of 64 bits that tells a game with its options from others."""
    told = f"{game.name} {json.dumps(game.given_options, sort_keys=True)}"
    return int.from_bytes(hashlib.sha256(told.encode()).digest()[:8])


def nothing_to_decide(game: Game, seat: int | None = None) -> UserError:
    """Returns the error of a game in which a player, of a `seat` or alone, never gets to decide."""
    who, other = ("a player", "options") if seat is None else (f"the {SEAT_NAMES[seat]} player", "a seat or options")
    return UserError(f"expected {other} with which {who} gets to decide, got {game!r}, where that never comes")


def first_decision(game: Game, stream: NDArray[np.uint64]) -> State:
    """Returns the first decision of a game that has one, chance drawn from `stream`; raises ValueError where none ever comes."""
    for _ in range(batch.OVER_IN_A_ROW):
        if not (state := game.start().settle(stream)).is_terminal:
            return state
    raise nothing_to_decide(game)


def not_begun() -> int:
    """Stands in for the compiled function until the first reset: environment 0 refuses its action."""
    return -1


class Stepper:
    """n environments of one game: their arrays, and the one compiled function that changes them.

    Making a stepper compiles nothing. The first `reset` compiles `step_batch` of `batch.make_step`, with the game's rules, the
    reward and the opponent inside, or loads it from the cache on disk. `reset`, `step` and `set_state` all run this function, so a
    step compiles nothing more.

    `options` are checked ones; raises ValueError for an opponent that the game does not have. Every call overwrites what the
    buffers show.
    """

    def __init__(self, game: Game, n: int, options: EnvOptions) -> None:
        self.game, self.n, self.options = game, n, options
        play, evaluator, asked = seated(game, options.opponent)
        other = game.rewards.get(options.reward)  # type: ignore[arg-type]  # checked ones name a reward
        self._parts, self._asked = (game.rules, play, other, game.return_range, game.room), asked
        self.call: Callable[[], int] = not_begun
        """The compiled function from the first reset on; what it does and returns says `batch.make_step`."""
        self.tables = game.tables(evaluator)
        scratch = STEP_ROWS + (rows_needed(game) if evaluator is not None else 0)
        self.buffers = batch.Buffers(
            S=game.rows(n + scratch),
            R=np.zeros((n, 2), dtype=np.uint64),
            action=np.zeros(n, dtype=np.int64),
            obs=new_observations(game, n),
            final=new_observations(game, n),
            mask=np.ones((n, len(game.actions)), dtype=np.int8),
            final_mask=np.ones((n, len(game.actions)), dtype=np.int8),
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
        self.buffers.flags[batch.OVER] = batch.UNBEGUN  # until the first reset

    def start(self, keys: Mapping[int, np.uint64], where: NDArray[np.bool_] | None = None) -> None:
        """Starts an episode everywhere, or where [n] says so, with new streams for the environments in `keys`.

        The others show again what they are. Raises ValueError where the agent never gets to decide.
        """
        for e, key in keys.items():
            self.buffers.R[e] = key, 0
        self._run(batch.BEGIN if where is None else np.where(where, batch.BEGIN, batch.SHOW))

    def _run(self, task: int | NDArray[Any]) -> None:
        """Does a task other than ACT, once, in each environment; compiles at the first one."""
        if self.call is not_begun:
            step = batch.make_step(*self._parts, plain=True) if self._asked else batch.shared_step(*self._parts)
            self.call = hold(step, self.buffers, self.tables)
        self.buffers.task[:] = task
        try:
            self.step()
        except BaseException:  # of an opponent in Python too: what is left undone stays so
            self.buffers.task[:] = batch.ACT
            raise

    def step(self) -> int:
        """Takes `buffers.action`; returns the bits that the call returns, and raises ValueError as `fail` does."""
        summary = self.call()
        if summary < 0:
            self.fail(summary)
        return summary

    def fail(self, summary: int) -> NoReturn:
        """Raises ValueError, saying why an action was refused, or that an agent does not get to decide any more."""
        e, game, flags = -1 - summary, self.game, self.buffers.flags
        if e == self.n:
            e = int(np.flatnonzero(flags[batch.OVER] == batch.UNBEGUN)[0])
            raise nothing_to_decide(game, int(flags[batch.SEAT, e]) if game.players > 1 else None)
        where = f" in environment {e}" if self.n > 1 else ""
        action = action_id(self.buffers.action[e], game, where)
        if flags[batch.OVER, e]:
            raise UserError(f"{game.name}: expected reset() before step(){where}, the episode is over or has not begun")
        legal = ", ".join(game.actions[a] for a in np.flatnonzero(self.buffers.mask[e]))
        raise UserError(f"{game.name}: expected a legal action ({legal}){where}, got {game.actions[action]!r}")

    def sentence(self, e: int) -> str:
        """Returns what is said of the illegal action that environment e has just taken."""
        truncated = bool(self.buffers.flags[batch.TRUNCATED, e])
        return said_of_illegal(self.game, int(self.buffers.action[e]), self.options.illegal, truncated=truncated)

    def told(self) -> dict[str, NDArray[Any]]:
        """Returns what the game tells of every environment at every step, arrays [n] by key."""
        tell = self.game.observation.info
        return dict(tell.always(self.buffers.S[: self.n], self.tables)) if tell is not None else {}

    def told_of_end(self, row: NDArray[Any]) -> dict[str, Any]:
        """Returns what the game tells of the row in which an episode has ended."""
        tell = self.game.observation.info
        if tell is None:
            return {}
        always = tell.always(row[None], self.tables)
        return {name: array[0] for name, array in always.items()} | dict(tell.at_end(row, self.tables))

    def state(self, e: int) -> State:
        """Returns the position of environment e."""
        return State.unchecked(self.game, self.buffers.S[e])

    def _kept(self) -> dict[str, NDArray[Any]]:
        """Returns the parts of the buffers that the future depends on, by their names in a state."""
        flags, counts = self.buffers.flags, self.buffers.counts
        return {
            "rows": self.buffers.S[: self.n], "streams": self.buffers.R, "seats": flags[batch.SEAT], "over": flags[batch.OVER],
            "steps": counts[batch.STEPS], "illegal_in_a_row": counts[batch.IN_A_ROW],
        }  # fmt: skip

    def get_state(self) -> dict[str, NDArray[Any]]:
        """Returns copies of all that the future depends on: rows [n, width], streams [n, 2], and of each environment [n]:

        its seat; whether its episode goes on (0), is over (1), was truncated (2) or has not begun (3); its steps; its illegal
        actions since a legal one; the number of the game's variant.
        """
        variant = np.full(self.n, variant_number(self.game), dtype=np.uint64)
        return {name: part.copy() for name, part in self._kept().items()} | {"variant": variant}

    def set_state(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Goes on from what `get_state` returned; raises ValueError, and changes nothing, if it does not fit.

        Every row is checked. In a state that was taken before there were counts, they are 0; one taken before the variant was told
        is taken for one of this game.
        """
        state = self._checked(state)
        for name, part in self._kept().items():
            part[:] = state[name]
        self._run(batch.SHOW)

    def _checked(self, state: Any) -> dict[str, NDArray[Any]]:
        """Returns a state with all its arrays; raises ValueError for one that `get_state` cannot have returned."""
        now, name = self.get_state(), self.game.name
        if not isinstance(state, Mapping):
            raise UserError(f"{name}: expected a state from get_state, got {type(state).__name__}")
        none = np.zeros(self.n, dtype=np.int64)
        state = {"steps": none, "illegal_in_a_row": none, "variant": now["variant"]} | dict(state)
        if set(state) != set(now):
            raise UserError(
                f"{name}: expected a state from get_state with {', '.join(now)}, got {', '.join(map(str, state))}"
            )
        for key, array in now.items():
            given = state[key] = np.array(state[key])
            if given.shape != array.shape or given.dtype != array.dtype:
                expected, got = f"{array.dtype} {array.shape}", f"{given.dtype} {given.shape}"
                raise UserError(f"{name}: expected {key} of a state as {expected}, got {got}")
        if (state["variant"] != now["variant"]).any():
            raise UserError(f"{name}: expected a state of {self.game!r}, got one of another game or variant")
        seats = [0, 1] if self.options.seat == "random" else [SEATS[self.options.seat]]
        self._need("seats", state["seats"], seats[0], seats[-1])
        self._need("over", state["over"], batch.GOING, batch.UNBEGUN)
        for key in ("steps", "illegal_in_a_row"):
            self._need(key, state[key], 0, NO_LIMIT)
        known: dict[bytes, State] = {}
        for e, row in enumerate(state["rows"]):
            if state["over"][e] == batch.UNBEGUN and not row.any():
                continue
            found = known.get(row.tobytes()) or State(self.game, row)
            known[row.tobytes()] = found
            if state["over"][e] != batch.UNBEGUN:
                self._check_position(found, int(state["seats"][e]), int(state["over"][e]))
        return state

    def _need(self, key: str, given: NDArray[Any], low: int, high: int) -> None:
        wrong = given[(given < low) | (given > high)]
        if len(wrong):
            expected = str(low) if low == high else f"{low}..{high}"
            raise UserError(f"{self.game.name}: expected {key} of a state in {expected}, got {int(wrong[0])}")

    def _check_position(self, position: State, seat: int, over: int) -> None:
        """Raises ValueError unless an episode that goes on, or was truncated, is at a decision of its agent."""
        acts = position.current_player
        if acts == CHANCE or (over != batch.ENDED and acts != seat):
            expected = "no chance stage" if over == batch.ENDED else f"a decision of player {seat}"
            raise UserError(f"{self.game.name}: expected {expected} in the row of a state, got {short(position)}")

    def __reduce__(self) -> Any:
        check_picklable(self.game, self.options.opponent)
        return _rebuild, (self.game, self.n, self.options, self.get_state())


def _rebuild(game: Game, n: int, options: EnvOptions, state: dict[str, NDArray[Any]]) -> Stepper:
    if not isinstance(options, EnvOptions):
        raise UserError(f"{game.name}: expected an environment pickled by this version of leafwise, got an older one")
    stepper = Stepper(game, n, options)
    stepper.set_state(state)
    return stepper
