"""Q-learning with n-tuple networks: trains values of afterstates off-policy, by games with random actions.

The tables value a position after an action: an afterstate, or in some games the position after the chance that follows. So the
value of an action is the mean over its outcomes, by the probabilities of the rules. The target of a position is the value of the
best action at the next decision, also if another action was played (Watkins, "Learning from delayed rewards", 1989). Traces end at
random actions. This is Watkins's Q(lambda) on afterstates. Networks, files, evaluations and the potential are those of
`leafwise.training.ntuple_td`, whose target is the value of the action that was played.

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
    """Depth of the search that plays and gives the targets. 1: the best value after each outcome of chance, averaged over
    the outcomes."""
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
        """Restores the state of a checkpoint."""
        super().restore(tensors, metadata)
        self.actors[0].greedy[:] = metadata.get("values", 0.0)

    def state(self) -> Checkpoint:
        """Returns the state for a checkpoint: arrays and metadata."""
        tensors, metadata = super().state()
        return tensors, metadata | ({"values": self.actors[0].greedy.tolist()} if self.begun else {})

    def play(self) -> None:
        """Plays and trains to the end of the interval, or until Ctrl-C."""
        self.actors[0].exploration[:] = exploration_at(self.config, self.moves_begun)
        super().play()

    def learn(self) -> Logged:
        """Trains for one interval; returns the logged values."""
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
        """Trains for one interval, and evaluates if it is due; returns the logged values."""
        return super().step() | {"time/seconds": self.seconds}


def train(config: Config) -> Path:
    """Trains n-tuple tables by Q-learning and returns the run folder; raises ValueError for options that do not fit."""
    return run_learner(NTupleQ(config))
