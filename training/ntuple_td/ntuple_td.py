"""Temporal differences: an n-tuple network learned by greedy play, TD(lambda) backward along each trajectory.

Sources: Szubert and Jaskowski, CIG 2014 (n-tuple networks by TD on afterstates); Yeh, Wu et al., "Multi-stage temporal
difference learning for 2048-like games", TCIAIG 2016 (backward TD(lambda), splits); Jaskowski, "Mastering 2048 with
delayed temporal coherence learning", TCIAIG 2018 (rates of each weight); Baxter, Tridgell and Weaver, "TDLeaf", 1999
(targets from a search: here a trajectory's states learn the value of the search made there). Differences: the target is
the potential to come, sum of (a cell's points)**power; a trajectory longer than `restart` moves is followed by one from
its middle, if trajectories do not begin in turn at highest cells (`carousel`, Jaskowski 2018); the rate is held, then falls
geometrically (`--hold 1`: a constant rate); the tables may be averaged over the run (Shamir and Zhang, "Stochastic gradient
descent for non-smooth optimization", ICML 2013), which takes away noise of the rate sooner than a lower rate.

With `--actors 2` two threads play and learn over shared tables without locks (Niu et al., "Hogwild!", 2011): faster, but
not reproducible bit by bit.

Logged: `rollout/ep_rew_mean` (fresh games of the last interval), `train/error` (root mean square, in potential),
`train/rate`, `time/fps` (moves a second), `eval/score_mean`, `eval/score_ci_low`, `eval/score_ci_high` (greedy games with
seeds from 900,000). Kept is the best network of these evaluations until the run ends; then the last one, which the falling
rate has made better than few games can tell, unless the other beats it by three standard errors on ten times the games.
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
from leafwise.models.ntuple import NTupleNetwork, Shape, load_ntuples, load_to_train, parse_tuples
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
from leafwise.training.runs.folder import Checkpoint, hardware, origin
from leafwise.training.runs.loop import Learner, run_learner
from leafwise.training.runs.run_options import Every, Limit, Rate, RunOptions, TotalSteps
from leafwise.training.types import Json, Logged, Tensors

AT_ONCE = 1 << 20
"""Weights that are averaged at a time."""


@dataclass(frozen=True)
class Config(RunOptions):
    """Options of `leafwise train GAME --method ntuple-td`."""

    total_steps: TotalSteps = 40_000_000
    """Length of the run, in moves."""
    tuples: str = "0123 4567 0145 1256 569a"
    """Tuples of cells 0-9, a-z in the order of the room's cells, separated by blanks; with commas beyond 35: 0,1,40."""
    valued: str | None = None
    """What is valued, by the room's word: a decision's state, or one where chance has still to act (None: the usual one)."""
    small: str | None = None
    """Small tables beside the tuples, of those that the room has, separated by blanks (None: the usual ones)."""
    splits: str = ""
    """Highest cells, ascending, by what they show, at which the next copy of all tables takes over."""
    init_from: str = ""
    """Model to start from, with all or some of the tuples: run folder, file or shipped name (default: all weights 0)."""
    pruned: Annotated[int, Range(0, 1e12)] = 0
    """Entries that the model to start from does not look up in so many moves of its games are 0 and stay so (0: all are learned);
    with --coherence. Its file is the smaller."""
    learning_rate: Rate = 0.25
    """Learning rate, shared out among the active weights."""
    final_learning_rate: Rate = 0.0125
    """Learning rate at the end of the run."""
    hold: Share = 0.5
    """Share of the run after which the rate begins to fall, geometrically."""
    average: Annotated[float, Range(0, 100)] = 0.0
    """Play and keep the mean of the tables over the run, entry t of the log with weight t**average; 0: the last ones."""
    coherence: bool = False
    """Temporal coherence: every weight has a rate of its own, at most the rate."""
    td_lambda: Share = 0.5
    """Lambda of TD(lambda)."""
    target: Literal["power", "score", "survival"] | None = None
    """What is learned: a potential to come, the score to come, or how many moves are to come (None: power, or score where that
    is not a sum over cells)."""
    power: Annotated[float, Range(0.001, 1)] = 0.7
    """Exponent of a cell's points in the potential that is learned (with the target power)."""
    target_depth: Annotated[int, Range(0, DEEPEST)] = 0
    """Depth of the search that plays and gives the targets; 0: plays at depth 1, learns from the next state's value."""
    optimism: Annotated[float, Range(-1e09, 1e9)] = 0.0
    """What every state is worth before anything is learned, in potential."""
    actors: Annotated[int, Range(1, 64)] = 1
    """Threads that play and learn over the same tables; more than 1 is not reproducible."""
    restart: Limit = 100
    """Trajectories longer than this are followed by one from their middle; 0: never."""
    carousel: str = ""
    """Highest cells, ascending, by what they show: instead, trajectories begin in turn at a start and where an earlier one first
    came to each of them."""
    interval: Every = 500_000
    """Moves between two log entries."""
    evaluate_every: Every = 8
    """Log entries between two evaluations."""
    evaluate_games: Annotated[int, Range(2, 100000)] = 200
    """Games per evaluation."""


