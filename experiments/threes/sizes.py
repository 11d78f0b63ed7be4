"""What an n-tuple network of Threes loses in smaller files: coarser entries, and only those that its own games come to.

`python -m leafwise.experiments.threes.sizes --model RUN` packs a run's unpacked network in each way, and plays every file at
depth 1 with the same selection seeds (from 900,000 on: what is chosen here is judged elsewhere). `sizes.json` and `sizes.md`
are written after each file; what stands there for the same model is not worked out again.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from leafwise.envs.core.errors import UserError
from leafwise.envs.registry import game
from leafwise.experiments.study import (
    Results,
    Study,
    command,
    digest_of,
    known_results,
    points,
    signed,
    table,
    write_page,
)
from leafwise.models.files import model_path, save_network
from leafwise.models.ntuple import NTupleNetwork
from leafwise.models.ntuple_files import load_ntuples
from leafwise.models.packing import merged, quantised
from leafwise.training.evaluation.intervals import bounds, interval_half, mean_interval
from leafwise.training.ntuple_td.games import looked_up, play_games, without
from leafwise.training.runs.seeds import SELECTION_SEED

THREES = game("threes")


@dataclass(frozen=True)
class Config(Study):
    """Packs a network in several ways and writes sizes.json and sizes.md."""

    model: str = ""
    """Run folder or file of the unpacked network."""
    steps: tuple[float, ...] = (0.25, 0.5, 1.0, 2.0, 4.0)
    """Entries are rounded to multiples of these."""
    moves: tuple[int, ...] = (0, 100_000_000, 10_000_000)
    """Entries not looked up in so many moves of the network's games become 0 (0: all are kept)."""
    games: int = 2000
    """Games at depth 1."""


def measured(network: NTupleNetwork, config: Config) -> dict[str, Any]:
    """Returns the size of a packed network's file in MB, and its scores at depth 1, with a 95 % interval."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "packed.safetensors"
        save_network(path, network, {})
        size = path.stat().st_size / 1e6
    scores = play_games(merged(network), 1, SELECTION_SEED, config.games).scores
    return {
        "mb": size,
        "entries": int(np.count_nonzero(network.weights.table)),
        "mean": float(scores.mean()),
        **bounds(mean_interval(np.asarray(scores, dtype=np.float64))),
        "games": config.games,
        "scores": [int(score) for score in scores],
    }


def report(config: Config, results: Results) -> None:
    """Writes the table; every file is compared with the network before packing on the same seeds."""
    whole = np.asarray(results["unpacked"]["scores"], dtype=np.float64)
    rows = []
    for name, found in results.items():
        loss = np.asarray(found["scores"]) - whole
        paired = f"{loss.mean():+,.0f} +- {interval_half(loss):,.0f}" if loss.any() else ""
        rows.append([name, f"{found['entries'] / 1e6:.2f}", f"{found['mb']:.1f}", *points(found), paired])
    lines = [
        "# threes: score against megabytes",
        "",
        f"{config.games:,} games at depth 1, seeds from {SELECTION_SEED:,} on.",
        "",
        *table("file | million entries: | MB: | mean score: | 95 % interval: | to the unpacked one:", rows),
        "",
    ]
    write_page(config, "sizes.md", signed(config, lines))


def run(config: Config) -> None:
    """Works through the files; raises ValueError if no model is named, or one that is packed."""
    network = load_ntuples(model_path(config.model), THREES) if config.model else None
    if network is None or network.packed:
        raise UserError(f"expected --model RUN with an unpacked network of threes, got {config.model or 'none'}")
    results = known_results(
        config, "sizes.json", {"model": digest_of(config.model), "games": config.games}, indent=None
    )
    if "unpacked" not in results:
        results.keep("unpacked", found := measured(network, config), f"unpacked: {found['mean']:,.0f}")
    for moves in config.moves:
        told = f", looked up in {moves / 1e6:g} million moves" if moves else ""
        wanted = {name: step for step in config.steps if (name := f"step {step:g}{told}") not in results}
        left = without(network, looked_up(network, moves)) if moves and wanted else network
        for name, step in wanted.items():
            results.keep(name, found := measured(quantised(left, step), config), f"{name}: {found['mean']:,.0f}")
            report(config, results)


main = command(Config, run)

if __name__ == "__main__":
    raise SystemExit(main())
