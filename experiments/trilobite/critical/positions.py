"""Makes and reads `positions.csv`: critical positions and drawn openings of Connect Four with their exact values.

`python -m leafwise.experiments.trilobite.critical.positions` draws and solves them. A position is critical if some legal move
keeps the game's value and another does not. A row has

- `kind`: `played`, from games of players who search 4 moves deep without a score; `random`, after random moves; `opening`,
  after random moves, and drawn;
- `moves`: the columns played from the empty board, 1 to 7 from the left;
- `value`: W, D or L: a win, a draw or a loss for the player to move;
- `columns`: the result of each column for that player, a dot for a full one.

Positions are saved after each kind and ply, so the command continues after a stop. A larger number of positions a ply adds to the
known ones. Seeds from 2,950,000 on.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from rich.progress import track

from leafwise.envs.core.contract.state import State
from leafwise.envs.core.files import read_text
from leafwise.envs.registry import game
from leafwise.envs.trilobite.solver import TrilobiteSolver
from leafwise.experiments.study import Study, command
from leafwise.models.files import write_atomically
from leafwise.training.evaluation.agreement import played_lines, random_lines

CONNECT_FOUR = game("trilobite", board="7x6", k=4)
FILE = "positions.csv"
FIRST_SEED = 2_950_000
SEEN = 4
"""Search depth of the players of `played` positions."""
OPENING = "opening"
KINDS = ("played", "random", OPENING)
LETTERS = {1.0: "W", 0.0: "D", -1.0: "L"}
TABLE_MB = 512.0
"""Memory of the solver's table."""


class PositionRow(NamedTuple):
    """A row of the file."""

    kind: str
    moves: str
    value: str
    columns: str

    @property
    def plies(self) -> int:
        """Moves made so far."""
        return len(self.moves)

    @property
    def kept_by(self) -> int:
        """How many columns keep the value."""
        return self.columns.count(self.value)

    @property
    def state(self) -> State:
        """The position itself."""
        return after(self.moves)


def after(moves: str) -> State:
    """Returns the position after columns 1 to 7 were played."""
    state = CONNECT_FOUR.start()
    for column in moves:
        state = state.play(int(column) - 1)
    return state


def read(path: Path | None = None) -> list[PositionRow]:
    """Returns the rows of the file (default: the one in the package)."""
    lines = read_text(path or Path(__file__).with_name(FILE)).splitlines()
    return [PositionRow(**row) for row in csv.DictReader(lines)]


@dataclass(frozen=True)
class Config(Study):
    """Draws and solves critical positions and drawn openings of Connect Four."""

    plies: tuple[int, int] = (10, 30)
    """Minimum and maximum of moves before a critical position."""
    positions: int = 40
    """Critical positions of each kind and ply."""
    opening_plies: tuple[int, int] = (8, 12)
    """The same for an opening."""
    openings: int = 40
    """Drawn openings of each ply."""

    @cached_property
    def solver(self) -> TrilobiteSolver:
        """The solver of all of them."""
        return TrilobiteSolver(CONNECT_FOUR, TABLE_MB)


def row_of(config: Config, kind: str, state: State, actions: tuple[int, ...]) -> PositionRow | None:
    """Returns the row of a position, or None if it is neither critical nor a drawn opening."""
    solver = config.solver
    if kind == OPENING and solver.value(state) != 0:
        return None
    values = solver.solve(state).action_values
    columns = "".join(LETTERS[values[name]] if name in values else "." for name in CONNECT_FOUR.actions)
    row = PositionRow(kind, "".join(str(a + 1) for a in actions), LETTERS[max(values.values())], columns)
    critical = 0 < row.kept_by < len(values)
    return row if critical or kind == OPENING else None


def drawn(config: Config, kind: str, plies: int) -> Iterator[PositionRow]:
    """Yields rows of a kind and ply endlessly, each position once."""
    seed = FIRST_SEED + 100 * KINDS.index(kind) + plies
    least = plies, plies
    lines = (
        played_lines(CONNECT_FOUR, seed, least, SEEN) if kind == "played" else random_lines(CONNECT_FOUR, seed, least)
    )
    seen: set[State] = set()
    for state, actions in lines:
        if state not in seen and (row := row_of(config, kind, state, actions)):
            yield row
        seen.add(state)


def study(config: Config) -> None:
    """Finds the missing rows."""
    path = config.source(FILE)
    rows = read(path) if path else []
    wanted = []
    for kind in KINDS:
        (low, high), number = (config.plies, config.positions)
        if kind == OPENING:
            (low, high), number = (config.opening_plies, config.openings)
        wanted += [(kind, plies, number) for plies in range(low, high + 1)]
    for kind, plies, number in track(wanted, "positions"):
        known = [row for row in rows if (row.kind, row.plies) == (kind, plies)]
        if len(known) < number:
            rows += islice((row for row in drawn(config, kind, plies) if row not in known), number - len(known))
            text = io.StringIO()
            writer = csv.writer(text, lineterminator="\n")
            writer.writerows([PositionRow._fields, *sorted(rows, key=lambda row: (KINDS.index(row.kind), row.plies))])
            write_atomically(config.target(FILE), text.getvalue().encode())


main = command(Config, study)

if __name__ == "__main__":
    raise SystemExit(main())
