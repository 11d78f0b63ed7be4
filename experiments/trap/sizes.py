"""Measures the networks of Trap's other board sizes against the best hand-made leaf, at equal processor time.

`python -m leafwise.experiments.trap.sizes` plays the missing games and writes `sizes.json` after every few; known games
are not played again, so a stopped study continues, unless another network ships for a size. `sizes.md` is
the table. Every seed is played from both seats.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from leafwise.envs.registry import game
from leafwise.experiments.study import DistributedStudy, Results, command
from leafwise.experiments.study.matches import POINTS_LEGEND, Match, MatchStudy, network_of, points_table
from leafwise.experiments.trap.turns import whole_turns


@dataclass(frozen=True)
class Config(DistributedStudy):
    """Plays the matches of Trap's sizes and writes sizes.json and sizes.md."""

    sizes: tuple[int, ...] = (5, 6, 7, 8, 9)
    """Side lengths of the boards."""
    rival: str = "reach_open"
    """Hand-made leaf of the opponent."""
    seconds: tuple[float, ...] = (0.005,)
    """Seconds of a turn."""
    games: int = 200
    """Games of a match."""
    first_seed: int = 2_695_000
    """First seed."""


def matches(config: Config) -> Iterator[Match]:
    """Yields a match for each size and time."""
    for size in config.sizes:
        board = game("trap", size=size)
        for seconds in config.seconds:
            learned, rival = (whole_turns(leaf, seconds) for leaf in ("learned", config.rival))
            title, network = f"{size}x{size}, {1000 * seconds:g} ms a turn", network_of("learned", board)
            yield Match(title, board, learned, config.games, rival, config.first_seed, network=network)


def page(config: Config, results: Results) -> list[str]:
    """Returns sizes.md."""
    return [
        "# Trap: boards of other sizes",
        "",
        f"For each size of the board, the network in the package plays against the hand-made [leaf](../../docs/terms.md#leaf) "
        f"`{config.rival}`. Both search whole turns (a move and a throw), consider the same throws, and have the same "
        f"processor time per turn. Seeds are from "
        f"{config.first_seed:,} on; each seed is played from both seats. The results are those of the network. "
        f"{POINTS_LEGEND}",
        "",
        *points_table(results),
        "",
        f"`{config.program()}` writes this page, and plays the games that are missing.",
    ]


main = command(Config, MatchStudy("sizes", matches, page))

if __name__ == "__main__":
    raise SystemExit(main())
