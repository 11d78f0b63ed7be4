"""Publishes a run's best model: packs it, measures the packed file on the final seeds, writes it and its card.

python -m leafwise.training.publish --run runs/threes-td-1 --out models/weights
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.contract.game import Game
from leafwise.envs.registry import game as find_game
from leafwise.models.files import described, load_network, load_tensors, save_network, save_tensors, write_atomically
from leafwise.models.ntuple import NTupleNetwork, features
from leafwise.models.packing import merged, pack, quantised
from leafwise.training.evaluation.arena import FINAL_SEED
from leafwise.training.kernels.ntuple_games import SELECTION_SEED, play_games
from leafwise.training.kernels.td import kernels, new_trainer
from leafwise.training.runs.folder import hardware, publish_main

LOSS_SEED = SELECTION_SEED + 50_000
"""First seed of the games that tell the loss by packing: not those that the model was the best in."""


@dataclass(frozen=True)
class Config:
    """Options of the publication."""

    run: str
    """Run folder (or model file) to publish."""
    out: str = "models/weights"
    """Folder for the model and its card."""
    name: str = ""
    """Name of the files, under which `leafwise.load` finds the model (default: the game's name)."""
    step: float = 0.25
    """Entries are rounded to multiples of this, in the unit of the values."""
    largest_mb: float = 32.0
    """The largest file that is allowed, in MB."""
    games: tuple[int, ...] = (1000, 500, 300)
    """Final games at search depth 1, 2, 3."""
    loss_games: int = 1000
    """Games that both the network before packing and the packed one play."""
    processes: int = 1
    """Threads that play."""


def packing_loss(before: NTupleNetwork, after: NTupleNetwork, games: int, threads: int) -> dict[str, float]:
    """Returns what packing does to the values of some 10,000 states of games, and to the scores of the same seeds."""
    rows = valued_rows(before, 10_000)
    values = [values_of(network, rows) for network in (before, after)]
    error = np.abs(values[1] - values[0])
    scores = [play_games(n, 1, LOSS_SEED, games, threads=threads).scores for n in (before, after)]
    difference = scores[1] - scores[0]
    return {
        "rows": len(rows),
        "largest_error": float(error.max()),
        "rms_error": float(np.sqrt((error**2).mean())),
        "mean_value": float(np.abs(values[0]).mean()),
        "games": games,
        "score_difference": float(difference.mean()),
        "standard_error": float(difference.std(ddof=1) / np.sqrt(games)),
    }


def valued_rows(network: NTupleNetwork, n: int) -> NDArray[np.uint64]:
    """Returns states that a network's games come through."""
    actor, T = new_trainer(network.game, SELECTION_SEED), network.game.tables(network.evaluator("rows"))
    found: list[NDArray[np.uint64]] = []
    while sum(map(len, found)) < n:
        before = int(actor.counts[0])
        kernels(network).td_games(actor, 1, 0.0, 0.0, 0, T)
        found.append(actor.trajectory[: int(actor.counts[0]) - before : 7].copy())
    return np.concatenate(found)[:n]


def values_of(network: NTupleNetwork, rows: NDArray[np.uint64]) -> NDArray[np.float64]:
    """Returns the compiled value of each row."""
    value, T = network.functions["ntuple_value"], network.game.tables(network.evaluator("rows"))
    return np.array([value(rows, np.uint64(k), T) for k in range(len(rows))])


def measured(network: NTupleNetwork, depth: int, games: int, threads: int) -> dict[str, Any]:
    """Returns the figures of a model on the final seeds."""
    played = play_games(merged(network), depth, FINAL_SEED, games, threads=threads)
    names = features(network.game).names
    reached = {f"reached_{names[rank]}": float((played.ranks >= rank).mean()) for rank in (13, 14, 15)}
    told = {"depth": depth, "first_seed": FINAL_SEED, **played.figures(), **reached}
    mean, low, high = (f"{told[name]:,.0f}" for name in ("mean", "ci_low", "ci_high"))
    print(f"depth {depth}: mean {mean} ({low} to {high}), {games} games", flush=True)
    return told


def publish(config: Config) -> Path:
    """Packs, measures and writes a model; returns its path. Raises ValueError if there is no model to publish."""
    source = Path(config.run)
    source = source / "model.safetensors" if source.is_dir() else source
    _, metadata = load_tensors(source)
    game: Game = find_game(str(metadata.get("game")), **metadata.get("options", {}))
    network = load_network(source, game)
    packed = quantised(network, config.step)
    target = Path(config.out) / f"{config.name or game.name}.safetensors"
    kept = {name: metadata[name] for name in ("steps", "seconds", "command", "commit")}
    kept["start"] = metadata.get("start", {})
    kept |= {"hardware": hardware(), "selected": metadata["score"], "step": config.step, "score": []}
    draft = target.with_name(f".{target.name}.draft")
    try:
        save_network(draft, packed, kept)
        size = draft.stat().st_size / 1e6
        if size > config.largest_mb:
            raise ValueError(f"expected a file of at most {config.largest_mb:g} MB, got {size:.1f}; raise --step")
        packed = load_network(draft, game)  # what is measured is what was written
    finally:
        draft.unlink(missing_ok=True)
    tensors, told = pack(packed), {**kept, "loss": packing_loss(network, packed, config.loss_games, config.processes)}
    for depth, games in enumerate(config.games, start=1):
        told["score"].append(measured(packed, depth, games, config.processes))
        save_tensors(target, tensors, {**described(packed), **told})
        write_atomically(target.with_suffix(".md"), card(target).encode())
    return target


def card(path: Path) -> str:
    """Returns the card of a published model, told by the file itself."""
    tensors, told = load_tensors(path)
    tuples = " ".join("".join(f"{cell:x}" for cell in t) for t in told["tuples"])
    seen = sum(
        int(np.frombuffer(zlib.decompress(t.tobytes()), np.uint8).size) for n, t in tensors.items() if "low" in n
    )
    loss = told["loss"]
    lines = [
        f"# {path.stem}: a shipped value network of {told['game']}",
        "",
        f"An n-tuple network ({tuples}) with {seen:,} entries that are not 0, in {path.stat().st_size / 1e6:.1f} MB,",
        f"which values the potential still to come (tile scores to the power {told['power']}).",
        f"`leafwise.load({path.stem!r})` loads it.",
        "",
        f"- command: `{told['command']}`",
        f"- commit: {told['commit']}",
        *[f"- which starts from the model of `{s['command']}` ({s['steps']:,} moves)" for s in starts(told)],
        f"- {told['steps']:,} moves in {told['seconds']:,.0f} s on {told['hardware']}",
        f"- packed: entries are multiples of {told['step']:g}; on {loss['rows']:,} states of games (values about",
        f"  {loss['mean_value']:,.0f}) that changes the value by {loss['rms_error']:.2g} (root mean square), at most "
        f"{loss['largest_error']:.2g},",
        f"  and the score of {loss['games']} paired games at depth 1 by {loss['score_difference']:+,.0f} "
        f"(standard error {loss['standard_error']:,.0f})",
        "",
        "| search depth | games | mean score | 95 % interval | median | 3072 | 6144 | 12288 | ms per move |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {s['depth']} | {s['games']} | {s['mean']:,.0f} | {s['ci_low']:,.0f} to {s['ci_high']:,.0f} "
        f"| {s['median']:,.0f} | " + " | ".join(f"{100 * v:.1f} %" for k, v in s.items() if k.startswith("reached"))
        + f" | {1000 * s['seconds_per_move']:.3f} |"
        for s in told["score"]
    ]  # fmt: skip
    lines += ["", f"Seeds from {FINAL_SEED:,} on, which neither training nor model selection used; the file itself was"]
    lines += ["measured, after packing. Milliseconds are processor time of the compiled games. Written by", ""]
    lines += [f"    python -m leafwise.training.publish --run RUN --name {path.stem} --step {told['step']:g}", ""]
    return "\n".join(lines)


def starts(told: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yields how the model was made that a model's training started from, then that model's, and so on."""
    while told := told.get("start") or {}:
        yield dict(told)


def main(arguments: list[str] | None = None) -> int:
    """Runs the command line."""
    return publish_main("leafwise.training.publish", Config, publish, arguments)


if __name__ == "__main__":
    raise SystemExit(main())
