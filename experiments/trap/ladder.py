"""Which leaf plays Trap best: a round robin of searches that differ in nothing but the leaf, and of other players.

Searches have equal processor time, or with --depth equal depth; the course's players look five ahead and have no clock.

`python -m leafwise.experiments.trap.ladder` plays every pair on the same seeds from both seats and writes `ladder.json` after
every pair; what stands there is not played again, so a stopped study goes on where it was. `ladder.md` is the table: Elo by
the Bradley-Terry model (Hunter, "MM algorithms for generalized Bradley-Terry models", 2004), mean 0, with 95 % intervals
from resampled seeds.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.commandline import parse
from leafwise.envs.registry import game
from leafwise.models.files import write_atomically
from leafwise.training.evaluation.arena import evaluate

FOLDER = Path(__file__).resolve().parent
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
RESAMPLES = 500


@dataclass(frozen=True)
class Config:
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
    processes: int = 1
    """Processes that play at the same time."""
    folder: Path = FOLDER
    """Where the results are, and go."""


def bradley_terry(points: NDArray[np.float64], sweeps: int = 200) -> NDArray[np.float64]:
    """Returns Elo ratings with mean 0 from points [n, n]: how many row took from column; half a point is added a pair."""
    points = points + 0.25 * (points + points.T > 0)
    games = points + points.T
    strength = np.ones(len(points))
    for _ in range(sweeps):
        strength = points.sum(axis=1) / (games / (strength[:, None] + strength)).sum(axis=1)
        strength /= np.exp(np.log(strength).mean())
    return 400 * np.log10(strength)


def ratings(results: dict[str, list[float]], names: list[str]) -> dict[str, tuple[float, float, float]]:
    """Returns Elo and its 95 % interval by name; results are mean returns per seed by "A B"."""
    rng = np.random.default_rng(0)

    def rated(resample: bool) -> NDArray[np.float64]:
        points = np.zeros((len(names), len(names)))
        for pair, by_seed in results.items():
            a, b = (names.index(name) for name in pair.split())
            share = np.array(by_seed)
            if resample:
                share = rng.choice(share, len(share))
            points[a, b] += (1 + share).sum()
            points[b, a] += (1 - share).sum()
        return bradley_terry(points)

    elo = rated(False)
    samples = np.array([rated(True) for _ in range(RESAMPLES)])
    low, high = np.quantile(samples, [0.025, 0.975], axis=0)
    return {name: (float(elo[k]), float(low[k]), float(high[k])) for k, name in enumerate(names)}


def table(results: dict[str, list[float]], config: dict[str, Any]) -> str:
    """Returns the ratings as a markdown table, the best first."""
    names = sorted({name for pair in results for name in pair.split()})
    rated = ratings(results, names)
    games = {name: 2 * sum(len(r) for pair, r in results.items() if name in pair.split()) for name in names}
    time = f"processor time, {1000 * config['seconds']:g} ms a turn"
    effort = f"depth, {config['depth']}" if config["depth"] else time
    lines = [
        f"Equal {effort}, candidates {config['candidates']}, outcomes less probable than {config['rare']:g} valued at once.",
        "",
        "| leaf | Elo | 95 % interval | games |",
        "|---|---:|---:|---:|",
    ]
    for name in sorted(names, key=lambda name: -rated[name][0]):
        elo, low, high = rated[name]
        lines.append(f"| `{name}` | {elo:+.0f} | {low:+.0f} to {high:+.0f} | {games[name]} |")
    return "\n".join(lines) + "\n"


def study(config: Config) -> dict[str, list[float]]:
    """Plays the pairs that are missing; returns the mean return of the first per seed, by pair."""
    config.folder.mkdir(parents=True, exist_ok=True)
    path = config.folder / "ladder.json"
    said = {
        "seconds": config.seconds,
        "depth": config.depth,
        "candidates": config.candidates,
        "rare": config.rare,
        "first_seed": config.first_seed,
    }
    known: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {**said, "pairs": {}}
    if {name: known.get(name) for name in said} != said:
        raise ValueError(f"{path}: expected results of {said}, got others; give another --folder")
    results: dict[str, list[float]] = known["pairs"]
    effort = f"depth={config.depth}" if config.depth else f"seconds={config.seconds / 2},clock=cpu"
    options = f"{effort},candidates={config.candidates},rare={config.rare}"
    for a, b in combinations(config.leaves, 2):
        if f"{a} {b}" in results:
            continue
        players = [name if ":" in name or name == "random" else f"search:{name},{options}" for name in (a, b)]
        found = evaluate(
            game("trap"), players[0], config.games, config.first_seed, opponent=players[1], processes=config.processes
        )
        results[f"{a} {b}"] = [float(value) for value in found.by_seed]
        write_atomically(path, (json.dumps(known) + "\n").encode())
        write_atomically(config.folder / "ladder.md", table(results, said).encode())
        print(f"{a} {b}: {50 * (1 + found.mean):.0f} %", flush=True)
    return results


def main() -> int:
    """Runs the command."""
    config = parse(Config, sys.argv[1:], "python -m leafwise.experiments.trap.ladder")
    try:
        study(config)
    except ValueError as problem:
        print(f"error: {problem}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
