"""Compares builders on the same hulls and requests; goes on where it was stopped.

python -m leafwise.experiments.starship.learned --seeds 100 --builders hand best:16 search:hopeful
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.commandline import parse
from leafwise.envs.registry import game
from leafwise.envs.starship.files import write_bytes
from leafwise.envs.starship.quality import TERMS
from leafwise.experiments.starship.learned.builders import builder, record
from leafwise.training.arena import bootstrap_interval

SAVED_EVERY = 10
"""Ships after which the results so far are written."""


@dataclass(frozen=True)
class Config:
    """What is compared; the first builder is the one the others are compared with."""

    builders: tuple[str, ...] = ("hand", "random", "best:4", "best:16", "search:hopeful,depth=1")
    """hand, best:N, random, rollout:N, or a player such as search:hopeful,depth=1."""
    preset: str = "scout"
    """scout, classic or cruiser."""
    seeds: int = 100
    """Hulls with their requests."""
    first_seed: int = 1_000_000
    """First of the seeds."""
    out: Path = Path("runs/starship-builders")
    """Folder of the results: one file for each builder, to which a later run adds."""


def measure(config: Config) -> dict[str, list[dict[str, Any]]]:
    """Returns the records of each builder, those that the folder has already included."""
    place, results = game("starship", preset=config.preset), {}
    wanted = range(config.first_seed, config.first_seed + config.seeds)
    config.out.mkdir(parents=True, exist_ok=True)
    for name in config.builders:
        path = config.out / f"{config.preset}-{''.join(c if c.isalnum() else '_' for c in name)}.json"
        done = {r["seed"]: r for r in json.loads(path.read_text())} if path.exists() else {}
        missing = [seed for seed in wanted if seed not in done]
        build = builder(name, place)
        if missing:
            build(config.first_seed - 1)  # loads the machine code, which is no part of a ship's time
        for k, seed in enumerate(missing, start=1):
            done[seed] = record(build, seed)
            if k % SAVED_EVERY == 0 or k == len(missing):
                write_bytes(json.dumps([done[s] for s in sorted(done)]).encode(), path)
        results[name] = [done[seed] for seed in wanted]
    return results


def column(records: list[dict[str, Any]], name: str) -> NDArray[np.float64]:
    """Returns one figure of all ships."""
    return np.array([record[name] for record in records], dtype=float)


def table(results: dict[str, list[dict[str, Any]]]) -> str:
    """Returns the comparison as a Markdown table: quality (0 if not valid), paired gain with 95 % interval, terms."""
    names = list(results)
    base = column(results[names[0]], "quality")
    lines = [
        "| builder | quality | gain over the first | valid | both valid | " + " | ".join(TERMS) + " | s/ship |",
        "|---" * (6 + len(TERMS)) + "|",
    ]
    for name in names:
        records = results[name]
        quality, valid = column(records, "quality"), column(records, "valid") == 1
        low, high = bootstrap_interval(quality - base)
        both = valid & (column(results[names[0]], "valid") == 1)
        gain = f"{(quality - base).mean():+.4f} [{low:+.4f}, {high:+.4f}]"
        shared = f"{(quality - base)[both].mean():+.4f}" if both.any() else "-"
        terms = " | ".join(f"{column(records, term)[valid].mean():.3f}" if valid.any() else "-" for term in TERMS)
        row = [f"`{name}`", f"{quality.mean():.4f}", gain, f"{valid.mean():.3f}", shared, terms]
        lines.append(f"| {' | '.join(row)} | {column(records, 'seconds').mean():.4f} |")
    return "\n".join(lines)


def main(arguments: list[str]) -> int:
    """Runs the comparison and prints it."""
    config = parse(Config, arguments, "leafwise.experiments.starship.learned")
    if config.seeds < 1 or not config.builders:
        print(f"error: expected at least one seed and one builder, got {config.seeds!r}", file=sys.stderr)
        return 2
    try:
        text = table(measure(config))
    except (ValueError, OSError) as problem:
        print(f"error: {problem}", file=sys.stderr)
        return 2
    print(f"{config.preset}, {config.seeds} seeds from {config.first_seed}\n\n{text}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
