"""Games of Friday that are kept in blocks, named by what plays them and by their first game, and what pages say of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from leafwise.experiments.study import missing_seeds, share
from leafwise.training.evaluation.statistics import share_interval

LEVELS = (1, 2, 3, 4)
COLUMNS = " | ".join(f"level {level}" for level in LEVELS)


def known_blocks(title: str, results: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Returns the blocks of a title that are known."""
    return [found for name, found in results.items() if name.startswith(f"{title}, from ")]


def missing_blocks(
    title: str, results: Mapping[str, Any], games: int, block: int, first: int
) -> Iterator[tuple[str, range]]:
    """Yields the names and seeds of the blocks that are missing, at most so many games each; games begin with seed `first`."""
    done = sum(found["games"] for found in known_blocks(title, results))
    for seeds in missing_seeds(done, games, block, first):
        yield f"{title}, from {seeds[0] - first}", seeds


def wins_of(blocks: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Returns games, share won and its interval of some blocks together."""
    games, wins = (sum(block[name] for block in blocks) for name in ("games", "wins"))
    low, high = share_interval(wins, games)
    return {"games": games, "mean": wins / games, "ci_low": low, "ci_high": high}


def share_won(found: Mapping[str, Any]) -> str:
    """Returns a cell: the share won, its interval, how many games."""
    return share(found, more=f"; {found['games']:,}")
