"""Masked double Q-learning by self-play: one network values every action for the player who acts.

Sources: Mnih et al., "Human-level control through deep reinforcement learning" (2015); van Hasselt et al., "Deep
reinforcement learning with double Q-learning" (2016). Differences: illegal actions are masked wherever a best action is
sought; in games for two the same network plays both sides and what the next player can get counts against the actor (negamax);
the output goes through tanh there and is learned by cross-entropy; rows are shown under random symmetries; games begin
with random actions. Alone, returns are discounted and learned in units of `scale` with the Huber loss.

The network sees the observation, one feature for each cell and value. As a leaf it values a decision by its best legal action.

Logged: `rollout/ep_len_mean`, `time/fps` (decisions a second), `train/loss`, `train/exploration_rate`, and for two
players `eval/elo`, `eval/best_elo`, `eval/score_mean` (points against the best network so far), `eval/keeps_value` (share of fixed
positions in which one-ply play with it keeps the value, by the exact solver, which only judges); alone `eval/score_mean` and its
95 % interval. With `--piece`: `rollout/staleness` (generations that the network of the decisions was behind, at most),
`rollout/repeated` (pieces begun again, since their process was gone).
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leafwise.training.actors.dqn import GROUP, Decisions, Player, Steps
from leafwise.training.actors.generations import Call, Generation, Generations, check_actors, key_of
from leafwise.training.execution.executor import Shared
from leafwise.training.kernels.selfplay import GAMES, PLIES
from leafwise.training.runs.folder import need_train_extra, run_main
from leafwise.training.runs.gating import named, prefixed
from leafwise.training.runs.learner import ActorOptions, GatedLearner
from leafwise.training.runs.loop import run_learner
from leafwise.training.runs.options import accepts


@accepts(
    steps="total_steps", replay="buffer_size", batch="batch_size", every="train_every", start="learning_starts",
    rate="learning_rate", final_rate="final_learning_rate",
)  # fmt: skip
@dataclass(frozen=True)
class Config(ActorOptions):
    """Options of `leafwise train GAME --method dqn`."""

    total_steps: int = 2_000_000
    """Length of the run, in decisions played."""
    envs: int = 256
    """Games played side by side."""
    buffer_size: int = 200_000
    """Last decisions that are learned from."""
    batch_size: int = 1024
    """Decisions in a batch."""
    train_every: int = 1024
    """Decisions played between two batches."""
    learning_starts: int = 10_000
    """Decisions played before learning begins."""
    target_every: int = 50
    """Batches between two copies of the network to the target network."""
    learning_rate: float = 0.001
    """Learning rate at the start (Adam)."""
    final_learning_rate: float = 0.0001
    """Learning rate at the end; linear in between."""
    gamma: float = 1.0
    """Discount per decision; below 1 in games for one."""
    scale: float = 1.0
    """Return that counts as 1, in games for one."""
    exploration: float = 1.0
    """Share of random actions at the start."""
    final_exploration: float = 0.1
    """Share of random actions from half of the run on; linear before."""
    plies: int = 8
    """Most random actions at the beginning of a game."""
    hidden: tuple[int, ...] = (128, 64)
    """Outputs of the layers between observation and action values, multiples of 4."""
    interval: int = 102_400
    """Decisions between two log entries, and between two evaluations."""


RANGES: dict[str, tuple[float, float]] = {
    "buffer_size": (100, 1e8),
    "train_every": (1, 1e6),
    "target_every": (1, 1e6),
    "piece": (0, 1e8),
    "staleness": (0, 100),
}


class QLearner(GatedLearner):
    """One run: networks, games, replay, files."""

    method, unit = "dqn", "decisions"
    done = 0

    def __init__(self, config: Config) -> None:
        import torch

        from leafwise.training.networks.sparse import fresh_module

        super().__init__(config, RANGES)
        check_actors(config.piece, config.staleness, config.processes, config.cluster)
        self.online, self.target = (
            fresh_module(self.game, config.hidden, config.seed, head="max", sees="observation", scale=config.scale)
            for _ in range(2)
        )
        self.open_folder()
        self.optimizer = torch.optim.Adam(self.online.parameters(), lr=config.learning_rate)
        self.newest = self.online.export()
        self.player = Player(self.newest, config.plies)
        self.kernels, self.T = self.player.kernels, self.player.T
        if config.piece:
            self.work_by(self.player)
            self.actor = self.executor.share(Player(self.newest, config.plies))
        self.generations = Generations(self.line(), self.pieces, config.staleness)
        n, replay, width = config.envs * (config.staleness + 1), config.buffer_size, self.game.width
        streams = np.array([(config.seed * n + e, 0) for e in range(n)], dtype=np.uint64)
        self.rows, self.streams = self.player.begun(streams)
        self.before, self.after = self.game.rows(replay), self.game.rows(replay)
        self.actions = np.zeros(replay, dtype=np.int64)
        self.gains = np.zeros((replay, 2), dtype=np.float32)  # reward, and sign of what comes after it
        self.both = np.zeros((2 * config.batch_size, width), dtype=self.game.dtype)
        self.batches = 0
        self.begin(pool=1, plies=config.plies)

    def restore(self, tensors: dict[str, NDArray[Any]], metadata: dict[str, Any]) -> None:
        """Takes the state of a checkpoint."""
        from leafwise.training.networks.sparse import load_optimizer, load_parameters

        load_parameters(self.online, named(tensors, "online"))
        load_parameters(self.target, named(tensors, "target"))
        load_optimizer(self.optimizer, named(tensors, "adam"))
        filled = len(tensors["actions"])
        for name in ("rows", "streams"):
            getattr(self, name)[:] = tensors[name]
        for name in ("before", "after", "actions", "gains"):
            getattr(self, name)[:filled] = tensors[name]
        self.done, self.batches = metadata["done"], metadata["batches"]
        self.newest = self.online.export()

    def state(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Returns what a checkpoint holds."""
        from leafwise.training.networks.sparse import optimizer_tensors, parameters

        tensors = prefixed("online", parameters(self.online)) | prefixed("target", parameters(self.target))
        tensors |= prefixed("adam", optimizer_tensors(self.optimizer))
        tensors |= {name: getattr(self, name) for name in ("rows", "streams")}
        tensors |= {name: getattr(self, name)[: self.filled] for name in ("before", "after", "actions", "gains")}
        told = {"done": self.done, "batches": self.batches}
        if not self.config.piece:
            return tensors, told
        more, ahead = self.generations.state()
        return tensors | more, told | {"ahead": ahead}

    @property
    def filled(self) -> int:
        """Decisions in the replay."""
        return min(self.done, self.config.buffer_size)

    def share_of_run(self) -> float:
        """Returns how much of the run is over, 0 to 1."""
        return min(self.done / self.config.total_steps, 1.0)

    def exploration(self, done: int | None = None) -> float:
        """Returns the share of random actions now, or when so many decisions have been played."""
        config, share = self.config, self.share_of_run() if done is None else min(done / self.config.total_steps, 1.0)
        return config.exploration + (config.final_exploration - config.exploration) * min(1.0, 2 * share)

    def act(self) -> None:
        """Plays one decision in every game and remembers it."""
        rng = np.random.default_rng((self.config.seed, 0, self.done))
        self.keep(self.player.step(self.newest, self.online, self.rows, self.streams, self.exploration(), rng))

    def keep(self, found: Decisions) -> None:
        """Puts decisions into the replay."""
        places = (self.done + np.arange(len(found.actions))) % self.config.buffer_size
        self.before[places], self.after[places] = found.before, found.after
        self.actions[places], self.gains[places] = found.actions, found.gains
        self.done += len(found.actions)

    @property
    def steps(self) -> int:
        """Decisions of each game in a generation."""
        return max(1, self.config.piece // min(GROUP, self.config.envs))

    def pieces(self, generation: Generation, networks: Shared[Any]) -> list[Call]:
        """Returns the decisions of a generation as pieces of work.

        Of `staleness` + 1 sets of games each generation plays one, which no generation under way does.
        """
        n, number = self.config.envs, generation.number
        first = n * (number % (self.config.staleness + 1))
        share = self.exploration(number * n * self.steps)
        found: list[Call] = []
        for begin in range(first, first + n, GROUP):
            own = slice(begin, min(begin + GROUP, first + n))
            key = key_of(self.config.seed, number, begin)
            rows, streams = self.rows[own].copy(), self.streams[own].copy()
            found.append(Steps(self.actor, networks, rows, streams, self.steps, share, key))
        return found

    def take(self, tensors: dict[str, NDArray[Any]], metadata: dict[str, Any]) -> None:
        """Takes all that a checkpoint holds."""
        super().take(tensors, metadata)
        if self.config.piece:
            self.generations.restore(tensors, metadata["ahead"], self.newest)

    def act_elsewhere(self) -> int:
        """Remembers the decisions of a generation that others have played; returns how far their network was behind."""
        n = self.config.envs
        size = n * self.steps
        self.generations.fill(self.done // size, -(-self.goal // size), lambda: {"newest": self.online.export()})
        generation, found = self.generations.take()
        first = n * (generation.number % (self.config.staleness + 1))
        for begin, played in zip(range(first, first + n, GROUP), found, strict=True):
            self.rows[begin : begin + len(played.rows)] = played.rows
            self.streams[begin : begin + len(played.rows)] = played.streams
            self.player.table.counts[:] += played.counts
        for k in range(self.steps):
            for played in found:
                self.keep(played.decisions[k])
        return generation.number - generation.learned

    def shown(
        self, rows: NDArray[Any], symmetries: NDArray[np.int64], actions: NDArray[np.int64]
    ) -> tuple[Any, NDArray[np.int8]]:
        """Returns features (a tensor) and legal actions of rows under symmetries; `actions` are mapped along."""
        import torch

        n = len(rows)
        self.both[:n] = rows
        self.kernels.transform_rows(self.both, symmetries, actions, self.T)
        features, legal, _ = self.newest.describe(self.both[n:], self.T)
        return torch.from_numpy(features), legal

    def learn(self) -> float:
        """Takes one step of double Q-learning on a batch from the replay; returns the loss."""
        import torch

        from leafwise.training.networks.sparse import loss_of, value_of

        config, scale = self.config, self.config.scale
        rng = np.random.default_rng((config.seed, 1, self.batches))
        chosen = rng.integers(0, self.filled, config.batch_size)
        symmetries = rng.integers(0, self.game.symmetry_count, config.batch_size)
        actions = self.actions[chosen]
        features, _ = self.shown(self.before[chosen], symmetries, actions)
        following, legal = self.shown(self.after[chosen], symmetries, np.zeros_like(actions))
        gains = torch.from_numpy(self.gains[chosen])
        solo = self.game.players == 1
        with torch.no_grad():
            masked = self.online(following).masked_fill(torch.from_numpy(legal == 0), -torch.inf)
            best = masked.argmax(dim=1, keepdim=True)
            later = value_of(self.target(following).gather(1, best)[:, 0], solo)
            targets = gains[:, 0] / scale + config.gamma * gains[:, 1] * later
        outputs = self.online(features).gather(1, torch.from_numpy(actions)[:, None])[:, 0]
        loss = loss_of(outputs, targets, solo)
        for group in self.optimizer.param_groups:
            group["lr"] = (
                config.learning_rate + (config.final_learning_rate - config.learning_rate) * self.share_of_run()
            )
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.online.parameters(), 10.0)
        self.optimizer.step()
        self.batches += 1
        if self.batches % config.target_every == 0:
            self.target.load_state_dict(self.online.state_dict())
        return float(loss.detach())

    def advance(self) -> tuple[dict[str, float], int | None]:
        """Plays and learns for one interval, after which a match is due."""
        config, start, before = self.config, time.perf_counter(), self.done
        counts, behind = self.player.table.counts, 0
        counts[:] = 0
        losses: list[float] = []
        while self.done < min(before + config.interval, config.total_steps):
            if config.piece:
                behind = max(behind, self.act_elsewhere())
            else:
                self.act()
            while (
                self.done >= config.learning_starts
                and self.batches < (self.done - config.learning_starts) // config.train_every
            ):
                losses.append(self.learn())
        logged = {
            "time/fps": (self.done - before) / (time.perf_counter() - start),
            "rollout/ep_len_mean": counts[PLIES] / max(int(counts[GAMES]), 1),
            "train/exploration_rate": self.exploration(),
        }
        if config.piece:
            logged |= {"rollout/staleness": behind, "rollout/repeated": self.executor.repeated}
        if losses:
            logged["train/loss"] = float(np.mean(losses))
        self.newest = self.online.export()
        return logged, self.done // config.interval


def train(config: Config) -> Path:
    """Trains action values by self-play and returns the run folder; raises ValueError for options that do not fit."""
    need_train_extra()
    return run_learner(QLearner(config), f"dqn {config.game}")


def main(arguments: list[str] | None = None) -> int:
    """Runs the command line."""
    return run_main("dqn", lambda game: Config, train, arguments)


if __name__ == "__main__":
    raise SystemExit(main())
