"""Whether our player keeps its time on a busy machine: many turns of Trap, each timed from the question to the throw.

`python -m leafwise.experiments.trap.clock` has the player with the course's interface play itself while other processes keep
every core busy, and prints how many turns were above the limit, the median and the longest, in milliseconds.
"""

from __future__ import annotations

import os
import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass

import numpy as np

from leafwise.envs.core.commandline import parse
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.contract.stream import new_stream
from leafwise.envs.core.programs import Process
from leafwise.envs.trap.baselines.course import PlayerAI, adapter
from leafwise.envs.trap.baselines.course.starter.Grid import Grid
from leafwise.envs.trap.tables import DIRECTIONS

MARKS = {mark: value for value, mark in adapter.MARKS.items()}
BUSY = "import os; parent = os.getppid()\nwhile os.getppid() == parent: sum(range(100_000))"
"""What keeps a core busy, while the process that started it is there."""


@dataclass(frozen=True)
class Config:
    """Times the turns of a player of Trap on a busy machine."""

    turns: int = 1000
    """Turns to time."""
    seconds: float = 0.2
    """Seconds of a turn, move and throw together."""
    limit: float = 0.25
    """Seconds that no turn should take."""
    busy: int = os.cpu_count() or 1
    """Processes that do nothing but count meanwhile."""


def timed_turns(config: Config) -> list[float]:
    """Returns the seconds of each turn."""
    player = PlayerAI(seconds=config.seconds)
    stream, state, spent = new_stream(0), player.game.start(), list[float]()
    while len(spent) < config.turns:
        grid, number = grid_of(state), 1 + state.current_player
        player.setPlayerNum(number)
        here = grid.find(number)
        started = time.perf_counter()
        to = player.getMove(grid)
        row, column = player.getTrap(grid.move(to, number))
        spent.append(time.perf_counter() - started)
        names = {step: name for name, step in DIRECTIONS.items()}
        state = state.play(names[to[0] - here[0], to[1] - here[1]])
        if not state.is_terminal:
            state = state.play(f"{row},{column}").settle(stream)
        if state.is_terminal:
            state = player.game.start()
    return spent


def grid_of(state: State) -> Grid:
    """Returns the board as the course's programs see it."""
    lines = str(state).split()[0].split("/")
    grid = Grid(len(lines))
    for row, line in enumerate(lines):
        for column, mark in enumerate(line):
            grid.setCellValue((row, column), MARKS[mark])
    return grid


def timed_while_busy(config: Config) -> list[float]:
    """Returns the seconds of each turn while other processes keep the cores busy."""
    with ExitStack() as stack:
        for _ in range(config.busy):
            stack.enter_context(Process([sys.executable, "-c", BUSY]))
        return timed_turns(config)


def main(arguments: list[str] | None = None) -> int:
    """Runs the command."""
    program = "python -m leafwise.experiments.trap.clock"
    config = parse(Config, sys.argv[1:] if arguments is None else arguments, program)
    spent = np.array(timed_while_busy(config))
    above = int((spent > config.limit).sum())
    print(
        f"{len(spent)} turns of {1000 * config.seconds:g} ms, {config.busy} busy processes: {above} above "
        f"{1000 * config.limit:g} ms, median {1000 * np.median(spent):.1f} ms, longest {1000 * spent.max():.1f} ms"
    )
    return 0 if above == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
