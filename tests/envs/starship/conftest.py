"""Hand-drawn boards for tests of the compiled rules."""

from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from leafwise.envs.starship import catalogue, generator, tables
from leafwise.envs.starship.board import ZERO, contiguous, load_planes, put_part
from leafwise.envs.starship.catalogue import ARMOUR, CORRIDOR, PART_NUMBERS
from leafwise.envs.starship.placing import next_anchor, prepare, score
from leafwise.envs.starship.settings import CLASSIC

ROW = np.uint64(0)
GRID, MARGIN = 24, 4


class Board:
    """A board drawn in letters ("." corridor, "#" armour, "_" space) in the middle of space; (0, 0) is its corner."""

    def __init__(self, *lines: str, **changes: Any) -> None:
        small = replace(CLASSIC, grid=GRID, **changes)
        self.T, self.S = tables.new_tables(small), tables.new_rows(small, 1)
        cells = self.S[0, tables.HEADER : tables.HEADER + GRID * GRID].reshape(GRID, GRID)
        for y, line in enumerate(lines):
            for x, letter in enumerate(line):
                cells[y + MARGIN, x + MARGIN] = {".": CORRIDOR, "#": ARMOUR, "_": 0}[letter]
        load_planes(self.S, ROW, self.T)

    @staticmethod
    def legal_places(T: tables.Tables, part: int, r: int, limit: int) -> list[tuple[int, int]]:
        """Returns the legal top-left cells (x, y) of a part in one rotation, in raster order."""
        cells, (w, h) = [], catalogue.size(part, r)
        rotation, x, y, left = next_anchor(T, part, r, -1, 0, ZERO)
        while rotation >= 0:
            if rotation == r and contiguous(T.planes, T.grid, x, y, w, h, limit):
                cells.append((int(x), int(y)))
            rotation, x, y, left = next_anchor(T, part, r, rotation, y, np.uint64(left))
        return cells

    def put(self, name: str, r: int, x: int, y: int) -> None:
        put_part(self.S, ROW, self.T, PART_NUMBERS[name], r, x + MARGIN, y + MARGIN)

    def closable(self, x: int, y: int, limit: int, w: int = 1, h: int = 1) -> bool:
        return bool(contiguous(self.T.planes, GRID, x + MARGIN, y + MARGIN, w, h, limit))

    def legal(self, name: str, r: int = 0, limit: int = 5) -> list[tuple[int, int]]:
        places = self.legal_places(self.T, PART_NUMBERS[name], r, limit)
        return [(x - MARGIN, y - MARGIN) for x, y in places]

    def scores(self, stage: int, name: str, r: int = 0) -> list[tuple[int, tuple[int, int]]]:
        """Returns the scores of all legal places, best first, then in raster order."""
        part = PART_NUMBERS[name]
        places = self.legal(name, r)
        prepare(self.S, ROW, self.T, stage, part)
        w, h = catalogue.size(part, r)
        values = [int(score(self.S, ROW, self.T, stage, r, x + MARGIN, y + MARGIN, w, h)) for x, y in places]
        return sorted(zip(values, places, strict=True), key=lambda entry: (-entry[0], entry[1][1], entry[1][0]))

    def letters(self) -> list[str]:
        cells = self.S[0, tables.HEADER : tables.HEADER + GRID * GRID].reshape(GRID, GRID) & tables.VALUE
        drawn = [["_#.R"[min(3, int(value))] for value in row] for row in cells]
        return ["".join(row[MARGIN:]) for row in drawn[MARGIN:]]

    def doors(self) -> set[tuple[int, int, str]]:
        cells = self.S[0, tables.HEADER : tables.HEADER + GRID * GRID].reshape(GRID, GRID)
        east = {(int(x) - MARGIN, int(y) - MARGIN, "E") for y, x in np.argwhere(cells & tables.DOOR_EAST)}
        return east | {(int(x) - MARGIN, int(y) - MARGIN, "S") for y, x in np.argwhere(cells & tables.DOOR_SOUTH)}

    def run(self, stage: int, seed: int = 0) -> None:
        generator.run_stage(self.S, ROW, self.T, stage, np.uint64(seed), np.uint64(0))


@pytest.fixture
def board() -> type[Board]:
    return Board
