"""The buffers and settings behind the environments: what `GameEnv` and `GameVectorEnv` have in common."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium.utils import seeding
from numpy.typing import NDArray

from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.gym import batch
from leafwise.envs.core.gym.observation import new_observations
from leafwise.envs.core.gym.opponents import Opponent, check_picklable, seated
from leafwise.envs.core.play.greedy import rows_needed

ILLEGAL = {"lose": batch.LOSE, "noop": batch.NOOP, "raise": batch.RAISE}
SEATS = {"first": 0, "second": 1, "random": batch.RANDOM_SEAT}
STEP_ROWS = 2
"""Scratch rows of a step: right after the action, and the next decision."""


def as_game(game: str | Game, options: Mapping[str, Any]) -> Game:
    """Returns the game named (or given) with options; raises ValueError for a name or option that does not exist."""
    if isinstance(game, Game):
        return game.variant(**options)
    from leafwise.envs.registry import game as by_name

    return by_name(game, **options)


def one_of(what: str, given: Any, choices: Mapping[str, Any] | list[str], game: Game) -> Any:
    """Returns `given`; raises ValueError if it is none of `choices`."""
    if not isinstance(given, str) or given not in choices:
        raise ValueError(f"{game.name}: expected {what} among {', '.join(choices)}, got {given!r}")
    return given


def new_key(random: np.random.Generator) -> np.uint64:
    """Draws the 64-bit key of a stream."""
    return random.integers(2**64 - 1, dtype=np.uint64, endpoint=True)


def key_of(seed: int) -> np.uint64:
    """Returns the key that an environment draws right after it is seeded."""
    return new_key(seeding.np_random(seed)[0])


class Stepper:
    """Steps n environments of one game; everything it shows is overwritten by the next call.

    Raises ValueError for a reward, illegal, opponent or seat that the game does not have.
    """

    def __init__(
        self,
        game: Game,
        n: int,
        *,
        reward: str | None,
        illegal: str | None,
        opponent: Opponent,
        seat: str,
        autoreset: int,
    ) -> None:
        self.game, self.n = game, n
        self.reward = one_of(
            "reward", game.reward_names[0] if reward is None else reward, list(game.reward_names), game
        )
        default = "noop" if game.players == 1 else "lose"
        self.illegal = one_of("illegal", default if illegal is None else illegal, ILLEGAL, game)
        self.seat = one_of("seat", seat, SEATS, game)
        self.opponent, self.autoreset = opponent, autoreset
        play, evaluator, asked = seated(game, opponent, seat)
        other = game.rewards.get(self.reward)
        fixed = game.rules, play, other, game.return_range, game.name, game.room
        self.compiled = batch.plain_batch(*fixed) if asked else batch.make_batch(*fixed)
        self.tables = game.tables(evaluator)
        scratch = STEP_ROWS + (rows_needed(game) if evaluator is not None else 0)
        self.buffers = batch.Buffers(
            S=game.rows(n + scratch),
            R=np.zeros((n, 2), dtype=np.uint64),
            action=np.zeros(n, dtype=np.int64),
            obs=new_observations(game, n),
            final=new_observations(game, n),
            mask=np.ones((n, len(game.actions)), dtype=np.int8),
            reward=np.zeros(n),
            flags=np.zeros((4, n), dtype=np.uint8),
            legal=np.zeros(game.max_actions, dtype=np.int64),
            P=np.zeros(n + scratch),
            options=np.array([autoreset, ILLEGAL[self.illegal], SEATS[self.seat]], dtype=np.int64),
        )
        self.buffers.flags[batch.OVER] = 1  # until the first reset
        self.arguments = (self.buffers, self.tables)

    def start(self, keys: Mapping[int, np.uint64]) -> None:
        """Starts an episode everywhere, with new streams for the environments in `keys`."""
        for e, key in keys.items():
            self.buffers.R[e] = key, 0
        self.compiled.refresh(True, *self.arguments)

    def step(self) -> int:
        """Takes `buffers.action`; returns the bits of `batch.step_batch`, raises ValueError if one is refused."""
        summary = self.compiled.step(*self.arguments)
        if summary < 0:
            self.refuse(-1 - summary)
        return summary

    def refuse(self, e: int) -> None:
        """Raises ValueError, saying why environment e cannot take its action."""
        action, game = int(self.buffers.action[e]), self.game
        where = f" in environment {e}" if self.n > 1 else ""
        if not 0 <= action < len(game.actions):
            raise ValueError(f"{game.name}: expected an action in 0..{len(game.actions) - 1}{where}, got {action!r}")
        if self.buffers.flags[batch.OVER, e]:
            raise ValueError(
                f"{game.name}: expected reset() before step(){where}, the episode is over or has not begun"
            )
        legal = ", ".join(game.actions[a] for a in np.flatnonzero(self.buffers.mask[e]))
        raise ValueError(f"{game.name}: expected a legal action ({legal}){where}, got {game.actions[action]!r}")

    def sentence(self, e: int) -> str:
        """Returns what is said of the illegal action that environment e has just taken."""
        what = "nothing happens" if self.illegal == "noop" else "the game is lost"
        return f"{self.game.name}: {self.game.actions[self.buffers.action[e]]!r} is not legal here, {what}"

    def state(self, e: int) -> State:
        """Returns the position of environment e."""
        return State(self.game, self.buffers.S[e])

    def frame(self, e: int, render_mode: str | None) -> Any:
        """Returns the picture of environment e: text for "ansi", uint8 [height, width, 3] for "rgb_array"."""
        if render_mode is None:
            return None
        return self.state(e).board() if render_mode == "ansi" else self.state(e).rgb()

    def get_state(self) -> dict[str, NDArray[Any]]:
        """Returns copies of all that the future depends on: rows [n, width], streams [n, 2], seats and over [n]."""
        flags = self.buffers.flags
        return {
            "rows": self.buffers.S[: self.n].copy(),
            "streams": self.buffers.R.copy(),
            "seats": flags[batch.SEAT].copy(),
            "over": flags[batch.OVER].copy(),
        }

    def set_state(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Goes on from what `get_state` returned; raises ValueError if it does not fit."""
        now = self.get_state()
        if not isinstance(state, Mapping) or set(state) != set(now):
            raise ValueError(f"{self.game.name}: expected a state from get_state, got {type(state).__name__}")
        for name, array in now.items():
            given = np.asarray(state[name])
            if given.shape != array.shape or given.dtype != array.dtype:
                expected, got = f"{array.dtype} {array.shape}", f"{given.dtype} {given.shape}"
                raise ValueError(f"{self.game.name}: expected {name} of a state as {expected}, got {got}")
        self.buffers.S[: self.n] = state["rows"]
        self.buffers.R[:] = state["streams"]
        self.buffers.flags[batch.SEAT] = state["seats"]
        self.buffers.flags[batch.OVER] = state["over"]
        self.compiled.refresh(False, *self.arguments)

    def __reduce__(self) -> Any:
        check_picklable(self.game, self.opponent)
        words = {"reward": self.reward, "illegal": self.illegal, "opponent": self.opponent, "seat": self.seat}
        return _rebuild, (self.game, self.n, words | {"autoreset": self.autoreset}, self.get_state())


def _rebuild(game: Game, n: int, keywords: dict[str, Any], state: dict[str, NDArray[Any]]) -> Stepper:
    stepper = Stepper(game, n, **keywords)
    stepper.set_state(state)
    return stepper
