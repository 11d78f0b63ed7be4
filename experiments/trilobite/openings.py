"""Computes the opening table of Connect Four with the solver.

`python -m leafwise.experiments.trilobite.openings` scores every unfinished position of the first plies, up to mirror images.
Beyond these it scores the positions that arise when the solver plays its best move in either seat. It writes
`openings.safetensors`, which ships with the game. Known positions are not solved again, so a killed command can continue.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from leafwise.envs.core.contract.state import State
from leafwise.envs.core.errors import UserError
from leafwise.envs.registry import game
from leafwise.envs.trilobite.solver import (
    BOARD,
    MIRRORED_CHIPS,
    NODES,
    Openings,
    TrilobiteSolver,
    key_of,
    read_openings,
    remember_all,
)
from leafwise.experiments.study import CHECKOUT, Study, command
from leafwise.models.files import save_tensors

FILE = "openings.safetensors"
SAVE_SECONDS = 60.0


@dataclass(frozen=True)
class Config(Study):
    """Scores the first plies of Connect Four."""

    plies: int = 1
    """Score every position with at most this many chips."""
    lines: int = 5
    """Score positions on the solver's own lines with at most this many chips."""
    table_mb: float = 1024
    """Maximum memory of the solver's table, in MB."""

    @property
    def home(self) -> Path | None:
        """Folder of the game in the checkout."""
        return CHECKOUT and CHECKOUT.parent / "envs" / "trilobite"


class Book:
    """The opening book: scores by key, and the solver for missing ones."""

    def __init__(self, config: Config) -> None:
        self.path, self.config = config.target(FILE), config
        self.solver = TrilobiteSolver(game("trilobite", **BOARD), config.table_mb, by_heart=False)
        self.known: dict[int, tuple[int, int]] = {}
        """Key -> (empty cells, score for the player to move)."""
        self.nodes, self.seconds = 0, 0.0
        self.counted = self.saved = time.perf_counter()
        if (path := config.source(FILE)) is not None:
            old = read_openings(path)
            entries = zip(old.left.tolist(), old.scores.tolist(), strict=True)
            self.known = dict(zip(old.keys.tolist(), entries, strict=True))
            self.nodes, self.seconds = old.about["nodes"], old.about["seconds"]

    def key(self, state: State) -> int:
        """Returns the key of a position."""
        player, filled = state.row[state.current_player], state.row[0] | state.row[1]
        return int(key_of(player, filled, left_in(state), self.solver.memory))

    def after(self, states: Iterable[State]) -> list[State]:
        """Returns the unfinished positions after any move, one of each pair of mirror images."""
        after = (state.play(name) for state in states for name in state.legal_names)
        return list({self.key(state): state for state in after if not state.is_terminal}.values())

    def add(self, state: State, score: int) -> None:
        """Stores a score."""
        self.known[self.key(state)] = left_in(state), score

    def score(self, state: State) -> None:
        """Solves an unfinished position unless its score is known."""
        if self.key(state) not in self.known:
            self.add(state, int(self.solver.scores(state.row[None])[0]))
            self.count()

    def best(self, state: State) -> State:
        """Returns the position after the solver's move; scores both if they are not finished."""
        table = self.table()
        remember_all(table.keys, table.left, table.scores, self.solver.memory)
        solution = self.solver.solve(state, "move")
        self.count()
        after = state.play(solution.line[0])
        self.add(state, int(solution.score or 0))
        if not after.is_terminal:
            self.add(after, -int(solution.score or 0))
        return after

    def count(self) -> None:
        """Adds the work since the last count; saves and prints from time to time."""
        self.nodes += int(self.solver.memory.out[NODES])
        now = time.perf_counter()
        self.seconds, self.counted = self.seconds + now - self.counted, now
        if now - self.saved > SAVE_SECONDS:
            self.save()
            print(f"{len(self.known):,} positions, {self.nodes:,} nodes, {self.seconds:.0f} s", file=sys.stderr)

    def table(self) -> Openings:
        """Returns the scores as arrays: later plies first, by key within a ply."""
        entries = sorted((left, key, score) for key, (left, score) in self.known.items())
        left, keys, scores = zip(*entries, strict=True) if entries else ((), (), ())
        about = {
            **BOARD,
            "plies": self.config.plies,
            "lines": self.config.lines,
            "positions": len(entries),
            "nodes": self.nodes,
            "seconds": round(self.seconds),
            "command": f"{self.config.program()} --plies {self.config.plies} --lines {self.config.lines}",
        }
        return Openings(np.array(keys, np.uint64), np.array(left, np.uint8), np.array(scores, np.int8), about)

    def save(self) -> None:
        """Writes the file."""
        table = self.table()
        save_tensors(self.path, {"keys": table.keys, "left": table.left, "scores": table.scores}, table.about)
        self.saved = time.perf_counter()


def left_in(state: State) -> int:
    """Returns the number of empty cells."""
    return str(state).count(".")


def study(config: Config) -> None:
    """Scores the missing positions; raises ValueError for wrong numbers of plies."""
    if not 0 <= config.plies <= config.lines < MIRRORED_CHIPS:
        limits = f"0 <= --plies <= --lines < {MIRRORED_CHIPS}"
        raise UserError(f"expected {limits}, got {config.plies} and {config.lines}")
    book = Book(config)
    start = book.solver.game.start()
    levels = [[start]]
    for _ in range(config.plies):
        levels.append(book.after(levels[-1]))
    for level in reversed(levels):  # later plies first, so that the table helps with earlier ones
        for state in level:
            book.score(state)
    for turns in ([start], book.after([start])):
        while turns and book.solver.memory.cells - left_in(turns[0]) <= config.lines:
            turns = book.after([book.best(state) for state in turns])
    book.save()
    print(json.dumps(book.table().about))


main = command(Config, study)

if __name__ == "__main__":
    raise SystemExit(main())
