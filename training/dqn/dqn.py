"""Double DQN with masked actions, by self-play: trains a network on values of actions, or of the states that follow.

`QLearner.advance` is the run: it plays (`QPlayer.step` in `games`), trains on batches of the replay buffer (`Learning.step` in
`learning`: target, loss, update) and returns what is logged. `target_of` chooses one of three kinds of targets.

Sources: Mnih et al., "Human-level control through deep reinforcement learning" (2015); van Hasselt et al., "Deep reinforcement
learning with double Q-learning" (2016). Options add n-step targets (Sutton, "Learning to predict by the methods of temporal
differences", 1988; cut at random actions as in Watkins, "Learning from delayed rewards", 1989); prioritized replay (Schaul et
al., 2016); a dueling head (Wang et al., 2016); soft target updates (Lillicrap et al., 2016); a different exploration in every
game (Horgan et al., "Distributed prioritized experience replay", 2018); values of afterstates (Sutton and Barto, 2018, section
6.8); targets from a search (Veness et al., "Bootstrapping from game tree search", 2009).

docs/methods/dqn.md lists what is logged, and the differences from these papers.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np

from leafwise.envs.core.errors import UserError
from leafwise.envs.core.ranges import Range, Share, need_among
from leafwise.models.seen import default_seen, features_of, seen_by
from leafwise.training.dqn.games import GROUP, Decisions, QPlayer, QPlayOptions, play_steps
from leafwise.training.execution.executor import Ref
from leafwise.training.execution.generations import Call, Generation, Generations, check_actors, key_of
from leafwise.training.games import GAMES, PLIES
from leafwise.training.runs.folder import Checkpoint
from leafwise.training.runs.gating import SPARSE, ActorOptions, GatedLearner, need_sparse
from leafwise.training.runs.loop import exploration_at, run_learner
from leafwise.training.runs.run_options import (
    BufferSize,
    Count,
    Depth,
    Every,
    Limit,
    Plies,
    Positions,
    Rate,
    TotalSteps,
)
from leafwise.training.types import Json, Logged, Tensors

if TYPE_CHECKING:
    from leafwise.training.dqn.learning import Target


FIRST = 102_400
"""Maximum number of decisions before the first evaluation: a minute in the slowest game."""


@dataclass(frozen=True)
class Config(ActorOptions):
    """Options of `leafwise train GAME --method dqn`."""

    sparse_only = ("hidden", "dueling", "nodes", "rare")
    total_steps: TotalSteps = 2_000_000
    """Length of the run, in decisions."""
    envs: Annotated[int, Range(1, 100000)] = 256
    """Number of games played side by side."""
    buffer_size: BufferSize = 200_000
    """Capacity of the replay buffer, in decisions."""
    batch_size: Count = 1024
    """Number of decisions in a batch."""
    train_every: Count = 1024
    """Number of decisions played between two batches."""
    learning_starts: Positions = 10_000
    """Number of decisions played before training starts."""
    target_every: Count = 50
    """Number of batches after which the weights are copied to the target network; not with --tau."""
    tau: Share = 0.0
    """Share of the network's weights that is mixed into the target network after every batch. 0: all weights are copied
    every --target-every batches."""
    learning_rate: Rate = 0.001
    """Learning rate at the start (Adam)."""
    final_learning_rate: Rate = 0.0001
    """Learning rate at the end. It falls linearly."""
    gamma: Share = 1.0
    """Discount per decision; below 1 only in single-player games."""
    scale: Annotated[float, Range(1e-6, 1e9)] = 1.0
    """Return that counts as 1, in single-player games (default for a torch module: the typical return of random games)."""
    n_step: Annotated[int, Range(1, 1000)] = 1
    """Number of decisions after which the target bootstraps."""
    cut: bool = True
    """Ends multi-step targets before a random action."""
    priority: Annotated[float, Range(0, 2)] = 0.0
    """Prioritized replay: exponent of a decision's last error in its sampling probability. 0: all decisions are equally
    likely. The paper uses 0.6."""
    importance: Share = 0.4
    """Prioritized replay: exponent of the importance weights at the start. It rises to 1 at the end."""
    double: bool = True
    """Double Q-learning: the online network chooses the action and the target network values it."""
    dueling: bool = False
    """Dueling head: the last layer has a value of the state and an advantage of every action."""
    head: Literal["max", "value"] = "max"
    """Output of the network. max: a value for every action. value: the value of the state; an action is then valued by the
    states that follow it."""
    target_depth: Annotated[int, Range(0, 8)] = 0
    """Depth of the search with the target network, which gives a target to every action. 1: the best value after each outcome of
    chance, averaged over the outcomes. 0: no search; only the played action has a target, from the state that followed."""
    rare: Share = 0.0
    """Outcomes of chance whose probability is smaller than this get the leaf's value; 0: none."""
    nodes: Limit = 0
    """Maximum number of decisions that a search visits (0: no limit)."""
    candidates: str = ""
    """Set of actions that searches consider: one of the game's sets of candidates (default: all legal actions)."""
    sees: str = ""
    """Input of a sparse network: features, another of the game's sets of sparse features, observation, or
    features+observation. Default: features, if the game has them. With --head max the default is features+observation if
    symmetric positions share features. Input of a torch module: planes, onehot, observation or features. Default: the first
    of planes, onehot and observation that the game has."""
    exploration: Share = 1.0
    """Share of random actions at the start."""
    final_exploration: Share = 0.1
    """Share of random actions at the end. It falls linearly over the first --exploration-fraction of the run."""
    exploration_fraction: Share = 0.5
    """Fraction of the run over which the exploration falls."""
    exploration_spread: Annotated[float, Range(0, 100)] = 0.0
    """Spread of the exploration over the games. Let S be this number. In game i of k, counted from 0, the share of random
    actions is raised to the power 1 + S i / (k - 1). 0: the same share in all games. The paper uses 7."""
    plies: Plies = 8
    """Maximum number of random actions at the start of a game."""
    guide: str = ""
    """Player of the first decisions: a search with a hand-made score, or with a model (name, run folder or file). Default:
    the network itself."""
    guide_decisions: Annotated[int, Range(0, 1e12)] = 100_000
    """Number of decisions that the guide plays."""
    guide_depth: Depth = 1
    """Depth of the guide's searches."""
    partial_credit: Share = 0.0
    """Credit for a lost single-player game at the start of training, as a share of the progress made. It helps if wins are
    rare."""
    partial_credit_fraction: Rate = 0.5
    """Fraction of the run over which the partial credit falls to 0."""
    hidden: tuple[int, ...] = (128, 64)
    """Widths of the hidden layers, multiples of 4."""
    match_depth: Depth = 1
    """Depth of the searches in matches."""
    interval: Every = 102_400
    """Number of decisions between two log entries, which is also the number between two evaluations. The first entry comes
    after at most 102,400 decisions."""


