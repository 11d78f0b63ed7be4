"""Levels of play in games for two: `level:easy`, `level:medium`, `level:hard`, `level:best`, the same in every game.

A level is the strongest player there is, a share of whose moves is drawn at random: the exact solver in the variants that have an
id with Gymnasium and a solver, elsewhere the search `best`. A game may name players of its own for some levels (Trap: the course's
three opponents). What a level takes from the next one is measured by `python -m leafwise.experiments.levels` and stands in
`levels.toml`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.contract.stream import below, new_stream, uniform
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.files import read_text
from leafwise.envs.core.play.players import ByName, Chooser, named_ai, own_level
from leafwise.envs.core.play.solver import LEVELS, SolverPlayer
from leafwise.envs.core.ranges import need_among
from leafwise.envs.registry import variant_id

FILE = Path(__file__).with_name("levels.toml")


class Weakened(ByName):
    """Plays as another player does, but for a share of its moves, which are drawn at random."""

    def __init__(self, strong: Chooser, blunders: float, seed: int, name: str) -> None:
        self.strong, self.blunders, self.name = strong, blunders, name
        self.stream = new_stream(seed)

    @property
    def stream(self) -> NDArray[np.uint64]:
        """Its random numbers, which are also those of the player that it weakens."""
        return self._stream

    @stream.setter
    def stream(self, stream: NDArray[np.uint64]) -> None:
        self._stream = stream
        if hasattr(self.strong, "stream"):
            self.strong.stream = stream

    @property
    def draws(self) -> bool:
        """Whether some of its moves are drawn, or those of the player that it weakens."""
        return self.blunders > 0 or bool(getattr(self.strong, "draws", hasattr(self.strong, "stream")))

    def choose(self, state: State) -> int:
        """Returns the id of a legal action at a decision."""
        if uniform(self.stream) < self.blunders:
            return state.legal_actions[int(below(self.stream, len(state.legal_actions)))]
        return self.strong.choose(state)


def check_level(game: Game, level: str) -> None:
    """Raises ValueError for a level that there is not, or a game for one player."""
    if game.players != 2:
        raise UserError(f"expected a level in a game for two players, got {game.name!r}")
    need_among(level, LEVELS, "level")


def level_player(game: Game, level: str, seed: int, name: str, best: Callable[[], Chooser]) -> Any:
    """Returns the player of a level; `best` makes the search. Raises ValueError as `check_level` does."""
    check_level(game, level)
    if own := own_level(game, level):
        chosen = named_ai(game, own)
        chosen.name = name
        return chosen
    if solver := solver_player(game, level, seed, name):
        return solver
    return Weakened(best(), LEVELS[level], seed, name)


def solver_player(game: Game, level: str, seed: int, name: str) -> SolverPlayer | None:
    """Returns the exact solver as a player of a level; None where there is none, or none that is known to be in time."""
    if variant_id(game) is None or not (game.room / "solver.py").exists():
        return None
    try:
        return SolverPlayer(game, level, seed, name=name)
    except UserError:  # the solver is for smaller variants
        return None


@cache
def _measured() -> Mapping[str, Any]:
    return tomllib.loads(read_text(FILE)) if FILE.exists() else {}


def measured(game: Game) -> dict[str, dict[str, float]]:
    """Returns what each level but the last takes from the next in a variant: `share` of the points, `ci_low`, `ci_high`, `games`.

    {} where nothing was measured.
    """
    found: dict[str, dict[str, float]] = _measured().get(variant_id(game) or "", {})
    return found


def level_lines(game: Game) -> list[str]:
    """Returns a line per level: what it is, and what it takes from the next one."""
    shares, names = measured(game), list(LEVELS)
    lines = []
    for level, stronger in zip(names, [*names[1:], ""], strict=True):
        blunders = f"{LEVELS[level]:.0%} of its moves at random" if LEVELS[level] else "no move at random"
        if own := own_level(game, level):
            blunders = f"the player {own}"
        points = ""
        if level in shares:
            told = shares[level]
            points = f"; takes {told['share']:.1%} of the points from {stronger} ({told['ci_low']:.1%} to {told['ci_high']:.1%})"
        lines.append(f"{level}: {blunders}{points}")
    return lines
