"""Learns what an unfinished ship will be worth, from ships built by hand and then by looking ahead with what is learned.

A convolution over the grid and the numbers beside it (`leafwise.models.grid`) learns what quality may still come of a state.
First the states are those of hand-made ships with random places among them, and a state counts as the best of `finishes`
hand-made ships that it is finished to: less noise than one outcome. From `by_hand` of the run on they are those of ships
built with the network itself, one placement ahead, now and then a place at random; a state counts as the lambda-return of
the values seen and the quality reached, 0 if the ship is not valid, so that the network learns what leads there. (Sutton,
"Learning to predict by the methods of temporal differences", 1988.) Loss: Huber. Evaluation on the hulls and requests of
seeds from 900,000 on.

Logged: `time/fps` (states learned from a second), `train/loss`, `train/quality` (mean quality of the ships built to learn
from), `eval/score_mean` with its 95 % interval (quality of the network's ships, one placement ahead), `eval/gain` (over the
hand-made ships of the same seeds), `eval/valid`, `eval/TERM` for the six terms, `eval/correlation` and
`eval/absolute_error` (of values with the quality, over the states of these ships), and `ships`, a picture of some.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.state import FIRST
from leafwise.envs.starship.builder import Children
from leafwise.envs.starship.quality import potential
from leafwise.models.files import save_network
from leafwise.models.grid import GridNetwork
from leafwise.search.frontier import bound_values
from leafwise.training.evaluation.agreement import SELECTION_SEED
from leafwise.training.runs.folder import RunFolder, need_train_extra, run_main
from leafwise.training.runs.loop import Learner, check_ranges, find_variant, run_learner, run_path
from leafwise.training.runs.options import RunOptions, accepts
from leafwise.training.starship.samples import Built, Yard, compared, hand_made_bar, joined

WARM_UP = 0.02
"""Share of the run over which the learning rate rises; it falls to a twentieth along a cosine after that."""


@accepts(
    updates="total_steps", batch="batch_size", rate="learning_rate", epsilon="hand_exploration", step="build_every",
    explore="exploration", trace="td_lambda", memory="buffer_size", evaluated="evaluate_games",
)  # fmt: skip
@dataclass(frozen=True)
class Config(RunOptions):
    """Options of `leafwise train starship`."""

    total_steps: int = 8000
    """Length of the run, in batches learned from."""
    batch_size: int = 256
    """States in a batch."""
    learning_rate: float = 0.003
    """Highest learning rate (Adam)."""
    by_hand: float = 0.15
    """Share of the run that learns from hand-made ships alone."""
    hand_ships: int = 2000
    """Hand-made ships to begin with."""
    hand_exploration: float = 0.4
    """Chance of a random place instead of the hand-made one."""
    finishes: int = 16
    """Hand-made ships that a state is finished to; it counts as the best of them."""
    build_every: int = 50
    """Batches between two times that ships are built."""
    ships: int = 48
    """Ships built with the network each time."""
    exploration: float = 0.08
    """Chance of a random place instead of the network's."""
    td_lambda: float = 0.8
    """Weight of what came of a state against the greatest value at its next decision (lambda)."""
    buffer_size: int = 60_000
    """States that are kept to learn from, the latest, once the network builds."""
    hidden: tuple[int, int, int] = (16, 16, 32)
    """Widths of the two convolutions and of the hidden layer after them."""
    evaluate_every: int = 500
    """Batches between two evaluations."""
    evaluate_games: int = 200
    """Seeds of an evaluation."""
    checkpoint_seconds: float = 60.0
    """Seconds between two checkpoints, at least."""


RANGES: dict[str, tuple[float, float]] = {
    "by_hand": (0, 1), "hand_ships": (1, 1e7), "hand_exploration": (0, 1), "finishes": (0, 1e4), "build_every": (1, 1e6),
    "ships": (1, 1e5), "evaluate_games": (2, 1000),
}  # fmt: skip