def shape_of(config: Config, game: Game) -> Shape:
    """Returns the shape of the network that the options ask for; raises ValueError for what does not fit the game."""
    cells = features(game)
    named = dict(zip(cells.stage_words or cells.stages, cells.stages, strict=True))
    if config.valued is not None and config.valued not in named:
        raise UserError(f"expected --valued among {', '.join(named)}, got {config.valued!r}")
    shape = Shape(
        tuples=parse_tuples(config.tuples),
        power={"power": config.power, "score": 1.0, "survival": 0.0}[
            config.target or ("power" if cells.points else "score")
        ],
        stage=named[config.valued] if config.valued is not None else "",
        small=None if config.small is None else tuple(config.small.split()),
        splits=values_of(config, "splits", cells.names),
        base=config.optimism,
    ).check(game)
    for name, table in shape.tables(game).items():
        if table.stage and shape.stage != table.stage:
            word = next(word for word, own in named.items() if own == table.stage)
            raise UserError(f"expected --small without {name}, or --valued {word}: otherwise it is not known")
    return shape


def values_of(config: Config, option: str, names: Sequence[str]) -> tuple[int, ...]:
    """Returns the values of the cells that an option names; raises ValueError for one that there is not, or out of order."""
    words = getattr(config, option).split()
    if unknown := [word for word in words if word not in names[1:]]:
        raise UserError(f"expected --{option} among {', '.join(names[1:])}, got {unknown[0]!r}")
    values = tuple(names.index(word) for word in words)
    if list(values) != sorted(set(values)):
        raise UserError(f"expected --{option} with cells ascending, got {getattr(config, option)!r}")
    return values


def started(game: Game, shape: Shape, source: str) -> NTupleNetwork:
    """Returns a network of a shape that begins with a model's tables; raises ValueError if the shape lacks one of them."""
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
    if done <= config.hold:
        return config.learning_rate
    fall = config.final_learning_rate / config.learning_rate
    return config.learning_rate * fall ** ((done - config.hold) / (1 - config.hold))


def falls_by_merging(cells: CellFeatures, power: float | None) -> str:
    """Returns a warning where two like cells have more of the potential than the next one, which they may merge to; else ""."""
    points = np.array(cells.points or (0.0,)) ** power if power else np.zeros(1)
    falls = [v for v in range(1, len(points) - 1) if points[v] and points[v + 1] < 2 * points[v]]
    if not falls:
        return ""
    low, high = cells.names[falls[0]], cells.names[falls[0] + 1]
    return (
        f"two cells {low} have more of the potential that is learned than one {high}: where merging lowers it a search puts it "
        "off; --target survival, or --power nearer to 1, may do better"
    )


