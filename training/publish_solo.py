"""Publishes the model of a game for one that is won or lost: measures it on final seeds, writes the file and its card.

python -m leafwise.training.publish_solo --run runs/friday-selfplay-1
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from leafwise.models.files import (
    game_of,
    load_sparse,
    load_tensors,
    model_path,
    save_network,
    shipped_name,
    write_atomically,
)
from leafwise.models.sparse import SparseNetwork
from leafwise.training.evaluation.agreement import SELECTION_SEED
from leafwise.training.evaluation.arena import FINAL_SEED
from leafwise.training.evaluation.elo import share_interval
from leafwise.training.kernels.solo_games import calibration, play_solo, rescaled, scaling
from leafwise.training.runs.folder import hardware, publish_main, training_command
from leafwise.training.runs.gating import named
from leafwise.training.runs.loop import find_variant

CALIBRATION_SEED, REMATCH_SEED = SELECTION_SEED + 50_000, SELECTION_SEED + 70_000
"""First seeds of the games that set slope and offset, and of a rematch; a run's own matches begin at the first of all."""


@dataclass(frozen=True)
class Config:
    """Options of the publication."""

    run: str
    """Run folder (or model file) to publish."""
    out: str = "models/weights"
    """Folder for the model and its card; the files take the name of the game's Gymnasium id."""
    variants: tuple[str, ...] = ("level=1", "level=2", "level=3", "level=4")
    """Variants that it plays."""
    games: tuple[int, ...] = (300, 50)
    """Final games in each of them at search depth 1, 2."""
    nodes: int = 50
    """Most decisions that a search looks at below each action."""
    rematch: int = 0
    """Games of selection in each variant that a run's best and newest networks play, to publish the better (0: the best)."""
    calibrate: int = 0
    """Games of selection in each variant that slope and offset of the log odds it says are set by (0: it says what it learned)."""


def publish(config: Config) -> Path:
    """Measures and writes a model; returns its path. Raises ValueError if there is no such model to publish."""
    source = model_path(config.run)
    game = game_of(source)
    network, told = load_sparse(source, game), load_tensors(source)[1]
    if network.head != "chance":
        raise ValueError(f"expected a model that says chances, got the head {network.head!r}")
    if config.rematch:
        network, told = rematch(source, network, told, config)
    scaled: dict[str, Any] = {}
    if config.calibrate:
        network, scaled = calibrated(network, config)
    leaf, score = network.evaluator("learned"), []
    for depth, games in enumerate(config.games, start=1):
        for text in config.variants:
            played = play_solo(find_variant(game.name, text), leaf, FINAL_SEED, games, depth=depth, nodes=config.nodes)
            wins = int(played.scores.sum())
            low, high = share_interval(wins, games)
            error = calibration(played.values, played.outcomes())[0]
            score.append({
                "variant": text, "depth": depth, "games": games, "mean": wins / games, "ci_low": low, "ci_high": high,
                "calibration_error": error, "seconds_per_move": played.seconds / len(played.values),
            })  # fmt: skip
            print(f"{text}, depth {depth}: won {wins} of {games}, calibration error {error:.3f}", flush=True)
    kept = {name: told[name] for name in ("steps", "seconds", "command", "commit")}
    kept |= {"start": told.get("start", {}), "hardware": hardware(), "selected": told["score"], "calibrated": scaled}
    kept["publication"] = training_command("leafwise.training.publish_solo", config)
    target = Path(config.out) / f"{shipped_name(game)}.safetensors"
    save_network(target, network, {**kept, "nodes": config.nodes, "first_seed": FINAL_SEED, "score": score})
    write_atomically(target.with_suffix(".md"), card(target).encode())
    return target


