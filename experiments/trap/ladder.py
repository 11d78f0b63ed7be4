"""Which leaf plays Trap best: a round robin of searches that differ in nothing but the leaf, and of other players.

Searches have equal processor time, or with --depth equal depth; the course's players look five ahead and have no clock.

`python -m leafwise.experiments.trap.ladder` plays every pair on the same seeds from both seats and writes `ladder.json` after
every pair; what stands there is not played again, so a stopped study goes on where it was. `ladder.md` is the table: Elo with
95 % intervals by `leafwise.training.evaluation.elo`, mean 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

from leafwise.envs.registry import game
from leafwise.experiments.study import PlacedStudy, command, known_results, table, write_page
from leafwise.training.evaluation.arena import evaluate
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


def ratings(results: dict[str, list[float]], names: list[str]) -> dict[str, tuple[float, float, float]]:
    """Returns Elo and its 95 % interval by name; results are mean returns per seed by "A B"."""
    units = []
    for pair, by_seed in results.items():
        first, second = (names.index(name) for name in pair.split())
        units += [Unit(first, second, 1 + share, 2) for share in by_seed]
    rated = rate(len(names), units)
    return {name: (float(rated.elo[k]), *rated.interval(k)) for k, name in enumerate(names)}


def page(results: dict[str, list[float]], told: dict[str, Any]) -> list[str]:
    """Returns the ratings as a table, the best first."""
    names = sorted({name for pair in results for name in pair.split()})
    rated = ratings(results, names)
    games = {name: 2 * sum(len(r) for pair, r in results.items() if name in pair.split()) for name in names}
    time = f"processor time, {1000 * told['seconds']:g} ms a turn"
    effort = f"depth, {told['depth']}" if told["depth"] else time
    rows = []
    for name in sorted(names, key=lambda name: -rated[name][0]):
        elo, low, high = rated[name]
        rows.append([f"`{name}`", f"{elo:+.0f}", f"{low:+.0f} to {high:+.0f}", f"{games[name]}"])
    return [
        f"Equal {effort}, candidates {told['candidates']}, outcomes less probable than {told['rare']:g} valued at once.",
        "",
        *table("leaf | Elo: | 95 % interval: | games:", rows),
    ]


def study(config: Config) -> None:
    """Plays the pairs that are missing, and writes the mean return of the first per seed, by pair."""
    told = {name: getattr(config, name) for name in ("seconds", "depth", "candidates", "rare", "first_seed")}
    results = known_results(config, "ladder.json", told, under="pairs", anew=False)
    effort = f"depth={config.depth}" if config.depth else f"seconds={config.seconds / 2},clock=cpu"
    options = f"{effort},candidates={config.candidates},rare={config.rare}"
    for pair in combinations(config.leaves, 2):
        if " ".join(pair) not in results:
            own, other = (n if ":" in n or n == "random" else f"search:{n},{options}" for n in pair)
            found = evaluate(
                game("trap"),
                own,
                config.games,
                config.first_seed,
                opponent=other,
                processes=config.processes,
                cluster=config.cluster,
            )
            by_seed = [float(value) for value in found.by_seed]
            results.keep(" ".join(pair), by_seed, f"{' '.join(pair)}: {50 * (1 + found.mean):.0f} %")
            write_page(config, "ladder.md", page(results, told))
    write_page(config, "ladder.md", page(results, told))


main = command(Config, study)

if __name__ == "__main__":
    raise SystemExit(main())
