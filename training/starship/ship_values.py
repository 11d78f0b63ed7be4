"""Trains a value network for unfinished ships, first on hand-made ships, then on ships that the network builds.

A convolutional network over the grid (`leafwise.models.grid`) predicts the quality that may still come of a state. For the first
part of the run (`--heuristic-share`) the states are those of the hand-made builder with some random placements. A state's target
is the best quality of `--completions` ships that the builder completes from it, which has less noise than a single outcome. After
that the states are those of ships that the network builds one placement ahead, with some random placements. The target is the
lambda-return of the values and of the final quality, which is 0 for an invalid ship. (Sutton, "Learning to predict by the methods
of temporal differences", 1988.) Loss: Huber. Evaluations use the hulls and requests of seeds from 900,000 on.

With `--extra-variants` one network learns several presets, and each batch has states of all of them. Some training ships are
mirrored. Cockpit and reactor are sampled among places of nearly equal value, so that the ships do not all have the same core.

Logged: `time/fps` (trained states a second), `train/loss`, `train/quality` (mean quality of the training ships),
`eval/score_mean` with its 95 % interval (quality of the network's ships, one placement ahead), `eval/gain` (over the hand-made
ships of the same seeds), `eval/valid`, `eval/TERM` for the six terms, `eval/correlation` and `eval/absolute_error` (of values
with the quality, over the states of these ships), the same as `eval_PRESET/...` for the presets of `--extra-variants`,
`eval/mean_of_presets`, which selects the best network, and `ships`, a picture of some.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from leafwise.envs.core.arrays import Array, Floats
from leafwise.envs.core.contract.evaluator import Evaluator
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.state import FIRST
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.ranges import Range, Share
from leafwise.envs.starship.mirror import mirrored
from leafwise.envs.starship.plans import Plans
from leafwise.envs.starship.quality import potential
from leafwise.models.files import save_network
from leafwise.models.grid import GridNetwork
from leafwise.search.frontier import bound_values
from leafwise.training.evaluation.agreement import SELECTION_SEED
from leafwise.training.runs.folder import Checkpoint
from leafwise.training.runs.gating import Tensors, named, prefixed
from leafwise.training.runs.loop import Learner, find_variant, run_learner
from leafwise.training.runs.run_options import RunOptions
from leafwise.training.starship.builders import (
    LabelledStates,
    ShipSampler,
    combined_presets,
    concatenated,
    hand_made_bar,
    logged_values,
)

WARM_UP = 0.02
"""Share of the run over which the learning rate rises. After that it falls to a twentieth along a cosine."""
EARLY = 0.2
"""Share of the seeds in the first evaluation, so that a first score comes early."""


@dataclass(frozen=True)
class Config(RunOptions):
    """Options of `leafwise train starship`."""

    extra_variants: tuple[str, ...] = ()
    """Variants that the same network learns besides --variant, for example preset=classic."""
    variant_shares: tuple[float, ...] = (1.0,)
    """Share of each variant, --variant first, in batches, ships, replay buffer and evaluations. The shares are scaled to
    add up to 1."""
    total_steps: Annotated[int, Range(1, 1e13)] = 8000
    """Length of the run, in batches."""
    batch_size: Annotated[int, Range(1, 1e6)] = 256
    """Number of states in a batch."""
    learning_rate: Annotated[float, Range(1e-9, 1)] = 0.003
    """Maximum learning rate (Adam)."""
    heuristic_share: Share = 0.15
    """Share of the run that trains on ships of the hand-made builder only."""
    heuristic_ships: Annotated[int, Range(1, 1e7)] = 2000
    """Number of ships of the hand-made builder at the start."""
    heuristic_exploration: Share = 0.4
    """Probability of a random placement instead of the hand-made one."""
    completions: Annotated[int, Range(0, 10000)] = 16
    """Number of times that the hand-made builder completes a state. The quality of the best of these ships is the
    target."""
    build_every: Annotated[int, Range(1, 1e6)] = 50
    """Number of batches after which new ships are built."""
    ships: Annotated[int, Range(1, 100000)] = 48
    """Number of ships that the network builds each time, after --build-every batches."""
    exploration: Share = 0.08
    """Probability of a random placement instead of the network's."""
    core_temperature: Share = 0.0
    """Temperature for the places of cockpit and reactor, in units of quality. With 0.01 a place that is 0.01 better is 2.7 times
    (e times) as likely. 0: always the best place. The rotation of the cockpit is sampled before its place."""
    mirror_share: Share = 0.5
    """Share of the training ships that are mirrored, left and right exchanged."""
    td_lambda: Share = 0.8
    """Lambda of the targets: 0 uses only the maximum value at the next decision, 1 only the quality of the finished ship."""
    buffer_size: Annotated[int, Range(1, 1e8)] = 60_000
    """Capacity of the replay buffer, in states. It applies after the first part of the run, which trains on hand-made ships."""
    hidden: tuple[int, int, int] = (16, 16, 32)
    """Widths of the two convolutions and of the hidden layer after them."""
    evaluate_every: Annotated[int, Range(1, 1e9)] = 500
    """Number of batches between two evaluations."""
    evaluate_games: Annotated[int, Range(2, 1000)] = 200
    """Number of seeds of an evaluation."""
    checkpoint_seconds: Annotated[float, Range(0, 1e9)] = 60.0
    """Minimum time between two checkpoints, in seconds."""


