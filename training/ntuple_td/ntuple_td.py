"""TD(lambda) with n-tuple networks: trains tables of values by greedy play, backward along each trajectory.

Sources: Szubert and Jaskowski, CIG 2014 (n-tuple networks by TD on afterstates); Yeh, Wu et al., "Multi-stage temporal difference
learning for 2048-like games", TCIAIG 2016 (backward TD(lambda), splits); Jaskowski, "Mastering 2048 with delayed temporal
coherence learning", TCIAIG 2018 (a learning rate for each weight, carousel shaping); Baxter, Tridgell and Weaver, "TDLeaf", 1999
(targets from a search: the states of a trajectory learn the root values of their searches).

Differences: the target is the potential to come, the sum of (a cell's points)**power. A trajectory longer than `--restart` moves
is followed by one from its middle, unless trajectories start in turn at highest cells (`--carousel`). The learning rate is
constant at first and then falls geometrically (`--decay-start 1`: always constant). The tables may be averaged over the run
(Shamir and Zhang, "Stochastic gradient descent for non-smooth optimization", ICML 2013), which reduces the noise of the updates
sooner than a lower learning rate does.

With `--actors 2` two threads play and learn on shared tables without locks (Niu et al., "Hogwild!", 2011). This is faster but not
reproducible bit by bit.

Logged: `rollout/ep_rew_mean` (fresh games of the last interval), `train/error` (root mean square, in potential), `train/rate`,
`time/fps` (moves a second), `eval/score_mean`, `eval/score_ci_low`, `eval/score_ci_high` (greedy games with seeds from 900,000).
During the run the best network of these evaluations is kept. At the end the last network replaces it, unless the best one is
better by three standard errors on ten times the games.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Literal

import numpy as np

from leafwise.envs.core import interrupts
from leafwise.envs.core.arrays import Ints
from leafwise.envs.core.contract.evaluator import Evaluator
from leafwise.envs.core.contract.features import CellFeatures
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.interrupts import stoppable
from leafwise.envs.core.ranges import Range, Share
from leafwise.models.files import model_path, save_network
from leafwise.models.ntuple import NTupleNetwork, NTupleShape, load_ntuples, load_to_train, parse_tuples
from leafwise.models.ntuple_functions import features
from leafwise.training.evaluation.statistics import bounds, logged_bounds
from leafwise.training.games import HERE
from leafwise.training.ntuple_td.kernels import (
    DEEPEST,
    FIXED,
    FRESH_GAMES,
    GAMES,
    MOVES,
    Trainer,
    kernels,
    looked_up,
    new_trainer,
    play_games,
)
from leafwise.training.runs import REMATCH_SEED, SELECTION_SEED
from leafwise.training.runs.folder import Checkpoint, hardware, provenance
from leafwise.training.runs.loop import Learner, run_learner
from leafwise.training.runs.run_options import Every, Limit, Rate, RunOptions, TotalSteps
from leafwise.training.types import Json, Logged, Tensors

AT_ONCE = 1 << 20
"""Number of weights that are averaged at a time."""


@dataclass(frozen=True)
class Config(RunOptions):
    """Options of `leafwise train GAME --method ntuple-td`."""

    total_steps: TotalSteps = 40_000_000
    """Length of the run, in moves."""
    tuples: str = "0123 4567 0145 1256 569a"
    """Tuples of cells, separated by blanks. The cells of the board are numbered 0-9, then a-z. Tuples with cells beyond
    these have commas: 0,1,40."""
    value_stage: str | None = None
    """Positions that the network values, by the game's word for them: in Threes entered (decisions) or afterstate (before
    chance acts). Default: those that the game prefers."""
    small_tables: str | None = None
    """Tables of other features of the game, which the network adds to those of the tuples. Names separated by blanks, in
    Threes for example deck and hint. Default: those that the game prefers."""
    splits: str = ""
    """Values of the highest cell, ascending. At each of them the network changes to another copy of all tables (multi-stage
    learning)."""
    init_from: str = ""
    """Model with the initial weights of all or some tuples: run folder, file or name of a shipped model (default:
    --initial-value)."""
    prune_moves: Annotated[int, Range(0, 1e12)] = 0
    """Number of moves that the model of --init-from plays first. Entries that these moves do not use become 0 and stay 0,
    which makes the file smaller. Needs --coherence. 0: all entries are trained."""
    learning_rate: Rate = 0.25
    """Learning rate at the start. It is divided by the number of weights that a position uses."""
    final_learning_rate: Rate = 0.0125
    """Learning rate at the end of the run."""
    decay_start: Share = 0.5
    """Share of the run after which the learning rate starts to fall geometrically."""
    average_exponent: Annotated[float, Range(0, 100)] = 0.0
    """Weight averaging: the run plays with the mean of its tables, and stores this mean. The tables at log entry t have the
    weight t**average_exponent; 0: no averaging."""
    coherence: bool = False
    """Temporal coherence learning: every weight has its own adaptive rate, at most the learning rate."""
    td_lambda: Share = 0.5
    """Lambda of TD(lambda)."""
    target: Literal["power", "score", "survival"] | None = None
    """Target: the potential to come (power), the score to come (score), or the number of moves to come (survival). Default:
    power, or score in games whose score is not a sum over cells."""
    power: Annotated[float, Range(0.001, 1)] = 0.7
    """Exponent of a cell's points in the potential of --target power."""
    target_depth: Annotated[int, Range(0, DEEPEST)] = 0
    """Depth of the search that plays and gives the targets. 0: the network plays at depth 1 and learns from the next
    state's value."""
    initial_value: Annotated[float, Range(-1e09, 1e9)] = 0.0
    """Value of every state before training, in potential (optimistic initialization)."""
    actors: Annotated[int, Range(1, 64)] = 1
    """Number of threads that play and learn on shared tables. Runs with more than one thread are not reproducible."""
    restart: Limit = 100
    """Number of moves. After a game with more moves, the next game begins in the middle of that game, not at the start; 0:
    never."""
    carousel: str = ""
    """Values of the highest cell, ascending. Games begin in turn at the start, and at states in which an earlier game first
    reached each of these values. Replaces --restart."""
    interval: Every = 500_000
    """Number of moves between two log entries."""
    evaluate_every: Every = 8
    """Number of log entries between two evaluations."""
    evaluate_games: Annotated[int, Range(2, 100000)] = 200
    """Number of games of an evaluation."""


