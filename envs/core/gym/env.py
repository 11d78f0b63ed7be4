"""The single environment: any game as a `gymnasium.Env`."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode

from leafwise.envs.core.arrays import Bools
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.gym.keywords import RENDER_MODES, EnvOptions, Kind, as_game, names_of, with_keyword_docs
from leafwise.envs.core.gym.observation import Arrays, Info, Observation, at, reader
from leafwise.envs.core.gym.stepper import (
    SOME_ILLEGAL,
    SOME_TERMINATED,
    SOME_TRUNCATED,
    Stepper,
    key_of,
    new_key,
    reset_options,
)
from leafwise.envs.core.pictures import FPS, Display
from leafwise.envs.core.play.players import Opponent
from leafwise.envs.core.ranges import Range, need_in


class Stepped:
    """Base of single and batch environments: a stepper, a display, and copying."""

    game: Game
    _bound: tuple[str, ...]
    """Names of the attributes that `_bind` sets; copies set them anew."""

    def _set_up(self, num_envs: int, kind: Kind, given: Mapping[str, Any]) -> None:
        """Makes everything that depends on the constructor's arguments, `given` by name."""
        more = () if kind == "single" else ("num_envs",)
        self.game = as_game(given["game"], given["options"], (*more, *names_of(kind)))
        n = need_in(num_envs, Range(1, sys.maxsize), "num_envs", self.game.name, int)
        chosen = EnvOptions.among(given, self.game, kind)
        if kind == "single":
            chosen = replace(chosen, autoreset_mode=AutoresetMode.DISABLED)
        self._stepper, self._keyed = Stepper(self.game, n, chosen), np.zeros(n, dtype=np.bool_)
        self.render_mode, self.reward_name = chosen.render_mode, chosen.reward
        self._display = Display(self.game, chosen.render_mode)
        self._has_info = self.game.observation.info is not None
        self._bind()

    def _bind(self) -> None:
        """Sets the attributes that every step reads."""
        raise NotImplementedError

    def get_state(self) -> Arrays:
        """Returns the state as arrays with a leading axis of environments, 1 for a single one.

        They are rows, streams, seats, whether each episode is over, its steps, its illegal actions since a legal one, and a
        number of the game's variant.
        """
        return self._stepper.get_state()

    def set_state(self, state: Arrays) -> None:
        """Goes on from a result of `get_state`; raises ValueError, and changes nothing, if it does not fit.

        It must be of this game and variant, and its rows must be valid.
        """
        self._stepper.set_state(state)
        self._keyed[:] = True

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in self._bound}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._bind()


@with_keyword_docs
class GameEnv(Stepped, gym.Env[Observation, int]):
    """One game as an environment; in a two-player game, against a built-in opponent.

    The game defines the observations; actions are ids, named by `game.actions`. `info["action_mask"]` is int8 [A], 1 for each
    legal action and all ones at the end. `game.observation.info` describes further keys.

    An episode ends when the game does. It is truncated after `max_episode_steps`, and after too many consecutive illegal
    actions: 100, or the number of actions if that is larger. An agent that follows the masks is never truncated unless
    `max_episode_steps` is given.

    `game` is a name or a `Game`. The other keywords are those of `EnvOptions`, explained below, and the game's own options.

    `reset(seed=s)` starts the game of `game.new(s)`. With seat="random" the seat is drawn first, and with `plies` random
    actions follow. All further chance comes from the stream of that seed; `reset()` goes on with it. Raises ValueError for
    wrong input, TypeError for unknown keywords.

    The first `reset` compiles one function, or loads it from the cache on disk: `step_batch` in `stepper.py`, with the rules,
    the reward and a compiled opponent inside. Every `reset`, `step` and `set_state` runs it; a step compiles nothing.
    """

    _bound = ("_action", "_reward", "_see", "_mask", "_copy_mask", "_quiet")
    metadata: dict[str, Any] = {"render_modes": list(RENDER_MODES["single"]), "render_fps": FPS}  # noqa: RUF012

    def __init__(
        self,
        game: str | Game,
        *,
        render_mode: str | None = None,
        reward: str | None = None,
        illegal: str | None = None,
        opponent: Opponent | None = None,
        seat: str = "first",
        max_episode_steps: int | None = None,
        plies: int = 0,
        observation: str = "default",
        **options,
    ) -> None:
        self._set_up(1, "single", locals())
        self.observation_space = self.game.observation_space(self._stepper.options.observation)  # type: ignore[assignment]
        self.action_space = gym.spaces.Discrete(len(self.game.actions))  # type: ignore[assignment]

    def _bind(self) -> None:
        """Sets the attributes that every step reads."""
        buffers = self._stepper.buffers
        # memoryviews read and write single numbers in half the time, and accept only whole numbers
        self._action, self._reward = buffers.action.data, buffers.reward.data
        self._see, self._mask = reader(at(buffers.obs, 0)), buffers.mask[0]
        self._copy_mask = self._mask.copy
        self._quiet = not self._display.has_window and not self._has_info

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Observation, Info]:
        """Starts an episode and returns the first observation and info.

        Raises ValueError for a wrong seed, for any options, and if the agent never gets to decide.
        """
        reset_options(options, self.game)
        key = None if seed is None else key_of(seed, self.game)
        super().reset(seed=None if key is None else int(key))
        if key is not None:
            self._stepper.start({0: key})
        else:
            self._stepper.start({} if self._keyed else {0: new_key(self.np_random)})
        self._keyed[:] = True
        if self._display.has_window:
            self._display.show(self.state)
        return self._see(), {"action_mask": self._mask.copy(), **self._game_info(ended=False)}

    def _game_info(self, *, ended: bool) -> Info:
        """Returns the game's own entries of `info`."""
        if ended:
            return self._stepper.end_info(self._stepper.buffers.S[0])
        return {name: array[0] for name, array in self._stepper.step_info().items()}

    def step(self, action: int) -> tuple[Observation, float, bool, bool, Info]:
        """Takes an action id; returns observation, reward, terminated, truncated and info.

        Raises ValueError for anything but an action id, after the end of the episode, and for an illegal action under "raise".
        """
        try:
            self._action[0] = action
        except (TypeError, ValueError):
            raise UserError(f"{self.game.name}: expected an action id, got {action!r}") from None
        summary = self._stepper.call()
        info: Info = {"action_mask": self._copy_mask()}
        if not summary and self._quiet:
            return self._see(), self._reward[0], False, False, info
        if summary < 0:
            self._stepper.fail(summary)
        if summary & SOME_ILLEGAL:
            info["illegal"] = self._stepper.illegal_message(0)
        if self._display.has_window:
            self._display.show(self.state)
        terminated, truncated = summary & SOME_TERMINATED != 0, summary & SOME_TRUNCATED != 0
        if self._has_info:
            info |= self._game_info(ended=terminated or truncated)
        return self._see(), self._reward[0], terminated, truncated, info

    def action_masks(self) -> Bools:
        """Returns which actions are legal, bool [A] (the name that sb3-contrib looks for); all True at the end."""
        return self._mask.astype(np.bool_)

    @property
    def state(self) -> State:
        """The position, as a `State`."""
        return self._stepper.state(0)

    def render(self) -> Any:
        """Returns the position as text or picture, by `render_mode`; a window shows it again."""
        return self._display.frame(self.state)

    def close(self) -> None:
        """Closes the window, if there is one."""
        self._display.close()