def rematch(
    source: Path, best: SparseNetwork, told: dict[str, Any], config: Config
) -> tuple[SparseNetwork, dict[str, Any]]:
    """Plays a run's best and its newest network; returns the better one and what its file says.

    Raises ValueError where the trainer's state is missing.
    """
    tensors, state = load_tensors(source.with_name("state.safetensors"))
    newest = best.with_tensors(named(tensors, "newest"))
    later = {**told, "steps": state["done"], "seconds": round(state["seconds"], 1)}
    found = []
    for network, what in ((best, told), (newest, later)):
        leaf, wins = network.evaluator("learned"), 0
        for text in config.variants:
            game = find_variant(network.game.name, text)
            wins += int(play_solo(game, leaf, REMATCH_SEED, config.rematch, nodes=config.nodes).scores.sum())
        score = {"mean": wins / (config.rematch * len(config.variants)), "games": config.rematch * len(config.variants)}
        found.append((network, {**what, "score": score}))
        print(f"after {what['steps']:,} iterations: won {score['mean']:.1%} of {score['games']:,}", flush=True)
    return max(found, key=lambda pair: pair[1]["score"]["mean"])


def calibrated(network: SparseNetwork, config: Config) -> tuple[SparseNetwork, dict[str, Any]]:
    """Returns a network whose chances fit its games of selection best, and how that was done."""
    leaf = network.evaluator("learned")
    variants = [find_variant(network.game.name, text) for text in config.variants]
    played = [play_solo(game, leaf, CALIBRATION_SEED, config.calibrate, nodes=config.nodes) for game in variants]
    slope, offset = scaling(np.concatenate([p.values for p in played]), np.concatenate([p.outcomes() for p in played]))
    print(f"log odds times {slope:.3f} {offset:+.3f}", flush=True)
    told = {"games": config.calibrate, "first_seed": CALIBRATION_SEED, "slope": slope, "offset": offset}
    return rescaled(network, slope, offset), told


def starts(told: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yields how the model was made that a model's training started from, then that model's, and so on."""
    while told := told.get("start") or {}:
        yield dict(told)


def card(path: Path) -> str:
    """Returns the card of a published model, told by the file itself."""
    told = load_tensors(path)[1]
    lines = [
        f"# {told['game']}: a shipped network that says the chance to win",
        "",
        f"A sparse first layer and dense ones after it, widths {', '.join(map(str, told['hidden']))}, "
        f"{path.stat().st_size / 1e6:.2f} MB; one network for all variants below.",
        f"`leafwise.load({path.stem!r})` loads it; `search:learned,depth=2` plays with it.",
        "",
        f"- command: `{told['command']}`",
        f"- commit: {told['commit']}",
        f"- {told['steps']:,} iterations in {told['seconds']:,.0f} s of processor time on {told['hardware']}",
    ]
    for s in starts(told):
        lines.append(
            f"- which starts from the model of `{s['command']}` ({s['steps']:,} iterations, {s['seconds']:,.0f} s)"
        )
    if scaled := told.get("calibrated"):
        lines += [
            f"- the log odds that it says were then multiplied by {scaled['slope']:.3f} and changed by {scaled['offset']:+.3f},",
            f"  which fits {scaled['games']} games in each variant on selection seeds from {scaled['first_seed']:,} on best",
        ]
    last = told["first_seed"] + max(s["games"] for s in told["score"]) - 1
    lines += [
        f"- chosen by {told['selected']['games']:,} games on selection seeds: won {told['selected']['mean']:.1%}",
        "",
        f"Fair play on the seeds {told['first_seed']:,} to at most {last:,}, which neither training nor selection used; 95 %",
        f"intervals by Wilson; a search looks at no more than {told['nodes']} decisions below each action. Calibration error:",
        "the mean distance between the chance that the network says at a decision and the share of games then won, by tenths.",
        "",
        "| variant | search depth | games | won | 95 % interval | calibration error | ms per decision |",
        "|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {s['variant']} | {s['depth']} | {s['games']:,} | {s['mean']:.1%} | {s['ci_low']:.1%} to {s['ci_high']:.1%} "
        f"| {s['calibration_error']:.3f} | {1000 * s['seconds_per_move']:.2g} |"
        for s in told["score"]
    ]  # fmt: skip
    return "\n".join([*lines, "", "Written by", "", f"    {told['publication']} --run RUN", ""])


def main(arguments: list[str] | None = None) -> int:
    """Runs the command line."""
    return publish_main("leafwise.training.publish_solo", Config, publish, arguments)


if __name__ == "__main__":
    raise SystemExit(main())