def check(config: Config, game: Any) -> None:
    """Raises ValueError for options that do not go together."""
    searched = config.head == "value" or config.target_depth > 0
    if searched and config.gamma != 1:
        raise UserError(f"expected --gamma 1 with targets from searches, got {config.gamma!r}")
    if config.head == "value" and config.dueling:
        raise UserError("expected --head max with --dueling, got value")
    if config.head == "max" and config.target_depth and config.n_step > 1:
        raise UserError(f"expected --n-step 1 with --head max and --target-depth, got {config.n_step}")
    if config.partial_credit and game.players == 2:
        raise UserError(f"expected --partial-credit in a single-player game, got {game.name!r}")
    if config.network != SPARSE:
        need_sparse(config)
        return
    sees = config.sees or default_seen(game, actions=config.head == "max")
    need_among(sees, seen_by(game), "--sees")
    seen = features_of(game, sees)
    if seen.stage != "decision" and config.head == "max":
        expected = "--sees observation, or --head value"
        raise UserError(f"expected {expected}, because the features of {game.name} are of chance nodes, got {sees!r}")
    if config.head == "max" and seen.invariant:
        expected = "--sees features+observation with --head max"
        raise UserError(f"expected {expected}: symmetric positions share these features, got {sees!r}")


def target_of(config: Config) -> Target:
    """Returns the kind of target.

    sampled: the value of the action that was played, by the rewards of `n_step` decisions and the best action's value there.
    expected: the values of all actions (`target_depth` above 0), each by a search over all outcomes of chance.
    afterstate: the value of the state (head `value`), by the best that a search finds some decisions on.
    """
    if config.head == "value":
        return "afterstate"
    return "expected" if config.target_depth else "sampled"


