"""Ships as a problem for other people's generators: quality, diversity and controllability as the PCG Benchmark counts them.

Source of the interface: the PCG Benchmark (Khalifa, Gallotta, Barthet, Liapis, Togelius, Yannakakis, 2025). A `ShipProblem` has
the methods of its problems without importing it. Each of the three numbers is from 0 to 1, and 1 is solved.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from PIL import Image

from leafwise.envs.core.arrays import Ints
from leafwise.envs.core.compile.jit import jit
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.state import FIRST
from leafwise.envs.core.contract.stream import new_stream
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.ranges import need_among
from leafwise.envs.starship import tables as at
from leafwise.envs.starship.draw import scene
from leafwise.envs.starship.rules import DECISION, OVER, draw_outcome, take_place, write_places
from leafwise.envs.starship.ship import Ship, ship_at
from leafwise.envs.starship.statistics import DIFFERENT, part_map, share_that_differs
from leafwise.envs.starship.tables import Rows
from leafwise.envs.starship.targets import error_of, reached_by

SOLVED = {"scout": 0.75, "classic": 0.8, "cruiser": 0.8}
"""The quality from which on a ship counts as solved: that of the best of about a hundred hand-made ships."""
CONTROLS = {
    "scout": {"thrust": (8, 12), "seats": (6, 16), "firepower": (3, 5)},
    "classic": {"thrust": (10, 50), "seats": (24, 48), "firepower": (8, 12)},
    "cruiser": {"thrust": (10, 60), "seats": (24, 60), "firepower": (8, 16)},
}
"""What can be controlled, by preset: smallest and largest value."""
STAGES = {"thrust": at.STAGE_THRUSTERS, "seats": at.STAGE_CREW, "firepower": at.STAGE_WEAPONS}
MOST_SEED = (1 << 31) - 1
SHARE = 10_000
"""A gene is a share of the legal places, in units of 1 / SHARE."""
PLACES = 64
"""Genes of places; later parts use them again."""


class IntegerSpace:
    """Arrays of integers, each with its smallest and largest value."""

    def __init__(self, low: Ints, high: Ints) -> None:
        self.low, self.high = low, high
        self._random = np.random.default_rng()

    def seed(self, seed: int) -> None:
        """Restarts the random numbers."""
        self._random = np.random.default_rng(seed)

    def sample(self) -> Any:
        """Returns a random member."""
        return self._random.integers(self.low, self.high, endpoint=True)

    def range(self) -> dict[str, Any]:
        """Returns the smallest and the largest member, as `min` and `max`."""
        return {"min": self.low.copy(), "max": self.high.copy()}

    def isSampled(self, content: Any) -> bool:  # noqa: N802 (the benchmark's name)
        """Returns whether `content` is a member."""
        is_integer = isinstance(content, np.ndarray) and np.issubdtype(content.dtype, np.integer)
        return bool(
            is_integer and content.shape == self.low.shape and ((self.low <= content) & (content <= self.high)).all()
        )


class ControlSpace(IntegerSpace):
    """Integers by name, each with its smallest and largest value."""

    def __init__(self, ranges: Mapping[str, tuple[int, int]]) -> None:
        self.names = tuple(ranges)
        super().__init__(*np.array(list(ranges.values()), np.int64).T)

    def sample(self) -> dict[str, int]:
        """Returns a random member."""
        return dict(zip(self.names, super().sample().tolist(), strict=True))

    def range(self) -> dict[str, Any]:
        """Returns the smallest and the largest value of each name, as `min` and `max`."""
        pairs = zip(self.low.tolist(), self.high.tolist(), strict=True)
        return {name: {"min": low, "max": high} for name, (low, high) in zip(self.names, pairs, strict=True)}

    def isSampled(self, control: Any) -> bool:  # noqa: N802 (the benchmark's name)
        """Returns whether `control` is a member."""
        named = isinstance(control, Mapping) and set(control) == set(self.names)
        return named and super().isSampled(np.array([control[name] for name in self.names]))


@jit
def build_by_genes(S, j, R, genes, A, T):
    """Plays row `j` to its end: decision k takes the legal place at the share of gene k; chance draws from stream `R`."""
    k = 0
    while S[j, at.TURN] != OVER:
        if S[j, at.TURN] != DECISION:
            draw_outcome(S, j, R, T)
            continue
        n = write_places(S, j, A, T)
        take_place(S, j, T, A[genes[k % genes.shape[0]] * n // SHARE])
        k += 1


class ShipProblem:
    """The problem of building a ship: content is the seed of hull and requests, what the stages ask for, and where each part
    goes.

    Content is int64 [68]: the seed, the targets of thrust, seats and firepower, and 64 genes of places, each a share of the
    legal places in ten-thousandths. Raises ValueError for a preset without controls.
    """

    def __init__(self, preset: str = "scout") -> None:
        from leafwise.envs.starship import GAME

        need_among(preset, CONTROLS, "preset")
        controls = CONTROLS[preset]
        most = {name: high for name, (_, high) in controls.items()}
        self.solved = SOLVED[preset]
        game: Game = GAME.variant(preset=preset, targets=most)  # its rows are long enough for the largest targets
        self._rows, self._actions = game.rows(1), np.zeros(game.max_actions, np.int64)
        self._tables = game.tables()
        bounds = np.array([(0, MOST_SEED), *controls.values(), *[(0, SHARE - 1)] * PLACES], np.int64)
        self._content_space = IntegerSpace(bounds[:, 0], bounds[:, 1])
        self._control_space = ControlSpace(controls)

    def seed(self, seed: int) -> None:
        """Restarts the random numbers of both spaces."""
        self._content_space.seed(seed)
        self._control_space.seed(seed)

    def random_content(self) -> Ints:
        """Returns random content."""
        return self._content_space.sample()

    def random_control(self) -> dict[str, int]:
        """Returns random controls."""
        return self._control_space.sample()

    def content_range(self) -> dict[str, Ints]:
        """Returns the smallest and the largest content."""
        return self._content_space.range()

    def control_range(self) -> dict[str, dict[str, int]]:
        """Returns the smallest and the largest value of each control."""
        return self._control_space.range()

    def row(self, content: Ints) -> Rows:
        """Returns the row of the finished ship that content describes, valid until the next call; raises ValueError."""
        if not self._content_space.isSampled(content):
            raise UserError(f"expected content of the content space, got {type(content).__name__} {np.shape(content)}")
        T = self._tables.ship
        for k, stage in enumerate(STAGES.values(), start=1):
            T.stages[stage, [at.LOW, at.HIGH]] = content[k]
        self._rows[:] = 0
        genes = np.array(content[-PLACES:], np.int64)
        build_by_genes(self._rows, FIRST, new_stream(int(content[0])), genes, self._actions, T)
        return self._rows[0]

    def ship(self, content: Ints) -> Ship:
        """Returns the ship that content describes."""
        return ship_at(self.row(content), self._tables, int(content[0]))

    def info(self, content: Ints) -> dict[str, Any]:
        """Returns what the other methods need: quality, potential, reasons, the values of the controls, the map of parts."""
        ship = self.ship(content)
        return {
            "quality": ship.stats["quality"],
            "potential": ship.stats["potential"],
            "reasons": ship.reasons,
            "map": part_map(ship),
            **{name: count for name, count in reached_by(ship).items() if name in STAGES},
        }

    def quality(self, info: Mapping[str, Any]) -> float:
        """Returns the quality as a share of a solved ship's; for a ship that is not valid, half of its potential as such a
        share.
        """
        if info["reasons"]:
            return 0.5 * min(1.0, info["potential"] / self.solved)
        return min(1.0, info["quality"] / self.solved)

    def diversity(self, info1: Mapping[str, Any], info2: Mapping[str, Any]) -> float:
        """Returns the share of cells that differ, as a share of `DIFFERENT`, at most 1."""
        return min(1.0, share_that_differs(info1["map"], info2["map"]) / DIFFERENT)

    def controlability(self, info: Mapping[str, Any], control: Mapping[str, int]) -> float:
        """Returns how well a ship meets its controls: 1 if it has them all (of seats up to 5 more), less the further off it is."""
        errors = [error_of(name, info[name], asked) / max(1, asked) for name, asked in control.items()]
        return float(np.mean([max(0.0, 1.0 - error) for error in errors]))

    def render(self, content: Ints) -> Image.Image:
        """Returns a picture of the ship that content describes."""
        return scene(self.ship(content)).image()
