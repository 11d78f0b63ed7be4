"""The single environment: any game as a `gymnasium.Env`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.gym.batch import SOME_ILLEGAL, SOME_TERMINATED, SOME_TRUNCATED, SOME_UNBEGUN, WAIT
from leafwise.envs.core.gym.observation import Observation, at, reader
from leafwise.envs.core.gym.opponents import Opponent
from leafwise.envs.core.gym.stepper import Stepper, as_game, key_of, keywords_of, new_key, reset_options
from leafwise.envs.core.gym.window import Window

RENDER_MODES = ("human", "ansi", "rgb_array")
FPS = 4
"""Pictures a second in a window or a film."""


def check_render_mode(game: Game, render_mode: str | None, modes: tuple[str, ...] = RENDER_MODES) -> str | None:
    """Returns a render mode; raises ValueError if it is not among `modes`."""
    if render_mode is not None and render_mode not in modes:
        raise ValueError(f"{game.name}: expected render_mode among {', '.join(modes)}, got {render_mode!r}")
    return render_mode


class GameEnv(gym.Env[Observation, int]):
    """One game as an environment; in a game for two, against a built-in opponent.

    Observations are what the game's room says; actions are ids, named by `game.actions`. `info["action_mask"]` is
    int8 [A], 1 for each legal action and all ones at the end; what else a game tells there says `game.observation.info`.
    An episode ends when the game does. It is truncated after
    `max_episode_steps`, and after so many illegal actions in a row: 100, or as many as the game has actions if they are
    more. Whoever heeds the masks is never truncated unless `max_episode_steps` is given.

    Args:
        game: A name, or a `Game`; further keywords are options of the game.
        render_mode: None, "ansi" (text), "rgb_array" (uint8 [height, width, 3]) or "human" (a window, which shows every position
            by itself; needs pygame, the extra `human`).
        reward: None (difference of returns, from the agent's side; also called "score", or "returns" in a game whose
            rewards have a "score" of their own) or one of `game.rewards`.
        illegal: What an illegal action does: "lose" (the episode ends with the least return; default for two players),
            "noop" (nothing, reward 0, and a truncation after many in a row; default for one) or "raise" (ValueError).
            `info["illegal"]` says so in words.
        opponent: None ("greedy"), or the text of any player, as `leafwise.player` takes it:
            "greedy:LEAF", "search:learned,depth=4", "solver:level=easy"; or a Player object, or a function of the `State`
            that returns an action. "random" and "greedy" with a leaf of compiled code, hand-made or learned, are compiled
            into the step; with all others every step, of a batch too, is Python around the compiled rules. One that draws takes
            its random numbers from the environment's stream where it has a `stream`; what an object of your own remembers
            besides is no part of `get_state`, and copies of the environment need one that can be pickled.
        seat: "first", "second" or "random", drawn anew for each episode.
        max_episode_steps: Steps after which an episode is truncated; None: never.
        plies: Most random actions, of whoever is to act, that an episode begins with; their number is drawn, rewards count from
            there. So agents meet positions that their own play does not lead to.

    `reset(seed=s)` starts the game that `game.new(s)` is (with seat="random" the seat is drawn first, and with `plies` random
    actions follow), and all further chance comes from the stream of that seed; `reset()` goes on with it. Raises ValueError for
    wrong input, TypeError for unknown keywords.
    """

    metadata: dict[str, Any] = {"render_modes": list(RENDER_MODES), "render_fps": FPS}  # noqa: RUF012

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
        **options: Any,
    ) -> None:
        self.game = as_game(game, options, keywords_of(GameEnv))
        self.render_mode = check_render_mode(self.game, render_mode)
        self._stepper = Stepper(
            self.game,
            1,
            reward=reward,
            illegal=illegal,
            opponent=opponent,
            seat=seat,
            autoreset=WAIT,
            max_episode_steps=max_episode_steps,
            plies=plies,
        )
        self.reward_name = self._stepper.reward
        self._keyed, self._tells = False, self.game.observation.info is not None
        self._window = Window(self.game, FPS) if render_mode == "human" else None
        self.observation_space = self.game.observation_space()  # type: ignore[assignment]
        self.action_space = gym.spaces.Discrete(len(self.game.actions))  # type: ignore[assignment]
        self._bind()

    def _bind(self) -> None:
        """Keeps what every step needs at hand."""
        buffers = self._stepper.buffers
        # memoryviews take and give single numbers in half the time, and take no number but a whole one
        self._action, self._reward = buffers.action.data, buffers.reward.data
        self._see, self._mask = reader(at(buffers.obs, 0)), buffers.mask[0]
        self._copy_mask = self._mask.copy
        self._call_step = self._first_step
        self._quiet = self._window is None and not self._tells

    def _first_step(self) -> int:
        """Compiles the step, which takes its own place."""
        self._call_step = self._stepper.call_step
        return self._call_step()

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Starts an episode and returns the first observation and info.

        Raises ValueError for a wrong seed, for any options, and where the agent never gets to decide.
        """
        reset_options(options, self.game)
        key = None if seed is None else key_of(seed, self.game)
        super().reset(seed=None if key is None else int(key))
        if key is not None:
            self._stepper.start({0: key})
        else:
            self._stepper.start({} if self._keyed else {0: new_key(self.np_random)})
        self._keyed = True
        if self._window is not None:
            self._window.show(self.state.rgb())
        return self._see(), {"action_mask": self._mask.copy(), **self._told(ended=False)}

    def _told(self, *, ended: bool) -> dict[str, Any]:
        """Returns what the game itself tells in info."""
        if not self._tells:
            return {}
        if ended:
            return self._stepper.told_of_end(self._stepper.buffers.S[0])
        return {name: array[0] for name, array in self._stepper.told().items()}

    def step(self, action: int) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Takes an action id; returns observation, reward, terminated, truncated and info.

        Raises ValueError if it is no action id, if the episode is over, and for an illegal action under "raise".
        """
        try:
            self._action[0] = action
        except (TypeError, ValueError):
            raise ValueError(f"{self.game.name}: expected an action id, got {action!r}") from None
        summary = self._call_step()
        info: dict[str, Any] = {"action_mask": self._copy_mask()}
        if not summary and self._quiet:
            return self._see(), self._reward[0], False, False, info
        if summary < 0:
            self._stepper.refuse(0)
        if summary == SOME_UNBEGUN:
            self._stepper.fail_to_begin()
        if summary & SOME_ILLEGAL:
            info["illegal"] = self._stepper.sentence(0)
        if self._window is not None:
            self._window.show(self.state.rgb())
        terminated, truncated = summary & SOME_TERMINATED != 0, summary & SOME_TRUNCATED != 0
        if self._tells:
            info |= self._told(ended=terminated or truncated)
        return self._see(), self._reward[0], terminated, truncated, info

    def action_masks(self) -> NDArray[np.bool_]:
        """Returns which actions are legal, bool [A] (the name that sb3-contrib looks for); all True at the end."""
        return self._mask.astype(np.bool_)

    @property
    def state(self) -> State:
        """The position, by the checked door."""
        return self._stepper.state(0)

    def get_state(self) -> dict[str, NDArray[Any]]:
        """Returns row, stream, seat, whether the episode is over, its steps, its illegal actions since a legal one, and a number of
        the game's variant, each with a leading axis of 1."""
        return self._stepper.get_state()

    def set_state(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Goes on from what `get_state` returned; raises ValueError, and changes nothing, if it is not of this game
        and variant or holds a row that the rules cannot go on from."""
        self._stepper.set_state(state)
        self._keyed = True

    def render(self) -> Any:
        """Returns the position as text or picture, as `render_mode` says; a window shows it again."""
        if self._window is None:
            return self._stepper.frame(0, self.render_mode)
        self._window.show(self.state.rgb())
        return None

    def close(self) -> None:
        """Closes the window, if there is one."""
        if self._window is not None:
            self._window.close()

    def __getstate__(self) -> dict[str, Any]:
        bound = ("_action", "_reward", "_see", "_mask", "_copy_mask", "_call_step", "_quiet", "_window")
        return {name: value for name, value in self.__dict__.items() if name not in bound}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._window = Window(self.game, FPS) if self.render_mode == "human" else None
        self._bind()
