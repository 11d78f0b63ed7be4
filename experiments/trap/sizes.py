"""Measures the networks of Trap's other board sizes against the best hand-made leaf, at equal processor time.

`python -m leafwise.experiments.trap.sizes` plays the games that are missing and writes `sizes.json` after every few; what stands
there is not played again, so a stopped study goes on where it was, unless another network ships for a size by now. `sizes.md` is
the table. Every seed is played from both seats.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from leafwise.envs.registry import game
from leafwise.experiments.study import PlacedStudy, Results, command, known_results, table, write_page
from leafwise.experiments.trap.learned import row, work_out
from leafwise.experiments.trap.turns import Pairs, go_on, network_of, whole_turns
from leafwise.training.execution.places import executor_for


@dataclass(frozen=True)
class Config(PlacedStudy):
    """Plays the matches of Trap's sizes and writes sizes.json and sizes.md."""

    sizes: tuple[int, ...] = (5, 6, 7, 8, 9)
    """Cells on a side."""
    rival: str = "reach_open"
    """Hand-made leaf that the shipped one meets."""
    seconds: tuple[float, ...] = (0.005,)
    """Seconds of a turn."""
    games: int = 200
    """Games of a match."""
    first_seed: int = 2_695_000
    """First seed."""


def play(size: int, seconds: float, results: Results, config: Config) -> None:
    """Plays the games of a match that are missing; raises ValueError if those that are known are other players'."""
    title = f"{size}x{size}, {1000 * seconds:g} ms a turn"
    own, rival = whole_turns("learned", seconds), whole_turns(config.rival, seconds)
    board = game("trap", size=size)
    told = {"player": own, "opponent": rival} | network_of("learned", board)
    with executor_for(Pairs(board, own, rival, False), config.processes, config.cluster) as executor:
        go_on(results, title, told, executor, config.games, config.first_seed)


def page(results: dict[str, Any], config: Config) -> list[str]:
    """Returns sizes.md."""
    return [
        "# Trap: boards of other sizes",
        "",
        f"The network that ships for each size against `{config.rival}`, both in the search of whole turns with the same throws "
        f"and the same processor time. Seeds from {config.first_seed:,} on, each from both seats.",
        "",
        *table(
            "match | games | won / drawn / lost | share of the points (95 %) | Elo",
            [row(title, found) for title, found in results.items()],
        ),
        "",
        f"Written by `{config.program()}`, which plays what is missing of each match.",
    ]


def study(config: Config) -> None:
    """Plays what is missing, and writes the page."""
    results = known_results(config, "sizes.json")
    for size in config.sizes:
        for seconds in config.seconds:
            play(size, seconds, results, config)
    work_out(results)
    write_page(config, "sizes.md", page(results, config))


main = command(Config, study)

if __name__ == "__main__":
    raise SystemExit(main())
