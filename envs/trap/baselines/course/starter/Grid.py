"""The course's board: 0 is a free cell, -1 a trap, 1 and 2 are the players. Cells are (row, column), row 0 on top."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Cell = tuple[int, int]


class Grid:
    """A board of N x N cells."""

    def __init__(self, N: int = 7) -> None:
        self.dim = N
        self.map: NDArray[np.float64] = np.zeros((N, N))

    @property
    def N(self) -> int:
        """Cells on a side."""
        return self.dim

    def getMap(self) -> NDArray[np.float64]:
        """Returns the cells, [N, N]; the board itself, not a copy."""
        return self.map

    def getCellValue(self, pos: Cell) -> float:
        """Returns what is on a cell."""
        return float(self.map[pos])

    def setCellValue(self, pos: Cell, val: float) -> None:
        """Puts something on a cell."""
        self.map[pos] = val

    def getAvailableCells(self) -> list[Cell]:
        """Returns the free cells."""
        return [(int(row), int(column)) for row, column in np.argwhere(self.map == 0)]

    def find(self, player_num: int) -> Cell:
        """Returns where a player stands; raises IndexError if nowhere."""
        row, column = np.argwhere(self.map == player_num)[0]
        return int(row), int(column)

    def get_neighbors(self, pos: Cell, only_available: bool = False) -> list[Cell]:
        """Returns the up to eight cells around a cell, or only the free ones of them."""
        around = [
            (row, column)
            for row in range(max(0, pos[0] - 1), min(self.dim, pos[0] + 2))
            for column in range(max(0, pos[1] - 1), min(self.dim, pos[1] + 2))
            if (row, column) != (pos[0], pos[1])
        ]
        return [cell for cell in around if not only_available or self.map[cell] == 0]

    def move(self, move: Any, player: int) -> Grid:
        """Moves a player to a cell; returns the board."""
        self.map[self.map == player] = 0
        self.map[tuple(move)] = player
        return self

    def trap(self, pos: Any) -> Grid:
        """Puts a trap on a cell; returns the board."""
        self.map[tuple(pos)] = -1
        return self

    def clone(self) -> Grid:
        """Returns a copy."""
        copy = Grid(self.dim)
        copy.map = self.map.copy()
        return copy

    def print_grid(self) -> None:
        """Prints the cells."""
        print(self.map)
