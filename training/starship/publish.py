"""Publishes the model of a run that learned to build ships: measures it on final seeds, writes the file and its card.

python -m leafwise.training.starship.publish --run runs/starship-builds-1
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from leafwise.envs.starship.builder import LookAhead
from leafwise.envs.starship.hand import HandBuilder
from leafwise.models.files import (
    game_of,
    load_grid,
    load_tensors,
    model_path,
    save_network,
    shipped_name,
    write_atomically,
)
from leafwise.search.frontier import bound_values
from leafwise.training.evaluation.arena import FINAL_SEED, bootstrap_interval
from leafwise.training.runs.folder import hardware, publish_main
from leafwise.training.starship.builders import play, record


@dataclass(frozen=True)
class Config:
    """Options of the publication."""

    run: str
    """Run folder (or model file) to publish."""
    out: str = "models/weights"
    """Folder for the model and its card; the files take the name of the game's Gymnasium id."""
    seeds: int = 200
    """Final seeds on which it builds, one placement ahead."""


def launch(config: Config) -> Path:
    """Measures and writes a model; returns its path. Raises ValueError if there is no such model to publish."""
    source = model_path(config.run)
    game = game_of(source)
    network, told = load_grid(source, game), load_tensors(source)[1]
    if config.seeds < 2:
        raise ValueError(f"expected at least 2 seeds, got {config.seeds!r}")
    ahead = LookAhead(game, bound_values(game, network.evaluator("learned")), "learned", depth=1)
    seeds = range(FINAL_SEED, FINAL_SEED + config.seeds)
    learned = [record(lambda s: play(game, ahead, s), seed) for seed in seeds]
    by_hand = [record(lambda s: play(game, HandBuilder(s), s), seed) for seed in seeds]
    quality, bar = (np.array([r["quality"] for r in records]) for records in (learned, by_hand))
    score: dict[str, Any] = {"seeds": config.seeds, "first_seed": FINAL_SEED, "depth": 1}
    for name, found in (("learned", quality), ("hand", bar), ("gain", quality - bar)):
        low, high = bootstrap_interval(found)
        score[name] = {"mean": float(found.mean()), "ci_low": low, "ci_high": high}
    score["valid"] = float(np.mean([r["valid"] for r in learned]))
    kept = {name: told[name] for name in ("steps", "seconds", "command", "commit")}
    target = Path(config.out) / f"{shipped_name(game)}.safetensors"
    save_network(target, network, {**kept, "hardware": hardware(), "selected": told["score"], "score": score})
    write_atomically(target.with_suffix(".md"), card(target).encode())
    return target


def card(path: Path) -> str:
    """Returns the card of a published model, told by the file itself."""
    told = load_tensors(path)[1]
    game, score = game_of(path), told["score"]
    options = "".join(f", {k} = {v}" for k, v in game.options.items())

    def shown(name: str, form: str) -> str:
        found = score[name]
        return f"{found['mean']:{form}} ({found['ci_low']:{form}} to {found['ci_high']:{form}})"

    last = score["first_seed"] + score["seeds"] - 1
    lines = [
        f"# {game.name}{options}: a shipped value network",
        "",
        f"A convolution over the grid and the numbers beside it, widths {', '.join(map(str, told['hidden']))}, "
        f"{path.stat().st_size / 1e6:.2f} MB.",
        f"It says what quality an unfinished ship will have. `leafwise.load({path.stem!r})` loads it; "
        "`leafwise ship gen --builder learned` builds with it.",
        "",
        f"- command: `{told['command']}`",
        f"- commit: {told['commit']}",
        f"- {told['steps']:,} updates in {told['seconds']:,.0f} s on {told['hardware']}",
        f"- chosen by the ships of {told['selected']['games']} selection seeds: mean quality {told['selected']['mean']:.4f}",
        "",
        f"Ships on the hulls and requests of the seeds {score['first_seed']:,} to {last:,}, which neither training nor",
        "selection used; quality 0 where a ship is not valid; 95 % bootstrap intervals:",
        "",
        "| builder | quality |",
        "|---|---|",
        f"| learned, one placement ahead | {shown('learned', '.4f')} |",
        f"| by hand | {shown('hand', '.4f')} |",
        f"| gain, paired | {shown('gain', '+.4f')} |",
        "",
        f"{score['valid']:.1%} of the learned ships are valid. Written by",
        "",
        "    python -m leafwise.training.starship.publish --run RUN",
        "",
    ]
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    """Runs the command line."""
    return publish_main("leafwise.training.starship.publish", Config, launch, arguments)


if __name__ == "__main__":
    raise SystemExit(main())
