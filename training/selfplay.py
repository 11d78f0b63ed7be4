"""Self-play with search-supervised values: a network learns what a shallow search with itself says of its own games.

Each iteration plays games with the newest network (some against an earlier self), learns from the last positions, and plays
matches against the best network so far, which it replaces only if a sequential test says that it is better. The target of a
position is the lambda-return of the root values of depth-1 or -2 searches along the game and of its outcome, as in
Veness et al., "Bootstrapping from game tree search" (NIPS 2009), and Baxter et al., TDLeaf (2000). Games begin with a random
number of random actions, so that all kinds of positions are seen. What is learned is the value for the player who acts.

Logged: `rollout/ep_len_mean` (decisions after the opening), `rollout/first_wins` (share), `time/fps` (positions a second),
`train/loss`, `train/learning_rate`, `eval/score_mean` (points against the best, 0 to 1), `eval/elo` (of the newest network; the
first has 0), `eval/best_elo`, `eval/keeps_value` (share of fixed random positions in which one-ply play keeps the value,
by the exact solver, which judges but teaches nothing).
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.stream import uniform
from leafwise.models.sparse import BOUND, SparseNetwork
from leafwise.training.climber import Climber, Options
from leafwise.training.ladder import named, prefixed
from leafwise.training.loop import run_learner
from leafwise.training.run import need_train_extra, run_main
from leafwise.training.selfplay_kernels import GAMES, PLIES, WON_BY_FIRST, kernels, new_record, new_table


@dataclass(frozen=True)
class Config(Options):
    """Options of `leafwise train GAME --method selfplay`."""

    iterations: int = 60
    """Length of the run, in iterations."""
    positions: int = 50_000
    """Positions recorded in an iteration."""
    replay: int = 400_000
    """Last positions that are learned from."""
    passes: float = 4.0
    """How often a new position is learned from in its iteration's training, on average over the replay."""
    batch: int = 2048
    """Positions in a batch."""
    rate: float = 0.004
    """Highest learning rate of the first iteration's cycle (Adam)."""
    final_rate: float = 0.0004
    """The same for the last iteration; geometric in between."""
    hidden: tuple[int, ...] = (32, 32)
    """Outputs of the layers between features and value, multiples of 4."""
    depth: int = 1
    """Depth of the search whose root values are learned."""
    decay: float = 0.7
    """Lambda: 0 learns each position's own root value, 1 the outcome alone."""
    epsilon: float = 0.1
    """Share of actions drawn at random."""
    plies: int = 12
    """Most random actions at the beginning of a game."""
    earlier: float = 0.2
    """Share of games in which an earlier best network plays one seat."""
    pool: int = 8
    """Earlier best networks that are kept as opponents."""
    match_pairs: int = 2000
    """Most pairs of games in a match against the best network."""


RANGES: dict[str, tuple[float, float]] = {
    "iterations": (1, 1e6), "positions": (100, 1e8), "replay": (100, 1e8), "passes": (0.01, 1000), "batch": (1, 1e6),
    "rate": (1e-9, 1), "final_rate": (1e-9, 1), "depth": (1, 4), "decay": (0, 1), "epsilon": (0, 1), "plies": (0, 200),
    "earlier": (0, 1), "pool": (1, 100),
}  # fmt: skip


