"""Measures Trap's search of whole turns against hand-made leaves, at equal processor time.

`python -m leafwise.experiments.trap.turns` plays the missing games and writes `turns.json` after every few; known games
are not played again, so a stopped study continues. `turns.md` is the table. Every seed is played from both seats.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from leafwise.envs.core.ranges import need_among
from leafwise.envs.registry import game
from leafwise.experiments.study import DistributedStudy, Results, command
from leafwise.experiments.study.matches import Match, MatchStudy, network_of, points_table


@dataclass(frozen=True)
class Config(DistributedStudy):
    """Plays the matches of Trap's search of whole turns and writes turns.json and turns.md."""

    model: str = "learned"
    """Leaf to measure: the shipped model, a run folder or a file."""
    rival: str = "reach_open"
    """Hand-made leaf of the opponent."""
    rival_searches: tuple[str, ...] = ("whole turns", "single decisions")
    """Searches of the opponent: whole turns, single decisions."""
    seconds: tuple[float, ...] = (0.005, 0.05, 0.2)
    """Seconds of a turn."""
    games: int = 400
    """Games of a match."""
    first_seed: int = 2_666_000
    """First seed."""


def whole_turns(leaf: str, seconds: float) -> str:
    """Returns the player that searches whole turns, with a time limit for a turn."""
    return f"turns:{leaf},seconds={seconds:g},clock=cpu"


def decisions(leaf: str, seconds: float) -> str:
    """Returns the player that searches single decisions, with half of the time for each decision."""
    return f"search:{leaf},seconds={seconds / 2:g},clock=cpu,table_mb=4,candidates=near+traps,rare=0.25"


SEARCHES = {"whole turns": whole_turns, "single decisions": decisions}


def matches(config: Config) -> Iterator[Match]:
    """Yields a match for each time and search of the rival; raises ValueError for an unknown search."""
    trap = game("trap")
    network = network_of(config.model, trap)
    for seconds in config.seconds:
        for kind in config.rival_searches:
            need_among(kind, SEARCHES, "rival_searches")
            title = f"{1000 * seconds:g} ms a turn, against `{config.rival}` searched by {kind}"
            whole, rival = whole_turns(config.model, seconds), SEARCHES[kind](config.rival, seconds)
            yield Match(title, trap, whole, config.games, rival, config.first_seed, network=network)


def page(config: Config, results: Results) -> list[str]:
    """Returns turns.md."""
    return [
        "# Trap: the search of whole turns",
        "",
        f"The network in the package plays against the hand-made [leaf](../../docs/terms.md#leaf) `{config.rival}`. A turn is a "
        "move and a throw. The network always plays in a search of whole turns (the player `turns`), with one node for each "
        f"turn. `{config.rival}` plays in this search too, or in a search of single decisions (the player `search`). A search "
        "of single decisions has half of the time for the move and half for the throw. Both searches consider the same throws (the "
        "[candidates](../../docs/terms.md#candidates) `near+traps`), and stop after a throw that lands on an unlikely cell.",
        "",
        f"Times are processor time per turn. Seeds are from {config.first_seed:,} on; each seed is played from both seats. "
        "The options of the searches were chosen on seeds below 900,000. The results are those of the network. The number "
        "after ± is half of a 95 % interval. The share's "
        "[interval](../../docs/explanation/strength.md#intervals) is the wider of two "
        "kinds. So it can be more cautious than the interval of the Elo difference.",
        "",
        *points_table(results),
        "",
        f"`{config.program()}` writes this page, and plays the games that are missing.",
    ]


main = command(Config, MatchStudy("turns", matches, page))

if __name__ == "__main__":
    raise SystemExit(main())
