"""Measures the learned leaves of Trilobite against the hand-made one, with the exact solver.

`python -m leafwise.experiments.trilobite.learned` writes `learned.json` and `learned.md` here, and continues after a stop. 3x3:
every reachable board. 7x6: critical positions (some legal move loses value), and games at equal depth and at equal time, each
opening of `fair_openings` from both seats.

The source of critical positions matters. After random moves there is mostly an immediate win, which any search finds. There the
hand-made leaf nearly always keeps the value, and no leaf can do much better. So there are also positions from games of two
players who search four moves deep with a leaf that is always 0. They make and block the wins that they see, and else move at
random. Neither leaf takes part in these games.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np

from leafwise.envs.core.contract.evaluator import Evaluator
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.play.solver import exact_solver
from leafwise.envs.registry import game
from leafwise.experiments.study import (
    DistributedStudy,
    Results,
    bootstrapped,
    command,
    leaves,
    results_of,
    signed,
    table,
    write_page,
)
from leafwise.experiments.trilobite.fair_openings import FILE, LARGE, PLIES, read
from leafwise.models.files import load_evaluator
from leafwise.models.players import player
from leafwise.training.evaluation.agreement import (
    TABLE_MB,
    SolvedPositions,
    SolverJob,
    critical_positions,
    value_keeping,
)
from leafwise.training.evaluation.arena import FINAL_SEED
from leafwise.training.execution import executor_for

SEEN = 4
"""Depth of the players whose games give critical positions."""
KINDS = {
    "played": f"positions from games of two players who search {SEEN} moves ahead and see only wins and losses",
    "random": "positions after random moves",
    "random, quiet": "those of the random positions in which neither player can win at once",
}


@dataclass(frozen=True)
class Config(DistributedStudy):
    """Measures learned leaves of Trilobite."""

    small: str = "trilobite"
    """Model for 3x3: a shipped model's name, a run folder or a file."""
    others: tuple[str, ...] = ()
    """More models for 3x3."""
    players: tuple[str, ...] = ()
    """Further players for 3x3, as mcts:RUN,simulations=100."""
    large: str = "trilobite7x6"
    """Model for 7x6; "" leaves 7x6 out."""
    positions: int = 1000
    """Critical positions of each kind."""
    plies: tuple[int, int] = (12, 30)
    """Minimum and maximum of moves before a critical position."""
    depths: tuple[int, ...] = (2, 4, 6)
    """Depths of the searches."""
    games: int = 400
    """Games per depth, and at equal time."""
    seconds: float = 0.01
    """Time per move at equal time."""


def every_board(trilobite: Game) -> SolvedPositions:
    """Returns every reachable unfinished board with the actions that keep its value."""
    solver = exact_solver(trilobite, TABLE_MB)
    seen: dict[State, None] = {trilobite.start(): None}
    for state in (queue := list(seen)):
        for a in state.legal_actions:
            after = state.play(a)
            if not after.is_terminal and after not in seen:
                seen[after] = None
                queue.append(after)
    return SolvedPositions(
        trilobite, np.array([s.row for s in seen]), np.array([value_keeping(solver, s) for s in seen])
    )


def judge_small(config: Config, results: Results) -> list[str]:
    """Returns the section on 3x3."""
    boards = cache(lambda: every_board(game("trilobite")))

    models = (config.small, *config.others, "")
    results_of_models = [results.find(f"3x3, {m or 'hand-made'}", lambda: leaves.judge(boards(), m)) for m in models]  # noqa: B023
    rows = [[f["leaf"], f"{f['kept']} of {f['positions']}"] for f in results_of_models]
    lines = [
        "## 3x3: every reachable unfinished board, search at depth 1",
        "",
        "The table counts the boards in which a search with the [leaf](../../docs/terms.md#leaf) keeps the exact value "
        "of the game.",
        "`trilobite` is the network in the package for this board, and `lines` is hand-made.",
        "",
        *table("leaf | boards with the value kept", rows),
        "",
    ]
    results_of_players = [results.find(f"3x3, {text}", partial(judge_player, boards, text)) for text in config.players]
    rows = [[f["player"], f"{f['kept']} of {f['positions']}"] for f in results_of_players]
    return [*lines, *(["The same of players:", "", *table("player | keeps the value", rows), ""] if rows else [])]


