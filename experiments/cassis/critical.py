"""Measures how often the learned leaves of Cassis keep the value of critical positions on 7 and 8 points.

`python -m leafwise.experiments.cassis.critical` draws positions of random play in which some action loses value and another does
not. A solver solves them, and searches with the shipped networks and the hand-made leaf choose. `critical.json` saves the shares
for the current model files; `critical.md` has the table. Seeds from 2,960,000 on.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from leafwise.envs.registry import game
from leafwise.experiments.study import Study, command, leaves, results_of, share, signed, table, write_page
from leafwise.training.evaluation.agreement import SolvedPositions, critical_positions
from leafwise.training.evaluation.statistics import bounds, share_interval

FIRST_SEED = 2_960_000
PLIES = {7: (6, 16), 8: (12, 22)}
"""Points -> minimum and maximum of random actions before a position."""


@dataclass(frozen=True)
class Config(Study):
    """Measures learned leaves of Cassis on critical positions."""

    seven: str = "cassis7"
    """Model for n = 7: a shipped model's name, a run folder or a file; "" leaves n = 7 out."""
    eight: str = "cassis8"
    """Model for n = 8."""
    positions: int = 1000
    """Number of positions of each size."""
    depths: tuple[int, ...] = (1, 2)
    """Depths of the searches."""


def kept(judged: SolvedPositions, model: str, depth: int) -> dict[str, float | None]:
    """Returns the share of positions where a search keeps the value, with its interval; model "": the hand-made leaf."""
    answers = judged.kept(judged.choices(leaves.model_or_score(judged.game, model), depth))
    return {"mean": float(answers.mean()), **bounds(share_interval(int(answers.sum()), len(answers)))}


def study(config: Config) -> None:
    """Computes the missing results and writes the page."""
    models = {7: config.seven, 8: config.eight}
    results = results_of(config, "critical.json", [model for model in models.values() if model])
    rows = []
    for n in [n for n, model in models.items() if model]:
        judged = cache(lambda: critical_positions(game("cassis", n=n), config.positions, FIRST_SEED + n, PLIES[n]))  # noqa: B023
        for model in (models[n], ""):
            by_depth: dict[str, Any] = {
                str(depth): results.find(
                    f"n = {n}, {model or 'hand-made'}, depth {depth}, {config.positions} positions",
                    lambda: kept(judged(), model, depth),  # noqa: B023
                )
                for depth in config.depths
            }
            low, high = PLIES[n]
            name = f"`{model}`" if model else "`safe_edges`, hand-made"
            shares = [share(by_depth[str(depth)]) for depth in config.depths]
            rows.append([str(n), f"{low} to {high}", name, str(config.positions), *shares])
    head = " | ".join(
        ["points of the board: | actions before: | leaf | positions:", *(f"depth {depth}" for depth in config.depths)]
    )
    lines = [
        "# Cassis: critical positions on 7 and 8 points", "",
        "In each position a search with the [leaf](../../docs/terms.md#leaf) of the row chooses an action. The last columns show "
        "the share of chosen actions that keep the game's exact value, with Wilson's 95 % intervals.",
        "The column `actions before` has the number of random actions that led to a position. A position is used only if some "
        "action loses value and another does not.",
        "If several actions are best for the search, it chooses one of them at random. `cassis7` and `cassis8` are networks in "
        "the package, which learned without a solver.", "",
        *table(head, rows), "",
    ]  # fmt: skip
    write_page(config, "critical.md", signed(config, lines))


main = command(Config, study)

if __name__ == "__main__":
    raise SystemExit(main())
