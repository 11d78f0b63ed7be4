"""The batch environment: many games of one kind, stepped by one compiled call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space
from numpy.typing import ArrayLike

from leafwise.envs.core.arrays import Array, Bools, Floats
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.gym.env import GameEnv, Stepped
from leafwise.envs.core.gym.keywords import RENDER_MODES, with_keyword_docs
from leafwise.envs.core.gym.observation import Info, Observation, picked, reader
from leafwise.envs.core.gym.stepper import (
    ILLEGAL,
    SOME_ENDED,
    SOME_ILLEGAL,
    TERMINATED,
    TRUNCATED,
    key_of,
    new_key,
    reset_options,
)
from leafwise.envs.core.play.players import Opponent


@with_keyword_docs
class GameVectorEnv(Stepped, gym.vector.VectorEnv[Observation, Array, Array]):
    """`num_envs` environments of one game, stepped together; keywords as in `GameEnv`, and `autoreset_mode`.

    Environment i of a batch with seed s plays the same game as a `GameEnv` with seed s + i. Arrays have a leading axis of
    `num_envs`; `info["action_mask"]` is int8 [num_envs, A].
    """

    _bound = ("_see", "_reward", "_mask", "_terminated", "_truncated")

    def __init__(
        self,
        num_envs: int,
        game: str | Game,
        *,
        render_mode: str | None = None,
        reward: str | None = None,
        illegal: str | None = None,
        opponent: Opponent | None = None,
        seat: str = "first",
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        max_episode_steps: int | None = None,
        plies: int = 0,
        observation: str = "default",
        **options,
    ) -> None:
        self._set_up(num_envs, "batch", locals())
        self.num_envs = self._stepper.n
        self.autoreset_mode: AutoresetMode = self._stepper.options.autoreset_mode  # type: ignore[assignment]  # never a text here
        modes = {"render_modes": list(RENDER_MODES["batch"]), "autoreset_mode": self.autoreset_mode}
        self.metadata = {**GameEnv.metadata, **modes}
        self._everywhere = np.ones(self.num_envs, dtype=np.bool_)
        self.single_observation_space = self.game.observation_space(self._stepper.options.observation)
        self.single_action_space = gym.spaces.Discrete(len(self.game.actions))
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)

    def _bind(self) -> None:
        """Sets the attributes that every step reads."""
        buffers = self._stepper.buffers
        self._see, self._reward, self._mask = reader(buffers.obs), buffers.reward, buffers.mask
        ends = buffers.flags.view(np.bool_)
        self._terminated, self._truncated = ends[TERMINATED], ends[TRUNCATED]

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, Info]:
        """Starts an episode in all environments, or in those selected by `options["reset_mask"]`, bool [num_envs].

        `seed` is one number, for seeds seed + i, or a number or None for each environment. An environment that starts no
        episode returns its last observation and no info. Raises ValueError for seeds or a mask that do not fit, and for other
        options.
        """
        where = self._reset_mask(reset_options(options, self.game, ("reset_mask",)))
        if seed is None:
            seeds: Sequence[int | None] = [None] * self.num_envs
        elif isinstance(seed, (Sequence, np.ndarray)) and not isinstance(seed, (str, bytes)):
            seeds = list(seed)
        else:
            first = int(key_of(seed, self.game))  # type: ignore[arg-type]
            super().reset(seed=first)
            seeds = [first + e for e in range(self.num_envs)]
        if len(seeds) != self.num_envs:
            raise UserError(f"{self.game.name}: expected {self.num_envs} seeds, got {len(seeds)}")
        keys: dict[int, np.uint64] = {}
        for e in where.nonzero()[0].tolist():
            if (one := seeds[e]) is not None:
                keys[e] = key_of(one, self.game)
            elif not self._keyed[e]:
                keys[e] = new_key(self.np_random)
        self._stepper.start(keys, where)
        self._keyed |= where
        return self._see(), self._info(where)

    def _reset_mask(self, options: Mapping[str, Any]) -> Bools:
        """Returns where episodes start, all True by default; raises ValueError for anything but such a mask."""
        if "reset_mask" not in options:
            return self._everywhere.copy()
        given = options["reset_mask"]
        if not isinstance(given, np.ndarray) or given.dtype != np.bool_ or given.shape != (self.num_envs,):
            got = f"{given.dtype} {given.shape}" if isinstance(given, np.ndarray) else repr(given)
            raise UserError(f"{self.game.name}: expected reset_mask as an array bool ({self.num_envs},), got {got}")
        if not given.any():
            raise UserError(f"{self.game.name}: expected a reset_mask that is True somewhere, got all False")
        return given.copy()

    def _info(self, where: Bools | None = None) -> Info:
        """Returns `info` of all environments, or of those selected by `where` [num_envs]."""
        selected = self._everywhere if where is None else where
        info: Info = {"action_mask": self._mask.copy(), "_action_mask": selected.copy()}
        if self._has_info:
            for name, array in self._stepper.step_info().items():
                info[name], info[f"_{name}"] = array, selected.copy()
        if where is not None:
            for array in list(info.values())[::2]:  # every second value is a mask
                array[~where] = None if array.dtype == object else 0
        return info

    def step(self, actions: ArrayLike) -> tuple[Observation, Floats, Bools, Bools, Info]:
        """Takes one action id for each environment, [num_envs]; returns the batch of results.

        Raises ValueError, and changes nothing, if any of them is not an action id, or illegal under "raise".
        """
        stepper = self._stepper
        given: Any = actions
        try:
            given = np.asarray(actions)
            if fits := given.shape == (self.num_envs,) and given.dtype.kind in "biu":
                stepper.buffers.action[:] = given
        except (TypeError, ValueError, RuntimeError):  # a ragged list, a tensor on another device
            fits = False
        if not fits:
            got = f"an array {given.dtype} {given.shape}" if isinstance(given, np.ndarray) else type(given).__name__
            raise UserError(f"{self.game.name}: expected {self.num_envs} action ids, got {got}")
        summary = stepper.step()
        terminated, truncated = self._terminated.copy(), self._truncated.copy()
        info = self._info()
        if summary:
            self._add_to(info, summary, terminated | truncated)
        return self._see(), self._reward.copy(), terminated, truncated, info

    def _add_to(self, info: Info, summary: int, ended: Bools) -> None:
        """Adds the entries for illegal actions and ends to info, in Gymnasium's form: an array and a mask for each key."""
        stepper, last = self._stepper, info
        if summary & SOME_ENDED:
            buffers, where = stepper.buffers, ended.nonzero()[0]
            rows = buffers.S
            if self.autoreset_mode is AutoresetMode.SAME_STEP:
                rows, last = buffers.last, {"action_mask": buffers.final_mask.copy(), "_action_mask": ended.copy()}
                final_obs = np.empty(self.num_envs, dtype=object)
                final_obs[where] = np.fromiter(picked(buffers.final, where), dtype=object, count=len(where))
                info |= {"final_obs": final_obs, "_final_obs": ended.copy(), "final_info": last, "_final_info": ended}
            if self._has_info:
                for e in where.tolist():
                    self._add_info(last, stepper.end_info(rows[e]), e)
        if summary & SOME_ILLEGAL:
            for e in stepper.buffers.flags[ILLEGAL].nonzero()[0].tolist():
                self._add_info(last if ended[e] else info, {"illegal": stepper.illegal_message(e)}, e)

    def action_masks(self) -> Bools:
        """Returns which actions are legal now, bool [num_envs, A]; all True after the end of an episode."""
        return self._stepper.buffers.mask.astype(np.bool_)

    def state(self, i: int) -> State:
        """Returns the position of environment i, as a `State`; raises IndexError for a number that no environment has."""
        return self._stepper.state(range(self.num_envs)[i])

    def observations(self) -> Observation:
        """Returns the agents' current observations, with a leading axis of `num_envs`."""
        return self._see()

    def render(self) -> tuple[Any, ...] | None:
        """Returns one text or picture for each environment, by `render_mode`."""
        if self.render_mode is None:
            return None
        return tuple(self._display.frame(self.state(e)) for e in range(self.num_envs))