class PresetRun:
    """One variant of a run: its training ships, and its share of batches, ships, buffer and evaluations."""

    def __init__(self, game: Game, blank: GridNetwork, config: Config, share: float) -> None:
        self.game, self.share, self.config = game, share, config
        self.batch, self.ships, self.hand_ships, self.most = (
            max(1, round(share * n))
            for n in (config.batch_size, config.ships, config.heuristic_ships, config.buffer_size)
        )
        self.seeds = range(SELECTION_SEED, SELECTION_SEED + max(2, round(share * config.evaluate_games)))
        self.blank = GridNetwork.create(game, config.hidden, tensors=blank.tensors)
        self.T = game.tables(self.blank.evaluator("described"))
        self.memory = LabelledStates(game.rows(0), np.zeros(0, np.float32), game.rows(1))
        self._room: tuple[Array, ...] | None = None
        self._bar: Floats | None = None

    def evaluator(self, tensors: Tensors) -> Evaluator:
        """Returns a network with these tensors as a leaf of the variant."""
        return GridNetwork.create(self.game, self.config.hidden, tensors=tensors).evaluator("newest")

    def fresh_ships(self, key: int, tensors: Tensors | None) -> list[LabelledStates]:
        """Builds ships by hand, or with `tensors` by looking ahead; some are mirrored."""
        config, sampler = self.config, ShipSampler(self.game, key)
        if tensors is None:
            ships = [sampler.by_hand(config.heuristic_exploration, config.completions) for _ in range(self.hand_ships)]
        else:
            plans = Plans(self.game, self.evaluator(tensors))
            options = (config.exploration, config.td_lambda, config.core_temperature)
            ships = [sampler.by_lookahead(plans, *options) for _ in range(self.ships)]
        grid = self.T.ship.grid
        mirrored_ships = sampler.rng.random(len(ships)) < config.mirror_share
        return [
            ship._replace(rows=mirrored(ship.rows, grid)) if is_mirrored else ship
            for ship, is_mirrored in zip(ships, mirrored_ships, strict=True)
        ]

    def add_ships(self, fresh: list[LabelledStates], *, all_of_them: bool) -> float:
        """Adds new ships to the replay buffer, where they replace the oldest; returns the mean quality of the new ones."""
        both = concatenated([self.memory, *fresh])
        most = max(self.most, len(both.rows) if all_of_them else 0)
        self.memory = LabelledStates(both.rows[-most:], both.quality[-most:], both.last)
        return float(np.mean([potential(ship.last, FIRST, self.T.ship) for ship in fresh]))

    def sample(self, rng: np.random.Generator) -> tuple[Array, ...]:
        """Samples inputs and targets of states; the next call overwrites the arrays."""
        chosen = rng.integers(len(self.memory.rows), size=self.batch)
        self._room = self.blank.describe(self.memory.rows[chosen], self.T, self._room)
        return *self._room, self.memory.quality[chosen]

    def evaluate(self, tensors: Tensors, seeds: range) -> dict[str, Any]:
        """Builds the ships of the first selection seeds; returns their logged values."""
        if self._bar is None or len(self._bar) < len(seeds):
            self._bar = hand_made_bar(self.game, seeds)
        evaluator = self.evaluator(tensors)
        plans = Plans(self.game, evaluator)
        ships = [ShipSampler(self.game, seed).by_lookahead(plans) for seed in seeds]
        states = concatenated(ships)
        predictions = bound_values(self.game, evaluator)(states.rows)
        logged = logged_values(self.game, np.concatenate([ship.last for ship in ships]), seeds, self._bar[: len(seeds)])
        logged["eval/correlation"] = float(np.corrcoef(predictions, states.quality)[0, 1])
        logged["eval/absolute_error"] = float(np.abs(predictions - states.quality).mean())
        return logged


