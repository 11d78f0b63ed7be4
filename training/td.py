"""Temporal-difference learning of an n-tuple network by greedy play, TD(lambda) backward along each trajectory.

Sources: Szubert and Jaskowski, CIG 2014 (n-tuple networks by TD on afterstates); Yeh, Wu et al., "Multi-stage temporal
difference learning for 2048-like games", TCIAIG 2016 (backward TD(lambda) and Threes). Differences: what is valued is the
state after the known tile has entered; the target is the potential to come, sum of (tile score)**power; a trajectory
longer than `restart` moves is followed by one from its middle; the rate is held, then falls geometrically.

Logged: `rollout/ep_rew_mean` (fresh games of the last interval), `train/error` (root mean square, in potential),
`train/rate`, `time/fps` (moves a second), `eval/score_mean`, `eval/score_ci_low`, `eval/score_ci_high` (greedy games with
seeds from 900,000).
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from leafwise.envs.core.game import Game
from leafwise.envs.registry import game as find_game
from leafwise.models.files import save_network
from leafwise.models.ntuple import NTupleNetwork, parse_tuples
from leafwise.training.arena import bootstrap_interval
from leafwise.training.run import (
    Interruption,
    RunFolder,
    commit,
    hardware,
    need_train_extra,
    run_main,
    training_command,
)
from leafwise.training.td_kernels import FRESH_GAMES, GAMES, MOVES, Trainer, kernels, new_trainer

SELECTION_SEED = 900_000
"""First seed of the games that choose the best model; training stays below, final figures start at 1,000,000."""


@dataclass(frozen=True)
class Config:
    """Options of `leafwise train GAME --method td`."""

    game: str = "threes"
    """Game to learn; one with cell features."""
    run: str = ""
    """Run folder (default: runs/GAME-td-SEED)."""
    moves: int = 40_000_000
    """Length of the run, in moves."""
    tuples: str = "0123 4567 0145 1256 569a"
    """Tuples of cells, row by row in hexadecimal, separated by blanks."""
    rate: float = 0.25
    """Learning rate, shared out among the active weights."""
    final_rate: float = 0.0125
    """Rate at the end of the run."""
    hold: float = 0.5
    """Share of the run after which the rate begins to fall, geometrically."""
    decay: float = 0.5
    """Lambda of TD(lambda)."""
    power: float = 0.7
    """Exponent of the tile score in the potential that is learned."""
    restart: int = 100
    """Trajectories longer than this are followed by one from their middle; 0: never."""
    seed: int = 1
    """Key of the run's random stream, below 900,000."""
    interval: int = 500_000
    """Moves between two log entries."""
    evaluate_every: int = 8
    """Log entries between two evaluations."""
    evaluate_games: int = 200
    """Games per evaluation."""
    checkpoint_seconds: float = 30.0
    """Seconds between two checkpoints, at least."""
    resume: bool = False
    """Go on with the run in the folder, with the same options."""


def check(config: Config) -> None:
    """Raises ValueError for an option out of range."""
    ranges: dict[str, tuple[float, float]] = {
        "moves": (1, 1e13), "rate": (1e-9, 1), "final_rate": (1e-9, 1), "hold": (0, 1), "decay": (0, 1), "restart": (0, 1e9),
        "seed": (0, SELECTION_SEED - 1), "interval": (1, 1e9), "evaluate_every": (1, 1e9), "evaluate_games": (2, 100_000),
        "checkpoint_seconds": (0, 1e9),
    }  # fmt: skip
    for name, (low, high) in ranges.items():
        if not low <= getattr(config, name) <= high:
            flag = "--" + name.replace("_", "-")
            raise ValueError(f"expected {flag} of {low:g} to {high:g}, got {getattr(config, name)!r}")


def rate_at(config: Config, moves: int) -> float:
    """Returns the learning rate after a number of moves."""
    done = moves / config.moves
    if done <= config.hold:
        return config.rate
    return config.rate * (config.final_rate / config.rate) ** ((done - config.hold) / (1 - config.hold))


