"""Generations of games that workers play while the learner trains, in a reproducible way.

Generation g is played by the network that was the newest after training on generation g - 1 - `staleness`. So the result does not
depend on the number and speed of the workers, and the playing network is never further behind.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from leafwise.envs.core.errors import UserError
from leafwise.models.network import Learned
from leafwise.training.execution import check_backend
from leafwise.training.execution.executor import Executor, Ref
from leafwise.training.types import Json, Tensors, named, prefixed

Call = Callable[[], Any]
"""A job of a learner: a callable object that pickles."""
call: Callable[[Call], Any] = operator.call
"""Runs a job and returns its result."""
MOST_PIECES = 1 << 32
"""Maximum number of jobs in a generation."""


@dataclass(frozen=True)
class Calls:
    """The work of a learner's executor."""

    first: Any
    """Object whose method `warm` is called in a new process."""

    def warm(self) -> None:
        """Compiles or loads the code of `first`."""
        self.first.warm()

    def __call__(self, piece: Call) -> Any:
        """Runs a job and returns its result."""
        return piece()


def check_actors(job_size: int, staleness: int, processes: int, cluster: str) -> None:
    """Raises ValueError for options of actors that do not fit."""
    check_backend(processes, cluster)
    if not job_size and (staleness or processes > 1 or cluster):
        raise UserError(
            "expected --job-size with --staleness, --processes or --cluster, got 0: the learner plays all games"
        )


def key_of(seed: int, generation: int, piece: int) -> int:
    """Returns the key of a job's random stream."""
    return int(np.random.SeedSequence((seed, generation, piece)).generate_state(1, np.uint64)[0])


@dataclass(frozen=True)
class Generation:
    """One unfinished generation."""

    number: int
    learned: int
    """Number of generations that its network has trained on."""
    networks: Mapping[str, Learned]


class Generations:
    """The unfinished generations, the oldest first."""

    def __init__(
        self, executor: Executor[Call, Any], pieces: Callable[[Generation, Ref[Any]], Sequence[Call]], staleness: int
    ) -> None:
        """`pieces` returns the jobs of a generation, given references to its networks."""
        self.executor, self.pieces, self.staleness = executor, pieces, staleness
        self.in_flight: list[tuple[Generation, int]] = []
        self._results: dict[int, Any] = {}

    def fill(self, done: int, goal: int, networks: Callable[[], Mapping[str, Learned]]) -> None:
        """Submits generations up to the last that the newest network may play, after training on `done` of them."""
        first = self.in_flight[-1][0].number + 1 if self.in_flight else done
        for number in range(first, min(done + self.staleness + 1, goal)):
            self.begin(Generation(number, done, networks()))

    def begin(self, generation: Generation) -> None:
        """Submits the jobs of a generation."""
        pieces = self.pieces(generation, self.executor.share(dict(generation.networks)))
        for k, piece in enumerate(pieces):
            self.executor.submit(generation.number * MOST_PIECES + k, piece)
        self.in_flight.append((generation, len(pieces)))

    def take(self) -> tuple[Generation, list[Any]]:
        """Waits for the oldest generation; returns it and the results of its jobs in order."""
        one, count = self.in_flight[0]
        keys = [one.number * MOST_PIECES + k for k in range(count)]
        while not all(key in self._results for key in keys):
            key, result = self.executor.next()
            self._results[key] = result
        del self.in_flight[0]
        return one, [self._results.pop(key) for key in keys]

    def state(self) -> tuple[Tensors, Json]:
        """Returns the state for a checkpoint: the networks of the unfinished generations, whose games are played again."""
        tensors: Tensors = {}
        info: Json = {}
        for k, (one, _) in enumerate(self.in_flight):
            for name, network in one.networks.items():
                tensors |= prefixed(f"ahead{k}.{name}", network.tensors)
            info[str(k)] = {"number": one.number, "learned": one.learned, "networks": dict.fromkeys(one.networks, 0)}
        return tensors, info

    def restore(self, tensors: Tensors, info: Json, like: Learned) -> None:
        """Submits the unfinished generations of a checkpoint; their networks have the shape of `like`."""
        for k, one in sorted(info.items(), key=lambda item: int(item[0])):
            networks = {name: like.with_tensors(named(tensors, f"ahead{k}.{name}")) for name in one["networks"]}
            self.begin(Generation(one["number"], one["learned"], networks))
