"""The last decisions of games played side by side: drawn from, and followed for some steps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.contract.game import Game
from leafwise.training.dqn.player import Decisions
from leafwise.training.dqn.priorities import Priorities

KEPT = ("before", "after", "actions", "gains", "explored")
LEAST = 0.01
"""Added to the size of an error, so that what was learned well is seen again."""


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


class Replay:
    """The last `size` decisions."""

    def __init__(self, game: Game, size: int, order: Order, *, cut: bool, alpha: float, chance: bool = False) -> None:
        """`cut`: steps end before an action drawn at random (Watkins, 1989); `alpha`: exponent of priorities, 0 for none.

        `chance`: what a leaf is asked between two decisions is kept too.
        """
        self.size, self.order, self.cut, self.alpha, self.done = size, order, cut, alpha, 0
        self.before, self.after = game.rows(size), game.rows(size)
        self.actions = np.zeros(size, dtype=np.int64)
        self.gains = np.zeros((size, 2), dtype=np.float32)  # reward, and sign of what comes after it
        self.explored = np.zeros(size, dtype=bool)
        self.asked = game.rows(size if chance else 0)
        self.kept = (*KEPT, "asked") if chance else KEPT
        self.priorities = Priorities(size) if alpha else None
        self.highest = 1.0

    @property
    def filled(self) -> int:
        """Decisions that there are."""
        return min(self.done, self.size)

    def keep(self, found: Decisions) -> None:
        """Takes decisions, the newest, in place of the oldest; what is new has the highest priority so far."""
        n = len(found.actions)
        places = (self.done + np.arange(n)) % self.size
        for name in self.kept:
            getattr(self, name)[places] = getattr(found, name)
        if self.priorities is not None:
            self.priorities.put(places, np.full(n, self.highest))
        self.done += n

    def asks(self, places: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Returns whether a leaf's stage of chance came after the decisions at places [n], [n]."""
        if not len(self.asked):
            return np.zeros(len(places), dtype=bool)
        found: NDArray[np.bool_] = (self.asked[places] != self.after[places]).any(axis=1)
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
        rows, gained = self.before[places], np.zeros(n, dtype=np.float32)
        factor, going = np.ones(n, dtype=np.float32), np.ones(n, dtype=bool)
        numbers = self.done - 1 - (self.done - 1 - places) % self.size
        for step in range(steps):
            at = numbers % self.size
            going &= numbers < self.done
            if self.cut and (step or not own):
                going &= ~self.explored[at]
            gained[going] += (factor * self.gains[at, 0])[going]
            factor[going] *= np.float32(gamma) * self.gains[at, 1][going]
            rows[going] = self.after[at][going]
            going &= factor != 0
            numbers = self.order.following(numbers)
        return Followed(rows, gained, factor)

    def tensors(self) -> dict[str, NDArray[Any]]:
        """Returns what a checkpoint holds, besides `highest`."""
        found = {name: getattr(self, name)[: self.filled] for name in self.kept if self.cut or name != "explored"}
        if self.cut:
            found["explored"] = found["explored"].astype(np.uint8)
        if self.priorities is not None:
            found["priorities"] = self.priorities[np.arange(self.filled)]
        return found

    def restore(self, tensors: Mapping[str, NDArray[Any]], done: int, highest: float) -> None:
        """Takes the state of a checkpoint after so many decisions."""
        self.done, self.highest = done, highest
        for name in set(self.kept) & set(tensors):
            getattr(self, name)[: self.filled] = tensors[name]
        if self.priorities is not None:
            self.priorities.put(np.arange(self.filled), tensors["priorities"])
