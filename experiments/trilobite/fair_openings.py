"""Finds openings of Connect Four from which either player can hold their own.

`python -m leafwise.experiments.trilobite.fair_openings` writes `fair_openings.txt`: positions after 4 to 8 random moves, drawn
from the final seed, that the solver calls drawn or in which only one reply keeps the value. Each is written as soon as it is
found (some take the solver half a minute); the file begins with how many positions have been looked at, and a run that was
stopped goes on behind them.
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
"""Least and most random moves of an opening."""
FILE = "fair_openings.txt"


@dataclass(frozen=True)
class Config(Study):
    """Finds openings of Connect Four from which either player can hold their own."""

    openings: int = 200
    """How many."""


def is_fair(solver: TrilobiteSolver, state: State) -> bool:
    """Whether a position is drawn, or only one move keeps its value."""
    value = solver.value(state)
    keeping = (a for a in state.legal_actions if solver.value(state.play(a)) == -value)
    return value == 0 or len(list(islice(keeping, 2))) == 1


def read(file: Path) -> tuple[int, list[State]]:
    """Returns how many positions were looked at for a file, and the openings in it."""
    head, *lines = read_text(file).splitlines()
    return int(head.split()[0]), [LARGE.parse(line) for line in lines]


def study(config: Config) -> None:
    """Finds the openings that are missing."""
    known = config.source(FILE)
    solver = TrilobiteSolver(LARGE, TABLE_MB)
    tried, found = read(known) if known else (0, [])
    states = islice(random_positions(LARGE, FINAL_SEED, PLIES), tried, None)
    for _ in track(range(len(found), config.openings), "fair openings"):
        state = next(states)
        tried += 1
        while state in found or not is_fair(solver, state):
            state = next(states)
            tried += 1
        found.append(state)
        head = f"{tried} positions after {PLIES[0]} to {PLIES[1]} random moves, seed {FINAL_SEED}: the fair ones"
        write_page(config, FILE, [head, *map(str, found)])


main = command(Config, study)

if __name__ == "__main__":
    raise SystemExit(main())
