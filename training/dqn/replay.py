"""The last decisions of games played side by side: drawn from, and followed for some steps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.contract.game import Game
from leafwise.training.dqn.games import Decisions
from leafwise.training.runs.replay import Replay

LEAST = 0.01
"""Added to the size of an error, so that what was learned well is seen again."""


Target = Literal["sampled", "expected", "afterstate"]
"""What is learned of a decision; see `leafwise.training.dqn.dqn.target_of`."""


class Order(NamedTuple):
    """In which order decisions come: those of all games at one step, `steps` of them, of one set of games after another."""

    games: int
    steps: int = 1
    sets: int = 1

    def following(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Returns the number of the next decision of the same game, of decisions numbered from 0 on."""
        last = (numbers // self.games) % self.steps == self.steps - 1
        return numbers + self.games + np.where(last, self.games * self.steps * (self.sets - 1), 0)


class Followed(NamedTuple):
    """What came after n decisions, some steps on."""

    rows: NDArray[Any]
    """Where the steps led, [n, width]: decisions, or ends."""
    gained: NDArray[np.float32]
    """Discounted reward on the way, for who decided, [n]."""
    factor: NDArray[np.float32]
    """What turns the value of that row to who acts there into what it is worth to who decided; 0 after an end, [n]."""


class Priorities:
    """Priorities by place, as in Schaul et al., "Prioritized experience replay" (2016), appendix B.2.1.

    Every sum is that of the two below it, so that the tree depends on the priorities alone and not on how they came about.
    """

    def __init__(self, size: int) -> None:
        """`size` places, each of priority 0."""
        self.levels = max(1, (size - 1).bit_length())
        self.first = 1 << self.levels
        self.sums = np.zeros(2 * self.first)

    @property
    def total(self) -> float:
        """The sum of all priorities."""
        return float(self.sums[1])

    def __getitem__(self, places: NDArray[np.int64]) -> NDArray[np.float64]:
        """Returns the priorities of places, [n]."""
        found: NDArray[np.float64] = self.sums[self.first + places]
        return found

    def put(self, places: NDArray[np.int64], priorities: NDArray[np.float64]) -> None:
        """Gives places [n] priorities [n], at least 0; of a place named twice the last counts."""
        nodes = self.first + places
        self.sums[nodes] = priorities
        for _ in range(self.levels):
            nodes = np.unique(nodes >> 1)
            self.sums[nodes] = self.sums[2 * nodes] + self.sums[2 * nodes + 1]

    def draw(self, shares: NDArray[np.float64]) -> NDArray[np.int64]:
        """Returns the places [n] at which shares [n], in [0, 1), of the total are reached."""
        left, nodes = shares * self.total, np.ones(len(shares), dtype=np.int64)
        for _ in range(self.levels):
            nodes *= 2
            below = self.sums[nodes]
            right = (left >= below) & (self.sums[nodes + 1] > 0)  # rounding must not lead to a place of priority 0
            left -= np.where(right, below, 0.0)
            nodes += right
        return nodes - self.first


class Decided(Replay):
    """The last `size` decisions."""

    def __init__(self, game: Game, size: int, order: Order, *, cut: bool, alpha: float, chance: bool = False) -> None:
        """`cut`: steps end before an action drawn at random (Watkins, 1989); `alpha`: exponent of priorities, 0 for none.

        `chance`: what a leaf is asked between two decisions is kept too.
        """
        kept = {
            "before": game.rows(size),
            "after": game.rows(size),
            "actions": np.zeros(size, dtype=np.int64),
            "gains": np.zeros((size, 2), dtype=np.float32),  # reward, and sign of what comes after it
        }
        kept |= {"explored": np.zeros(size, dtype=np.bool_)} if cut else {}
        kept |= {"asked": game.rows(size)} if chance else {}
        super().__init__(size, kept)
        self.order, self.cut, self.alpha = order, cut, alpha
        self.priorities = Priorities(size) if alpha else None
        self.highest = 1.0

    def keep(self, found: Decisions) -> None:
        """Takes decisions; what is new has the highest priority so far."""
        places = self.put(**found._asdict())
        if self.priorities is not None:
            self.priorities.put(places, np.full(len(places), self.highest))

    def asks(self, places: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Returns whether a leaf's stage of chance came after the decisions at places [n], [n]."""
        if "asked" not in self.arrays:
            return np.zeros(len(places), dtype=bool)
        found: NDArray[np.bool_] = (self["asked"][places] != self["after"][places]).any(axis=1)
        return found

    def draw(
        self, rng: np.random.Generator, n: int, beta: float
    ) -> tuple[NDArray[np.int64], NDArray[np.float32] | None]:
        """Returns n places, and what each counts (None: all the same), at most 1: (filled * chance to be drawn)**-beta."""
        if self.priorities is None:
            return rng.integers(0, self.filled, n), None
        places = self.priorities.draw((np.arange(n) + rng.random(n)) / n)
        weights = (self.filled * self.priorities[places] / self.priorities.total) ** -beta
        return places, (weights / weights.max()).astype(np.float32)

    def learned(self, places: NDArray[np.int64], errors: NDArray[np.floating[Any]]) -> None:
        """Takes note of the sizes of errors [n], by which places [n] are drawn from now on."""
        if self.priorities is not None:
            self.highest = max(self.highest, float((errors.max() + LEAST) ** self.alpha))
            self.priorities.put(places, (errors.astype(np.float64) + LEAST) ** self.alpha)

    def follow(self, places: NDArray[np.int64], steps: int, gamma: float, *, own: bool) -> Followed:
        """Returns what came up to `steps` steps after decisions at places [n].

        `own`: the first action is what is valued, so that it is followed however it was chosen. Steps end with the game,
        before what is not known yet, and as `cut` says.
        """
        n = len(places)
        rows, gained = self["before"][places], np.zeros(n, dtype=np.float32)
        factor, going = np.ones(n, dtype=np.float32), np.ones(n, dtype=bool)
        numbers = self.recorded - 1 - (self.recorded - 1 - places) % self.size
        for step in range(steps):
            at = numbers % self.size
            going &= numbers < self.recorded
            if self.cut and (step or not own):
                going &= ~self["explored"][at]
            gained[going] += (factor * self["gains"][at, 0])[going]
            factor[going] *= np.float32(gamma) * self["gains"][at, 1][going]
            rows[going] = self["after"][at][going]
            going &= factor != 0
            numbers = self.order.following(numbers)
        return Followed(rows, gained, factor)

    def tensors(self) -> dict[str, NDArray[Any]]:
        """Returns what a checkpoint holds, besides `recorded` and `highest`."""
        found = super().tensors()
        if self.cut:
            found["explored"] = found["explored"].astype(np.uint8)
        if self.priorities is not None:
            found["priorities"] = self.priorities[np.arange(self.filled)]
        return found

    def restore(self, tensors: Mapping[str, NDArray[Any]], recorded: int, highest: float = 1.0) -> None:
        """Takes the state of a checkpoint after so many decisions."""
        super().restore(tensors, recorded)
        self.highest = highest
        if self.priorities is not None:
            self.priorities.put(np.arange(self.filled), tensors["priorities"])
