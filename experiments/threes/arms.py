"""What made the Threes network better: continuations of the one that shipped before, which differ in one thing, as A/B tests.

`python -m leafwise.experiments.threes.arms --start runs/former.safetensors` trains each arm of `ARMS` from that file (or from
nothing) for equally many moves where it says nothing else, the rate held for half of them and then annealed. It plays the last
network, not a best one of few games, at depths 1 and 2 with the same selection seeds (from 900,000 on: what is chosen here is
judged elsewhere). The file stands in the history: `git show f67799f:models/weights/threes.safetensors > runs/former.safetensors`.
It has no checksum: commit e55f070 reads it, later ones take another `--start`.
`arms.json` and `arms.md` are written after each arm; what stands there for the same file is not worked out again, and a stopped
run goes on.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from leafwise.envs.core.errors import UserError
from leafwise.envs.core.textfile import read_text
from leafwise.envs.registry import game
from leafwise.experiments.study import (
    Results,
    Study,
    bootstrapped,
    command,
    digest_of,
    points,
    signed,
    table,
    trained,
    write_page,
)
from leafwise.experiments.threes.learned import MIXED
from leafwise.models.files import model_path
from leafwise.models.ntuple_files import load_ntuples
from leafwise.models.packing import merged
from leafwise.training.evaluation.intervals import bounds, mean_interval
from leafwise.training.ntuple_td.games import play_games
from leafwise.training.runs.seeds import SELECTION_SEED

WIDER = f"{MIXED} 012569 01569a 012367 01256a"
WIDEST = f"{WIDER} 012356 012348 45679a 01259a"
FAST = {"coherence": True, "learning_rate": 1.0, "final_learning_rate": 0.02}
BRIEF = {"total_steps": 10_000_000, "learning_rate": 0.02, "final_learning_rate": 0.002}
ARMS: dict[str, dict[str, Any]] = {
    "the same tuples": {},
    "four more 6-tuples, coherent rates": {"tuples": WIDER, "coherence": True},
    "four more 6-tuples": {"tuples": WIDER},
    "coherent rates": {"coherence": True},
    "coherent rates from 1": FAST,
    "eight more 6-tuples, coherent rates from 1": {"tuples": WIDEST, **FAST},
    "six 5-tuples more": {"tuples": f"{MIXED} 01234 45678 01245 45689 01458 12569"},
    "stages at 1536 and 3072": {"splits": "1536 3072"},
    "a carousel at 384, 768, 1536 and 3072": {"carousel": "384 768 1536 3072"},
    "no restarts": {"restart": 0},
    "10 million moves": BRIEF,
    "10 million moves, targets of depth 2": {"target_depth": 2, **BRIEF},
    "from nothing, coherent rates from 1": {"init_from": "", **FAST},
    "from nothing, coherent rates from 1, optimistic": {"init_from": "", "optimism": 6000.0, **FAST},
}
"""Arms, and the options of `td` in which each differs from the first."""


@dataclass(frozen=True)
class Config(Study):
    """Trains arms from a network and writes arms.json and arms.md."""

    arms: tuple[str, ...] = tuple(ARMS)
    """Arms to train and play."""
    moves: int = 100_000_000
    """Moves of each arm."""
    seeds: tuple[int, ...] = (1,)
    """Training seeds of each arm."""
    games: tuple[int, ...] = (2000, 150)
    """Games at depth 1, at depth 2, ..."""
    start: str = ""
    """Where each arm starts from: a run folder or a model file with the tuples of `MIXED`."""
    runs: str = "runs/threes-arms"
    """Folder of the runs."""


def played(model: str, depth: int, games: int) -> dict[str, Any]:
    """Returns what a network makes at a depth, with a 95 % interval."""
    found = play_games(merged(load_ntuples(model_path(model), game("threes"))), depth, SELECTION_SEED, games)
    scores = np.asarray(found.scores, dtype=np.float64)
    return {"mean": float(scores.mean()), **bounds(mean_interval(scores)), "games": games}


def trained_arm(config: Config, name: str, seed: int) -> Path:
    """Returns the folder of an arm's finished run, which is evaluated at its end only: so the last network is kept."""
    folder = Path(config.runs) / f"{name.replace(' ', '-').replace(',', '')}-{seed}"
    return trained(folder, "ntuple-td", {
        "game": "threes", "init_from": config.start, "total_steps": config.moves, "seed": seed, "tuples": MIXED,
        "learning_rate": 0.1, "final_learning_rate": 0.006, "hold": 0.5, "evaluate_games": 100,
        "interval": max(1, config.moves // 20), "evaluate_every": 10**6, "checkpoint_seconds": 600.0, **ARMS[name],
    })  # fmt: skip


def report(config: Config, results: Results) -> None:
    """Writes the table."""
    rows = []
    for name, found in results.items():
        cells = [" | ".join(points(depth)) for depth in found["depths"]]
        rows.append([name, f"{found['moves'] / 1e6:,.0f}", f"{found['seconds']:,.0f}", *cells])
    depths = "".join(f" | depth {d}, {n} games: | 95 % interval:" for d, n in enumerate(config.games, 1))
    lines = [
        "# threes: continuations of the network that shipped before",
        "",
        "Each arm differs from the first in what it is called after; those from nothing and those of 10 million moves are to be",
        "compared with each other. The widest with coherent rates from 1, run for longer, became the network that ships.",
        "Targets of depth 2 harm, probably because games played two deep do not reach the states that play one deep falls into:",
        "what is told too high there is never put right.",
        "The file to start from, as of commit e55f070, the last that reads it:",
        "`git show f67799f:models/weights/threes.safetensors > runs/former.safetensors`.",
        "",
        *table(f"arm | million moves: | s:{depths}", rows),
        "",
        *bootstrapped(depth for found in results.values() for depth in found["depths"]),
    ]
    write_page(config, "arms.md", signed(replace(config, arms=Config.arms), lines))


def run(config: Config) -> None:
    """Works through the arms."""
    wrong = [name for name in config.arms if name not in ARMS]
    if wrong:
        raise UserError(f"expected --arms among {', '.join(ARMS)}, got {wrong[0]}")
    if not config.start:
        raise UserError("expected --start as a run folder or model file, got none")
    about = {"moves": config.moves, "start": digest_of(config.start)}
    results = Results(config, "arms.json", about, indent=1)

    def depths(model: str) -> list[dict[str, Any]]:
        return [played(model, depth, games) for depth, games in enumerate(config.games, 1)]

    results.find("as shipped", lambda: {"moves": 0, "seconds": 0.0, "depths": depths(config.start)})
    for seed in config.seeds:
        for name in config.arms:

            def work(name: str = name, seed: int = seed) -> dict[str, Any]:
                folder = trained_arm(config, name, seed)
                told = json.loads(read_text(folder / "results.json"))
                return {"moves": told["steps"], "seconds": told["seconds"], "depths": depths(str(folder))}

            results.find(f"{name}, seed {seed}", work)
            report(config, results)
    report(config, results)


main = command(Config, run)

if __name__ == "__main__":
    raise SystemExit(main())
