"""Masked PPO on the environment, by sb3-contrib: against a built-in opponent, or alone; its value head becomes a leaf.

Sources: Schulman et al., "Proximal policy optimization algorithms" (2017); Huang and Ontanon, "A closer look at invalid
action masking" (2022). Policy and value share a first layer that sees one feature for each cell and value of the
observation; in games for two the value goes through tanh, and the agent sits at a random seat. Alone, rewards are divided by
`scale`. As a leaf the value head says what a decision is worth to the player who acts, against this opponent.

Logged: SB3's `rollout/ep_rew_mean`, `rollout/ep_len_mean`, `train/...`, `time/fps`; for two players `eval/elo`, `eval/best_elo`,
`eval/score_mean` (points of one-ply play with the value head against the best so far), `eval/keeps_value`; alone
`eval/score_mean` and its 95 % interval.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.game import Game
from leafwise.envs.core.vector import GameVectorEnv
from leafwise.models.files import save_network
from leafwise.models.sparse import SparseNetwork
from leafwise.training.ladder import Ladder, named, prefixed
from leafwise.training.loop import check_ranges, find_variant, provenance, run_learner, run_path
from leafwise.training.oracle import SELECTION_SEED, judge_of
from leafwise.training.run import RunFolder, hardware, need_train_extra, run_main


@dataclass(frozen=True)
class Config:
    """Options of `leafwise train GAME --method ppo`."""

    game: str = "trilobite"
    """Game to learn; one whose observation is made of small whole numbers."""
    variant: str = ""
    """Options of the game, like board=7x6,k=4."""
    run: str = ""
    """Run folder (default: runs/GAME-ppo-SEED)."""
    steps: int = 1_000_000
    """Length of the run, in decisions of the agent."""
    envs: int = 64
    """Games played side by side."""
    rollout: int = 128
    """Decisions in each game between two updates."""
    opponent: str = "greedy"
    """Built-in opponent in games for two: random, greedy, or greedy:SCORE."""
    reward: str = "score"
    """Reward of the environment."""
    scale: float = 1.0
    """Return that counts as 1, in games for one."""
    rate: float = 0.001
    """Learning rate (Adam)."""
    gamma: float = 0.99
    """Discount per decision."""
    gae_lambda: float = 0.95
    """Lambda of generalised advantage estimation."""
    epochs: int = 4
    """Passes over each rollout."""
    batch: int = 1024
    """Decisions in a batch."""
    entropy: float = 0.01
    """Weight of the entropy bonus."""
    hidden: tuple[int, int] = (64, 32)
    """Outputs of the shared first layer, and of one more layer for policy and value each; multiples of 4."""
    evaluate_every: int = 8
    """Updates between two evaluations."""
    match_pairs: int = 500
    """Most pairs of games in a match against the best value head; games played, in games for one."""
    match_plies: int = 8
    """Most random actions at the beginning of a match's games."""
    judged: int = 200
    """Positions judged by the exact solver, where there is one; 0: none."""
    judged_plies: tuple[int, int] = (4, 12)
    """Least and most random actions before a judged position."""
    seed: int = 1
    """Key of the run's random streams, below 900,000."""
    checkpoint_seconds: float = 30.0
    """Seconds between two checkpoints, at least."""
    resume: bool = False
    """Go on with the run in the folder, with the same options."""


RANGES: dict[str, tuple[float, float]] = {
    "steps": (1, 1e12), "envs": (1, 1e5), "rollout": (1, 1e6), "scale": (1e-6, 1e9), "rate": (1e-9, 1), "gamma": (0, 1),
    "gae_lambda": (0, 1), "epochs": (1, 1000), "batch": (2, 1e6), "entropy": (0, 10), "evaluate_every": (1, 1e9),
    "match_pairs": (100, 1e5), "match_plies": (0, 200), "judged": (0, 1e5), "seed": (0, SELECTION_SEED - 1),
    "checkpoint_seconds": (0, 1e9),
}  # fmt: skip