class Builds(Learner):
    """One run: network, ships to learn from, files."""

    program, unit = "leafwise.training.starship.values", "updates"

    def __init__(self, config: Config) -> None:
        import torch

        from leafwise.training.networks.grid import GridModule
        from leafwise.training.networks.sparse import one_thread

        check_ranges(config, RANGES)
        one_thread()
        self.config = config
        self.game: Game = find_variant(config.game, config.variant)
        blank = GridNetwork.create(self.game, config.hidden)
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        self.module = GridModule(blank).reset(config.seed).to(self.device)
        self.optimizer = torch.optim.Adam(self.module.parameters(), lr=config.learning_rate)
        self.folder = RunFolder(run_path(config, "values"), config, resume=config.resume)
        self.updates, self.seconds = 0, 0.0
        self.blank, self._T = blank, self.game.tables(blank.evaluator("described"))
        self.memory = Built(self.game.rows(0), np.zeros(0, np.float32), self.game.rows(1))
        self.score = {}
        self.bar: NDArray[np.float64] = np.zeros(0)
        self.resume()

    @property
    def seeds(self) -> range:
        """Seeds of the evaluations."""
        return range(SELECTION_SEED, SELECTION_SEED + self.config.evaluate_games)

    @property
    def done(self) -> int:
        return self.updates

    @property
    def learns_by_hand(self) -> bool:
        return self.updates < self.config.by_hand * self.config.total_steps

    def restore(self, tensors: dict[str, NDArray[Any]], metadata: dict[str, Any]) -> None:
        """Takes the state of a checkpoint."""
        from leafwise.training.networks.sparse import load_optimizer, load_parameters
        from leafwise.training.runs.gating import named

        load_parameters(self.module, named(tensors, "module"))
        load_optimizer(self.optimizer, named(tensors, "adam"))
        self.memory = Built(tensors["rows"], tensors["quality"], self.game.rows(1))
        self.updates, self.score = metadata["updates"], metadata["best"]

    def state(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Returns what a checkpoint holds."""
        from leafwise.training.networks.sparse import optimizer_tensors, parameters
        from leafwise.training.runs.gating import prefixed

        tensors = prefixed("module", parameters(self.module)) | prefixed("adam", optimizer_tensors(self.optimizer))
        tensors |= {"rows": self.memory.rows, "quality": self.memory.quality}
        return tensors, {"updates": self.updates, "best": self.score}

    def step(self) -> dict[str, Any]:
        """Builds ships, learns from those in memory; returns what is logged."""
        config, start, logged = self.config, time.perf_counter(), {}
        fresh = self.fresh_ships()
        if len(fresh):
            both = joined([self.memory, *fresh])
            most = max(config.buffer_size, len(both.rows) if self.learns_by_hand else 0)
            self.memory = Built(both.rows[-most:], both.quality[-most:], both.last)
            logged["train/quality"] = float(np.mean([potential(ship.last, FIRST, self._T.ship) for ship in fresh]))
        logged["train/loss"] = self.learn()
        logged["time/fps"] = config.build_every * config.batch_size / (time.perf_counter() - start)
        if self.updates % config.evaluate_every < config.build_every or self.done >= self.goal:
            logged |= self.evaluate()
        self.seconds += time.perf_counter() - start
        return logged

    def fresh_ships(self) -> list[Built]:
        """Returns the ships that are built before the next batches: all by hand first, later some by looking ahead."""
        config = self.config
        yard = Yard(self.game, (config.seed * 1_000_003 + self.updates) % SELECTION_SEED)
        if self.learns_by_hand:
            return (
                []
                if self.updates
                else [yard.by_hand(config.hand_exploration, config.finishes) for _ in range(config.hand_ships)]
            )
        children = Children(self.game, self.values())
        return [yard.ahead(children, config.exploration, config.td_lambda) for _ in range(config.ships)]

    def values(self) -> Any:
        """Returns what values rows by the network as it is now."""
        return bound_values(self.game, self.module.export().evaluator("newest"))

    def learn(self) -> float:
        """Learns from `build_every` batches; returns their mean loss."""
        import torch

        config, total = self.config, 0.0
        for _ in range(config.build_every):
            rng = np.random.default_rng((config.seed, self.updates))
            chosen = rng.integers(len(self.memory.rows), size=config.batch_size)
            codes, maps, numbers, base = self.described(self.memory.rows[chosen])
            wanted = torch.from_numpy(self.memory.quality[chosen]).to(self.device)
            for group in self.optimizer.param_groups:
                group["lr"] = self.rate
            loss = torch.nn.functional.smooth_l1_loss(self.module(codes, maps, numbers) + base, wanted)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.updates += 1
            total += float(loss.detach())
        return total / config.build_every

    @property
    def rate(self) -> float:
        """The learning rate now."""
        t = self.updates / self.config.total_steps
        if t < WARM_UP:
            return self.config.learning_rate * (t + 1e-3) / WARM_UP
        return self.config.learning_rate * (0.05 + 0.475 * (1 + np.cos(np.pi * (t - WARM_UP) / (1 - WARM_UP))))

    def described(self, rows: NDArray[np.uint16]) -> Any:
        """Returns what the network sees of rows, as tensors."""
        import torch

        return [torch.from_numpy(x).to(self.device) for x in self.blank.describe(rows, self._T)]

    def evaluate(self) -> dict[str, Any]:
        """Builds the ships of the selection seeds; keeps the network if they are the best so far; returns what is logged."""
        values = self.values()
        children = Children(self.game, values)
        if not len(self.bar):
            self.bar = hand_made_bar(self.game, self.seeds)
        ships = [Yard(self.game, seed).ahead(children) for seed in self.seeds]
        states = joined(ships)
        told = values(states.rows)
        logged = compared(self.game, np.concatenate([ship.last for ship in ships]), self.seeds, self.bar)
        logged["eval/correlation"] = float(np.corrcoef(told, states.quality)[0, 1])
        logged["eval/absolute_error"] = float(np.abs(told - states.quality).mean())
        if logged["eval/score_mean"] > self.score.get("mean", -1.0):
            self.score = {"mean": logged["eval/score_mean"], "gain": logged["eval/gain"]}
            self.score |= {"ci_low": logged["eval/score_ci_low"], "ci_high": logged["eval/score_ci_high"]}
            self.score |= {"games": len(ships), "first_seed": SELECTION_SEED}
            save_network(self.folder.model, self.module.export(), self.description())
        return logged


def train(config: Config) -> Path:
    """Trains and returns the run folder; raises ValueError for options that do not fit."""
    need_train_extra()
    return run_learner(Builds(config), f"values {config.game}")


def main(arguments: list[str] | None = None) -> int:
    """Runs the command line."""
    return run_main("values", lambda game: Config, train, arguments)


if __name__ == "__main__":
    raise SystemExit(main())
