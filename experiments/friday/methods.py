"""Friday learned in four ways for a minute or three: search-supervised values, plain TD, Q-learning, PPO.

`python -m leafwise.experiments.friday.methods` trains each method at level 1 with its recipe (`leafwise train`) and
plays final games one decision deep with what it learned; it writes `methods.json` and `methods.md` part by part. A run that was
stopped goes on.
"""

from __future__ import annotations

import importlib
import json
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from leafwise.envs.registry import game as find_game
from leafwise.experiments.study import PlacedStudy, command, finished, results_of, signed, table, write_page
from leafwise.models.files import load_evaluator
from leafwise.training.evaluation.arena import FINAL_SEED
from leafwise.training.evaluation.elo import share_interval
from leafwise.training.kernels.solo_games import play_solo, seeds_from
from leafwise.training.runs.options import config_file
from leafwise.training.runs.recipes import with_recipe

LENGTHS = {
    "selfplay": 12,
    "td": 12,
    "dqn": 500_000,
    "ppo": 350_000,
}
"""How long each method learns: one to three minutes of processor time."""
EASED = ("--eased", "4")
"""What self-play and TD are told besides: their recipes' easier games last longer than these runs."""
LEVEL = 1
NODES = 100
"""Decisions that a search looks at in the final games, at most."""


@dataclass(frozen=True)
class Config(PlacedStudy):
    """Compares four ways to learn Friday."""

    share: float = 1.0
    """Share of each run's length, above 0."""
    games: int = 500
    """Final games of each."""
    runs: str = "runs/friday-methods"
    """Folder of the runs."""


def learned(config: Config, method: str) -> dict[str, Any]:
    """Trains, or goes on, and plays; returns what is told."""
    path, steps = Path(config.runs) / method, max(1, round(config.share * LENGTHS[method]))
    words = ["--game", "friday", "--variant", f"level={LEVEL}", "--run", str(path)]
    words += ["--total-steps", str(steps), *(EASED if method in ("selfplay", "td") else ())]
    words = with_recipe("friday", method, words) + (["--resume"] if config_file(path) else [])
    if importlib.import_module(f"leafwise.training.methods.{method}").main(words):
        raise ValueError(f"expected {method} to learn, got status 2 of {' '.join(words)}")
    finished(path)
    told = json.loads((path / "results.json").read_text(encoding="utf-8"))
    parts = list(config.each(partial(final_games, path), seeds_from(FINAL_SEED, config.games)))
    wins, decisions = sum(part[0] for part in parts), sum(part[1] for part in parts)
    low, high = share_interval(wins, config.games)
    return {
        "command": told["command"], "commit": told["commit"], "seconds": told["seconds"],
        "games": config.games, "wins": wins, "mean": wins / config.games,
        "ci_low": low, "ci_high": high, "decisions": decisions / config.games,
    }  # fmt: skip


def final_games(run: Path, seeds: range) -> tuple[int, int]:
    """Plays a game for each seed with what a run has learned; returns how many it won, and its decisions."""
    game = find_game("friday", level=LEVEL)
    played = play_solo(game, load_evaluator(game, run), seeds[0], len(seeds), nodes=NODES)
    return int(played.scores.sum()), len(played.values)


def study(config: Config) -> None:
    """Trains what is not known, and writes the page."""
    results = results_of(config, "methods.json")
    rows = []
    for method in LENGTHS:
        found = results.find(method, partial(learned, config, method))
        won = f"{found['mean']:.1%}", f"{found['ci_low']:.1%} to {found['ci_high']:.1%}"
        cells = [f"{found['seconds']:.0f}", f"{found['games']}", *won, f"{found['decisions']:.0f}"]
        rows.append([method, *cells, f"`{found['command']}` as of commit {found['commit'][:7]}"])
    lines = [
        "# Friday: four ways to learn it, for a minute or three",
        "",
        f"Level {LEVEL}, one run each; then {config.games} games on the seeds from {FINAL_SEED:,} on, fair play:",
        f"`leafwise eval friday search:RUN,depth=1,nodes={NODES} --level {LEVEL} --games {config.games} --seed {FINAL_SEED}`.",
        "Q-learning and PPO see the observation; the others the sparse features and their sums, a guide's first games, easier",
        "games, and credit for lost ones. Seconds are of the processor, evaluations included; what plays is the network that won",
        "most games of selection.",
        "",
        *table("method | seconds: | games: | won: | 95 % interval: | decisions a game: | command", rows),
        "",
    ]
    write_page(config, "methods.md", signed(config, lines))


main = command(Config, study)

if __name__ == "__main__":
    raise SystemExit(main())
