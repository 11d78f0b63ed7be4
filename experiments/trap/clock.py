"""Whether a search keeps its time on a busy machine: many turns of Trap, each timed from the question to the throw.

`python -m leafwise.experiments.trap.clock` plays a search against itself while other processes keep every core busy, and
prints the share of turns above the limit, the median and the longest, in milliseconds.
"""

from __future__ import annotations

import multiprocessing
import sys
import time
from dataclasses import dataclass
from multiprocessing.synchronize import Event

import numpy as np

from leafwise.envs.core.commandline import parse
from leafwise.envs.core.stream import new_stream
from leafwise.envs.registry import game
from leafwise.models.files import leaf
from leafwise.search.players import player


@dataclass(frozen=True)
class Config:
    """Times the turns of a search of Trap on a busy machine."""

    turns: int = 1000
    """Turns to time."""
    seconds: float = 0.2
    """Seconds of a turn, half of it for the move and half for the throw."""
    limit: float = 0.25
    """Seconds that no turn should take."""
    busy: int = multiprocessing.cpu_count()
    """Processes that do nothing but count meanwhile."""
    player: str = "search:learned,candidates=near+traps,rare=0.25"
    """The search, without its time."""


def count(stop: Event) -> None:
    """Keeps a core busy."""
    while not stop.is_set():
        sum(range(100_000))


def timed_turns(config: Config) -> list[float]:
    """Returns the seconds of each turn."""
    trap = game("trap")
    searcher = player(f"{config.player},seconds={config.seconds / 2}", trap, leaf=leaf)
    searcher.choose(trap.start().play("S"))  # loads the compiled code
    searcher.choose(trap.start())
    stream, state, spent = new_stream(0), trap.start(), list[float]()
    while len(spent) < config.turns:
        started = time.perf_counter()
        after = state.play(searcher.choose(state))
        if not after.is_terminal:
            after = after.play(searcher.choose(after))
        spent.append(time.perf_counter() - started)
        state = after.settle(stream)
        if state.is_terminal:
            state = trap.start()
    return spent


def main() -> int:
    """Runs the command."""
    config = parse(Config, sys.argv[1:], "python -m leafwise.experiments.trap.clock")
    context = multiprocessing.get_context("spawn")
    stop = context.Event()
    workers = [context.Process(target=count, args=(stop,), daemon=True) for _ in range(config.busy)]
    for worker in workers:
        worker.start()
    try:
        spent = np.array(timed_turns(config))
    finally:
        stop.set()
        for worker in workers:
            worker.join()
    above = int((spent > config.limit).sum())
    print(
        f"{len(spent)} turns of {1000 * config.seconds:g} ms, {config.busy} busy processes: {above} above "
        f"{1000 * config.limit:g} ms, median {1000 * np.median(spent):.1f} ms, longest {1000 * spent.max():.1f} ms"
    )
    return 0 if above == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
