"""What the learners of sparse networks have in common: which network is the best, the judge, the model file."""

from __future__ import annotations

import time
from abc import abstractmethod
from dataclasses import dataclass
from typing import Annotated, Any

from numpy.typing import NDArray

from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.ranges import Range, check_fields
from leafwise.models.files import save_network
from leafwise.models.sparse import SparseNetwork
from leafwise.training.evaluation.agreement import Judged, judge_of
from leafwise.training.execution.executor import Executor, Here, Line
from leafwise.training.execution.generations import Call, Calls, call
from leafwise.training.execution.places import executor_for
from leafwise.training.runs.folder import RunFolder
from leafwise.training.runs.gating import Gate
from leafwise.training.runs.loop import Learner, find_variant, run_path
from leafwise.training.runs.options import RunOptions, flag_of


@dataclass(frozen=True)
class Options(RunOptions):
    """Options of every method whose best network is known by matches."""

    match_pairs: Annotated[int, Range(100, 1e6)] = 500
    """Most pairs of games in a match against the best network; games played, in games for one."""
    judged: Annotated[int, Range(0, 100000)] = 200
    """Positions judged by the exact solver, where there is one; 0: none."""
    judged_plies: tuple[int, int] = (4, 12)
    """Least and most actions before a judged position."""
    judged_depth: Annotated[int, Range(0, 6)] = 0
    """Those actions are random, or with a depth those of players who search so deep for an end and else act at random."""


@dataclass(frozen=True)
class ActorOptions(Options):
    """Options of methods whose games may be played by others than the learner."""

    piece: Annotated[int, Range(0, 1e8)] = 0
    """What is played as one piece of work, from a seed of its own (0: all games are one stream, played by the learner)."""
    staleness: Annotated[int, Range(0, 100)] = 0
    """Generations of games that are played ahead, while the learner learns: so far is the network behind that plays them."""
    processes: int = 1
    """Processes that play; with --piece no game depends on how many."""
    cluster: str = ""
    """Ray cluster that plays instead: auto (the one this machine belongs to), local (--processes cores of this machine, 1: all)
    or HOST:PORT."""


class GatedLearner(Learner):
    """A run of one method, step by step: it learns, and now and then its newest network challenges the best so far.

    A method says how to `advance`, what its `state` is and how to `restore` it, and calls `begin` when it is ready.
    """

    game: Game
    newest: SparseNetwork
    gate: Gate
    judged: Judged | None

    def __init__(self, config: Any) -> None:
        from leafwise.training.networks.sparse import one_thread

        check_fields(config, shown=flag_of)
        self.executor: Executor[Call, Any] = Here(call)
        self.owners: dict[int, Any] = {}
        one_thread()
        self.config = config
        self.game = find_variant(config.game, config.variant)

    def open_folder(self) -> None:
        """Makes or finds the run folder; raises ValueError if it holds another run."""
        self.folder = RunFolder(run_path(self.config, self.method), self.config, resume=self.config.resume)

    def begin(self, **options: Any) -> None:
        """Starts from the newest network, or where the last checkpoint was; `options` are those of the gate."""
        config = self.config
        self.gate = Gate(self.newest, pairs=config.match_pairs, line=self.line(), **options)
        self.judged = judge_of(self.game, config.judged, config.judged_plies, config.judged_depth)
        if not self.resume():
            self.keep_best()

    def work_by(self, first: Any) -> None:
        """Has pieces of the run's work done where the options say; `first` is warmed up there."""
        self.executor = executor_for(Calls(first), self.config.processes, self.config.cluster)

    def line(self) -> Executor[Call, Any]:
        """Returns what takes pieces of work, for one of those who have some."""
        return Line(self.executor, self.owners)

    def close(self) -> None:
        """Ends the processes that work for the run."""
        self.executor.shutdown()

    @abstractmethod
    def advance(self) -> tuple[dict[str, float], int | None]:
        """Learns for a while, up to a new `newest` if a match is due; returns what is logged, and the match's number or None."""

    def checkpoint(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Returns all that a checkpoint holds: the method's own, and the networks that play matches."""
        tensors, metadata = super().checkpoint()
        return tensors | self.gate.tensors(), metadata | {"gate": self.gate.metadata()}

    def take(self, tensors: dict[str, NDArray[Any]], metadata: dict[str, Any]) -> None:
        """Takes all that a checkpoint holds."""
        super().take(tensors, metadata)
        self.gate.restore(tensors, metadata["gate"])

    def step(self) -> dict[str, float]:
        """Learns for a while and, where it is time, asks whether the newest network is the best; returns what is logged."""
        start = time.process_time()
        logged, number = self.advance()
        if number is not None:
            found, better = self.gate.challenge(self.newest, number)
            logged |= found
            if better:
                self.keep_best()
        self.seconds += time.process_time() - start
        logged["time/seconds"] = self.seconds
        if number is not None:
            logged |= self.also_logged()
        if number is not None and self.judged is not None:
            logged["eval/keeps_value"] = self.judged.share(self.newest.evaluator("newest"))
        return logged

    def also_logged(self) -> dict[str, float]:
        """Returns what else is logged of the newest network when a match is over, outside the run's time."""
        return {}

    def keep_best(self) -> None:
        """Writes the best network to the model file."""
        save_network(self.folder.model, self.gate.best, self.description())

    def description(self) -> dict[str, Any]:
        """Returns what the model file says of how it was made."""
        self.score = self.gate.score
        return super().description()

    def results(self) -> dict[str, Any]:
        """Returns what results.json says."""
        return super().results() | ({"elo": self.gate.best_elo} if self.game.players == 2 else {})
