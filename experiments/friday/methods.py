"""Friday learned in four ways for a minute or three: search-supervised values, plain TD, Q-learning, PPO.

`python -m leafwise.experiments.friday.methods` trains each method at level 1 with its recipe (`leafwise train`) and
plays final games one decision deep with what it learned; it writes `methods.json` and `methods.md` part by part. A run that was
stopped goes on.
"""

from __future__ import annotations

import importlib
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from leafwise.envs.core.commandline import parse
from leafwise.envs.registry import game as find_game
from leafwise.experiments.learned import Page
from leafwise.models.files import load_evaluator
from leafwise.training.evaluation.arena import FINAL_SEED
from leafwise.training.evaluation.elo import share_interval
from leafwise.training.kernels.solo_games import play_solo
from leafwise.training.runs.options import config_file
from leafwise.training.runs.recipes import with_recipe

LENGTHS = {
    "selfplay": ("--total-steps", 12),
    "td": ("--total-steps", 12),
    "dqn": ("--total-steps", 500_000),
    "ppo": ("--total-steps", 350_000),
}
"""How long each method learns: one to three minutes of processor time."""
EASED = ("--eased", "4")
"""What self-play and TD are told besides: their recipes' easier games last longer than these runs."""
LEVEL = 1


@dataclass(frozen=True)
class Config:
    """Compares four ways to learn Friday."""

    share: float = 1.0
    """Share of each run's length, above 0."""
    games: int = 500
    """Final games of each."""
    runs: str = "runs/friday-methods"
    """Folder of the runs."""
    folder: Path = Path(__file__).resolve().parent
    """Where the results are, and go."""


def learned(config: Config, method: str) -> dict[str, Any]:
    """Trains, or goes on, and plays; returns what is told."""
    path, (length, most) = Path(config.runs) / method, LENGTHS[method]
    words = ["--game", "friday", "--variant", f"level={LEVEL}", "--run", str(path)]
    words += [length, str(max(1, round(config.share * most))), *(EASED if method in ("selfplay", "td") else ())]
    words = with_recipe("friday", method, words) + (["--resume"] if config_file(path) else [])
    if (
        importlib.import_module(f"leafwise.training.methods.{method}").main(words)
        or not (path / "results.json").exists()
    ):
        raise KeyboardInterrupt  # the run was stopped, and so is the study
    told = json.loads((path / "results.json").read_text(encoding="utf-8"))
    game = find_game("friday", level=LEVEL)
    played = play_solo(game, load_evaluator(game, path), FINAL_SEED, config.games, nodes=50)
    wins = int(played.scores.sum())
    low, high = share_interval(wins, config.games)
    return {
        "command": told["command"], "seconds": told["seconds"], "games": config.games, "wins": wins, "mean": wins / config.games,
        "ci_low": low, "ci_high": high, "decisions": len(played.values) / config.games,
    }  # fmt: skip


def main(arguments: list[str] | None = None) -> int:
    """Runs the study."""
    given = sys.argv[1:] if arguments is None else arguments
    config = parse(Config, given, "python -m leafwise.experiments.friday.methods")
    command = "python -m leafwise.experiments.friday.methods"
    page = Page(config.folder / "methods.json", command)
    lines = [
        "# Friday: four ways to learn it, for a minute or three",
        "",
        f"Level {LEVEL}, one run each; then {config.games} games one decision deep on the seeds from {FINAL_SEED:,} on, fair",
        "play, with at most 50 decisions looked at below each action. Q-learning and PPO see the observation; the others the",
        "sparse features and their sums, a guide's first games, easier games, and credit for lost ones. Seconds are of the",
        "processor, evaluations included; what plays is the network that won most games of selection.",
        "",
        "| method | seconds | games | won | 95 % interval | decisions a game | command |",
        "|---|---:|---:|---:|---:|---:|---|",
    ]
    for method in LENGTHS:
        found = page.part(method, lambda: learned(config, method))  # noqa: B023
        lines.append(
            f"| {method} | {found['seconds']:.0f} | {found['games']} | {found['mean']:.1%} | {found['ci_low']:.1%} to "
            f"{found['ci_high']:.1%} | {found['decisions']:.0f} | `{found['command']}` |"
        )
    page.write([*lines, ""])
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
