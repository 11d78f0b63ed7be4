"""Q-learning with n-tuple tables: the values of what actions lead to, learned from games with random actions.

A table says what a position is worth after an action (an afterstate, or where the room says after the chance that follows it), so
an action's value is the mean of what may follow it, by the probabilities of the rules. A position learns the value of the best
action at the decision that comes after it, whatever was played (Watkins, "Learning from delayed rewards", 1989): Q-learning
over afterstates, with traces that end at random actions (Watkins's Q(lambda)). All is compiled; networks, files, evaluations
and the potential that is learned are those of `leafwise.training.ntuple_td`, which learns the value of what was played instead.

Szubert and Jaskowski, "Temporal difference learning of n-tuple networks for the game 2048" (CIG 2014), compare both in 2048.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from leafwise.envs.core.errors import UserError
from leafwise.envs.core.ranges import Range, Share
from leafwise.training.ntuple_td import ntuple_td as td
from leafwise.training.runs.folder import Checkpoint
from leafwise.training.runs.loop import exploration_at, run_learner
from leafwise.training.types import Json, Logged, Tensors


@dataclass(frozen=True)
class Config(td.Config):
    """Options of `leafwise train GAME --method ntuple-q`."""

    target_depth: Annotated[int, Range(1, 3)] = 1
    """Depth of the search that plays and gives the targets; 1: expectation over all outcomes of chance of the best value."""
    exploration: Share = 0.02
    """Share of random actions at the start."""
    final_exploration: Share = 0.0
    """Share of random actions at the end. It falls linearly over the first --exploration-fraction of the run."""
    exploration_fraction: Share = 0.5
    """Fraction of the run over which the exploration falls."""


class NTupleQ(td.NTupleTd):
    """One run with n-tuples: network, games, files."""

    method, exploring = "ntuple-q", True
    config: Config

    def __init__(self, config: Config) -> None:
        if config.actors > 1:
            raise UserError(f"ntuple-q: expected --actors 1, got {config.actors}")
        super().__init__(config)

    def restore(self, tensors: Tensors, metadata: Json) -> None:
        """Takes the state of a checkpoint."""
        super().restore(tensors, metadata)
        self.actors[0].greedy[:] = metadata.get("values", 0.0)

    def state(self) -> Checkpoint:
        """Returns what a checkpoint holds."""
        tensors, told = super().state()
        return tensors, told | ({"values": self.actors[0].greedy.tolist()} if self.begun else {})

    def play(self) -> None:
        """Plays and learns up to the end of the interval, or until Ctrl-C."""
        self.actors[0].exploration[:] = exploration_at(self.config, self.moves_begun)
        super().play()

    def learn(self) -> Logged:
        """Learns for one interval; returns what is logged."""
        greedy = self.actors[0].greedy
        if not self.begun:
            greedy[:] = 0
            self.begun = [self.actors[0].counts.tolist()]
        explored = exploration_at(self.config, self.moves_begun)
        logged = super().learn() | {"train/exploration_rate": explored}
        if greedy[0]:
            logged["train/q_mean"] = greedy[1] / greedy[0]
        return logged

    def step(self) -> Logged:
        """Learns for one interval, and now and then evaluates; returns what is logged."""
        return super().step() | {"time/seconds": self.seconds}


def train(config: Config) -> Path:
    """Trains n-tuple tables by Q-learning and returns the run folder; raises ValueError for options that do not fit."""
    return run_learner(NTupleQ(config))
