"""Generations of games that are under way while a learner learns: which network plays them is known, so a run can be repeated.

Generation g is played by the network that was newest after generation g - 1 - `staleness` had been learned from. So the network
that plays is never further behind, by whomever and however fast the games are played, and what is learned is the same everywhere.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from leafwise.envs.core.errors import UserError
from leafwise.models.network import Learned
from leafwise.training.execution import check_places
from leafwise.training.execution.executor import Executor, Shared
from leafwise.training.types import Json, Tensors, named, prefixed

Call = Callable[[], Any]
"""A piece of a learner's work: an object that pickles and is called where it is worked on."""
call: Callable[[Call], Any] = operator.call
"""Returns what a piece returns."""
MOST_PIECES = 1 << 32
"""Of a generation."""


@dataclass(frozen=True)
class Calls:
    """The work of a learner's executor."""

    first: Any
    """What is warmed up, by its method `warm`."""

    def warm(self) -> None:
        """Loads the code of the first."""
        self.first.warm()

    def __call__(self, piece: Call) -> Any:
        """Returns what a piece returns."""
        return piece()


def check_actors(job_size: int, staleness: int, processes: int, cluster: str) -> None:
    """Raises ValueError for options of actors that do not fit."""
    check_places(processes, cluster)
    if not job_size and (staleness or processes > 1 or cluster):
        raise UserError(
            "expected --job-size with --staleness, --processes or --cluster, got 0: the learner plays all games"
        )


def key_of(seed: int, generation: int, piece: int) -> int:
    """Returns the key of a piece's random stream."""
    return int(np.random.SeedSequence((seed, generation, piece)).generate_state(1, np.uint64)[0])


@dataclass(frozen=True)
class Generation:
    """One generation under way."""

    number: int
    learned: int
    """Generations that its network had learned from."""
    networks: Mapping[str, Learned]


class Generations:
    """The generations under way, the oldest first."""

    def __init__(
        self, executor: Executor[Call, Any], pieces: Callable[[Generation, Shared[Any]], Sequence[Call]], staleness: int
    ) -> None:
        """`pieces` says what a generation is made of, given what stands for its networks there."""
        self.executor, self.pieces, self.staleness = executor, pieces, staleness
        self.flying: list[tuple[Generation, int]] = []
        self._results: dict[int, Any] = {}

    def fill(self, done: int, goal: int, networks: Callable[[], Mapping[str, Learned]]) -> None:
        """Begins generations up to the last that the newest network may play; `done` are learned from."""
        first = self.flying[-1][0].number + 1 if self.flying else done
        for number in range(first, min(done + self.staleness + 1, goal)):
            self.begin(Generation(number, done, networks()))

    def begin(self, one: Generation) -> None:
        """Submits the pieces of a generation."""
        pieces = self.pieces(one, self.executor.share(dict(one.networks)))
        for k, piece in enumerate(pieces):
            self.executor.submit(one.number * MOST_PIECES + k, piece)
        self.flying.append((one, len(pieces)))

    def take(self) -> tuple[Generation, list[Any]]:
        """Returns the oldest generation and what its pieces returned, in their order, when all are done."""
        one, count = self.flying[0]
        keys = [one.number * MOST_PIECES + k for k in range(count)]
        while not all(key in self._results for key in keys):
            key, result = self.executor.next()
            self._results[key] = result
        del self.flying[0]
        return one, [self._results.pop(key) for key in keys]

    def state(self) -> tuple[Tensors, Json]:
        """Returns what a checkpoint holds: the networks of the generations under way, which are played anew after it."""
        tensors: Tensors = {}
        told: Json = {}
        for k, (one, _) in enumerate(self.flying):
            for name, network in one.networks.items():
                tensors |= prefixed(f"ahead{k}.{name}", network.tensors)
            told[str(k)] = {"number": one.number, "learned": one.learned, "networks": dict.fromkeys(one.networks, 0)}
        return tensors, told

    def restore(self, tensors: Tensors, told: Json, like: Learned) -> None:
        """Begins what a checkpoint says was under way; its networks have the shape of another."""
        for k, one in sorted(told.items(), key=lambda item: int(item[0])):
            networks = {name: like.with_tensors(named(tensors, f"ahead{k}.{name}")) for name in one["networks"]}
            self.begin(Generation(one["number"], one["learned"], networks))
