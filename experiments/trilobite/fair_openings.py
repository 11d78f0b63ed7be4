"""Finds fair openings of Connect Four.

`python -m leafwise.experiments.trilobite.fair_openings` writes `fair_openings.txt`: positions after 4 to 8 random moves, from the
final seed, that are drawn or in which only one move keeps the value. The file is saved after each opening, which may take the
solver half a minute. It begins with the number of tried positions, so a stopped command continues.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from rich.progress import track

from leafwise.envs.core.contract.state import State
from leafwise.envs.core.files import read_text
from leafwise.envs.registry import game
from leafwise.envs.trilobite.solver import TrilobiteSolver
from leafwise.experiments.study import Study, command, write_page
from leafwise.training.evaluation.agreement import TABLE_MB, random_positions
from leafwise.training.evaluation.arena import FINAL_SEED

LARGE = game("trilobite", board="7x6", k=4)
PLIES = (4, 8)
"""Minimum and maximum of random moves of an opening."""
FILE = "fair_openings.txt"


@dataclass(frozen=True)
class Config(Study):
    """Finds fair openings of Connect Four."""

    openings: int = 200
    """Number of openings."""


def is_fair(solver: TrilobiteSolver, state: State) -> bool:
    """Whether a position is drawn, or only one move keeps its value."""
    value = solver.value(state)
    keeping = (a for a in state.legal_actions if solver.value(state.play(a)) == -value)
    return value == 0 or len(list(islice(keeping, 2))) == 1


def read(file: Path) -> tuple[int, list[State]]:
    """Returns the number of tried positions of a file, and its openings."""
    head, *lines = read_text(file).splitlines()
    return int(head.split()[0]), [LARGE.parse(line) for line in lines]


def study(config: Config) -> None:
    """Finds the missing openings."""
    known = config.source(FILE)
    solver = TrilobiteSolver(LARGE, TABLE_MB)
    tried, openings = read(known) if known else (0, [])
    states = islice(random_positions(LARGE, FINAL_SEED, PLIES), tried, None)
    for _ in track(range(len(openings), config.openings), "fair openings"):
        state = next(states)
        tried += 1
        while state in openings or not is_fair(solver, state):
            state = next(states)
            tried += 1
        openings.append(state)
        head = f"{tried} positions after {PLIES[0]} to {PLIES[1]} random moves, seed {FINAL_SEED}: the fair ones"
        write_page(config, FILE, [head, *map(str, openings)])


main = command(Config, study)

if __name__ == "__main__":
    raise SystemExit(main())
