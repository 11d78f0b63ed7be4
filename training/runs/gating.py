"""Learners that select the best network by matches with a sequential test; the replay buffer."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from functools import partial
from typing import Annotated, Any, ClassVar

import numpy as np

from leafwise.envs.core.arrays import Array, Floats, Ints
from leafwise.envs.core.commandline import flag_of
from leafwise.envs.core.contract.evaluator import Evaluator
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.ranges import Range
from leafwise.models.files import save_network
from leafwise.models.network import Learned
from leafwise.training.evaluation.agreement import SolvedPositions, solved_positions
from leafwise.training.evaluation.calibration import calibration
from leafwise.training.evaluation.matches import play_alone, play_pairs
from leafwise.training.evaluation.statistics import (
    SequentialTest,
    bounds,
    elo_difference,
    logged_bounds,
    points_interval,
    returns_interval,
)
from leafwise.training.execution import executor_for, in_pieces
from leafwise.training.execution.executor import Channel, Executor, Ref, SerialExecutor
from leafwise.training.execution.generations import Call, Calls, Generation, Generations, call
from leafwise.training.runs import SELECTION_SEED
from leafwise.training.runs.folder import Checkpoint
from leafwise.training.runs.loop import Learner
from leafwise.training.runs.run_options import Positions, Rate, RunOptions
from leafwise.training.types import Json, Logged, Tensors, named, prefixed


class Replay:
    """Replay buffer: a ring of named arrays of equal length. New entries replace the oldest."""

    def __init__(self, size: int, arrays: Tensors) -> None:
        """Takes arrays with room for `size` entries each, [size, ...]."""
        self.size, self.arrays = size, dict(arrays)
        self.recorded = 0
        """Number of entries recorded so far, including those that were replaced."""

    def __getitem__(self, name: str) -> Array:
        return self.arrays[name]

    @property
    def filled(self) -> int:
        """Number of entries in the buffer."""
        return min(self.recorded, self.size)

    @property
    def next(self) -> int:
        """Index of the next entry."""
        return self.recorded % self.size

    def put(self, **entries: Array) -> Ints:
        """Records entries, an array [n, ...] for each name; returns their indices, [n]."""
        n = len(next(iter(entries.values())))
        indices: Ints = (self.recorded + np.arange(n)) % self.size
        for name, array in self.arrays.items():
            array[indices] = entries[name]
        self.recorded += n
        return indices

    def tensors(self) -> Tensors:
        """Returns the arrays for a checkpoint; `recorded` is stored separately."""
        return {name: array[: self.filled] for name, array in self.arrays.items()}

    def restore(self, tensors: Tensors, recorded: int) -> None:
        """Restores the entries of a checkpoint, made after `recorded` entries."""
        self.recorded = recorded
        for name, array in self.arrays.items():
            array[: self.filled] = tensors[name]


SPARSE = "sparse"
STEP = 10.0
"""Elo difference between the two hypotheses of the sequential test."""
LOOK = 100
"""Number of pairs of games (single-player: games) between two checks of the sequential test."""


def pair_points(results: Floats) -> Floats:
    """Returns the points of pairs of games, 0 to 1 [pairs], from their results, -1 to 1 [pairs, 2]."""
    points: Floats = (results.mean(axis=1) + 1) / 2
    return points


class Gate:
    """The best network so far, its Elo (the first network has 0), and the pool of earlier best networks."""

    def __init__(
        self,
        first: Learned,
        *,
        pool: int,
        pairs: int,
        plies: int,
        from_start: float = 0.0,
        depth: int = 1,
        rare: float = 0.0,
        nodes: int = 0,
        candidates: str | None = None,
        variants: Mapping[str, Game] | None = None,
        channel: Executor[Any, Any] | None = None,
        play: Callable[[Ref[tuple[Learned, Learned]], range], Floats] | None = None,
    ) -> None:
        """Starts with one network; `depth`, `rare`, `nodes` and `candidates` are options of the searches in matches.

        Match games start with up to `plies` random actions, a share `from_start` of the pairs without any. Single-player games are
        played in all `variants` (default: the network's), and logged by their names. `channel` is the executor of the games
        (default: this process). `play` plays two networks against each other; a range of indices into the selection seeds gives
        the openings (default: `play_pairs` with the searches above).
        """
        self.channel: Executor[Any, Any] = SerialExecutor(call) if channel is None else channel
        self.game = first.game
        self.best, self.best_elo = first, 0.0
        self.pool, self.most = [first], pool
        self.pairs, self.depth, self.nodes = pairs, depth, nodes
        self.variants = variants or {"": self.game}
        self.games, self.allowed = 0, pairs
        """Number of games played so far, and maximum number of pairs of games of the next match."""
        self.score: Json = {}
        self.play = play or partial(
            play_pairs, depth=depth, plies=plies, rare=rare, candidates=candidates, from_start=from_start
        )

    def challenge(self, newest: Learned, number: int) -> tuple[Logged, bool]:
        """Plays the newest network against the best one, and replaces the best if the test finds the newest better.

        In games of chance the newest replaces the best unless the test finds it worse, because so few games cannot show the small
        progress between two matches. Match `number` has its own openings. The score of a new best network comes from other
        games, as many as the match had. Returns the logged values, and whether the newest is now the best.
        """
        if self.game.players == 1:
            return self.compare_alone(newest)
        better, results = self.meet(newest, number)
        if better:  # the games of a won match overestimate the winner
            last = -number * self.pairs  # openings from the end, which no match uses
            results = np.concatenate(list(self.results_of(newest, range(last - len(results), last))))
        points, wins = pair_points(results / self.game.stake), pair_points(np.sign(results))
        share, games = float(np.clip(points.mean(), 0.01, 0.99)), 2 * len(points)
        elo = self.best_elo + elo_difference(float(np.clip(wins.mean(), 0.01, 0.99)))
        if better:
            self.best, self.best_elo = newest, elo
            self.pool = [*self.pool, newest][-self.most :]
            self.score = {"mean": share, "games": games, "against": "the best before", "elo": elo}
        logged = {"eval/score_mean": share, **logged_bounds(points_interval(points))}
        return {**logged, "eval/elo": elo, "eval/best_elo": self.best_elo}, better

    def meet(self, newest: Learned, number: int) -> tuple[bool, Floats]:
        """Plays a match; returns whether the newest network replaces the best, and its results, [pairs, 2]."""
        first, chance = number * self.pairs, self.game.max_stages > 0
        whole = -(-min(self.pairs, self.allowed) // LOOK) * LOOK
        test = SequentialTest(-STEP, 0.0) if chance else SequentialTest(0.0, STEP)
        played, better = np.zeros((0, 2)), None
        for results in self.results_of(newest, range(first, first + whole)):
            played = np.append(played, results, axis=0)
            better = test.decision(pair_points(played / self.game.stake))
            if better is not None:
                break
        self.channel.cancel()
        return chance if better is None else better, played

    def results_of(self, newest: Learned, openings: range) -> Iterator[Floats]:
        """Yields the newest network's results of pairs of games, [LOOK, 2] at a time; `openings` as in `play_pairs`."""
        networks = self.channel.share((newest, self.best))
        pieces = enumerate(partial(self.play, networks, some) for some in in_pieces(openings, LOOK))
        for results in self.channel.in_order(pieces):
            self.games += results.size
            yield results

    def compare_alone(self, newest: Learned) -> tuple[Logged, bool]:
        """Plays single-player games with fixed seeds; the network with the highest mean is the best.

        If two are equal, the newer one is the best, since it has trained longer.
        """
        logged = {}
        requests = [(game, self.pairs, self.depth) for game in self.variants.values()]
        played = list(play_alone(self.channel, newest, requests, SELECTION_SEED, self.nodes))
        if len(self.variants) > 1:
            logged = {
                f"eval/score_mean_{name}": float(games.scores.mean())
                for name, games in zip(self.variants, played, strict=True)
            }
        scores = np.concatenate([games.scores for games in played])
        self.games += len(scores)
        if newest.head == "chance":
            values = np.concatenate([games.values for games in played])
            logged["eval/calibration_error"] = calibration(values, np.concatenate([g.outcomes() for g in played]))[0]
        interval = returns_interval(scores, self.game.return_range)
        mean = float(scores.mean())
        better = not self.score or mean >= self.score["mean"]
        if better:
            self.best = newest
            self.score = {"mean": mean, **bounds(interval), "games": len(scores), "player": "greedy"}
            self.score |= {tag.removeprefix("eval/"): number for tag, number in logged.items()}
        return logged | {"eval/score_mean": mean, **logged_bounds(interval)}, better

    def state(self) -> Checkpoint:
        """Returns the networks for a checkpoint: arrays and metadata."""
        tensors = prefixed("best", self.best.tensors)
        for k, network in enumerate(self.pool):
            tensors |= prefixed(f"pool{k}", network.tensors)
        return tensors, {"best_elo": self.best_elo, "score": self.score, "pool": len(self.pool)}

    def restore(self, tensors: Tensors, metadata: Json) -> None:
        """Restores the state of a checkpoint."""
        self.best_elo, self.score = metadata["best_elo"], metadata["score"]
        self.best = self.best.with_tensors(named(tensors, "best"))
        self.pool = [self.best.with_tensors(named(tensors, f"pool{k}")) for k in range(metadata["pool"])]


@dataclass(frozen=True)
class GatedOptions(RunOptions):
    """Options of methods that choose the best network by matches."""

    sparse_only: ClassVar[tuple[str, ...]] = ("hidden",)
    """Options that need a sparse network."""
    network: str = SPARSE
    """Network: sparse (its first layer adds up one vector for each feature of the position), or a torch module. The
    package's torch modules are mlp,hidden=128,128 and conv,channels=32,32,hidden=64 and
    resnet,blocks=2,channels=32,hidden=64. MODULE:CLASS,width=8 is a class of your own from the file that --module names.
    --sees sets the input of a torch module: planes, onehot, observation or features (default: the first that the game
    has)."""
    device: str = "cpu"
    """Device on which a torch module learns and plays: cpu or cuda. With cuda the tensors may differ from run to run. Other
    processes play on the CPU."""
    match_pairs: Annotated[int, Range(100, 1e6)] = 500
    """Maximum number of pairs of games in a match against the best network. In single-player games: number of games."""
    solver_positions: Annotated[int, Range(0, 100000)] = 200
    """Number of positions in which the network's play is compared with the exact solver, if the game has one; 0: none."""
    solver_opening_plies: tuple[int, int] = (4, 12)
    """Minimum and maximum number of actions before a position of --solver-positions."""
    solver_opening_depth: Annotated[int, Range(0, 6)] = 0
    """Search depth of the players who choose the actions before these positions. They only look for wins and losses within
    that depth, and otherwise play at random; 0: random actions."""


def need_sparse(config: Any) -> None:
    """Raises ValueError for options that need a sparse network and are given with a torch module."""
    defaults = {field.name: field.default for field in fields(config)}
    for name in config.sparse_only if config.network != SPARSE else ():
        if (given := getattr(config, name)) != defaults[name]:
            raise UserError(
                f"expected {flag_of(name)} only with --network {SPARSE}, got {given!r} and {config.network!r}"
            )


def need_device(config: Any) -> None:
    """Raises ValueError for a device that torch does not find here, or that the network does not use."""
    import torch

    try:
        kind = torch.device(config.device).type
    except RuntimeError:
        kind = ""
    if kind not in ("cpu", "cuda"):
        raise UserError(f"expected --device cpu or cuda, got {config.device!r}")
    if kind == "cuda" and not torch.cuda.is_available():
        raise UserError(f"expected --device cpu, because torch finds no CUDA, got {config.device!r}")
    if kind == "cuda" and config.network == SPARSE:
        raise UserError(f"expected a torch module as --network with --device {config.device}, got {SPARSE!r}")


@dataclass(frozen=True)
class ActorOptions(GatedOptions):
    """Options of methods whose games other processes can play."""

    job_size: Positions = 0
    """Number of positions that one job plays; dqn counts decisions. Each job has its own random stream. 0: no jobs, the
    learner plays all games from one stream."""
    staleness: Annotated[int, Range(0, 100)] = 0
    """Number of generations of games that are played ahead while the learner trains. The network that plays is at most this
    many generations older than the newest one."""
    processes: int = 1
    """Number of processes that play. With --job-size the number does not change the result."""
    cluster: str = ""
    """Ray cluster that plays instead of local processes. auto: the cluster that this machine belongs to. local: this
    machine, with --processes cores (1: all cores). HOST:PORT: another cluster."""


@dataclass(frozen=True)
class IterationOptions(ActorOptions):
    """Options of methods that alternate between self-play and training."""

    epochs: Annotated[float, Range(0.01, 1000)] = 4.0
    """Number of training samples of an iteration, divided by its number of new positions. The samples are drawn from the replay
    buffer."""
    learning_rate: Rate = 0.004
    """Maximum learning rate in the first iteration (Adam). In each iteration the rate rises to its maximum, then falls."""
    final_learning_rate: Rate = 0.0004
    """Maximum learning rate in the last iteration. From the first to the last iteration the maximum falls geometrically."""


class GatedLearner(Learner):
    """A run of one method: it trains step by step, and its newest network sometimes challenges the best one.

    A method defines `advance`, extends `state` and `restore`, and calls `begin` when it is ready.
    """

    newest: Learned
    gate: Gate
    solved: SolvedPositions | None

    def __init__(self, config: Any) -> None:
        super().__init__(config)  # raises ValueError without torch
        from leafwise.training.networks import one_thread

        one_thread()
        need_device(config)
        self.executor: Executor[Call, Any] = SerialExecutor(call)
        self.owners: dict[int, Any] = {}

    def begin(self, **options: Any) -> None:
        """Starts from the newest network or resumes from the last checkpoint; `options` are those of the gate."""
        config = self.config
        self.gate = Gate(self.newest, pairs=config.match_pairs, channel=self.channel(), **options)
        self.solved = solved_positions(
            self.game, config.solver_positions, config.solver_opening_plies, config.solver_opening_depth
        )
        if not self.resume():
            self.keep_best()

    def start_executor(self, first: Any) -> None:
        """Creates the executor that the options name; its processes warm up `first`."""
        self.executor = executor_for(Calls(first), self.config.processes, self.config.cluster)

    def job_metrics(self, generation: Generation) -> Logged:
        """Returns the logged values of games that were played as jobs."""
        staleness = generation.number - generation.learned
        return {"rollout/staleness": staleness, "rollout/repeated": self.executor.repeated}

    def channel(self) -> Executor[Call, Any]:
        """Returns an executor for one of several users of the run's executor."""
        if isinstance(self.executor, SerialExecutor):
            return SerialExecutor(call)
        return Channel(self.executor, self.owners)

    def close(self) -> None:
        """Ends the run's worker processes."""
        self.executor.shutdown()

    @abstractmethod
    def advance(self) -> tuple[Logged, int | None]:
        """Trains for one step, and updates `newest` if a match is due; returns logged values, and the match's number or None."""

    def state(self) -> Checkpoint:
        """Returns the state for a checkpoint, with that of the gate."""
        tensors, metadata = super().state()
        networks, gate = self.gate.state()
        return tensors | networks, metadata | {"gate": gate}

    def restore(self, tensors: Tensors, metadata: Json) -> None:
        """Restores the state of a checkpoint."""
        super().restore(tensors, metadata)
        self.gate.restore(tensors, metadata["gate"])
        self.score = self.gate.score

    def step(self) -> Logged:
        """Trains for one step and plays a match if it is due; returns the logged values."""
        start = time.process_time()
        logged, number = self.advance()
        if number is not None:
            match_values, better = self.gate.challenge(self.newest, number)
            logged |= match_values
            if better:
                self.keep_best()
        self.seconds += time.process_time() - start
        logged["time/seconds"] = self.seconds
        if number is not None:
            logged |= self.extra_metrics()
        if number is not None and self.solved is not None:
            logged["eval/keeps_value"] = self.solved.share(self.newest.evaluator("newest"))
        return logged

    def leaf(self) -> Evaluator:
        """Returns the newest network as a leaf."""
        return self.newest.evaluator("newest")

    def extra_metrics(self) -> Logged:
        """Returns further logged values after a match. The run's time does not include them."""
        return {}

    def keep_best(self) -> None:
        """Writes the best network to the model file."""
        self.score = self.gate.score
        save_network(self.folder.model, self.gate.best, self.description())

    def results(self) -> Json:
        """Returns the contents of results.json."""
        return super().results() | ({"elo": self.gate.best_elo} if self.game.players == 2 else {})


class IterationLearner(GatedLearner):
    """A run in iterations: games into the replay buffer, then one cycle of the learning rate."""

    done = 0
    replay: Replay
    module: Any
    """The newest network as a torch module."""
    generations: Generations

    @property
    def uses_jobs(self) -> bool:
        """Whether games are played as jobs."""
        return bool(self.config.job_size)

    @property
    def new_positions(self) -> int:
        """Number of new positions in an iteration."""
        return int(self.config.positions)

    def restore(self, tensors: Tensors, metadata: Json) -> None:
        """Restores the state of a checkpoint."""
        super().restore(tensors, metadata)
        self.done = metadata["done"]
        self.replay.restore(tensors, metadata["recorded"])
        self.newest = self.newest.with_tensors(named(tensors, "newest"))
        self.module = self.newest.kind.torch_module(self.newest)
        if self.uses_jobs:
            self.generations.restore(tensors, metadata["ahead"], self.newest)

    def state(self) -> Checkpoint:
        """Returns the state for a checkpoint: arrays and metadata."""
        tensors = prefixed("newest", self.newest.tensors) | self.replay.tensors()
        metadata: Json = {"recorded": self.replay.recorded, "done": self.done}
        if self.uses_jobs:
            ahead, metadata["ahead"] = self.generations.state()
            tensors |= ahead
        base_tensors, base_metadata = super().state()
        return tensors | base_tensors, metadata | base_metadata

    @abstractmethod
    def play(self) -> Logged:
        """Plays the games of an iteration into the replay buffer; returns the logged values."""

    @abstractmethod
    def sampler(self, rng: np.random.Generator) -> tuple[Callable[[], Any], Callable[..., Any] | None]:
        """Returns a function that samples a batch from the replay buffer, and its loss, as `fit` takes them."""

    def learn(self) -> Logged:
        """Trains on the replay buffer for one cycle of the learning rate; returns the logged values."""
        from leafwise.training.networks import fit, seeded

        config, rate = self.config, self.rate()
        steps = max(1, int(config.epochs * self.new_positions / config.batch_size))
        sample, loss_by = self.sampler(np.random.default_rng((config.seed, self.done)))
        self.module.train()
        with seeded(config.seed, self.done):
            loss = fit(self.module, sample, steps, rate, loss_by)
        self.module.eval()
        self.newest = self.module.export()
        return {"train/loss": loss, "train/learning_rate": rate}

    def rate(self) -> float:
        """Returns the maximum learning rate of this iteration."""
        first, last = self.config.learning_rate, self.config.final_learning_rate
        return float(first * (last / first) ** (self.done / max(self.config.total_steps - 1, 1)))

    def advance(self) -> tuple[Logged, int | None]:
        """Plays and trains for one iteration; returns the logged values, and the match's number or None."""
        logged = self.play()
        if self.replay.filled >= min(self.config.learning_starts, self.config.buffer_size):
            logged |= self.learn()
        self.done += 1
        return logged, self.done if self.is_due(self.done, self.config.evaluate_every) else None
