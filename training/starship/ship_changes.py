"""Trains a network that proposes changes of a finished ship, on the results of the changes it tried.

The hand-made builder builds a ship, and single parts of it are changed (`leafwise.envs.starship.changes`). The network predicts
from features of a change whether it improves the ship: three dense layers, cross-entropy, Adam. At first all changes are equally
likely and are tried at random. The number of changes that the network chooses from is drawn anew for every ship, so that poor
ships are in the data too. Evaluations use the hulls and requests of seeds from 900,000 on, compared with as many random changes.

Logged: `time/fps` (trained changes a second), `train/loss`, `train/gained` (share of the changes tried that made the ship
better), `eval/score_mean` with its 95 % interval (quality of ships after `tries` changes), `eval/over_random` (gain over as many
at random), `eval/valid`, `eval/TERM` for the six terms, the same as `eval_PRESET/...` for the presets of `--extra-variants`,
`eval/mean_of_presets`, which selects the best network, and `ships`, a picture of some.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from leafwise.envs.core.arrays import Floats
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.stream import new_stream
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.ranges import Range
from leafwise.envs.starship.changes import DRAWN, KIND_OF_FILE, PLACES, SEEN, ChangeWeights, Proposer, shapes
from leafwise.envs.starship.plans import Plans
from leafwise.models.files import save_tensors
from leafwise.training.runs import SELECTION_SEED
from leafwise.training.runs.folder import Checkpoint
from leafwise.training.runs.gating import Replay
from leafwise.training.runs.loop import Learner, find_variant, run_learner
from leafwise.training.runs.run_options import RunOptions
from leafwise.training.starship.builders import CompiledBuilder, combined_presets, logged_values
from leafwise.training.types import Json, Tensors, named, prefixed


@dataclass(frozen=True)
class Config(RunOptions):
    """Options of `leafwise train starship --method ship-changes`."""

    extra_variants: tuple[str, ...] = ()
    """Variants that the same network learns besides --variant, for example preset=classic."""
    total_steps: Annotated[int, Range(1, 1e13)] = 4000
    """Length of the run, in batches."""
    batch_size: Annotated[int, Range(1, 1e6)] = 2048
    """Number of changes in a batch."""
    learning_rate: Annotated[float, Range(1e-9, 1)] = 0.003
    """Maximum learning rate (Adam). It falls to 0."""
    change_every: Annotated[int, Range(1, 1e6)] = 100
    """Number of batches after which new changes are tried."""
    ships: Annotated[int, Range(1, 100000)] = 16
    """Number of ships of each variant on which new changes are tried. At the start there are four times as many."""
    tries: Annotated[int, Range(1, 1e6)] = 500
    """Number of changes tried on each ship."""
    buffer_size: Annotated[int, Range(1, 1e8)] = 150_000
    """Capacity of the replay buffer of each variant, in changes."""
    hidden: Annotated[int, Range(1, 1024)] = 24
    """Width of both hidden layers."""
    evaluate_every: Annotated[int, Range(1, 1e9)] = 1000
    """Number of batches between two evaluations."""
    evaluate_games: Annotated[int, Range(2, 1000)] = 60
    """Number of seeds of an evaluation, for each variant."""
    checkpoint_seconds: Annotated[float, Range(0, 1e9)] = 60.0
    """Minimum time between two checkpoints, in seconds."""


class PresetChanges:
    """One variant of a run: its ships, and the training changes."""

    def __init__(self, game: Game, config: Config) -> None:
        self.game, self.config, self.plans = game, config, Plans(game)
        self.seeds = range(SELECTION_SEED, SELECTION_SEED + config.evaluate_games)
        size = config.buffer_size
        self.replay = Replay(size, {"seen": np.zeros((size, SEEN), np.float32), "gained": np.zeros(size, np.bool_)})
        self._bar: Floats | None = None

    def change_ships(self, first_seed: int, count: int, weights: ChangeWeights) -> float:
        """Changes ships of seeds from `first_seed` and records the tried changes; returns the share of improvements."""
        gains = []
        for seed in range(first_seed, first_seed + count):
            rng = np.random.default_rng(seed)
            proposer = Proposer(
                self.game, weights, drawn=int(rng.integers(1, DRAWN + 1)), places=int(rng.integers(1, PLACES + 3))
            )
            chances = np.array([seed, 1 << 62], np.uint64)
            self.plans.start(new_stream(seed))
            self.plans.by_hand(chances)
            seen, gained = proposer(self.plans, chances, self.config.tries, record=True)
            self.replay.put(seen=seen, gained=gained)
            gains.append(gained)
        return float(np.concatenate(gains).mean())

    def evaluate(self, weights: ChangeWeights) -> Json:
        """Builds and changes the ships of the selection seeds; returns their logged values."""
        if self._bar is None:
            at_random = CompiledBuilder(self.game, tries=self.config.tries)
            self._bar = np.array([at_random(seed).returns for seed in self.seeds])
        build = CompiledBuilder(self.game, tries=self.config.tries, proposer=Proposer(self.game, weights))
        rows = np.array([build(seed).row for seed in self.seeds])
        return logged_values(self.game, rows, self.seeds, self._bar, over="eval/over_random")


class ShipChangesLearner(Learner):
    """One run: network, training ships, files."""

    method, unit = "ship-changes", "updates"

    def __init__(self, config: Config) -> None:
        super().__init__(config)  # raises ValueError without torch
        import torch

        from leafwise.training.networks import one_thread

        one_thread()
        if "grid" not in self.game.features:
            raise UserError(f"ship-changes: expected a game that builds on a grid, got {self.game.name!r}")
        games = [self.game, *(find_variant(config.game, variant) for variant in config.extra_variants)]
        self.preset_runs = [PresetChanges(game, config) for game in games]
        generator = torch.Generator().manual_seed(config.seed)
        spread = {"first": SEEN**-0.5, "second": config.hidden**-0.5}
        self.module = torch.nn.ParameterDict(
            {
                name: torch.nn.Parameter(torch.randn(shape, generator=generator) * spread.get(name, 0.0))
                for name, shape in shapes(config.hidden).items()
            }
        )
        self.offset = torch.nn.Parameter(torch.zeros(1))
        """Log odds of a change without features; the ranking of changes does not depend on it."""
        self.optimizer = torch.optim.Adam([*self.module.parameters(), self.offset], lr=config.learning_rate)
        self.open_folder()
        self.updates = 0
        self.score = {}
        self.resume()

    @property
    def done(self) -> int:
        return self.updates

    @property
    def weights(self) -> ChangeWeights:
        """The current network."""
        return ChangeWeights(**{name: self.module[name].detach().numpy().copy() for name in ChangeWeights._fields})

    def restore(self, tensors: Tensors, metadata: dict[str, Any]) -> None:
        """Restores the state of a checkpoint."""
        import torch

        from leafwise.training.networks import load_optimizer, load_parameters

        super().restore(tensors, metadata)
        load_parameters(self.module, named(tensors, "module"))
        self.offset.data = torch.from_numpy(tensors["offset"])
        load_optimizer(self.optimizer, named(tensors, "adam"))
        for k, preset_run in enumerate(self.preset_runs):
            preset_run.replay.restore(named(tensors, f"replay{k}"), metadata[f"recorded{k}"])
        self.updates, self.score = metadata["updates"], metadata["best"]

    def state(self) -> Checkpoint:
        """Returns the state for a checkpoint: arrays and metadata."""
        from leafwise.training.networks import optimizer_tensors, parameters

        tensors = prefixed("module", parameters(self.module)) | prefixed("adam", optimizer_tensors(self.optimizer))
        tensors["offset"] = self.offset.detach().numpy().copy()
        for k, preset_run in enumerate(self.preset_runs):
            tensors |= prefixed(f"replay{k}", preset_run.replay.tensors())
        base_tensors, metadata = super().state()
        recorded = {f"recorded{k}": preset_run.replay.recorded for k, preset_run in enumerate(self.preset_runs)}
        return tensors | base_tensors, {"updates": self.updates, "best": self.score, **recorded, **metadata}

    def step(self) -> Json:
        """Changes ships and trains on the tried changes; returns the logged values."""
        config, start, cpu = self.config, time.perf_counter(), time.process_time()
        first = (config.seed * 1_000_003 + self.updates * config.ships) % (SELECTION_SEED - 4 * config.ships)
        count = config.ships if self.updates else 4 * config.ships
        gained = [preset_run.change_ships(first, count, self.weights) for preset_run in self.preset_runs]
        logged: Json = {"train/gained": float(np.mean(gained)), "train/loss": self.learn()}
        logged["time/fps"] = config.change_every * config.batch_size / (time.perf_counter() - start)
        if self.is_due(self.updates // config.change_every, max(1, config.evaluate_every // config.change_every)):
            logged |= self.evaluate()
        self.seconds += time.process_time() - cpu
        return logged

    def learn(self) -> float:
        """Trains on `change_every` batches; returns their mean loss."""
        import torch

        config, total, W = self.config, 0.0, self.module
        each = max(1, config.batch_size // len(self.preset_runs))
        for _ in range(config.change_every):
            rng = np.random.default_rng((config.seed, self.updates))
            for group in self.optimizer.param_groups:
                group["lr"] = config.learning_rate * max(0.0, 1.0 - self.updates / config.total_steps)
            drawn = [(run.replay, rng.integers(run.replay.filled, size=each)) for run in self.preset_runs]
            seen, gained = (
                torch.from_numpy(np.concatenate([replay[name][k] for replay, k in drawn]))
                for name in ("seen", "gained")
            )
            hidden = torch.relu(seen @ W["first"] + W["first_bias"])
            odds = torch.relu(hidden @ W["second"] + W["second_bias"]) @ W["out"] + self.offset
            loss = torch.nn.functional.binary_cross_entropy_with_logits(odds, gained.float())
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            total += float(loss.detach())
            self.updates += 1
        return total / config.change_every

    def evaluate(self) -> Json:
        """Changes the ships of the selection seeds and keeps the best network; returns the logged values."""
        weights = self.weights
        by_preset = [run.evaluate(weights) for run in self.preset_runs]
        logged = combined_presets([run.game for run in self.preset_runs], by_preset)
        mean = logged["eval/mean_of_presets"]
        if mean > self.score.get("mean", -1.0):
            self.score = {"mean": mean, "gain": float(np.mean([values["eval/over_random"] for values in by_preset]))}
            self.score |= {"games": sum(len(run.seeds) for run in self.preset_runs), "first_seed": SELECTION_SEED}
            metadata = {"kind": KIND_OF_FILE, "game": self.game.name, "options": self.game.given_options}
            save_tensors(self.folder.model, weights._asdict(), metadata | self.description())
        return logged


def train(config: Config) -> Path:
    """Trains and returns the run folder; raises ValueError for options that do not fit."""
    return run_learner(ShipChangesLearner(config))
