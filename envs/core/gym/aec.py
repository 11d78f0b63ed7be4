"""Turns a game into a PettingZoo environment, in which agents act in turn; needs the extra `multiagent`."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from pettingzoo import AECEnv

from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.stream import new_stream, u64
from leafwise.envs.core.gym.keywords import RENDER_MODES, EnvOptions
from leafwise.envs.core.gym.observation import Arrays, Info, at, new_observations, reader
from leafwise.envs.core.gym.stepper import (
    action_id,
    first_decision,
    illegal_text,
    key_of,
    new_key,
    patience,
    reset_options,
)
from leafwise.envs.core.pictures import FPS, Display
from leafwise.envs.core.ranges import need_among


class GameAECEnv(AECEnv):
    """A game in which every player is an agent: `player_0` and, in a two-player game, `player_1`.

    An observation is a dict. `observation` is the game as the agent sees it, whoever acts. `action_mask`, int8 [A], is 1 for
    each legal action, and all ones for an agent that does not act. Rewards are differences of returns. An illegal action loses
    ("lose"), does nothing ("noop") or raises ValueError ("raise"); `infos[agent]["illegal"]` reports it. Under "noop" the game
    is truncated for all after as many consecutive illegal actions as in `GameEnv`.

    `leafwise.aec` wraps it in PettingZoo's `OrderEnforcingWrapper`, which refuses calls before a reset or after the end.
    """

    def __init__(self, game: Game, options: EnvOptions) -> None:
        """Takes checked `options`, as `leafwise.aec` passes them."""
        super().__init__()
        self.game = game
        self.render_mode, self.illegal = options.render_mode, options.illegal
        self.metadata = {
            "name": f"leafwise_{game.name}_v0",
            "render_modes": list(RENDER_MODES["turns"]),
            "render_fps": FPS,
            "is_parallelizable": False,
        }
        self.possible_agents = [f"player_{player}" for player in range(game.players)]
        self.agents: list[str] = []
        space = gym.spaces.Dict(
            {
                "observation": game.observation_space(options.observation),
                "action_mask": gym.spaces.Box(0, 1, (len(game.actions),), np.int8),
            }
        )
        self.observation_spaces = dict.fromkeys(self.possible_agents, space)
        self.action_spaces = {agent: gym.spaces.Discrete(len(game.actions)) for agent in self.possible_agents}
        self._tables = game.tables()
        self._seen = new_observations(game, 1, options.observation)
        self._view = options.observation
        self._stream = new_stream(int(new_key(np.random.default_rng())))
        self._display = Display(game, options.render_mode)

    def observation_space(self, agent: str) -> gym.spaces.Space[Any]:
        """Returns the space of an agent's observations."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> gym.spaces.Space[Any]:
        """Returns the space of an agent's actions."""
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Starts a game; the same seed starts the same game as in `GameEnv`, without a seed the current stream goes on.

        Raises ValueError for a wrong seed and for a game in which nobody ever decides. Also for all options but "options",
        which does nothing: PettingZoo's own test passes it.
        """
        reset_options(options, self.game, ("options",))
        if seed is not None:
            self._stream = new_stream(int(key_of(seed, self.game)))
        self.position = first_decision(self.game, self._stream)
        self.agents = self.possible_agents[:]
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos: dict[str, Info] = {agent: {} for agent in self.agents}
        self._illegal_in_a_row = 0
        self._select()
        self._display.show(self.position)

    def _select(self) -> None:
        """Passes the turn to the player who acts; at the end of the game all agents are done."""
        if self.position.is_terminal:
            self.terminations = dict.fromkeys(self.agents, True)
        else:
            self.agent_selection = self.possible_agents[self.position.current_player]

    def observe(self, agent: str) -> Arrays:
        """Returns the observation and the mask of an agent; raises ValueError for an unknown agent."""
        need_among(agent, self.possible_agents, "agent", self.game.name)
        player = self.possible_agents.index(agent)
        self.game.view_calls[self._view](self.position.rows(), u64(0), player, self._seen, 0, self._tables)
        mask = np.ones(len(self.game.actions), dtype=np.int8)
        if self.agent_selection == agent and not self.terminations.get(agent, True):
            mask[:] = 0
            mask[list(self.position.legal_actions)] = 1
        return {"observation": reader(at(self._seen, 0))(), "action_mask": mask}

    def step(self, action: int | None) -> None:
        """Takes the action id of `agent_selection` (None once it is done); raises ValueError for anything but an action id."""
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        a = action_id(action, self.game)
        self._clear_rewards()
        self._cumulative_rewards[agent] = 0.0
        self.infos = {agent: {} for agent in self.agents}
        if a in self.position.legal_actions:
            before = self.position.returns
            self.position = self.position.play(a).settle(self._stream)
            self._reward(self.position.returns - before)
            self._illegal_in_a_row = 0
            self._select()
        else:
            self._illegal(agent, a)
        self._accumulate_rewards()
        self._display.show(self.position)

    def _reward(self, gain: float) -> None:
        for player, agent in enumerate(self.possible_agents):
            self.rewards[agent] = -gain if player else gain

    def _illegal(self, agent: str, a: int) -> None:
        if self.illegal == "raise":
            self.position.play(a)  # raises, naming the legal actions
        self._illegal_in_a_row += 1
        truncated = self.illegal == "noop" and self._illegal_in_a_row >= patience(self.game)
        self.infos[agent]["illegal"] = illegal_text(self.game, a, self.illegal, truncated=truncated)
        self.truncations = dict.fromkeys(self.agents, truncated)
        if self.illegal == "lose":
            worst = self.game.return_range[self.position.current_player]
            self._reward(worst - self.position.returns)
            self.terminations = dict.fromkeys(self.agents, True)

    def render(self) -> Any:
        """Returns the position as text or picture, by `render_mode`; a window shows it again."""
        return self._display.frame(self.position)

    def close(self) -> None:
        """Closes the window, if there is one."""
        self._display.close()
