"""AlphaZero: trains a network with a policy and a value on its Monte Carlo tree searches in self-play.

Source: Silver et al., "A general reinforcement learning algorithm that masters chess, shogi, and Go through self-play" (Science,
2018). For two-player games, with or without chance. Each iteration plays games with the newest network. `leafwise.search.mcts`
chooses every action; the network gives value and prior of a new node in one evaluation, and the root's prior gets noise. The
policy target of a position is the shares of the simulations of its actions. The value target is the outcome of the game, or with
`--td-lambda` below 1 a mean of the outcome and the following root values. The network trains on samples of the replay buffer under
random symmetries.

Every `--evaluate-every` iterations the newest network plays a match against the best one, with the same search without noise. It
becomes the best if a sequential test finds it better; in games of chance, unless the test finds it worse.

docs/methods/alphazero.md lists what is logged. `train/policy_entropy` is the entropy of the policy targets, which is the minimum
of the policy's loss. `eval/keeps_value` compares play at depth 1 with the exact solver, which gives no targets.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from leafwise.envs.core.arrays import Array, Ints
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.ranges import Range, Share
from leafwise.models.files import model_path
from leafwise.models.seen import default_seen
from leafwise.models.sparse import BOUND, load_sparse
from leafwise.training.alphazero.batches import ForestRecorder
from leafwise.training.alphazero.games import MctsPlayOptions, TreeRecorder, play_pairs, record_piece
from leafwise.training.execution.executor import Ref
from leafwise.training.execution.generations import Call, Generation, Generations, check_actors, key_of
from leafwise.training.games import logged_games
from leafwise.training.runs.folder import provenance
from leafwise.training.runs.gating import SPARSE, IterationLearner, IterationOptions, Replay, need_sparse
from leafwise.training.runs.loop import run_learner
from leafwise.training.runs.run_options import BufferSize, Count, Every, Plies, Positions, TotalSteps
from leafwise.training.types import Logged

if TYPE_CHECKING:
    from leafwise.models.network import Module


@dataclass(frozen=True)
class Config(IterationOptions):
    """Options of `leafwise train GAME --method alphazero`."""

    sparse_only = ("hidden", "init_from")
    total_steps: TotalSteps = 100
    """Length of the run, in iterations."""
    positions: BufferSize = 10_000
    """Minimum number of positions recorded in an iteration. Games are always recorded whole."""
    buffer_size: BufferSize = 200_000
    """Capacity of the replay buffer, in positions."""
    learning_starts: Positions = 0
    """Number of positions recorded before training starts."""
    batch_size: Count = 1024
    """Number of positions in a batch."""
    hidden: tuple[int, ...] = (64, 32)
    """Widths of the hidden layers, multiples of 4."""
    sees: str = ""
    """Input of a torch module: planes, onehot or observation (default: the first of these that the game has)."""
    policy_weight: Annotated[float, Range(0, 1000)] = 1.0
    """Weight of the policy's cross-entropy in the loss; the value's loss has weight 1."""
    init_from: str = ""
    """Model with the initial weights: a run folder or file of this method (default: random weights)."""
    simulations: Annotated[int, Range(2, 1e6)] = 100
    """Number of new simulations for each decision. The tree also keeps simulations of earlier decisions."""
    puct: Annotated[float, Range(0, 100)] = 1.25
    """Exploration constant of PUCT."""
    noise: Share = 0.25
    """Share of Dirichlet noise in the prior of the root."""
    concentration: Annotated[float, Range(0.01, 10000)] = 10.0
    """Sum of the parameters of the Dirichlet noise. Each parameter is this sum divided by the number of legal
    actions."""
    sampling_moves: Annotated[int, Range(0, 1e6)] = 8
    """Number of decisions after the opening in which the action is drawn in proportion to the visits. After them the most
    visited action is played."""
    gumbel: Annotated[int, Range(0, 1e6)] = 0
    """Number of root actions among which sequential halving with Gumbel noise chooses; needs a torch module. 0: PUCT
    chooses."""
    td_lambda: Share = 1.0
    """Lambda of the targets: 0 uses only the root value of the position, 1 only the outcome of the game."""
    plies: Plies = 4
    """Maximum number of random actions at the start of a game, also in matches."""
    job_size: Annotated[int, Range(1, 1e8)] = 1000
    """Minimum number of positions that one job plays. Each job has its own random stream."""
    memory_mb: Annotated[float, Range(1, 1e6)] = 256.0
    """Memory for the trees of the games that a torch module plays side by side, in MB per process."""
    match_simulations: Annotated[int, Range(0, 1e6)] = 0
    """Number of simulations for each decision in matches (0: --simulations)."""
    evaluate_every: Every = 5
    """Number of iterations between two matches against the best network. The last iteration always ends with a match."""


class AlphaZero(IterationLearner):
    """One run: networks, replay buffer, files."""

    method, unit = "alphazero", "iterations"

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        check_actors(config.job_size, config.staleness, config.processes, config.cluster)
        if self.game.players != 2:
            raise UserError(f"alphazero: expected a two-player game, got {self.game.name!r}")
        self.module = self.fresh()
        self.start = provenance(config.init_from) if config.init_from else {}
        self.newest = self.module.export()
        self.open_folder()
        size = config.buffer_size
        arrays = {"rows": self.game.rows(size), "targets": np.zeros(size)}
        self.replay = Replay(size, arrays | {"policies": np.zeros((size, self.game.max_actions), np.float32)})
        play_options = MctsPlayOptions(
            config.simulations,
            config.sampling_moves,
            config.noise,
            config.concentration,
            config.td_lambda,
            config.gumbel,
        )
        arguments = self.newest, play_options, config.plies, config.puct, min(config.job_size, config.positions)
        recorder = (
            TreeRecorder(*arguments) if config.network == SPARSE else ForestRecorder(*arguments, config.memory_mb)
        )
        self.kernels = recorder.kernels
        self.start_executor(recorder)
        self.actor = self.executor.share(recorder)
        self.generations = Generations(self.channel(), self.pieces, config.staleness)
        simulations = config.match_simulations or config.simulations
        self.begin(pool=1, plies=config.plies, play=partial(play_pairs, self.actor, simulations=simulations))

    def fresh(self) -> Module:
        """Returns the initial module."""
        from leafwise.training.networks import fresh_module, torch_module

        config = self.config
        if config.network != SPARSE:
            need_sparse(config)
            return torch_module(self.game, config, says="policy")
        if config.gumbel:
            raise UserError(f"alphazero: expected --gumbel with a torch module as --network, got {config.gumbel}")
        if not config.init_from:
            sees = default_seen(self.game, actions=True)
            return fresh_module(self.game, config.hidden, config.seed, head="policy", sees=sees)
        network = load_sparse(model_path(config.init_from), self.game)
        if network.head != "policy" or network.hidden != config.hidden:
            shape = f"{network.head} and --hidden {' '.join(map(str, network.hidden))}"
            raise UserError(f"expected --init-from with the head policy and --hidden as given, got {shape}")
        return network.kind.torch_module(network)

    def pieces(self, generation: Generation, networks: Ref[Any]) -> list[Call]:
        """Returns the jobs that play a generation."""
        positions, piece, number = self.config.positions, self.config.job_size, generation.number
        return [
            partial(
                record_piece, self.actor, networks, min(piece, positions - first), key_of(self.config.seed, number, k)
            )
            for k, first in enumerate(range(0, positions, piece))
        ]

    def play(self) -> Logged:
        """Plays the games of an iteration into the replay buffer; returns the logged values."""
        start = time.perf_counter()
        self.generations.fill(self.done, self.goal, lambda: {"newest": self.newest})
        generation, results = self.generations.take()
        total, counts = 0, np.zeros(3, np.int64)
        for recorded in results:
            self.replay.put(rows=recorded.rows, targets=recorded.targets, policies=recorded.policies)
            total, counts = total + len(recorded.rows), counts + recorded.counts
        return logged_games(counts, total, time.perf_counter() - start) | self.job_metrics(generation)

    def sampler(self, rng: np.random.Generator) -> tuple[Callable[[], Any], Callable[..., Any]]:
        """Returns a function that samples a batch from the replay buffer, and the loss of value and policy."""
        from leafwise.training.networks import policy_loss, values_for_two

        config, n = self.config, self.config.batch_size
        weights = self.newest.evaluator("newest") if config.network == SPARSE else None
        T, actions, unit = self.game.tables(weights), len(self.game.actions), BOUND * self.newest.unit
        rows = np.zeros((2 * n, self.game.width), dtype=self.game.dtype)
        policies = np.zeros((2 * n, self.game.max_actions), np.float32)

        def sample() -> tuple[Ints, Array, Array, Array]:
            """Returns features, values, policies and legal actions of random positions under random symmetries."""
            chosen = rng.integers(0, self.replay.filled, n)
            rows[:n], policies[:n] = self.replay["rows"][chosen], self.replay["policies"][chosen]
            self.kernels.turn(rows, policies, rng.integers(0, self.game.symmetry_count, n), T)
            features, legal, signs = self.newest.describe(rows[n:], T)
            shares = policies[n:, :actions].copy()
            self.entropies.append(-float((shares * np.log(np.maximum(shares, 1e-12))).sum(axis=1).mean()))
            return features, (self.replay["targets"][chosen] * signs / unit).astype(np.float32), shares, legal

        def loss_by(outputs: Any, values: Any, shares: Any, legal: Any) -> Any:
            policy = policy_loss(outputs, shares, legal)
            self.policy_losses.append(float(policy.detach()))
            return values_for_two(outputs, values) + config.policy_weight * policy

        return sample, loss_by

    def learn(self) -> Logged:
        """Trains on the replay buffer for one cycle of the learning rate; returns the logged values."""
        self.policy_losses: list[float] = []
        self.entropies: list[float] = []
        logged = super().learn()
        means = float(np.mean(self.policy_losses)), float(np.mean(self.entropies))
        return logged | {"train/policy_loss": means[0], "train/policy_entropy": means[1]}


def train(config: Config) -> Path:
    """Trains a network with a value and a policy and returns its run folder; raises ValueError for options that do not fit."""
    return run_learner(AlphaZero(config))