class QLearner(GatedLearner):
    """One run: networks, games, replay buffer, files."""

    method, unit = "dqn", "decisions"

    def __init__(self, config: Config) -> None:
        super().__init__(config)  # raises ValueError without torch
        from leafwise.training.dqn.learning import DecisionOrder, DecisionReplay, Learning

        check_actors(config.job_size, config.staleness, config.processes, config.cluster)
        check(config, self.game)
        cut = config.cut and config.n_step > 1
        sees = config.sees or default_seen(self.game, actions=config.head == "max")
        chance = config.network == SPARSE and features_of(self.game, sees).stage != "decision"
        order = DecisionOrder(config.envs, self.steps if config.job_size else 1, config.staleness + 1)
        self.replay = DecisionReplay(
            self.game, config.buffer_size, order, cut=cut, alpha=config.priority, chance=chance
        )
        # Raises ValueError for unknown candidates or guides
        self.learning = Learning(self.game, config, target_of(config), self.replay)
        self.newest, self.player = self.learning.shape, self.learning.player
        self.open_folder()
        if config.job_size:
            self.start_executor(self.player)
            self.actor = self.executor.share(QPlayer(self.newest, config))
        self.generations = Generations(self.channel(), self.pieces, config.staleness)
        n = config.envs * (config.staleness + 1)
        streams = np.array([(config.seed * n + e, 0) for e in range(n)], dtype=np.uint64)
        self.rows, self.streams = self.player.new_games(streams)
        self.rewards = 0.0
        self.begin(
            pool=1, plies=config.plies, depth=config.match_depth, nodes=config.nodes, rare=config.rare,
            candidates=config.candidates or None,
        )  # fmt: skip

    @property
    def done(self) -> int:
        return self.replay.recorded

    def restore(self, tensors: Tensors, metadata: Json) -> None:
        """Restores the state of a checkpoint."""
        super().restore(tensors, metadata)
        self.learning.restore(tensors, metadata["batches"])
        for name in ("rows", "streams"):
            getattr(self, name)[:] = tensors[name]
        self.replay.restore(tensors, metadata["done"], metadata.get("highest", 1.0))
        self.newest = self.learning.online.export()
        if self.config.job_size:
            self.generations.restore(tensors, metadata["ahead"], self.newest)

    def state(self) -> Checkpoint:
        """Returns the state for a checkpoint: arrays and metadata."""
        tensors = self.learning.tensors() | self.replay.tensors() | {"rows": self.rows, "streams": self.streams}
        metadata: Json = {"done": self.done, "batches": self.learning.batches}
        if self.config.priority:
            metadata["highest"] = self.replay.highest
        if self.config.job_size:
            ahead, metadata["ahead"] = self.generations.state()
            tensors |= ahead
        base_tensors, base_metadata = super().state()
        return tensors | base_tensors, metadata | base_metadata

    def playing(self, done: int) -> QPlayOptions:
        """Returns how decisions are played after `done` of them; each game has its own share of random actions."""
        config = self.config
        powers = 1 + config.exploration_spread * np.arange(config.envs) / max(config.envs - 1, 1)
        credit = config.partial_credit * max(
            0.0, 1 - min(done / config.total_steps, 1.0) / config.partial_credit_fraction
        )
        return QPlayOptions(
            exploration_at(config, done) ** powers, credit, bool(config.guide) and done < config.guide_decisions
        )

    def play(self) -> tuple[float, Logged]:
        """Records one decision of every game, played here by the newest network, or the decisions of a generation of jobs.

        Returns the mean value of the actions that were not random, and the logged values of jobs.
        """
        config, metrics = self.config, Logged()
        if config.job_size:
            batches, metrics = self.play_by_jobs()
        else:
            rng, options = np.random.default_rng((config.seed, 0, self.done)), self.playing(self.done)
            batches = iter([self.player.step(self.newest, self.learning.online, self.rows, self.streams, options, rng)])
        values = []
        for decisions in batches:
            self.replay.keep(decisions)
            rewards = decisions.gains[:, 0]
            self.rewards += float((rewards if self.game.players == 1 else np.abs(rewards)).sum())
            values.append(decisions.values)
        return mean(values), metrics

    @property
    def steps(self) -> int:
        """Number of decisions of each game in a generation."""
        return max(1, self.config.job_size // min(GROUP, self.config.envs))

    def pieces(self, generation: Generation, networks: Ref[Any]) -> list[Call]:
        """Returns the jobs that play the decisions of a generation.

        There are `staleness` + 1 sets of games. Each generation plays a set that no running generation plays.
        """
        n, number = self.config.envs, generation.number
        first = n * (number % (self.config.staleness + 1))
        options = self.playing(number * n * self.steps)
        jobs: list[Call] = []
        for begin in range(first, first + n, GROUP):
            chosen = slice(begin, min(begin + GROUP, first + n))
            key = key_of(self.config.seed, number, begin)
            rows, streams = self.rows[chosen].copy(), self.streams[chosen].copy()
            job_options = options._replace(exploration=options.exploration[chosen.start - first : chosen.stop - first])
            jobs.append(partial(play_steps, self.actor, networks, rows, streams, self.steps, job_options, key))
        return jobs

    def play_by_jobs(self) -> tuple[Iterator[Decisions], Logged]:
        """Returns the decisions of a generation that jobs played, and the logged values of the jobs."""
        n = self.config.envs
        size = n * self.steps
        self.generations.fill(
            self.done // size, -(-self.goal // size), lambda: {"newest": self.learning.online.export()}
        )
        generation, results = self.generations.take()
        first = n * (generation.number % (self.config.staleness + 1))
        for begin, played in zip(range(first, first + n, GROUP), results, strict=True):
            self.rows[begin : begin + len(played.rows)] = played.rows
            self.streams[begin : begin + len(played.rows)] = played.streams
            self.player.table.counts[:] += played.counts
        in_order = (played.decisions[k] for k in range(self.steps) for played in results)
        return in_order, self.job_metrics(generation)

    def advance(self) -> tuple[Logged, int | None]:
        """Plays and trains for one interval, after which a match is due."""
        config, start, before = self.config, time.perf_counter(), self.done
        counts = self.player.table.counts
        counts[:], self.rewards = 0, 0.0
        learned: list[tuple[float, float]] = []
        values: list[float] = []
        job_logged = Logged()
        span = config.interval if before else min(config.interval, FIRST)
        while self.done < min(before + span, config.total_steps):
            value, job_metrics = self.play()
            values.append(value)
            job_logged |= {tag: max(figure, job_logged.get(tag, 0)) for tag, figure in job_metrics.items()}
            while self.learning.batches < (self.done - config.learning_starts) // config.train_every:
                learned.append(self.learning.step(min(self.done / config.total_steps, 1.0)))
            self.report()
        games = max(int(counts[GAMES]), 1)
        logged = {
            "time/fps": (self.done - before) / (time.perf_counter() - start),
            "rollout/ep_len_mean": counts[PLIES] / games,
            "train/exploration_rate": exploration_at(config, self.done),
        }
        tag = "rollout/ep_rew_mean" if self.game.players == 1 else "rollout/decided"
        logged |= {tag: self.rewards / games, **job_logged}
        if np.isfinite(values).any():
            logged["train/q_mean"] = mean(values)
        if learned:
            logged["train/loss"], logged["train/td_error"] = np.mean(learned, axis=0).tolist()
        self.newest = self.learning.online.export()
        return logged, self.done // config.interval


def mean(values: list[float]) -> float:
    """Returns the mean of the values that are not nan; nan if there are none."""
    numbers = [value for value in values if value == value]
    return float(np.mean(numbers)) if numbers else float("nan")


def train(config: Config) -> Path:
    """Trains action values by self-play and returns the run folder; raises ValueError for options that do not fit."""
    return run_learner(QLearner(config))
