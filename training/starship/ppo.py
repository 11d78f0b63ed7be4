"""PPO with masked actions for building ships, by sb3-contrib: a convolutional policy over the grid places each part.

Sources: Schulman et al., "Proximal policy optimization algorithms" (2017); Huang and Ontanon, "A closer look at invalid action
masking" (2022). The run writes a policy, not a leaf: one logit for each rotation and cell of the grid, masked to the legal
places. `policy:RUN` names its builder, which takes the maximum; it needs torch. A search cannot use the value head, which predicts
the return of its own policy from a decision on. A search needs values before the request is known.

Logged: SB3's `rollout/ep_rew_mean`, `rollout/ep_len_mean`, `train/...`, `time/fps` (decisions a second), and as
`leafwise.training.starship.ship_values` does `eval/score_mean` with its interval, `eval/gain`, `eval/valid`, `eval/TERM`,
`ships`.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from leafwise.envs.core.arrays import Floats
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.gym.vector import GameVectorEnv
from leafwise.envs.core.ranges import Range, Share
from leafwise.models.files import save_tensors
from leafwise.training.evaluation.agreement import SELECTION_SEED
from leafwise.training.runs.folder import Checkpoint
from leafwise.training.runs.gating import Tensors
from leafwise.training.runs.loop import Learner, run_learner
from leafwise.training.runs.run_options import RunOptions
from leafwise.training.starship.builders import POLICY, PolicyBuilder, hand_made_bar, logged_values, play


@dataclass(frozen=True)
class Config(RunOptions):
    """Options of `leafwise train starship --method ppo`."""

    total_steps: Annotated[int, Range(1, 1e13)] = 200_000
    """Length of the run, in decisions."""
    envs: Annotated[int, Range(1, 100000)] = 32
    """Number of ships built side by side."""
    rollout: Annotated[int, Range(1, 1e6)] = 32
    """Number of decisions on each ship between two updates."""
    reward: str = "dense"
    """Reward of the environment: dense or terminal."""
    scale: Annotated[float, Range(1e-6, 1e9)] = 0.1
    """Return that counts as 1."""
    learning_rate: Annotated[float, Range(1e-9, 1)] = 0.001
    """Learning rate (Adam)."""
    gamma: Share = 1.0
    """Discount per decision."""
    gae_lambda: Share = 0.95
    """Lambda of generalized advantage estimation."""
    epochs: Annotated[int, Range(1, 1000)] = 3
    """Number of passes over each rollout."""
    batch_size: Annotated[int, Range(2, 1e6)] = 256
    """Number of decisions in a batch."""
    entropy: Annotated[float, Range(0, 10)] = 0.003
    """Weight of the entropy bonus."""
    channels: Annotated[int, Range(1, 1024)] = 16
    """Number of output channels of each convolution."""
    evaluate_every: Annotated[int, Range(1, 1e9)] = 20
    """Number of updates between two evaluations."""
    evaluate_games: Annotated[int, Range(2, 1000)] = 100
    """Number of seeds of an evaluation."""
    checkpoint_seconds: Annotated[float, Range(0, 1e9)] = 60.0
    """Minimum time between two checkpoints, in seconds."""


class PlacementPpo(Learner):
    """One run: model, environments, files."""

    method, unit = "ppo", "decisions"

    def __init__(self, config: Config) -> None:
        super().__init__(config)  # raises ValueError without torch
        from leafwise.training.networks import one_thread
        from leafwise.training.sb3 import PpoRun
        from leafwise.training.starship.ppo_network import make_model

        one_thread()
        if "grid" not in self.game.features:
            raise UserError(f"ppo: expected a game that builds on a grid, got {self.game.name!r}")
        self.envs = GameVectorEnv(config.envs, self.game, reward=config.reward, autoreset_mode="SameStep")
        self.model, log = make_model(self.envs, config)
        self.ppo = PpoRun(self.model, log, self.envs, config)
        self.open_folder()
        self.score = {}
        self.bar: Floats | None = None
        self.resume()

    @property
    def done(self) -> int:
        return self.ppo.done

    def restore(self, tensors: Tensors, metadata: dict[str, Any]) -> None:
        """Restores the state of a checkpoint."""
        super().restore(tensors, metadata)
        self.ppo.restore(tensors, metadata["updates"])
        self.score = metadata["best"]

    def state(self) -> Checkpoint:
        """Returns the state for a checkpoint: arrays and metadata."""
        tensors, metadata = super().state()
        return self.ppo.tensors() | tensors, {"updates": self.ppo.updates, "best": self.score} | metadata

    def step(self) -> dict[str, Any]:
        """Builds one rollout and trains on it; returns the logged values."""
        start = time.perf_counter()
        logged = self.ppo.step()
        if self.is_due(self.ppo.updates, self.config.evaluate_every):
            logged |= self.evaluate()
        self.seconds += time.perf_counter() - start
        return logged

    def evaluate(self) -> dict[str, Any]:
        """Builds the ships of the selection seeds and keeps the best policy; returns the logged values."""
        seeds = range(SELECTION_SEED, SELECTION_SEED + self.config.evaluate_games)
        if self.bar is None:
            self.bar = hand_made_bar(self.game, seeds)
        tensors = placement_tensors(self.model.policy)
        builder = PolicyBuilder(self.game, tensors, self.config.channels)
        logged = logged_values(
            self.game, np.array([play(self.game, builder, seed).row for seed in seeds]), seeds, self.bar
        )
        if logged["eval/score_mean"] > self.score.get("mean", -1.0):
            self.score = {"mean": logged["eval/score_mean"], "gain": logged["eval/gain"]}
            self.score |= {"games": len(seeds), "first_seed": SELECTION_SEED}
            metadata = {"kind": POLICY, "game": self.game.name, "options": self.game.given_options}
            save_tensors(self.folder.model, tensors, metadata | {"channels": self.config.channels} | self.description())
        return logged


def placement_tensors(policy: Any) -> Tensors:
    """Returns the tensors of a policy that choose places."""
    parts = ("features_extractor.", "action_net.")
    return {n: p.detach().cpu().numpy().copy() for n, p in policy.named_parameters() if n.startswith(parts)}


def train(config: Config) -> Path:
    """Trains by masked PPO and returns the run folder; raises ValueError for options that do not fit."""
    return run_learner(PlacementPpo(config))