class MaskedPpo:
    """One run: model, environments, files."""

    unit = "decisions"

    def __init__(self, config: Config) -> None:
        from leafwise.training.modules import one_thread
        from leafwise.training.ppo_model import make_model, value_module

        check_ranges(config, RANGES)
        one_thread()
        self.config = config
        self.game: Game = find_variant(config.game, config.variant)
        two = self.game.players == 2
        seats: dict[str, Any] = {"opponent": config.opponent, "seat": "random"} if two else {}
        self.envs = GameVectorEnv(config.envs, self.game, reward=config.reward, **seats)
        blank = SparseNetwork.create(self.game, config.hidden, sees="observation", scale=1.0 if two else config.scale)
        self.model, self.told = make_model(self.envs, blank, config)
        self.value = value_module(self.model, blank)
        self.newest: SparseNetwork = self.value.export()
        self.folder = RunFolder(run_path(config, "ppo"), config, resume=config.resume)
        self.updates, self.seconds = 0, 0.0
        self.ladder = Ladder(self.newest, pool=1, pairs=config.match_pairs, plies=config.match_plies)
        self.judged = judge_of(self.game, config.judged, config.judged_plies)
        if config.resume and (saved := self.folder.load_state()):
            self.restore(*saved)
        else:
            self.keep_best()

    @property
    def done(self) -> int:
        return self.updates * self.config.envs * self.config.rollout

    @property
    def goal(self) -> int:
        return self.config.steps

    def restore(self, tensors: dict[str, NDArray[Any]], metadata: dict[str, Any]) -> None:
        """Takes the state of a checkpoint."""
        from leafwise.training.modules import load_optimizer, load_parameters

        load_parameters(self.model.policy, named(tensors, "policy"))
        load_optimizer(self.model.policy.optimizer, named(tensors, "adam"))
        self.updates, self.seconds = metadata["updates"], metadata["seconds"]
        self.model.num_timesteps = self.done
        self.model._last_obs = self.model.env.reset()
        self.envs.set_state(named(tensors, "envs"))
        self.model._last_obs = self.envs.observations()
        self.model._last_episode_starts = tensors["starts"].astype(bool)
        self.newest = self.value.export()
        self.ladder.restore(tensors, metadata["ladder"])

    def save(self) -> None:
        """Writes a checkpoint."""
        from leafwise.training.modules import optimizer_tensors, parameters

        tensors = prefixed("policy", parameters(self.model.policy)) | prefixed("envs", self.envs.get_state())
        tensors |= prefixed("adam", optimizer_tensors(self.model.policy.optimizer)) | self.ladder.tensors()
        tensors["starts"] = np.asarray(self.model._last_episode_starts).astype(np.uint8)
        metadata = {"updates": self.updates, "seconds": self.seconds, "ladder": self.ladder.metadata()}
        self.folder.save_state(tensors, metadata)

    def keep_best(self) -> None:
        """Writes the best value head to the model file."""
        save_network(self.folder.model, self.ladder.best, self.description())

    def description(self) -> dict[str, Any]:
        """Returns what the model file says of how it was made."""
        return provenance("leafwise.training.ppo", self.config, self.done, self.seconds, self.ladder.score)

    def step(self) -> dict[str, float]:
        """Plays one rollout and learns from it; returns what is logged."""
        import torch

        config, start = self.config, time.perf_counter()
        torch.manual_seed(config.seed + 1_000_003 * self.updates)
        np.random.seed((config.seed + 1_000_003 * self.updates) % 2**32)  # SB3 shuffles its batches with it
        self.model.learn(config.envs * config.rollout, reset_num_timesteps=self.updates == 0)
        self.updates += 1
        spent = time.perf_counter() - start
        logged = {tag: x for tag, x in self.told.items() if tag.startswith("train/") and isinstance(x, (int, float))}
        logged["time/fps"] = config.envs * config.rollout / spent
        finished = self.model.ep_info_buffer or ()
        if finished:
            logged["rollout/ep_rew_mean"] = float(np.mean([one["r"] for one in finished]))
            logged["rollout/ep_len_mean"] = float(np.mean([one["l"] for one in finished]))
        if self.updates % config.evaluate_every == 0 or self.done >= self.goal:
            logged |= self.evaluate()
        self.seconds += time.perf_counter() - start
        return logged

    def evaluate(self) -> dict[str, float]:
        """Asks whether the value head is the best so far; returns what is logged."""
        self.newest = self.value.export()
        logged, better = self.ladder.challenge(self.newest, self.updates // self.config.evaluate_every)
        if better:
            self.keep_best()
        if self.judged is not None:
            logged["eval/keeps_value"] = self.judged.share(self.newest.evaluator("newest"))
        return logged

    def results(self) -> dict[str, Any]:
        """Returns what results.json says."""
        return {**self.description(), "hardware": hardware()}


def train(config: Config) -> Path:
    """Trains by masked PPO and returns the run folder; raises ValueError for options that do not fit."""
    need_train_extra()
    return run_learner(MaskedPpo(config), f"ppo {config.game}")


def main(arguments: list[str] | None = None) -> int:
    """Runs the command line."""
    return run_main("ppo", Config, train, arguments)


if __name__ == "__main__":
    raise SystemExit(main())
