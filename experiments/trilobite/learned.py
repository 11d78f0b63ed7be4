"""Measures the learned leaves of Trilobite against the hand-made one, judged by the exact solver.

`python -m leafwise.experiments.trilobite.learned` writes `learned.json` and `learned.md` here. 3x3: every reachable board. 7x6:
critical positions (some legal move loses value) after random moves, all of them and those in which nobody can win at once;
games at equal depth and at equal time, each random opening from both seats. With `--solved-openings` only those openings
count that the solver calls drawn or whose best reply is unique (early positions take it seconds to minutes each).
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from leafwise.envs.core.commandline import parse
from leafwise.envs.core.game import Game
from leafwise.envs.core.solution import Solver, exact_solver
from leafwise.envs.core.state import State
from leafwise.envs.registry import game
from leafwise.experiments.learned import (
    MATCH_HEAD,
    SHARE_HEAD,
    compare_choices,
    is_quiet,
    match_row,
    openings,
    play_match,
    share_row,
    subset,
    write,
)
from leafwise.models.files import load_evaluator
from leafwise.search.engine import Search
from leafwise.training.arena import FINAL_SEED
from leafwise.training.oracle import TABLE_MB, Judged, critical_positions, value_keeping
from leafwise.training.run import training_command

HERE = Path(__file__).parent
MODULE = "leafwise.experiments.trilobite.learned"


@dataclass(frozen=True)
class Config:
    """Measures learned leaves of Trilobite."""

    small: str = "trilobite"
    """Model for 3x3: a shipped model's name, a run folder or a file."""
    others: tuple[str, ...] = ()
    """More models for 3x3, judged beside it."""
    large: str = "trilobite7x6"
    """Model for 7x6; "" leaves 7x6 out."""
    positions: int = 1000
    """Critical positions."""
    plies: tuple[int, int] = (12, 30)
    """Least and most random moves before a critical position."""
    depths: tuple[int, ...] = (2, 4, 6)
    """Depths at which choices are judged and games are played."""
    games: int = 400
    """Games per depth, and at equal time."""
    solved_openings: bool = False
    """Take only openings that the solver calls drawn or whose best reply is unique."""
    opening_plies: tuple[int, int] = (4, 8)
    """Least and most random moves of an opening."""
    seconds: float = 0.01
    """Time per move at equal time."""
    folder: str = str(HERE)
    """Folder for learned.json and learned.md."""


def every_board(trilobite: Game) -> Judged:
    """Returns every reachable board that is not finished, with the actions that keep its value."""
    solver = exact_solver(trilobite, TABLE_MB)
    seen: dict[State, None] = {trilobite.start(): None}
    for state in (queue := list(seen)):
        for a in state.legal_actions:
            after = state.play(a)
            if not after.is_terminal and after not in seen:
                seen[after] = None
                queue.append(after)
    return Judged(trilobite, np.array([s.row for s in seen]), np.array([value_keeping(solver, s) for s in seen]))


def is_fair(solver: Solver, state: State) -> bool:
    """Whether the solver calls a position drawn, or only one move keeps its value."""
    solution = solver.solve(state)
    return solution.value == 0 or list(solution.action_values.values()).count(solution.value or 0) == 1


def judge_small(config: Config) -> tuple[list[dict[str, Any]], list[str]]:
    """Returns figures and lines about 3x3."""
    judged = every_board(game("trilobite"))
    lines = ["## 3x3: every reachable unfinished board, one-ply play", "", "| leaf | keeps the value |", "|---|---|"]
    found = []
    for model in (config.small, *config.others, ""):
        leaf = load_evaluator(judged.game, model) if model else judged.game.score()
        kept = int(judged.kept(judged.choices(leaf, 1)).sum())
        found.append({"leaf": model or leaf.name, "positions": len(judged.rows), "kept": kept})
        lines.append(f"| {model or leaf.name} | {kept} of {len(judged.rows)} |")
        print(lines[-1], flush=True)
    return found, [*lines, ""]


def judge_large(config: Config) -> tuple[dict[str, Any], list[str]]:
    """Returns figures and lines about choices on 7x6."""
    large = game("trilobite", board="7x6", k=4)
    learned, hand_made = load_evaluator(large, config.large), large.score()
    judged = critical_positions(large, config.positions, FINAL_SEED, config.plies)
    quiet = subset(judged, np.array([is_quiet(State(large, row)) for row in judged.rows]))
    low, high = config.plies
    lines = [f"## 7x6: critical positions after {low} to {high} random moves, share of choices that keep the value", ""]
    lines += ["In quiet positions nobody can win at once.", "", *SHARE_HEAD]
    found: dict[str, Any] = {"all": [], "quiet": []}
    for kind, some in (("all", judged), ("quiet", quiet)):
        for depth in (1, *config.depths):
            found[kind].append(compare_choices(some, learned, hand_made, depth))
            lines.append(share_row(kind, found[kind][-1]))
            print(lines[-1], flush=True)
    return found, [*lines, ""]


def play_large(config: Config) -> tuple[list[dict[str, Any]], list[str]]:
    """Returns figures and lines about games on 7x6."""
    large = game("trilobite", board="7x6", k=4)
    learned, hand_made = load_evaluator(large, config.large), large.score()
    fair = partial(is_fair, exact_solver(large, TABLE_MB)) if config.solved_openings else lambda state: True
    starts = openings(large, config.games // 2, config.opening_plies, fair)
    low, high = config.opening_plies
    which = "solved" if config.solved_openings else "random"
    lines = [
        f"## 7x6: games against the hand-made leaf `lines` from {which} openings of {low} to {high} moves, both seats"
    ]
    lines += ["", *MATCH_HEAD]
    found = []
    searches: list[tuple[str, dict[str, Any]]] = [(f"depth {depth}", {"depth": depth}) for depth in config.depths]
    searches.append((f"{1000 * config.seconds:g} ms a move", {"seconds": config.seconds}))
    for kind, options in searches:
        found.append(
            {
                "search": kind,
                **play_match(Search(large, learned, **options), Search(large, hand_made, **options), starts),
            }
        )
        lines.append(match_row(kind, found[-1]))
        print(lines[-1], flush=True)
    return found, [*lines, ""]


def main(arguments: list[str] | None = None) -> int:
    """Runs the study."""
    config = parse(Config, sys.argv[1:] if arguments is None else arguments, f"python -m {MODULE}")
    small, lines = judge_small(config)
    results: dict[str, Any] = {"board_3x3": small}
    lines = ["# Trilobite: learned leaves", "", *lines]
    if config.large:
        results["choices_7x6"], more = judge_large(config)
        results["games_7x6"], rest = play_large(config)
        lines += more + rest
    write(Path(config.folder), results, [*lines, "Written by", "", f"    {training_command(MODULE, config)}"])
    return 0


if __name__ == "__main__":
    sys.exit(main())