def shape_of(config: Config, game: Game) -> NTupleShape:
    """Returns the network's shape from the options; raises ValueError for options that do not fit the game."""
    cells = features(game)
    named = dict(zip(cells.stage_words or cells.stages, cells.stages, strict=True))
    if config.value_stage is not None and config.value_stage not in named:
        raise UserError(f"expected --value-stage among {', '.join(named)}, got {config.value_stage!r}")
    shape = NTupleShape(
        tuples=parse_tuples(config.tuples),
        power={"power": config.power, "score": 1.0, "survival": 0.0}[
            config.target or ("power" if cells.points else "score")
        ],
        stage=named[config.value_stage] if config.value_stage is not None else "",
        small=None if config.small_tables is None else tuple(config.small_tables.split()),
        splits=values_of(config, "splits", cells.names),
        base=config.initial_value,
    ).check(game)
    for name, table in shape.tables(game).items():
        if table.stage and shape.stage != table.stage:
            word = next(word for word, stage in named.items() if stage == table.stage)
            raise UserError(
                f"expected --small-tables without {name}, or --value-stage {word}: other positions do not have this table"
            )
    return shape


def values_of(config: Config, option: str, names: Sequence[str]) -> tuple[int, ...]:
    """Returns the values of the cells in an option; raises ValueError for unknown or unordered ones."""
    words = getattr(config, option).split()
    if unknown := [word for word in words if word not in names[1:]]:
        raise UserError(f"expected --{option} among {', '.join(names[1:])}, got {unknown[0]!r}")
    values = tuple(names.index(word) for word in words)
    if list(values) != sorted(set(values)):
        raise UserError(f"expected --{option} with cells ascending, got {getattr(config, option)!r}")
    return values


def started(game: Game, shape: NTupleShape, source: str) -> NTupleNetwork:
    """Returns a network of a shape, initialized with a model's tables; raises ValueError if the shape lacks one of them."""
    network = NTupleNetwork.create(game, shape)
    if not source:
        return network
    given = load_to_train(model_path(source), game)
    old, new = given.shape, network.shape
    if old == new:
        return given
    alike = replace(old, tuples=new.tuples, splits=new.splits) == new and old.copies in (1, new.copies)
    if not alike or not set(old.tuples) <= set(new.tuples):
        raise UserError(f"expected --init-from with a model of {new} or of some of its tuples, got {old}")
    for copy in range(new.copies):
        tables = network.tables(copy)
        for name, table in given.tables(copy if old.copies > 1 else 0).items():
            tables[name][:] = table
    return network


def rate_at(config: Config, moves: int) -> float:
    """Returns the learning rate after a number of moves."""
    done = min(moves / config.total_steps, 1.0)  # the last trajectory may end after the last move
    if done <= config.decay_start:
        return config.learning_rate
    fall = config.final_learning_rate / config.learning_rate
    return config.learning_rate * fall ** ((done - config.decay_start) / (1 - config.decay_start))