class NTupleTd(Learner):
    """One run with n-tuples: network, games, files."""

    method, unit, needs = "ntuple-td", "moves", ("tensorboard",)
    breaks_whole = True
    exploring = False
    """Whether a share of the actions is random, and the best action's value is learned (`leafwise.training.ntuple_td.ntuple_q`)."""

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        if config.pruned and not (config.coherence and config.init_from):
            raise UserError("expected --coherence and --init-from with --pruned, got one or none")
        self.network = started(self.game, shape_of(config, self.game), config.init_from)
        if warning := falls_by_merging(features(self.game), self.network.shape.power):
            print(f"warning: {warning}", file=sys.stderr)
        self.kept = self.network
        if config.average:
            self.kept = NTupleNetwork.create(self.game, self.network.shape, self.network.weights.table.copy())
        self.start = origin(config.init_from) if config.init_from else {}
        self.open_folder()
        depth, size = max(1, config.target_depth), len(self.network.weights.table) if config.coherence else 1
        self.coherence = np.zeros(size, np.float32), np.zeros(size, np.float32)
        keys = [config.seed + (k << 32) for k in range(config.actors)]  # far from those of other runs and evaluations
        marks = values_of(config, "carousel", features(self.game).names)
        self.actors: list[Trainer] = [new_trainer(self.game, key, depth, self.coherence, marks=marks) for key in keys]
        how = {"searched": config.target_depth > 0, "coherent": config.coherence, "exploring": self.exploring}
        self.kernels = kernels(self.network, depth, **how)
        self.T = self.game.tables(self.network.evaluator("td"))
        self.entries, self.best, self.score = 0, -np.inf, {}
        self.begun: list[list[int]] = []
        """Counters of each actor as the interval began that Ctrl-C broke off; empty between two."""
        self.due: Logged | None = None
        """What was logged of an interval whose evaluation is still to come."""
        if not self.resume() and config.pruned:
            self.prune()

    def prune(self) -> None:
        """Sets entries to 0 that games of the network do not look up, for good."""
        kept, table = looked_up(self.network, self.config.pruned, self.config.seed), self.network.weights.table
        table[~kept] = 0
        self.coherence[1][~kept] = FIXED

    def arrays(self) -> Tensors:
        """Returns the arrays of a checkpoint, by name; what is written into them changes the learner."""
        tensors: Tensors = {"table": self.network.weights.table}
        if self.config.coherence:
            tensors |= {"errors": self.coherence[0], "sizes": self.coherence[1]}
        if self.config.average:
            tensors |= {"average": self.kept.weights.table}
        for k, actor in enumerate(self.actors):
            end = f"_{k}" if k else ""
            tensors |= {f"S{end}": actor.S[HERE : HERE + 1], f"R{end}": actor.R}
            tensors |= {f"counts{end}": actor.counts, f"sums{end}": actor.sums}
            if self.config.carousel:
                tensors |= {f"firsts{end}": actor.firsts, f"met{end}": actor.met}
        return tensors

    def state(self) -> Checkpoint:
        """Returns what a checkpoint holds."""
        told: Json = {"entries": self.entries, "best": float(self.best), "score": dict(self.score)}
        told |= ({"begun": self.begun} if self.begun else {}) | ({"due": self.due} if self.due else {})
        tensors, of_every_run = super().state()
        return self.arrays() | tensors, told | of_every_run

    def restore(self, tensors: Tensors, metadata: Json) -> None:
        """Takes the state of a checkpoint."""
        super().restore(tensors, metadata)
        for name, own in self.arrays().items():
            own[:] = tensors[name]
        self.entries, self.best, self.score = metadata["entries"], metadata["best"], metadata["score"]
        self.begun, self.due = metadata.get("begun", []), metadata.get("due")

    def counted(self) -> Ints:
        """Returns the counters of all actors, added."""
        return np.sum([actor.counts for actor in self.actors], axis=0)

    @property
    def done(self) -> int:
        """Moves played so far."""
        return int(self.counted()[MOVES])

    @property
    def moves_begun(self) -> int:
        """Moves played before the interval that is played."""
        return sum(counts[MOVES] for counts in self.begun)

    def left(self, actor: int) -> int:
        """Returns the moves that an actor has left in the interval."""
        own = self.config.interval // len(self.actors) + 1
        return self.begun[actor][MOVES] + own - int(self.actors[actor].counts[MOVES])

    def play(self) -> None:
        """Plays and learns up to the end of the interval, or until Ctrl-C."""
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
        """Plays greedy games with the selection seeds; keeps the best model so far, or the last one if it stands the rematch."""
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
        """Returns the leaf of the tables that are evaluated."""
        return self.kept.evaluator("newest")

    def rematch(self) -> bool:
        """Whether the last network is kept: unless the best so far, which few games chose, is better by three standard
        errors on ten times as many."""
        best = load_ntuples(self.folder.model, self.game)
        one, other = (
            np.asarray(play_games(network, 1, REMATCH_SEED, 10 * self.config.evaluate_games).scores, dtype=np.float64)
            for network in (best, self.kept)
        )
        lead = one - other
        return float(lead.mean()) <= 3 * float(lead.std(ddof=1)) / np.sqrt(len(lead))

    def step(self) -> Logged:
        """Learns for one interval, and now and then evaluates; returns what is logged.

        Ctrl-C breaks it off between two trajectories, or before the evaluation: then it goes on there.
        """
        if self.due is None:
            logged = self.learn()
            if self.entries % self.config.evaluate_every and self.done < self.goal:
                return logged
            self.due = logged
        found = self.evaluate()
        logged, self.due = self.due | found, None
        return logged

    def learn(self) -> Logged:
        """Learns for one interval; returns what is logged."""
        self.begun = self.begun or [actor.counts.tolist() for actor in self.actors]
        moves, started, begun = self.done, time.perf_counter(), time.process_time()
        stoppable(self.play, self.T.stop)
        spent = time.perf_counter() - started
        self.seconds += time.process_time() - begun  # of all actors
        interrupts.check()
        played = self.counted() - np.sum(self.begun, axis=0)
        self.begun = []
        self.entries += 1
        if power := self.config.average:  # the mean of the tables, for which the next log entry weighs entries**average
            share = np.float32((power + 1) / (self.entries + power))
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
        """Returns what results.json says."""
        own = {"trajectories": int(self.counted()[GAMES]), "hardware": hardware(len(self.actors))}
        return super().results() | own


def train(config: Config) -> Path:
    """Trains n-tuple tables by TD(lambda) and returns the run folder; raises ValueError for options that do not fit."""
    return run_learner(NTupleTd(config))
