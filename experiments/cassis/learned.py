"""Measures the learned leaves of Cassis: whether one-ply play keeps the value, and games against the hand-made leaf.

`python -m leafwise.experiments.cassis.learned` writes `learned.json` and `learned.md` here. n = 6: every reachable undecided
position up to renaming, checked by the exact solver. n = 8: paired games at equal depth from random openings.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from leafwise.envs.cassis.solver import canonical_form
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.contract.stream import u64
from leafwise.envs.core.play.solver import exact_solver
from leafwise.envs.registry import game
from leafwise.experiments.study import DistributedStudy, command, leaves, results_of, signed, table, write_page
from leafwise.training.evaluation.agreement import TABLE_MB, SolvedPositions, value_keeping

S28 = u64(28)
"""First bit of the other player's edges in a canonical board."""


@dataclass(frozen=True)
class Config(DistributedStudy):
    """Measures learned leaves of Cassis."""

    small: str = "cassis"
    """Model for n = 6: a shipped model's name, a run folder or a file."""
    others: tuple[str, ...] = ()
    """More models for n = 6."""
    large: str = "cassis8"
    """Model for n = 8; "" leaves n = 8 out."""
    games: int = 400
    """Games per depth at n = 8."""
    depths: tuple[int, ...] = (2, 4)
    """Depths at n = 8."""


def every_position(cassis: Game) -> SolvedPositions:
    """Returns every reachable undecided position with a free edge, up to renaming, with the actions that keep its value."""
    T, solver = cassis.tables(), exact_solver(cassis, TABLE_MB)
    rows, keeps, level, turn = [], [], {0: cassis.start()}, 1
    # Level by level, by the number of coloured edges; a position stands for all positions with renamed points
    while level:
        following = {}
        for _, state in sorted(level.items()):
            rows.append(state.row)
            keeps.append(value_keeping(solver, state))
            for after in (state.play(a) for a in state.legal_actions):
                if not after.is_terminal:
                    sides = canonical_form(after.row[::-turn], T)
                    following[int(sides[0] | sides[1] << S28)] = State(cassis, sides[::-turn].copy())
        level, turn = following, -turn
    return SolvedPositions(cassis, np.array(rows), np.array(keeps))


def study(config: Config) -> None:
    """Computes the missing results and writes the page."""
    models = [model for model in (config.small, *config.others, config.large) if model]
    results = results_of(config, "learned.json", models)
    judged = cache(lambda: every_position(game("cassis")))
    rows = []
    for model in (config.small, *config.others, ""):
        one = results.find(f"n = 6, {model or 'hand-made'}", lambda: leaves.judge(judged(), model))  # noqa: B023
        counts = (("kept", "positions"), ("kept_critical", "critical"))
        rows.append([one["leaf"], *(f"{one[kept]} of {one[of]}" for kept, of in counts)])
    lines = [
        "# Cassis: learned leaves", "", "## 6 points: every reachable position, search at depth 1", "",
        "The table counts the positions in which the search chooses an action that is best under perfect play. "
        "Each row has another",
        "[leaf](../../docs/terms.md#leaf). Positions that differ only in the numbers of the board's points are counted once. "
        "A position is critical if not all actions are best.",
        "`cassis` is the network in the package, and `safe_edges` is hand-made. If several actions are best for the search, it "
        "chooses one of them at random. So another run of the study gives slightly other counts for `safe_edges`.", "",
        *table("leaf | all positions | critical positions", rows), "",
    ]  # fmt: skip
    if config.large:
        starts = leaves.openings(game("cassis", n=8), config.games // 2, (4, 8))
        searches = {f"depth {depth}": {"depth": depth} for depth in config.depths}
        lines += [
            "## 8 points: games against the hand-made leaf `safe_edges`", "",
            "The first 4 to 8 edges of a game are random. Both players play each of these openings from both seats.",
            "Shares and Elo differences are those of the learned leaf.", "",
            *leaves.games_table(config, results, "n = 8, ", config.large, starts, searches), "",
        ]  # fmt: skip
    write_page(config, "learned.md", signed(config, lines))


main = command(Config, study)

if __name__ == "__main__":
    raise SystemExit(main())