def falls_by_merging(cells: CellFeatures, power: float | None) -> str:
    """Returns a warning if merging two equal cells lowers the potential, else ""."""
    points = np.array(cells.points or (0.0,)) ** power if power else np.zeros(1)
    falls = [v for v in range(1, len(points) - 1) if points[v] and points[v + 1] < 2 * points[v]]
    if not falls:
        return ""
    low, high = cells.names[falls[0]], cells.names[falls[0] + 1]
    return (
        f"two cells {low} count more than one {high} in the learned potential, so a search merges them late; --target survival or "
        "a --power nearer to 1 may do better"
    )


class NTupleTd(Learner):
    """One run with n-tuples: network, games, files."""

    method, unit, needs = "ntuple-td", "moves", ("tensorboard",)
    breaks_whole = True
    exploring = False
    """Whether a share of the actions is random and the best value is the target (`leafwise.training.ntuple_td.ntuple_q`)."""

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        if config.prune_moves and not (config.coherence and config.init_from):
            raise UserError("expected --coherence and --init-from with --prune-moves, got at most one of them")
        self.network = started(self.game, shape_of(config, self.game), config.init_from)
        if warning := falls_by_merging(features(self.game), self.network.shape.power):
            print(f"warning: {warning}", file=sys.stderr)
        self.kept = self.network
        if config.average_exponent:
            self.kept = NTupleNetwork.create(self.game, self.network.shape, self.network.weights.table.copy())
        self.start = provenance(config.init_from) if config.init_from else {}
        self.open_folder()
        depth, size = max(1, config.target_depth), len(self.network.weights.table) if config.coherence else 1
        self.coherence = np.zeros(size, np.float32), np.zeros(size, np.float32)
        keys = [
            config.seed + (k << 32) for k in range(config.actors)
        ]  # differ from the keys of other runs and evaluations
        marks = values_of(config, "carousel", features(self.game).names)
        self.actors: list[Trainer] = [new_trainer(self.game, key, depth, self.coherence, marks=marks) for key in keys]
        variant = {"searched": config.target_depth > 0, "coherent": config.coherence, "exploring": self.exploring}
        self.kernels = kernels(self.network, depth, **variant)
        self.T = self.game.tables(self.network.evaluator("td"))
        self.entries, self.best, self.score = 0, -np.inf, {}
        self.begun: list[list[int]] = []
        """Counters of each actor at the start of an interval that Ctrl-C interrupted; empty between intervals."""
        self.due: Logged | None = None
        """Logged values of an interval whose evaluation is pending."""
        if not self.resume() and config.prune_moves:
            self.prune()

    def prune(self) -> None:
        """Sets entries that games of the network do not look up to 0, and excludes them from training."""
        kept, table = looked_up(self.network, self.config.prune_moves, self.config.seed), self.network.weights.table
        table[~kept] = 0
        self.coherence[1][~kept] = FIXED

    def arrays(self) -> Tensors:
        """Returns the learner's own arrays for a checkpoint, by name; writing to them changes the learner."""
        tensors: Tensors = {"table": self.network.weights.table}
        if self.config.coherence:
            tensors |= {"errors": self.coherence[0], "sizes": self.coherence[1]}
        if self.config.average_exponent:
            tensors |= {"average": self.kept.weights.table}
        for k, actor in enumerate(self.actors):
            end = f"_{k}" if k else ""
            tensors |= {f"S{end}": actor.S[HERE : HERE + 1], f"R{end}": actor.R}
            tensors |= {f"counts{end}": actor.counts, f"sums{end}": actor.sums}
            if self.config.carousel:
                tensors |= {f"firsts{end}": actor.firsts, f"met{end}": actor.met}
        return tensors

    def state(self) -> Checkpoint:
        """Returns the state for a checkpoint: arrays and metadata."""
        metadata: Json = {"entries": self.entries, "best": float(self.best), "score": dict(self.score)}
        metadata |= ({"begun": self.begun} if self.begun else {}) | ({"due": self.due} if self.due else {})
        base_tensors, base_metadata = super().state()
        return self.arrays() | base_tensors, metadata | base_metadata

    def restore(self, tensors: Tensors, metadata: Json) -> None:
        """Restores the state of a checkpoint."""
        super().restore(tensors, metadata)
        for name, array in self.arrays().items():
            array[:] = tensors[name]
        self.entries, self.best, self.score = metadata["entries"], metadata["best"], metadata["score"]
        self.begun, self.due = metadata.get("begun", []), metadata.get("due")

    def counted(self) -> Ints:
        """Returns the sum of the actors' counters."""
        return np.sum([actor.counts for actor in self.actors], axis=0)

    @property
    def done(self) -> int:
        """Number of moves played so far."""
        return int(self.counted()[MOVES])

    @property
    def moves_begun(self) -> int:
        """Number of moves before the current interval."""
        return sum(counts[MOVES] for counts in self.begun)

    def left(self, actor: int) -> int:
        """Returns the number of moves left for an actor in the interval."""
        share = self.config.interval // len(self.actors) + 1
        return self.begun[actor][MOVES] + share - int(self.actors[actor].counts[MOVES])

    def play(self) -> None:
        """Plays and trains to the end of the interval, or until Ctrl-C."""
        rate = rate_at(self.config, self.moves_begun) / self.network.active
        options = rate, self.config.td_lambda, self.config.restart, self.T
        threads = [
            threading.Thread(target=self.kernels.td_games, args=(actor, self.left(k), *options), daemon=True)
            for k, actor in enumerate(self.actors)
            if k
        ]
        for thread in threads:
            thread.start()
        self.kernels.td_games(self.actors[0], self.left(0), *options)
        for thread in threads:
            thread.join()

    def evaluate(self) -> Logged:
        """Plays greedy games with the selection seeds; keeps the best model so far, or at the end the last one after a rematch."""
        n = self.config.evaluate_games
        played = play_games(self.kept, 1, SELECTION_SEED, n)
        mean = float(played.scores.mean())
        if mean > self.best or (self.done >= self.goal and self.rematch()):
            self.best = mean
            self.score = {
                "mean": mean, **bounds(played.interval()), "games": n, "player": "greedy",
                "seeds": f"{SELECTION_SEED} to {SELECTION_SEED + n - 1}",
            }  # fmt: skip
            save_network(self.folder.model, self.kept, self.description())
        return {"eval/score_mean": mean, **logged_bounds(played.interval())}

    def leaf(self) -> Evaluator:
        """Returns the evaluated tables as a leaf."""
        return self.kept.evaluator("newest")

    def rematch(self) -> bool:
        """Plays the last and the best network in ten times as many games; returns whether the last network is kept.

        It is kept unless the best one is better by three standard errors.
        """
        best = load_ntuples(self.folder.model, self.game)
        one, other = (
            np.asarray(play_games(network, 1, REMATCH_SEED, 10 * self.config.evaluate_games).scores, dtype=np.float64)
            for network in (best, self.kept)
        )
        lead = one - other
        return float(lead.mean()) <= 3 * float(lead.std(ddof=1)) / np.sqrt(len(lead))

    def step(self) -> Logged:
        """Trains for one interval, and evaluates if it is due; returns the logged values.

        Ctrl-C interrupts it between two trajectories, or before the evaluation; a resumed run continues there.
        """
        if self.due is None:
            logged = self.learn()
            if self.entries % self.config.evaluate_every and self.done < self.goal:
                return logged
            self.due = logged
        evaluation = self.evaluate()
        logged, self.due = self.due | evaluation, None
        return logged

    def learn(self) -> Logged:
        """Trains for one interval; returns the logged values."""
        self.begun = self.begun or [actor.counts.tolist() for actor in self.actors]
        moves, started, begun = self.done, time.perf_counter(), time.process_time()
        stoppable(self.play, self.T.stop)
        spent = time.perf_counter() - started
        self.seconds += time.process_time() - begun  # of all actors
        interrupts.check()
        played = self.counted() - np.sum(self.begun, axis=0)
        self.begun = []
        self.entries += 1
        if (
            exponent := self.config.average_exponent
        ):  # the next log entry weighs entries**exponent in the mean of the tables
            share = np.float32((exponent + 1) / (self.entries + exponent))
            for start in range(0, len(self.network.weights.table), AT_ONCE):
                kept, now = (n.weights.table[start : start + AT_ONCE] for n in (self.kept, self.network))
                kept += share * (now - kept)
        sums = np.sum([actor.sums for actor in self.actors], axis=0)
        logged = {"train/rate": rate_at(self.config, self.done), "time/fps": (self.done - moves) / spent}
        if played[FRESH_GAMES]:
            logged["rollout/ep_rew_mean"] = sums[0] / played[FRESH_GAMES]
        if played[MOVES]:
            logged["train/error"] = float(np.sqrt(sums[1] / played[MOVES]))
        for actor in self.actors:
            actor.sums[:] = 0
        return logged

    def results(self) -> Json:
        """Returns the contents of results.json."""
        extra = {"trajectories": int(self.counted()[GAMES]), "hardware": hardware(len(self.actors))}
        return super().results() | extra


def train(config: Config) -> Path:
    """Trains n-tuple tables by TD(lambda) and returns the run folder; raises ValueError for options that do not fit."""
    return run_learner(NTupleTd(config))
