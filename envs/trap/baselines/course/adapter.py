"""A Leafwise player with the interface of the course's programs."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from leafwise.envs import registry
from leafwise.envs.core.arrays import Ints
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.ranges import Range, need_in
from leafwise.envs.trap.baselines.course.starter.Grid import Cell
from leafwise.envs.trap.tables import DIRECTIONS, MOST_TURNS

PLAYER = "search:best,candidates=near+traps,rare=0.25"
"""The default search without its time: with the network if one ships for the board, otherwise with the default score."""
LEAST_SHARE, MOST_SECONDS = 0.1, 86_400
"""The least share of a turn's time for the throw, even if a busy machine delayed the move."""
MARKS = {0: ".", -1: "#", 1: "1", 2: "2"}


class PlayerAI:
    """Plays Trap with the interface of the course's programs.

    Its harness calls `getMove(grid)`, then `getTrap(grid)`; each returns a cell (row, column). The board may be any object with
    `getMap()` or `map`: N x N cells, 0 free, -1 trap, 1 and 2 the players. Everything is loaded and compiled here, so that the
    clock holds from the first call on. The course's harness lets a player who has trapped himself play on, so the search does
    the same (`self_trap="deferred"`).
    """

    def __init__(
        self, player: str | None = None, *, seconds: float = 1.0, size: int = 7, self_trap: str = "deferred"
    ) -> None:
        self.game: Game = registry.game("trap", size=size, self_trap=self_trap, max_turns=MOST_TURNS)
        seconds = need_in(seconds, Range(0, MOST_SECONDS, above=True), "seconds", "trap")
        self.player = registry.player(player or f"{PLAYER},seconds={seconds / 2}", self.game)
        self.search: Any = getattr(self.player, "search", None) if player is None else None
        self.seconds, self.spent = seconds, seconds / 2
        self.pos: Cell | None = None
        self.player_num: int | None = None
        start = self.game.start()
        self.player.choose(start)  # compiles or loads the code
        self.player.choose(start.play(start.legal_actions[0]))

    def setPosition(self, new_pos: Cell) -> None:  # noqa: N802
        """Stores the position that the harness names; the board has precedence."""
        self.pos = new_pos

    def getPosition(self) -> Cell | None:  # noqa: N802
        """Returns the position last set."""
        return self.pos

    def setPlayerNum(self, num: int) -> None:  # noqa: N802
        """Sets the number of this player, 1 or 2."""
        self.player_num = num

    def getPlayerNum(self) -> int | None:  # noqa: N802
        """Returns the number of this player."""
        return self.player_num

    def getMove(self, grid: Any) -> Cell:  # noqa: N802
        """Returns the cell to move to; the current cell if no move is possible."""
        started = time.perf_counter()
        state = self.state(grid, "")
        row, column = self.place(grid)
        if state.is_terminal:
            return row, column
        if self.search is not None:
            self.search.seconds = self.seconds / 2
        down, right = DIRECTIONS[self.game.actions[self.player.choose(state)]]
        self.spent = time.perf_counter() - started
        return row + down, column + right

    def getTrap(self, grid: Any) -> Cell:  # noqa: N802
        """Returns the target of the throw; if the move has won already, a cell without a player, free if there is one."""
        state = self.state(grid, " throw")
        if state.is_terminal:
            row, column = max(zip(*(map_of(grid) <= 0).nonzero(), strict=True), key=lambda cell: map_of(grid)[cell])
            return int(row), int(column)
        if self.search is not None:
            self.search.seconds = max(LEAST_SHARE * self.seconds, self.seconds - self.spent)
            self.spent = self.seconds / 2  # for a throw without a call for its move
        row, column = self.game.actions[self.player.choose(state)].split(",")
        return int(row), int(column)

    def number(self, grid: Any) -> int:
        """Returns the number of this player, as set or from the position set; raises ValueError if neither is known."""
        if self.player_num is not None:
            return int(self.player_num)
        if self.pos is not None:
            return int(map_of(grid)[tuple(self.pos)])
        raise UserError("trap: expected setPlayerNum(1 or 2) before the first call, got none")

    def place(self, grid: Any) -> Cell:
        """Returns the cell of this player on the board."""
        row, column = (map_of(grid) == self.number(grid)).nonzero()
        return int(row[0]), int(column[0])

    def state(self, grid: Any, phase: str) -> State:
        """Returns the position on the board; raises ValueError for an impossible one."""
        cells = map_of(grid)
        if len(cells) != self.game.options.size:
            raise UserError(f"trap: expected a board of size {self.game.options.size}, got size={len(cells)}")
        rows = "/".join("".join(MARKS.get(cell, str(cell)) for cell in line) for line in cells.tolist())
        return self.game.parse(f"{rows} turn={self.number(grid) - 1}{phase}")


def map_of(grid: Any) -> Ints:
    """Returns the cells of a board with `getMap()` or `map`; raises ValueError if it is not square."""
    cells = np.asarray(grid.getMap() if hasattr(grid, "getMap") else grid.map)
    if cells.ndim != 2 or cells.shape[0] != cells.shape[1]:
        raise UserError(f"trap: expected a square map, got shape {cells.shape}")
    return cells.astype(np.int64)