class Learner:
    """One TD run: network, games, files."""

    def __init__(self, config: Config) -> None:
        check(config)
        self.config = config
        self.game: Game = find_game(config.game)
        self.network = NTupleNetwork.create(self.game, parse_tuples(config.tuples), config.power)
        self.path = Path(config.run or f"runs/{config.game}-td-{config.seed}")
        self.folder = RunFolder(self.path, config, resume=config.resume)
        self.trainer: Trainer = new_trainer(self.game, config.seed)
        self.kernels = kernels(self.game, self.network.weights.pieces.shape[1])
        self.T = self.game.tables(self.network.evaluator("td"))
        self.seconds, self.entries, self.best = 0.0, 0, -np.inf
        self.score: dict[str, Any] = {}
        if config.resume and (saved := self.folder.load_state()):
            self.restore(*saved)

    def restore(self, tensors: dict[str, NDArray[Any]], metadata: dict[str, Any]) -> None:
        """Takes the state of a checkpoint."""
        self.network.weights.table[:] = tensors["table"]
        for name in ("S", "R", "counts", "sums"):
            getattr(self.trainer, name)[:] = tensors[name]
        self.seconds, self.entries, self.best = metadata["seconds"], metadata["entries"], metadata["best"]
        self.score = metadata["score"]

    def save(self) -> None:
        """Writes a checkpoint."""
        tensors = {name: getattr(self.trainer, name) for name in ("S", "R", "counts", "sums")}
        metadata = {"seconds": self.seconds, "entries": self.entries, "best": float(self.best), "score": self.score}
        self.folder.save_state({"table": self.network.weights.table, **tensors}, metadata)

    @property
    def moves(self) -> int:
        """Moves played so far."""
        return int(self.trainer.counts[MOVES])

    def step(self) -> None:
        """Plays and learns for one log interval."""
        rate = rate_at(self.config, self.moves) / self.network.active
        self.kernels.td_games(self.trainer, self.config.interval, rate, self.config.decay, self.config.restart, self.T)

    def evaluate(self) -> dict[str, float]:
        """Plays greedy games with the selection seeds; keeps the model if it is the best so far."""
        n = self.config.evaluate_games
        keys = np.arange(SELECTION_SEED, SELECTION_SEED + n, dtype=np.uint64)
        scores = np.zeros(n)
        self.kernels.greedy_games(new_trainer(self.game, 0), keys, scores, self.T)
        low, high = bootstrap_interval(scores)
        result = {"score_mean": float(scores.mean()), "score_ci_low": low, "score_ci_high": high}
        if result["score_mean"] > self.best:
            self.best = result["score_mean"]
            self.score = {
                "mean": result["score_mean"], "ci_low": low, "ci_high": high, "games": n, "player": "greedy",
                "seeds": f"{SELECTION_SEED} to {SELECTION_SEED + n - 1}",
            }  # fmt: skip
            save_network(self.folder.model, self.network, self.description())
        return result

    def description(self) -> dict[str, Any]:
        """Returns what the model file says of how it was made."""
        return {
            "steps": self.moves,
            "seconds": round(self.seconds, 1),
            "command": training_command("leafwise.training.td", self.config),
            "commit": commit(),
            "score": self.score,
        }

    def run(self) -> Path:
        """Trains to the end of the run, or until Ctrl-C or SIGTERM; returns the run folder."""
        from torch.utils.tensorboard import SummaryWriter

        writer = SummaryWriter(str(self.path), purge_step=self.moves if self.config.resume else None)
        settings = "\n".join(f"| {k} | {v} |" for k, v in asdict(self.config).items())
        writer.add_text("hyper-parameters", f"| option | value |\n|---|---|\n{settings}")
        columns = (
            TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:.0f} %"),
            TextColumn("{task.fields[speed]}"), TimeRemainingColumn(), TextColumn("left"),
        )  # fmt: skip
        with Interruption() as stop, Progress(*columns) as progress:
            task = progress.add_task(f"td {self.config.game}", total=self.config.moves, completed=self.moves, speed="")
            while self.moves < self.config.moves and not stop.requested:
                speed = self.logged_step(writer)
                if self.entries % self.config.evaluate_every == 0 or self.moves >= self.config.moves:
                    for name, number in self.evaluate().items():
                        writer.add_scalar(f"eval/{name}", number, self.moves)
                if self.folder.checkpoint_due(self.config.checkpoint_seconds):
                    self.save()
                best = f"best {self.best:,.0f}" if np.isfinite(self.best) else ""
                progress.update(task, completed=self.moves, speed=f"{speed:,.0f} moves/s {best}")
        writer.close()
        self.finish()
        return self.path

    def logged_step(self, writer: Any) -> float:
        """Learns for one interval and logs it; returns moves a second."""
        before = self.trainer.counts.copy()
        start = time.perf_counter()
        self.step()
        spent = time.perf_counter() - start
        self.seconds += spent
        self.entries += 1
        played = self.trainer.counts - before
        speed = played[MOVES] / spent
        if played[FRESH_GAMES]:
            writer.add_scalar("rollout/ep_rew_mean", self.trainer.sums[0] / played[FRESH_GAMES], self.moves)
        if played[MOVES]:
            writer.add_scalar("train/error", np.sqrt(self.trainer.sums[1] / played[MOVES]), self.moves)
        writer.add_scalar("train/rate", rate_at(self.config, self.moves), self.moves)
        writer.add_scalar("time/fps", speed, self.moves)
        self.trainer.sums[:] = 0
        return float(speed)

    def finish(self) -> None:
        """Saves the state, and the results of a run that is over."""
        self.save()
        if self.moves < self.config.moves:
            print(f"stopped after {self.moves:,} moves; go on with --run {self.path} --resume and the same options")
            return
        games = int(self.trainer.counts[GAMES])
        self.folder.save_results({**self.description(), "trajectories": games, "hardware": hardware()})


def train(config: Config) -> Path:
    """Trains an n-tuple network and returns its run folder; raises ValueError for options that do not fit."""
    need_train_extra()
    return Learner(config).run()


def main(arguments: list[str] | None = None) -> int:
    """Runs the command line."""
    return run_main("td", Config, train, arguments)


if __name__ == "__main__":
    raise SystemExit(main())
