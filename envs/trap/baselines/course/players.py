"""Players of the course by name: `course:is`, `course:hard`, `course:ais,depth=3,chance=full`, `course:PATH/PlayerAI.py`.

A folder stands for the PlayerAI.py in it. The class of a program is PlayerAI, or the only one that moves and throws: HardAI and
the like.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.play.players import ByName
from leafwise.envs.core.ranges import Range, need_among, need_in
from leafwise.envs.trap import rules as r
from leafwise.envs.trap.baselines.course import trees
from leafwise.envs.trap.scores import COUNTS
from leafwise.envs.trap.text import pieces

Counts = tuple[Sequence[float], Sequence[float]]
"""Weights of my counts and of the opponent's, in the order of `COUNTS`."""

P_MINUS_O: Counts = ((1,), (1,))
P_MINUS_2O: Counts = ((1,), (2,))
TWO_P_MINUS_O: Counts = ((2,), (1,))
OCLS: Counts = ((1, 1), (1, 1))


@dataclass(frozen=True)
class Leaves:
    """How the leaves of one tree are valued."""

    early: Counts
    late: Counts | None = None
    """After half of the cells are taken; None: the same."""
    around: float = 0.0
    """Weight of the open cells around all my neighbours."""


@dataclass(frozen=True)
class Recipe:
    """A player of the course: leaves of both trees, how deep, which throws."""

    move: Leaves
    throw: Leaves
    depth: int = trees.MAX_DEPTH
    throws: str = "near"


RECIPES = {
    "is": Recipe(Leaves(P_MINUS_O), Leaves(P_MINUS_O)),
    "ais": Recipe(Leaves(P_MINUS_2O), Leaves(P_MINUS_2O)),
    "ocls": Recipe(Leaves(OCLS), Leaves(OCLS)),
    "easy": Recipe(Leaves(P_MINUS_O), Leaves(P_MINUS_O), depth=3),
    "medium": Recipe(Leaves(((1,), (0,)), around=0.5), Leaves(TWO_P_MINUS_O), depth=3, throws="near+traps"),
    "hard": Recipe(Leaves(TWO_P_MINUS_O, P_MINUS_2O), Leaves(TWO_P_MINUS_O, P_MINUS_2O), depth=3),
}
"""is, ais, ocls: the handout's scores at the depth that it allows. easy, medium, hard: the staff's Minimax, Hard and Super."""
LEVELS = ("easy", "medium", "hard")
"""The course's three opponents, which are the levels of play in this game."""


def settings(leaves: Leaves, chance: str, throws: str) -> trees.Settings:
    """Returns what the compiled tree reads."""
    factors = np.zeros((2, 2, len(COUNTS)))
    for k, (own, other) in enumerate((leaves.early, leaves.late or leaves.early)):
        factors[k, 0, : len(own)] = own
        factors[k, 1, : len(other)] = -np.asarray(other, dtype=np.float64)
    return trees.Settings(
        factors=factors,
        around=np.full(2, leaves.around),
        early=0.5,
        chance=trees.CHANCE_MODELS.index(chance),
        throws=trees.THROWS.index(throws),
    )


class CoursePlayer(ByName):
    """Plays by the two trees: the first best move, then the first best throw."""

    def __init__(
        self,
        game: Game,
        name: str,
        recipe: Recipe,
        *,
        depth: int | None = None,
        chance: str = "p_only",
        throws: str | None = None,
    ) -> None:
        """Compiles the trees; raises ValueError for a depth, chance model or kind of throws that there is not."""
        self.name, self.game = name, game
        self.depth = need_in(recipe.depth if depth is None else depth, Range(1, trees.MAX_DEPTH), "a depth", kind=int)
        throws = throws or recipe.throws
        for what, given, known in (("chance", chance, trees.CHANCE_MODELS), ("throws", throws, trees.THROWS)):
            need_among(given, known, what)
        self._move = settings(recipe.move, chance, throws)
        self._throw = settings(recipe.throw, chance, throws)
        self._T = game.tables()
        self.values(game.start())
        self.values(game.start().play(game.start().legal_actions[0]))

    def values(self, state: State) -> dict[int, float]:
        """Returns the values, in the tree's raw counts, of the actions that it considers; bounds after the best so far."""
        me, opponent, traps = pieces(state.row, self._T)
        if r.phase_of(state.row[1]) == r.THROW:
            found = trees.throw_values(me, opponent, traps, self.depth, self._throw, self._T)
            return {8 + cell: value for cell, value in found.items()}
        found = trees.move_values(me, opponent, traps, self.depth, self._move, self._T)
        direction = self._T.step[me].tolist()
        return {direction.index(cell): value for cell, value in found.items()}

    def choose(self, state: State) -> int:
        """Returns the id of the first best action at a decision."""
        values = self.values(state)
        return max(values, key=values.__getitem__)


def named(game: Game, name: str, words: list[str]) -> Any:
    """Returns the player `course:WORDS`; raises ValueError for words that it does not know."""
    if not words:
        raise UserError(f"expected course:NAME with a name among {', '.join(RECIPES)}, or a path, got none")
    first, rest = os.path.expanduser(words[0]), words[1:]
    options: dict[str, Any] = dict(word.partition("=")[::2] for word in rest)
    if first not in RECIPES and Path(first).is_dir():
        first = str(Path(first) / "PlayerAI.py")
    if first.endswith(".py"):
        from leafwise.envs.trap.baselines.course.guest import GuestPlayer

        return GuestPlayer(game, name, first, **checked(options, {"seconds": float, "allowance": float}))
    if first not in RECIPES:
        raise UserError(f"expected a name among {', '.join(RECIPES)}, or a path that ends with .py, got {first!r}")
    return CoursePlayer(game, name, RECIPES[first], **checked(options, {"depth": int, "chance": str, "throws": str}))


def checked(options: dict[str, Any], kinds: dict[str, Any]) -> dict[str, Any]:
    """Returns options with their values read; raises ValueError for unknown ones."""
    for option, value in options.items():
        need_among(option, kinds, "options")
        try:
            options[option] = kinds[option](value)
        except ValueError:
            raise UserError(f"expected a number for {option}, got {value!r}") from None
    return options
