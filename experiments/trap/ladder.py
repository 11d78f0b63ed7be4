"""Which leaf plays Trap best: a round robin of searches that differ in nothing but the leaf, and of other players.

Searches have equal processor time, or with --depth equal depth; the course's players look five ahead and have no clock.

`python -m leafwise.experiments.trap.ladder` plays every pair on the same seeds from both seats and writes `ladder.json` after
every few games; what stands there is not played again, so a stopped study goes on where it was, unless another network ships by
now. `ladder.md` is the table: Elo with 95 % intervals by `leafwise.training.evaluation.elo`, mean 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations

from leafwise.envs.registry import game
from leafwise.experiments.study import PlacedStudy, Results, command, table
from leafwise.experiments.study.matches import Found, Match, MatchStudy, by_seed, network_of
from leafwise.models.shipped import LEARNED
from leafwise.training.evaluation.elo import Unit, rate

LEAVES = (
    "learned",
    "reach_open",
    "reach",
    "reach_safe",
    "reach_near",
    "two_rings",
    "ocls",
    "is",
    "course:is",
    "random",
)
"""In the order in which pairs are played: those of the first leaf first. Names that are players' stand for those."""


@dataclass(frozen=True)
class Config(PlacedStudy):
    """Plays the round robin of leaves of Trap and writes ladder.json and ladder.md."""

    seconds: float = 0.005
    """Seconds of processor time of a turn, half of it for the move and half for the throw."""
    depth: int = 0
    """Depth of the searches in decisions, two a turn, instead of a time (0: time)."""
    rare: float = 0.25
    """Outcomes of a throw less probable than this are valued at once."""
    leaves: tuple[str, ...] = LEAVES
    """Leaves that meet; or players, by name."""
    games: int = 20
    """Games of a pair, each seed from both seats."""
    first_seed: int = 900_000
    """First seed: this study selects a leaf."""
    candidates: str = "near+traps"
    """Throws that the searches consider."""


def matches(config: Config) -> Iterator[Match]:
    """Yields a match for each pair of leaves."""
    trap = game("trap")
    effort = f"depth={config.depth}" if config.depth else f"seconds={config.seconds / 2},clock=cpu"
    options = f"{effort},candidates={config.candidates},rare={config.rare}"
    for pair in combinations(config.leaves, 2):
        own, other = (n if ":" in n or n == "random" else f"search:{n},{options}" for n in pair)
        network = network_of(LEARNED, trap) if LEARNED in pair else None
        yield Match(" ".join(pair), trap, own, config.games, other, config.first_seed, network=network)


def ratings(results: Mapping[str, Found], names: list[str]) -> dict[str, tuple[float, float, float]]:
    """Returns Elo and its 95 % interval by name, of matches by "A B"."""
    units = []
    for pair, found in results.items():
        first, second = (names.index(name) for name in pair.split())
        units += [Unit(first, second, 1 + mean, 2) for mean in by_seed(found)]
    rated = rate(len(names), units)
    return {name: (float(rated.elo[k]), *rated.interval(k)) for k, name in enumerate(names)}


def page(config: Config, results: Results) -> list[str]:
    """Returns the ratings as a table, the best first."""
    names = sorted({name for pair in results for name in pair.split()})
    rated = ratings(results, names)
    rows = []
    for name in sorted(names, key=lambda name: -rated[name][0]):
        elo, low, high = rated[name]
        games = 2 * sum(len(by_seed(found)) for pair, found in results.items() if name in pair.split())
        rows.append([f"`{name}`", f"{elo:+.0f}", f"{low:+.0f} to {high:+.0f}", f"{games}"])
    effort = f"depth, {config.depth}" if config.depth else f"processor time, {1000 * config.seconds:g} ms a turn"
    return [
        f"Equal {effort}, candidates {config.candidates}, outcomes less probable than {config.rare:g} valued at once.",
        "",
        *table("leaf | Elo: | 95 % interval: | games:", rows),
    ]


main = command(Config, MatchStudy("ladder", matches, page))

if __name__ == "__main__":
    raise SystemExit(main())
