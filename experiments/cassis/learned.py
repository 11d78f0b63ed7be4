"""Measures the learned leaves of Cassis: does one-ply play keep the value, and do they beat the hand-made leaf?

`python -m leafwise.experiments.cassis.learned` writes `learned.json` and `learned.md` here. n = 6: every reachable undecided
position up to renaming, judged by the exact solver. n = 8: paired games at equal depth from random openings.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from leafwise.envs.cassis.canon import make_scratch
from leafwise.envs.core.commandline import parse
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.play.solver import exact_solver
from leafwise.envs.registry import game
from leafwise.experiments.cassis.solved import MOVER, S28, enumerate_levels
from leafwise.experiments.learned import MATCH_HEAD, Page, match_row, openings, play_match
from leafwise.models.files import load_evaluator
from leafwise.search.engine import Search
from leafwise.training.evaluation.agreement import TABLE_MB, Judged, value_keeping
from leafwise.training.runs.folder import training_command

HERE = Path(__file__).parent
MODULE = "leafwise.experiments.cassis.learned"


@dataclass(frozen=True)
class Config:
    """Measures learned leaves of Cassis."""

    small: str = "cassis"
    """Model for n = 6: a shipped model's name, a run folder or a file."""
    others: tuple[str, ...] = ()
    """More models for n = 6, judged beside it."""
    large: str = "cassis8"
    """Model for n = 8; "" leaves n = 8 out."""
    games: int = 400
    """Games per depth at n = 8."""
    depths: tuple[int, ...] = (2, 4)
    """Depths at n = 8."""
    folder: Path = HERE
    """Folder for learned.json and learned.md."""


def every_position(cassis: Game) -> Judged:
    """Returns every reachable undecided position with a free edge, up to renaming, with the actions that keep its value."""
    T, solver = cassis.tables(), exact_solver(cassis, TABLE_MB)
    rows, keeps = [], []
    for level, boards in enumerate(enumerate_levels(T, make_scratch())):
        for board in boards:
            own, other = board & MOVER, board >> S28
            row = np.array([own, other] if level % 2 == 0 else [other, own], dtype=np.uint64)
            state = State(cassis, row)
            if not state.is_terminal:
                rows.append(row)
                keeps.append(value_keeping(solver, state))
    return Judged(cassis, np.array(rows), np.array(keeps))


def judge_all(judged: Judged, model: str) -> dict[str, Any]:
    """Returns in how many positions one-ply play keeps the value: with a model, "" for the hand-made leaf."""
    leaf = load_evaluator(judged.game, model) if model else judged.game.score()
    kept = judged.kept(judged.choices(leaf, 1))
    critical = judged.keeps.sum(axis=1) < np.array([len(State(judged.game, row).legal_actions) for row in judged.rows])
    return {
        "leaf": model or leaf.name,
        "positions": len(kept),
        "kept": int(kept.sum()),
        "critical": int(critical.sum()),
        "kept_critical": int(kept[critical].sum()),
    }


def main(arguments: list[str] | None = None) -> int:
    """Runs the study."""
    config = parse(Config, sys.argv[1:] if arguments is None else arguments, f"python -m {MODULE}")
    models = [model for model in (config.small, *config.others, config.large) if model]
    page = Page(config.folder / "learned.json", training_command(MODULE, config), models)
    judged = cache(lambda: every_position(game("cassis")))
    lines = [
        "# Cassis: learned leaves", "", "## n = 6: every reachable position up to renaming, one-ply play", "",
        "Critical positions are those in which some action loses value.", "",
        "| leaf | keeps the value | of the critical ones |", "|---|---|---|",
    ]  # fmt: skip
    for model in (config.small, *config.others, ""):
        one = page.part(f"n = 6, {model or 'hand-made'}", lambda: judge_all(judged(), model))  # noqa: B023
        all_of_them, critical = (
            f"{one[a]} of {one[b]}" for a, b in (("kept", "positions"), ("kept_critical", "critical"))
        )
        lines.append(f"| {one['leaf']} | {all_of_them} | {critical} |")
    if config.large:
        eight = game("cassis", n=8)
        leaf, starts = load_evaluator(eight, config.large), openings(eight, config.games // 2, (4, 8))
        lines += ["", "## n = 8: against the hand-made leaf `safe_edges`, from 4 to 8 random edges, both seats", ""]
        lines += MATCH_HEAD
        for depth in config.depths:
            own, hand_made = Search(eight, leaf, depth), Search(eight, eight.score(), depth)
            found = page.part(f"n = 8, depth {depth}", lambda: play_match(own, hand_made, starts))  # noqa: B023
            lines.append(match_row(f"depth {depth}", found))
    page.write([*lines, ""])
    return 0


if __name__ == "__main__":
    sys.exit(main())