def judge_player(boards: Callable[[], SolvedPositions], text: str) -> dict[str, Any]:
    """Counts the positions where a player keeps the value."""
    judged = boards()
    who = player(text, judged.game)
    chosen = np.array([who.choose(State.unchecked(judged.game, row)) for row in judged.rows])
    return {"player": text, "kept": int(judged.kept(chosen).sum()), "positions": len(chosen)}


def judge_large(config: Config, results: Results, learned: Evaluator) -> list[str]:
    """Returns the section on choices on 7x6."""

    @cache
    def critical(depth: int) -> SolvedPositions:
        with executor_for(SolverJob(LARGE), config.processes, config.cluster) as executor:
            return critical_positions(LARGE, config.positions, FINAL_SEED, config.plies, depth, executor)

    played, random = partial(critical, SEEN), partial(critical, 0)
    quiet = cache(lambda: leaves.subset(random(), np.array([leaves.is_quiet(State(LARGE, r)) for r in random().rows])))
    sources: tuple[Callable[[], SolvedPositions], ...] = (played, random, quiet)
    rows = []
    for kind, source in zip(KINDS, sources, strict=True):
        for depth in (1, *config.depths):
            shares = results.find(
                f"7x6, {kind}, depth {depth}",
                lambda: leaves.compare_choices(source(), learned, LARGE.score(), depth),  # noqa: B023
            )
            rows.append(leaves.share_row(kind, shares))
    low, high = config.plies
    lines = [f"## 7x6: critical positions after {low} to {high} moves", ""]
    lines += [
        "In a critical position some move loses value. The columns `learned` and `hand-made` have the share of positions in which "
        "a search with",
        f"this leaf keeps the exact value of the game. The learned leaf is the network `{config.large}`, and the hand-made leaf is "
        "`lines`. The kinds are:",
        "",
    ]
    lines += [f"- {kind}: {what}" for kind, what in KINDS.items()]
    return [*lines, "", *table(leaves.SHARE_HEAD, rows), ""]


def play_large(config: Config, results: Results) -> list[str]:
    """Returns the section on games on 7x6; raises ValueError if there are too few openings."""
    file = config.needed(FILE, "python -m leafwise.experiments.trilobite.fair_openings")
    starts = read(file)[1][: config.games // 2]
    if len(starts) < config.games // 2:
        raise UserError(f"expected {config.games // 2} openings in {str(file)!r}, got {len(starts)}")
    searches: dict[str, dict[str, Any]] = {f"depth {depth}": {"depth": depth} for depth in config.depths}
    searches[f"{1000 * config.seconds:g} ms a move"] = {"seconds": config.seconds}
    low, high = PLIES
    return [
        "## 7x6: games against the hand-made leaf `lines`", "",
        f"The first {low} to {high} moves of a game are random. An opening is used in two cases: perfect play "
        "then leads to a draw, "
        "or only one",
        "move keeps the exact value. Both players play each opening from both seats. Shares and Elo differences are those of "
        "the learned leaf.", "",
        *leaves.games_table(config, results, "7x6, games, ", config.large, starts, searches), "",
    ]  # fmt: skip


def study(config: Config) -> None:
    """Computes the missing results and writes the page."""
    models = [model for model in (config.small, *config.others, config.large) if model]
    results = results_of(config, "learned.json", models)
    lines = ["# Trilobite: learned leaves", "", *judge_small(config, results)]
    if config.large:
        learned = load_evaluator(LARGE, config.large)
        lines += judge_large(config, results, learned) + play_large(config, results)
    write_page(config, "learned.md", signed(config, [*lines, *bootstrapped(results.values())]))


main = command(Config, study)

if __name__ == "__main__":
    raise SystemExit(main())
