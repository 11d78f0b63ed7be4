"""Publishes a run's best model: measures it on the final seeds and writes the model and its card.

python -m leafwise.training.publish --run runs/threes-td-1 --out models/weights
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from leafwise.envs.core.commandline import parse
from leafwise.envs.registry import game as find_game
from leafwise.models.files import load_network, load_tensors, save_network, write_atomically
from leafwise.training.arena import FINAL_SEED, evaluate
from leafwise.training.run import hardware


@dataclass(frozen=True)
class Config:
    """Options of the publication."""

    run: str
    """Run folder (or model file) to publish."""
    out: str = "models/weights"
    """Folder for the model and its card; the files take the game's name."""
    games: tuple[int, ...] = (1000, 200, 30)
    """Final games at search depth 1, 2, ..."""
    processes: int = 1
    """Processes that play."""


def publish(config: Config) -> Path:
    """Measures and writes a model; returns its path. Raises ValueError if there is no model to publish."""
    source = Path(config.run)
    source = source / "model.safetensors" if source.is_dir() else source
    _, metadata = load_tensors(source)
    game = find_game(str(metadata.get("game")), **metadata.get("options", {}))
    network = load_network(source, game)
    scores: list[dict[str, Any]] = []
    for depth, games in enumerate(config.games, start=1):
        found = evaluate(game, f'search:"{source}",depth={depth}', games, processes=config.processes)
        low, high = found.interval()
        scores.append(
            {
                "depth": depth, "games": games, "first_seed": FINAL_SEED, "mean": found.mean, "ci_low": low,
                "ci_high": high, "seconds_per_move": found.seconds_per_move,
            }
        )  # fmt: skip
        print(f"depth {depth}: mean {found.mean:,.0f} ({low:,.0f} to {high:,.0f}), {games} games")
    kept = {name: metadata[name] for name in ("steps", "seconds", "command", "commit")}
    target = Path(config.out) / f"{game.name}.safetensors"
    save_network(target, network, {**kept, "hardware": hardware(), "selected": metadata["score"], "score": scores})
    write_atomically(target.with_suffix(".md"), card(target).encode())
    return target


def card(path: Path) -> str:
    """Returns the card of a published model, told by the file itself."""
    tensors, told = load_tensors(path)
    tuples = " ".join("".join(f"{cell:x}" for cell in t) for t in told["tuples"])
    lines = [
        f"# {told['game']}: the shipped value network",
        "",
        f"An n-tuple network ({tuples}), {tensors['table'].size:,} weights, {path.stat().st_size / 1e6:.1f} MB, that values",
        f"the potential still to come (tile scores to the power {told['power']}).",
        f"`leafwise.load({told['game']!r})` loads it.",
        "",
        f"- command: `{told['command']}`",
        f"- commit: {told['commit']}",
        f"- {told['steps']:,} moves in {told['seconds']:,.0f} s on {told['hardware']}",
        "",
        "| search depth | games | mean score | 95 % interval | ms per move |",
        "|---|---|---|---|---|",
    ]
    lines += [
        f"| {s['depth']} | {s['games']} | {s['mean']:,.0f} | {s['ci_low']:,.0f} to {s['ci_high']:,.0f} "
        f"| {1000 * s['seconds_per_move']:.2f} |"
        for s in told["score"]
    ]
    lines += ["", f"Seeds from {FINAL_SEED:,} on, which neither training nor model selection used. Written by", ""]
    lines += ["    python -m leafwise.training.publish --run RUN", ""]
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    """Runs the command line."""
    config = parse(Config, sys.argv[1:] if arguments is None else arguments, prog="python -m leafwise.training.publish")
    try:
        print(publish(config))
    except (ValueError, KeyError) as problem:
        print(f"error: {problem}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
