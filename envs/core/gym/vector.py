"""The batch environment: many games of one kind stepped by one compiled call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space
from numpy.typing import ArrayLike, NDArray

from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.gym import batch
from leafwise.envs.core.gym.env import GameEnv, check_render_mode
from leafwise.envs.core.gym.observation import Observation, at, reader
from leafwise.envs.core.gym.opponents import Opponent
from leafwise.envs.core.gym.stepper import Stepper, as_game, key_of, new_key

MODES = {AutoresetMode.SAME_STEP: batch.SAME_STEP, AutoresetMode.NEXT_STEP: batch.NEXT_STEP}


def as_mode(game: Game, mode: AutoresetMode | str) -> AutoresetMode:
    """Returns the autoreset mode given or named; raises ValueError for one that is not offered."""
    for known in MODES:
        if mode in (known, known.value, known.name):
            return known
    expected = ", ".join(known.value for known in MODES)
    raise ValueError(f"{game.name}: expected autoreset_mode among {expected}, got {mode!r}")


class GameVectorEnv(gym.vector.VectorEnv[Observation, NDArray[Any], NDArray[Any]]):
    """`num_envs` environments of one game, stepped together; keywords as `GameEnv`.

    Environment i seeded with s plays the very game of a `GameEnv` seeded with s + i. Arrays have a leading axis of
    `num_envs`; `info["action_mask"]` is int8 [num_envs, A]. By default an environment starts anew in the step in which it
    ends (SAME_STEP: the last observation and info are in `info["final_obs"]` and `info["final_info"]`);
    `autoreset_mode="NextStep"` takes one more step for it.
    """

    def __init__(
        self,
        num_envs: int,
        game: str | Game,
        *,
        render_mode: str | None = None,
        reward: str | None = None,
        illegal: str | None = None,
        opponent: Opponent = "greedy",
        seat: str = "first",
        autoreset_mode: AutoresetMode | str = AutoresetMode.SAME_STEP,
        **options: Any,
    ) -> None:
        self.game = as_game(game, options)
        if isinstance(num_envs, bool) or not isinstance(num_envs, (int, np.integer)) or num_envs < 1:
            raise ValueError(f"{self.game.name}: expected num_envs as a number of at least 1, got {num_envs!r}")
        self.num_envs = int(num_envs)
        self.render_mode = check_render_mode(self.game, render_mode)
        self.autoreset_mode = as_mode(self.game, autoreset_mode)
        self.metadata = {**GameEnv.metadata, "autoreset_mode": self.autoreset_mode}
        mode = MODES[self.autoreset_mode]
        self._stepper = Stepper(
            self.game, self.num_envs, reward=reward, illegal=illegal, opponent=opponent, seat=seat, autoreset=mode
        )
        self._keyed = False
        self._everywhere = np.ones(self.num_envs, dtype=np.bool_)
        self.single_observation_space = self.game.observation_space()
        self.single_action_space = gym.spaces.Discrete(len(self.game.actions))
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Starts an episode everywhere; `seed` is one number, for seeds seed + i, or one or None for each environment."""
        if options and "reset_mask" in options:
            raise ValueError(f"{self.game.name}: expected no reset_mask, environments start anew by themselves")
        keys: dict[int, np.uint64] = {}
        if not self._keyed:
            keys = {e: new_key(self.np_random) for e in range(self.num_envs)}
        if isinstance(seed, (int, np.integer)):
            super().reset(seed=int(seed))
            keys = {e: key_of(int(seed) + e) for e in range(self.num_envs)}
        elif seed is not None:
            if len(seed) != self.num_envs:
                raise ValueError(f"{self.game.name}: expected {self.num_envs} seeds, got {len(seed)}")
            keys |= {e: key_of(int(one)) for e, one in enumerate(seed) if one is not None}
        self._stepper.start(keys)
        self._keyed = True
        return reader(self._stepper.buffers.obs)(), self._info()

    def _info(self) -> dict[str, Any]:
        return {"action_mask": self._stepper.buffers.mask.copy(), "_action_mask": self._everywhere.copy()}

    def step(
        self, actions: ArrayLike
    ) -> tuple[Observation, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """Takes one action id for each environment, [num_envs]; returns the batch of results.

        Raises ValueError, and changes nothing, if any is no action id, or illegal under "raise".
        """
        stepper = self._stepper
        buffers = stepper.buffers
        given = np.asarray(actions)
        if given.shape != buffers.action.shape or given.dtype.kind not in "iu":
            got = f"{given.dtype} {given.shape}"
            raise ValueError(f"{self.game.name}: expected {self.num_envs} action ids, got an array {got}")
        buffers.action[:] = given
        summary = stepper.step()
        terminated = buffers.flags[batch.TERMINATED].astype(np.bool_)
        info = self._info()
        if summary:
            self._add_to(info, summary, terminated)
        return reader(buffers.obs)(), buffers.reward.copy(), terminated, np.zeros(self.num_envs, dtype=np.bool_), info

    def _add_to(self, info: dict[str, Any], summary: int, terminated: NDArray[np.bool_]) -> None:
        """Adds what illegal actions and ends leave in info, in gymnasium's form: an array and a mask for each key."""
        here = info
        if summary & batch.SOME_DONE and self.autoreset_mode is AutoresetMode.SAME_STEP:
            final_obs = np.empty(self.num_envs, dtype=object)
            mask = np.zeros(info["action_mask"].shape, dtype=np.int8)
            last = self._stepper.buffers.final
            for e in terminated.nonzero()[0].tolist():
                final_obs[e] = reader(at(last, e))()
                mask[e] = 1
            final = {"action_mask": mask, "_action_mask": terminated.copy()}
            info["final_obs"], info["_final_obs"] = final_obs, terminated.copy()
            info["final_info"], info["_final_info"] = final, terminated.copy()
            here = final if self._stepper.illegal == "lose" else info
        if summary & batch.SOME_ILLEGAL:
            illegal = self._stepper.buffers.flags[batch.ILLEGAL].astype(np.bool_)
            sentences = np.empty(self.num_envs, dtype=object)
            for e in illegal.nonzero()[0].tolist():
                sentences[e] = self._stepper.sentence(e)
            here["illegal"], here["_illegal"] = sentences, illegal

    def action_masks(self) -> NDArray[np.bool_]:
        """Returns which actions are legal now, bool [num_envs, A]; all True where an episode is over."""
        return self._stepper.buffers.mask.astype(np.bool_)

    def state(self, i: int) -> State:
        """Returns the position of environment i, by the checked door."""
        return self._stepper.state(range(self.num_envs)[i])

    def get_state(self) -> dict[str, NDArray[Any]]:
        """Returns rows, streams, seats and which episodes are over, each with a leading axis of `num_envs`."""
        return self._stepper.get_state()

    def set_state(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Goes on from what `get_state` returned; raises ValueError if it does not fit."""
        self._stepper.set_state(state)
        self._keyed = True

    def observations(self) -> Observation:
        """Returns what the agents see now, with a leading axis of `num_envs`."""
        return reader(self._stepper.buffers.obs)()

    def render(self) -> tuple[Any, ...] | None:
        """Returns one text or picture for each environment, as `render_mode` says."""
        if self.render_mode is None:
            return None
        return tuple(self._stepper.frame(e, self.render_mode) for e in range(self.num_envs))
