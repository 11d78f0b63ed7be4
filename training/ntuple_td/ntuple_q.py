"""Q-learning with n-tuple tables: the values of what actions lead to, learned from games with random actions.

A table says what a position is worth after an action (an afterstate, or where the room says after the chance that follows it), so
an action's value is the mean of what may follow it, by the probabilities of the rules. A position learns the value of the best
action at the decision that comes after it, whatever was played (Watkins, "Learning from delayed rewards", 1989): Q-learning
over afterstates, with traces that end at random actions (Watkins's Q(lambda)). All is compiled; networks, files, evaluations
and the potential that is learned are those of `leafwise.training.ntuple_td`, which learns the value of what was played instead.

Szubert and Jaskowski, "Temporal difference learning of n-tuple networks for the game 2048" (CIG 2014), compare both in 2048.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.compile.jit import bind
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.rules import TERMINAL, Compiled
from leafwise.envs.core.contract.stream import below, uniform
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.ranges import Range, Share
from leafwise.models.ntuple import NTupleNetwork
from leafwise.models.ntuple_functions import Layout
from leafwise.models.ntuple_functions import compiled as ntuple_functions
from leafwise.training.games import HERE, make_settle, put_row
from leafwise.training.ntuple_td import ntuple_td as td
from leafwise.training.ntuple_td.kernels import (
    LONGEST,
    MOVES,
    SQUARED_ERRORS,
    chooser,
    coherent_step,
    make_act,
    make_move_weights,
    make_trajectories,
    plain_step,
)
from leafwise.training.runs.folder import Checkpoint
from leafwise.training.runs.loop import run_learner


@dataclass(frozen=True)
class Config(td.Config):
    """Options of `leafwise train GAME --method ntuple-q`."""

    target_depth: Annotated[int, Range(1, 3)] = 1
    """Depth of the search that plays and gives the targets; 1: the mean over all outcomes of chance of the best value."""
    exploration: Share = 0.02
    """Share of random actions at the start."""
    final_exploration: Share = 0.0
    """Share of random actions from some part of the run on; linear before."""
    exploration_fraction: Share = 0.5
    """That part."""


class NTupleQ(td.NTupleTd):
    """One run with n-tuples: network, games, files."""

    method = "ntuple-q"
    config: Config

    def __init__(self, config: Config) -> None:
        if config.actors > 1:
            raise UserError(f"ntuple-q: expected --actors 1, got {config.actors}")
        self.explored = np.zeros(LONGEST + 1, dtype=np.bool_)
        self.values = np.zeros(2)
        super().__init__(config)
        self.q_games = q_games(self.network, config.target_depth, coherent=config.coherence)

    def exploration(self) -> float:
        """Returns the share of random actions in the interval that is played."""
        config = self.config
        fallen = min(1.0, self.moves_begun / config.total_steps / max(config.exploration_fraction, 1e-9))
        return config.exploration + (config.final_exploration - config.exploration) * fallen

    def restore(self, tensors: dict[str, NDArray[Any]], metadata: dict[str, Any]) -> None:
        """Takes the state of a checkpoint."""
        super().restore(tensors, metadata)
        self.values[:] = metadata.get("values", 0.0)

    def state(self) -> Checkpoint:
        """Returns what a checkpoint holds."""
        tensors, told = super().state()
        return tensors, told | ({"values": self.values.tolist()} if self.begun else {})

    def play(self) -> None:
        """Plays and learns up to the end of the interval, or until Ctrl-C."""
        config, rate = self.config, td.rate_at(self.config, self.moves_begun) / self.network.active
        how = self.left(0), rate, config.td_lambda, self.exploration(), config.restart, self.T
        self.q_games(self.actors[0], self.explored, self.values, *how)

    def learn(self) -> dict[str, float]:
        """Learns for one interval; returns what is logged."""
        if not self.begun:
            self.values[:] = 0
            self.begun = [self.actors[0].counts.tolist()]
        explored = self.exploration()
        logged = super().learn() | {"train/exploration_rate": explored}
        if self.values[0]:
            logged["train/q_mean"] = self.values[1] / self.values[0]
        return logged

    def step(self) -> dict[str, float]:
        """Learns for one interval, and now and then evaluates; returns what is logged."""
        return super().step() | {"time/seconds": self.seconds}


def train(config: Config) -> Path:
    """Trains n-tuple tables by Q-learning and returns the run folder; raises ValueError for options that do not fit."""
    return run_learner(NTupleQ(config))


def q_games(network: NTupleNetwork, depth: int = 1, *, coherent: bool = False) -> Compiled:
    """Returns `q_games(trainer, explored, values, moves, learning_rate, trace_decay, exploration, restart, T)`, compiled for
    networks of this shape; `depth` and `coherent` are those of `td.kernels`."""
    return _compiled(network.game, network.layout, network.shape.stage, depth, coherent)


@functools.cache
def _compiled(game: Game, layout: Layout, stage: str, depth: int, coherent: bool) -> Compiled:
    network, valued = ntuple_functions(game, layout), game.stages.index(stage)
    best_action = chooser(game, layout, stage, depth)
    move_weights = make_move_weights(game, layout, network, coherent_step if coherent else plain_step)
    play = make_play_exploring(game, network, best_action, valued)
    return make_q_games(game, network.board.highest, play, make_learn_best(game, network, move_weights))


def make_play_exploring(game: Game, network: Any, best_action: Compiled, valued: int) -> Compiled:
    """Returns `play_exploring(trainer, explored, values, exploration, T)`: `play_trajectory` with a share of random actions."""
    current_player, potential, legal_actions = (
        game.rules.current_player,
        network.board.potential,
        game.rules.legal_actions,
    )
    act, settle = make_act(game, valued), make_settle(game)

    @bind(game.room)
    def play_exploring(trainer, explored, values, exploration, T):
        S, R, A = trainer.S, trainer.R, trainer.A
        length = 0
        while current_player(S, HERE, T) != TERMINAL and length < LONGEST:
            chosen, value = best_action(trainer, T)
            if length > 0:
                trainer.search_values[length - 1] = value
            explored[length] = exploration > 0 and uniform(R) < exploration
            if explored[length]:
                chosen = A[below(R, legal_actions(S, HERE, A, T))]
            else:
                values[0] += 1
                values[1] += value - potential(S, HERE, T)
            act(S, R, chosen, T)
            put_row(S, HERE, trainer.trajectory, length)
            length += 1
            settle(S, R, T)
        rows, over = length, current_player(S, HERE, T) == TERMINAL
        if length > 0 and not over:
            trainer.search_values[length - 1] = best_action(trainer, T)[1]
        elif length > 0 and current_player(trainer.trajectory, np.uint64(length - 1), T) != TERMINAL:
            trainer.search_values[length - 1] = potential(S, HERE, T)
            put_row(S, HERE, trainer.trajectory, length)
            rows += 1
        return length, rows, over

    return play_exploring


def make_learn_best(game: Game, network: Any, move_weights: Compiled) -> Compiled:
    """Returns `learn_best(trainer, explored, length, over, learning_rate, trace_decay, T)`.

    It updates the weights backward along the first `length` rows of the trajectory, towards the best action's value at the decision
    after each; where the action there was not random, a share `trace_decay` of what came of it takes its place (Watkins's
    Q(lambda)). Where the game is `over` the last row is its end, which is worth nothing more.
    """
    potential, to_come, fetch = network.board.potential, network.to_come, network.fetch

    @bind(game.room)
    def learn_best(trainer, explored, length, over, learning_rate, trace_decay, T):
        S = trainer.trajectory
        each_move = T.leaf.constants[1]
        target, later_potential = 0.0, 0.0
        first = length - 1
        if over:
            first -= 1
            later_potential = potential(S, np.uint64(length - 1), T)
        for t in range(first, -1, -1):
            i = np.uint64(t)
            if t > 1:
                fetch(S, np.uint64(t - 2), T)
            own_potential = potential(S, i, T)
            best = trainer.search_values[t] - own_potential
            decay = 0.0
            if t < first and not explored[t + 1]:
                decay = trace_decay
            target = each_move + (1.0 - decay) * best + decay * (later_potential - own_potential + target)
            error = target - to_come(S, i, T)
            trainer.sums[SQUARED_ERRORS] += error * error
            move_weights(trainer, i, learning_rate, error, T)
            later_potential = own_potential

    return learn_best


def make_q_games(game: Game, highest: Compiled, play_exploring: Compiled, learn_best: Compiled) -> Compiled:
    """Returns `q_games`: it plays and learns until `moves` actions more have been played, up to the end of a trajectory.

    `exploration` is the share of random actions; `learning_rate` and `restart` are those of `td_games`.
    """
    open_trajectory, close_trajectory = make_trajectories(game, highest)

    @bind(game.room)
    def q_games(trainer, explored, values, moves, learning_rate, trace_decay, exploration, restart, T):
        goal = trainer.counts[MOVES] + moves
        while trainer.counts[MOVES] < goal and not T.stop[0]:
            open_trajectory(trainer, T)
            length, rows, over = play_exploring(trainer, explored, values, exploration, T)
            close_trajectory(trainer, length, restart, T)
            learn_best(trainer, explored, rows, over, learning_rate, trace_decay, T)

    return q_games
