"""Solves Cassis strongly for n = 3 to 8: every undecided position up to renaming, with its value; plots the growth.

`python -m leafwise.experiments.cassis.solved` writes `solved.json` and `growth.png`. Positions are enumerated level by
level (a level holds the boards with so many coloured edges, in canonical form) and valued from the last level back.
Positions with a triangle are decided and left out. Beside it stands what the solver of the room needs for the
empty board alone.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.cassis import search
from leafwise.envs.cassis.canon import Scratch, canonical, make_scratch
from leafwise.envs.cassis.options import Options
from leafwise.envs.cassis.rules import ONE, ZERO, Tables, spoiled
from leafwise.envs.cassis.solver import Solver
from leafwise.envs.cassis.tables import make_tables
from leafwise.envs.core.compile.jit import jit
from leafwise.envs.core.contract.stream import u64
from leafwise.envs.core.textfile import read_text
from leafwise.envs.registry import game
from leafwise.experiments.study import Study, command, picture, write_json

CHUNK = 100_000
"""Boards expanded between two removals of duplicates."""
S28, MOVER = u64(28), u64((1 << 28) - 1)

Boards = NDArray[np.uint64]
"""Canonical boards, sorted: the mover's edges in bits 0 to 27, the other's from bit 28 on."""


@dataclass(frozen=True)
class Config(Study):
    """Solves every position of Cassis."""

    least: int = 3
    """Fewest points."""
    most: int = 8
    """Most points (8 takes a minute or two)."""


@jit
def successors(boards, result, C, T):
    """Writes the undecided boards after every safe move, canonical for the next mover; returns their number."""
    n = ZERO
    for k in range(boards.shape[0]):
        own, other = boards[k] & MOVER, boards[k] >> S28
        safe = T.all & ~(own | other | spoiled(own, T))
        for e in range(T.edges):
            if (safe >> u64(e)) & ONE:
                result[n] = canonical(other, own | (ONE << u64(e)), C, T)
                n += ONE
    return n


@jit
def value_level(boards, following, following_values, values, C, T):
    """Writes the mover's value of every board of a level, given those of the level that follows."""
    for k in range(boards.shape[0]):
        own, other = boards[k] & MOVER, boards[k] >> S28
        free = T.all & ~(own | other)
        safe = free & ~spoiled(own, T)
        best = -1 if free else 0
        for e in range(T.edges):
            if (safe >> u64(e)) & ONE and best < 1:
                board = canonical(other, own | (ONE << u64(e)), C, T)
                low, high = 0, following.shape[0]
                while low < high:
                    middle = (low + high) // 2
                    if following[middle] < board:
                        low = middle + 1
                    else:
                        high = middle
                best = max(best, -int(following_values[low]))
        values[k] = best


def enumerate_levels(T: Tables, C: Scratch) -> list[Boards]:
    """Returns the undecided boards by number of coloured edges."""
    levels: list[Boards] = [np.zeros(1, dtype=np.uint64)]
    while len(levels[-1]):
        found = [np.zeros(0, dtype=np.uint64)]
        for first in range(0, len(levels[-1]), CHUNK):
            chunk = levels[-1][first : first + CHUNK]
            result = np.zeros(len(chunk) * T.edges, dtype=np.uint64)
            found.append(np.unique(result[: int(successors(chunk, result, C, T))]))
        levels.append(np.unique(np.concatenate(found)))
    return levels[:-1]


def value_levels(levels: list[Boards], T: Tables, C: Scratch) -> list[NDArray[np.int8]]:
    """Returns the mover's value of every board, level by level."""
    following, following_values = np.zeros(0, dtype=np.uint64), np.zeros(0, dtype=np.int8)
    values: list[NDArray[np.int8]] = []
    for boards in reversed(levels):
        level = np.zeros(len(boards), dtype=np.int8)
        value_level(boards, following, following_values, level, C, T)
        following, following_values = boards, level
        values.append(level)
    return values[::-1]


def solved(n: int) -> dict[str, Any]:
    """Returns the figures for n points: counts per level, processor seconds and memory of the table, and of the solver."""
    T, C = make_tables(Options(n)), make_scratch()
    start = time.process_time()
    levels = enumerate_levels(T, C)
    values = value_levels(levels, T, C)
    seconds = time.process_time() - start
    cassis = game("cassis", n=n)
    solver = Solver(cassis)
    solution = solver.solve(cassis.start(), "none")
    if solution.value != values[0][0]:
        raise RuntimeError(f"n = {n}: the table says {values[0][0]}, the solver {solution.value}")
    return {
        "n": n,
        "value": int(values[0][0]),
        "positions": sum(map(len, levels)),
        "levels": [
            {
                "positions": len(v),
                **{name: int((v == x).sum()) for name, x in (("wins", 1), ("draws", 0), ("losses", -1))},
            }
            for v in values
        ],
        "seconds": round(seconds, 5),
        "table_mb": round(sum(b.nbytes + v.nbytes for b, v in zip(levels, values, strict=True)) / 2**20, 3),
        "solver": {
            "seconds": round(solution.seconds, 5),
            "nodes": solution.nodes,
            "stored": int(solver.memory.out[search.STORED]),
            "table_mb": solver.memory.table.nbytes / 2**20,
        },
    }


def plot(results: list[dict[str, Any]], path: Path) -> None:
    """Draws positions per level, and positions and time against n, on logarithmic axes."""
    with picture(path, columns=2) as (left, right):
        for result in results:
            left.semilogy([level["positions"] for level in result["levels"]], marker=".", label=f"n = {result['n']}")
        left.set(xlabel="coloured edges", ylabel="undecided positions up to renaming")
        timed = [r for r in results if r["seconds"] > 0]  # the smallest take less than the clock tells
        for label, rows, told in (
            ("all positions", results, lambda r: r["positions"]),
            ("solver's nodes, empty board", results, lambda r: r["solver"]["nodes"]),
            ("microseconds, all positions", timed, lambda r: 1e6 * r["seconds"]),
            ("microseconds, solver", results, lambda r: 1e6 * r["solver"]["seconds"]),
        ):
            right.semilogy([r["n"] for r in rows], [told(r) for r in rows], marker="o", label=label)
        right.set(xlabel="points n")
        for axis in (left, right):
            axis.legend(fontsize=8)


def study(config: Config) -> None:
    """Solves, and writes the figures and the picture."""
    path = config.source("solved.json")
    known = {found["n"]: found for found in json.loads(read_text(path))} if path else {}
    for n in range(config.least, config.most + 1):
        if n not in known:
            solved(3)  # loads the compiled code
            known[n] = solved(n)
            print({key: value for key, value in known[n].items() if key != "levels"}, flush=True)
    results = [known[n] for n in sorted(known)]
    write_json(config, "solved.json", results)
    plot(results, config.target("growth.png"))


main = command(Config, study)

if __name__ == "__main__":
    raise SystemExit(main())