class ShipValuesLearner(Learner):
    """One run: network, training ships, files."""

    method, unit = "ship-values", "updates"

    def __init__(self, config: Config) -> None:
        super().__init__(config)  # raises ValueError without torch
        import torch

        from leafwise.training.networks import one_thread
        from leafwise.training.starship.grid import GridModule, device_to_learn

        variants = (config.variant, *config.extra_variants)
        if len(config.variant_shares) != len(variants) or not all(
            0 < share < np.inf for share in config.variant_shares
        ):
            raise UserError(
                f"expected --variant-shares as {len(variants)} numbers above 0, got {config.variant_shares!r}"
            )
        one_thread()
        games = [self.game, *(find_variant(config.game, variant) for variant in config.extra_variants)]
        blank = GridNetwork.create(self.game, config.hidden)
        self.preset_runs = [
            PresetRun(g, blank, config, s / sum(config.variant_shares))
            for g, s in zip(games, config.variant_shares, strict=True)
        ]
        self.device = device_to_learn()
        self.module = GridModule(blank).reset(config.seed).to(self.device)
        self.optimizer = torch.optim.Adam(self.module.parameters(), lr=config.learning_rate)
        self.open_folder()
        self.updates = 0
        self.score = {}
        self.resume()

    @property
    def done(self) -> int:
        return self.updates

    def restore(self, tensors: Tensors, metadata: dict[str, Any]) -> None:
        """Restores the state of a checkpoint."""
        from leafwise.training.networks import load_optimizer, load_parameters

        super().restore(tensors, metadata)
        load_parameters(self.module, named(tensors, "module"))
        load_optimizer(self.optimizer, named(tensors, "adam"))
        for k, preset_run in enumerate(self.preset_runs):
            preset_run.memory = LabelledStates(tensors[f"rows{k}"], tensors[f"quality{k}"], preset_run.game.rows(1))
        self.updates, self.score = metadata["updates"], metadata["best"]

    def state(self) -> Checkpoint:
        """Returns the state for a checkpoint: arrays and metadata."""
        from leafwise.training.networks import optimizer_tensors, parameters

        tensors = prefixed("module", parameters(self.module)) | prefixed("adam", optimizer_tensors(self.optimizer))
        for k, preset_run in enumerate(self.preset_runs):
            tensors |= {f"rows{k}": preset_run.memory.rows, f"quality{k}": preset_run.memory.quality}
        base_tensors, metadata = super().state()
        return tensors | base_tensors, {"updates": self.updates, "best": self.score} | metadata

    def step(self) -> dict[str, Any]:
        """Builds ships and trains on the replay buffer; returns the logged values."""
        config, start, cpu = self.config, time.perf_counter(), time.process_time()
        logged = self.build()
        logged["train/loss"] = self.learn()
        logged["time/fps"] = config.build_every * config.batch_size / (time.perf_counter() - start)
        is_first = self.updates <= config.build_every
        if is_first or self.updates % config.evaluate_every < config.build_every or self.done >= self.goal:
            logged |= self.evaluate(EARLY if is_first and self.done < self.goal else 1.0)
        self.seconds += time.process_time() - cpu
        return logged

    def build(self) -> dict[str, float]:
        """Builds the ships for the next batches: all hand-made ships at the start, later some by looking ahead."""
        by_hand = self.updates < self.config.heuristic_share * self.config.total_steps
        if by_hand and self.updates:
            return {}
        key = (self.config.seed * 1_000_003 + self.updates) % SELECTION_SEED
        tensors = None if by_hand else self.module.export().tensors
        qualities = [
            preset_run.add_ships(preset_run.fresh_ships(key, tensors), all_of_them=by_hand)
            for preset_run in self.preset_runs
        ]
        return {"train/quality": float(np.mean(qualities))}

    def learn(self) -> float:
        """Trains on `build_every` batches; returns their mean loss."""
        import torch

        config, total = self.config, 0.0
        for _ in range(config.build_every):
            rng = np.random.default_rng((config.seed, self.updates))
            for group in self.optimizer.param_groups:
                group["lr"] = self.rate
            self.optimizer.zero_grad()
            for preset_run in self.preset_runs:
                codes, maps, numbers, base, targets = (
                    torch.from_numpy(x).to(self.device) for x in preset_run.sample(rng)
                )
                values = self.module(codes, maps, numbers) + base
                loss = preset_run.share * torch.nn.functional.smooth_l1_loss(values, targets)
                loss.backward()
                total += float(loss.detach())
            self.optimizer.step()
            self.updates += 1
        return total / config.build_every

    @property
    def rate(self) -> float:
        """The current learning rate."""
        t = self.updates / self.config.total_steps
        if t < WARM_UP:
            return self.config.learning_rate * (t + 1e-3) / WARM_UP
        return self.config.learning_rate * (0.05 + 0.475 * (1 + np.cos(np.pi * (t - WARM_UP) / (1 - WARM_UP))))

    def evaluate(self, share: float) -> dict[str, Any]:
        """Builds the ships of a share of the selection seeds; returns the logged values.

        Keeps the network if its ships are the best so far, or the first ships of all seeds.
        """
        tensors = self.module.export().tensors
        seeds = [run.seeds[: max(2, round(share * len(run.seeds)))] for run in self.preset_runs]
        by_preset = [
            run.evaluate(tensors, preset_seeds) for run, preset_seeds in zip(self.preset_runs, seeds, strict=True)
        ]
        logged = combined_presets([run.game for run in self.preset_runs], by_preset)
        mean = logged["eval/mean_of_presets"]
        games = sum(map(len, seeds))
        if mean > self.score.get("mean", -1.0) or games > self.score["games"]:
            self.score = {"mean": mean, "gain": float(np.mean([values["eval/gain"] for values in by_preset]))}
            self.score |= {"games": games, "first_seed": SELECTION_SEED}
            presets = [run.game.options.preset for run in self.preset_runs]
            self.score["quality"] = dict(zip(presets, (values["eval/score_mean"] for values in by_preset), strict=True))
            save_network(self.folder.model, self.module.export(), self.description())
        return logged


def train(config: Config) -> Path:
    """Trains and returns the run folder; raises ValueError for options that do not fit."""
    return run_learner(ShipValuesLearner(config))
