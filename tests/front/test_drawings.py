"""Sums of cells: texts of positions that a page writes without Python, from what each bit of a row changes."""

from __future__ import annotations

import numpy as np
import pytest

from leafwise.web.drawings import sum_of_cells, summed_text
from leafwise.web.export import shown

ROWS = np.random.default_rng(1).integers(0, 2**16, (400, 1), dtype=np.uint64)


def cell(row: np.ndarray, k: int) -> int:
    """Returns the value of four bits."""
    return int(row[0]) >> 4 * k & 15


def numbers(row: np.ndarray) -> str:
    return " ".join(str(cell(row, k)) for k in range(4)) + " of 16"


def pieces(row: np.ndarray) -> str:
    """Writes the last cells first, and the empty ones not at all."""
    return (
        "<svg>\n"
        + "".join(f"<disc x={k} r={cell(row, k) % 4}/>\n" for k in (3, 2, 1, 0) if cell(row, k) % 4)
        + "</svg>"
    )


def refused(row: np.ndarray) -> str:
    if cell(row, 0) > 9:
        raise ValueError("no digit")
    return f"{cell(row, 0)}, {cell(row, 1)}"


@pytest.mark.parametrize(("write", "cells"), [(numbers, 4), (pieces, 4), (refused, 2)])
def test_a_sum_of_cells_writes_what_python_writes(write, cells: int) -> None:
    rows = [row for row in ROWS if cell(row, 0) < 10]
    cells_of = sum_of_cells(write, rows[:100], rows[100:])
    assert cells_of is not None
    assert len(cells_of["cells"]) == cells
    assert [summed_text(cells_of, row) for row in rows] == [write(row) for row in rows]


def test_a_value_that_no_position_had_is_written_too_and_what_cannot_be_known_is_not() -> None:
    rows = [row & np.uint64(0x7777) for row in ROWS]  # the highest bit of each cell is never set

    def write(row: np.ndarray) -> str:
        return numbers(row) + ("!" if row[0] >> np.uint64(40) else "")

    cells_of = sum_of_cells(write, rows[:100], rows[100:])
    assert cells_of is not None
    assert summed_text(cells_of, ROWS[0]) == write(ROWS[0])
    assert summed_text(cells_of, ROWS[0] | np.uint64(1 << 40)) is None


@pytest.mark.parametrize(
    "write", [lambda row: str(sum(cell(row, k) for k in range(4))), lambda row: f"{cell(row, 0)} {int(row[0])}"]
)
def test_a_text_that_depends_on_everything_is_no_sum(write) -> None:
    assert sum_of_cells(write, list(ROWS[:100]), list(ROWS[100:])) is None


def test_an_export_says_how_positions_are_shown() -> None:
    cells_of = sum_of_cells(numbers, list(ROWS[:100]), list(ROWS[100:]))
    assert shown({"svg": cells_of, "board": None}) == "drawn by 4 cells, as in Python on 200 positions"
    assert shown({"svg": None, "board": cells_of}) == "its drawing is not a sum of cells; positions are shown as text"
    assert shown({"svg": None, "board": None}).endswith("positions are shown as a table of their rows' numbers")
