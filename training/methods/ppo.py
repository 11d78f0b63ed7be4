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

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from leafwise.envs.core.gym.vector import GameVectorEnv
from leafwise.models.sparse import SparseNetwork
from leafwise.training.runs.folder import need_train_extra, run_main
from leafwise.training.runs.learner import GatedLearner, Options
from leafwise.training.runs.loop import run_learner
from leafwise.training.runs.options import accepts


@accepts(steps="total_steps", rate="learning_rate", batch="batch_size")
@dataclass(frozen=True)
class Config(Options):
    """Options of `leafwise train GAME --method ppo`."""

    total_steps: int = 1_000_000
    """Length of the run, in decisions of the agent."""
    envs: int = 64
    """Games played side by side."""
    rollout: int = 128
    """Decisions in each game between two updates."""
    opponent: str = "greedy"
    """Opponent in games for two, any player's text; greedy and random are compiled into the environment's step."""
    reward: str = "score"
    """Reward of the environment."""
    scale: float = 1.0
    """Return that counts as 1, in games for one."""
    learning_rate: float = 0.001
    """Learning rate (Adam)."""
    gamma: float = 0.99
    """Discount per decision."""
    gae_lambda: float = 0.95
    """Lambda of generalised advantage estimation."""
    epochs: int = 4
    """Passes over each rollout."""
    batch_size: int = 1024
    """Decisions in a batch."""
    entropy: float = 0.01
    """Weight of the entropy bonus."""
    hidden: tuple[int, int] = (64, 32)
    """Outputs of the shared first layer, and of one more layer for policy and value each; multiples of 4."""
    evaluate_every: int = 8
    """Updates between two evaluations."""
    match_plies: int = 8
    """Most random actions at the beginning of a match's games."""


RANGES: dict[str, tuple[float, float]] = {
    "rollout": (1, 1e6), "gae_lambda": (0, 1), "epochs": (1, 1000), "batch_size": (2, 1e6), "entropy": (0, 10),
    "match_plies": (0, 200),
}  # fmt: skip


class MaskedPpo(GatedLearner):
    """One run: model, environments, files."""

    method, unit = "ppo", "decisions"

    def __init__(self, config: Config) -> None:
        from leafwise.training.networks.ppo import make_model, value_module
        from leafwise.training.networks.sb3 import PpoRun

        super().__init__(config, RANGES)
        two = self.game.players == 2
        seats: dict[str, Any] = {"opponent": config.opponent, "seat": "random"} if two else {}
        seats["autoreset_mode"] = "SameStep"
        self.envs = GameVectorEnv(config.envs, self.game, reward=config.reward, **seats)
        blank = SparseNetwork.create(self.game, config.hidden, sees="observation", scale=1.0 if two else config.scale)
        self.model, told = make_model(self.envs, blank, config)
        self.ppo = PpoRun(self.model, told, self.envs, config)
        self.value = value_module(self.model, blank)
        self.newest = self.value.export()
        self.open_folder()
        self.begin(pool=1, plies=config.match_plies)

    @property
    def done(self) -> int:
        return self.ppo.done

    def restore(self, tensors: dict[str, NDArray[Any]], metadata: dict[str, Any]) -> None:
        """Takes the state of a checkpoint."""
        self.ppo.restore(tensors, metadata["updates"])
        self.newest = self.value.export()

    def state(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Returns what a checkpoint holds."""
        return self.ppo.tensors(), {"updates": self.ppo.updates}

    def advance(self) -> tuple[dict[str, float], int | None]:
        """Plays one rollout and learns from it; a match is due every few updates."""
        logged, every = self.ppo.step(), self.config.evaluate_every
        if self.ppo.updates % every and self.done < self.goal:
            return logged, None
        self.newest = self.value.export()
        return logged, self.ppo.updates // every


def train(config: Config) -> Path:
    """Trains by masked PPO and returns the run folder; raises ValueError for options that do not fit."""
    need_train_extra()
    return run_learner(MaskedPpo(config), f"ppo {config.game}")


def main(arguments: list[str] | None = None) -> int:
    """Runs the command line."""
    return run_main("ppo", lambda game: Config, train, arguments)


if __name__ == "__main__":
    raise SystemExit(main())