class SelfPlay(Climber):
    """One run: networks, replay, files."""

    method, unit = "selfplay", "iterations"
    done = 0

    def __init__(self, config: Config) -> None:
        from leafwise.training.modules import fresh_module

        super().__init__(config, RANGES)
        if self.game.players != 2:
            raise ValueError(f"selfplay: expected a game for two players, got {self.game.name!r}")
        self.module = fresh_module(self.game, config.hidden, config.seed)
        self.open_folder()
        self.table = new_table(self.game, config.depth, config.seed)
        self.record = new_record(self.game, config.positions + 2000)
        self.rows = self.game.rows(config.replay)
        self.targets = np.zeros(config.replay)
        self.filled, self.next = 0, 0
        self.newest = self.module.export()
        self.kernels = kernels(self.game, self.newest.evaluator("newest"))
        self.begin(pool=config.pool, plies=config.plies)

    @property
    def goal(self) -> int:
        return int(self.config.iterations)

    def restore(self, tensors: dict[str, NDArray[Any]], metadata: dict[str, Any]) -> None:
        """Takes the state of a checkpoint."""
        from leafwise.training.modules import SparseModule

        self.filled, self.next, self.done = metadata["filled"], metadata["next"], metadata["done"]
        self.rows[: self.filled], self.targets[: self.filled] = tensors["rows"], tensors["targets"]
        self.table.R[:] = tensors["stream"]
        self.newest = self.newest.with_tensors(named(tensors, "newest"))
        self.module = SparseModule(self.newest)

    def state(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Returns what a checkpoint holds."""
        tensors = prefixed("newest", self.newest.tensors)
        tensors |= {"rows": self.rows[: self.filled], "targets": self.targets[: self.filled], "stream": self.table.R}
        return tensors, {"filled": self.filled, "next": self.next, "done": self.done}

    def tables(self, network: SparseNetwork) -> Any:
        """Returns `T` with a network's weights."""
        return self.game.tables(network.evaluator("selfplay"))

    def play(self) -> dict[str, float]:
        """Records games of the newest network, some against an earlier best; returns what is logged."""
        config, counts = self.config, self.table.counts
        counts[:] = 0
        start = time.perf_counter()
        earlier = self.ladder.pool[int(uniform(self.table.R) * len(self.ladder.pool))]
        n = self.kernels.record_games(
            self.table, self.record, config.positions, config.depth, config.plies, config.epsilon, config.earlier,
            config.decay, self.tables(self.newest), self.tables(earlier),
        )  # fmt: skip
        places = (self.next + np.arange(n)) % config.replay
        self.rows[places], self.targets[places] = self.record.rows[:n], self.record.targets[:n]
        self.next = (self.next + n) % config.replay
        self.filled = min(self.filled + n, config.replay)
        games = max(int(counts[GAMES]), 1)
        return {
            "rollout/ep_len_mean": counts[PLIES] / games,
            "rollout/first_wins": counts[WON_BY_FIRST] / games,
            "time/fps": n / (time.perf_counter() - start),
        }

    def learn(self) -> dict[str, float]:
        """Trains the module on the replay for one cycle of the learning rate; returns what is logged."""
        from leafwise.training.modules import fit

        config = self.config
        progress = self.done / max(config.iterations - 1, 1)
        rate = config.rate * (config.final_rate / config.rate) ** progress
        steps = max(1, int(config.passes * config.positions / config.batch))
        rng = np.random.default_rng((config.seed, self.done))
        T = self.tables(self.newest)
        none = np.zeros(config.batch, dtype=np.int64)
        both = np.zeros((2 * config.batch, self.game.width), dtype=self.game.dtype)

        def sample() -> tuple[NDArray[np.int64], NDArray[np.float32]]:
            """Returns features and targets of random positions, under random symmetries where those matter."""
            chosen = rng.integers(0, self.filled, config.batch)
            rows = self.rows[chosen]
            if self.game.sparse is not None and not self.game.sparse.invariant:
                both[: config.batch] = rows
                self.kernels.transform_rows(both, rng.integers(0, self.game.symmetries, config.batch), none, T)
                rows = both[config.batch :]
            features, _, signs = self.newest.describe(rows, T)
            return features, (self.targets[chosen] * signs / BOUND).astype(np.float32)

        loss = fit(self.module, sample, steps, rate)
        self.newest = self.module.export()
        return {"train/loss": loss, "train/learning_rate": rate}

    def advance(self) -> tuple[dict[str, float], int | None]:
        """Plays and learns: one iteration, after which a match is due."""
        logged = self.play() | self.learn()
        self.done += 1
        return logged, self.done


def train(config: Config) -> Path:
    """Trains a sparse network by self-play and returns its run folder; raises ValueError for options that do not fit."""
    need_train_extra()
    return run_learner(SelfPlay(config), f"selfplay {config.game}")


def main(arguments: list[str] | None = None) -> int:
    """Runs the command line."""
    return run_main("selfplay", Config, train, arguments)


if __name__ == "__main__":
    raise SystemExit(main())
