"""Publishing networks that say the chance to win a game for one: played in all variants, calibrated where it is asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from leafwise.envs.core.contract.game import Game
from leafwise.models.files import load_tensors
from leafwise.models.sparse import SparseNetwork, load_sparse
from leafwise.training.evaluation.calibration import calibration, rescaled, scaling
from leafwise.training.evaluation.matches import play_alone
from leafwise.training.evaluation.statistics import share_interval
from leafwise.training.execution import executor_for
from leafwise.training.execution.generations import call
from leafwise.training.games import Played
from leafwise.training.publish.card import seeds_line
from leafwise.training.runs import CALIBRATION_SEED, FINAL_SEED, REMATCH_SEED
from leafwise.training.runs.gating import named
from leafwise.training.runs.loop import find_variant
from leafwise.training.runs.recipes import recipe

WHAT, UNIT, load = "network that says the chance to win", "iterations", load_sparse
OPTIONS = ("variants", "games", "nodes", "rematch", "calibrate")


def variants_of(game: Game, config: Any) -> dict[str, Game]:
    """Returns the variants that are played, by their texts."""
    texts = config.variants or recipe(game.name, "selfplay", None).get("mix") or [""]
    return {text: find_variant(game.name, text) for text in texts}


def prepare(network: SparseNetwork, source: Path, told: Any, config: Any) -> tuple[SparseNetwork, dict[str, Any]]:
    """Returns the network that is published, and how it was chosen and scaled."""
    more: dict[str, Any] = {"search_nodes": config.nodes, "first_seed": FINAL_SEED, "calibrated": {}}
    if config.rematch:
        network, chosen = rematch(source, network, told, config)
        more |= chosen
    if config.calibrate:
        network, more["calibrated"] = calibrated(network, config)
    return network, more


def rematch(
    source: Path, best: SparseNetwork, told: dict[str, Any], config: Any
) -> tuple[SparseNetwork, dict[str, Any]]:
    """Plays a run's best and its newest network; returns the better one and what is told of it.

    Raises ValueError where the trainer's state is missing.
    """
    tensors, state = load_tensors(source.with_name("state.safetensors"))
    newest, found = best.with_tensors(named(tensors, "newest")), []
    for network, what in ((best, told), (newest, state)):
        wanted = [(game, config.rematch, 1) for game in variants_of(best.game, config).values()]
        wins = sum(int(part.scores.sum()) for part in played(network, wanted, REMATCH_SEED, config))
        games = config.rematch * len(wanted)
        steps, seconds = what.get("steps", what.get("done")), round(what["seconds"], 1)
        found.append(
            (network, {"steps": steps, "seconds": seconds, "selected": {"mean": wins / games, "games": games}})
        )
        print(f"after {steps:,} iterations: won {wins / games:.1%} of {games:,}", flush=True)
    return max(found, key=lambda pair: pair[1]["selected"]["mean"])


def calibrated(network: SparseNetwork, config: Any) -> tuple[SparseNetwork, dict[str, Any]]:
    """Returns a network whose chances fit its games of selection best, and how that was done."""
    wanted = [(game, config.calibrate, 1) for game in variants_of(network.game, config).values()]
    games = Played.joined(list(played(network, wanted, CALIBRATION_SEED, config)))
    slope, offset = scaling(games.values, games.outcomes())
    print(f"log odds times {slope:.3f} {offset:+.3f}", flush=True)
    told = {"games": config.calibrate, "first_seed": CALIBRATION_SEED, "slope": slope, "offset": offset}
    return rescaled(network, slope, offset), told


def played(
    network: SparseNetwork, wanted: Sequence[tuple[Game, int, int]], first_seed: int, config: Any
) -> Iterator[Played]:
    """Yields the games of each variant; how many, and the depth, are wanted with it."""
    with executor_for(call, config.processes, config.cluster) as executor:
        yield from play_alone(executor, network, wanted, first_seed, config.nodes)


def measure(network: SparseNetwork, config: Any) -> Iterator[dict[str, Any]]:
    """Yields the figures of final games, by depth and variant."""
    amounts = list(enumerate(config.games or (300, 50), start=1))
    cells = [(d, n, text, game) for d, n in amounts for text, game in variants_of(network.game, config).items()]
    parts = played(network, [(game, n, d) for d, n, _, game in cells], FINAL_SEED, config)
    for (depth, games, text, _), part in zip(cells, parts, strict=True):
        wins = int(part.scores.sum())
        low, high = share_interval(wins, games)
        error = calibration(part.values, part.outcomes())[0]
        print(f"{text}, depth {depth}: won {wins} of {games}, calibration error {error:.3f}", flush=True)
        yield {
            "variant": text, "depth": depth, "games": games, "mean": wins / games, "ci_low": low, "ci_high": high,
            "calibration_error": error, "seconds_per_move": part.seconds / len(part.values),
        }  # fmt: skip


def about(path: Path, told: dict[str, Any]) -> list[str]:
    """Returns what the model is."""
    widths, size = ", ".join(map(str, told["hidden"])), path.stat().st_size / 1e6
    what = f"A sparse first layer and dense ones after it, widths {widths}, {size:.2f} MB; one network for all variants below."
    return [what, "`search:learned,depth=2` plays with it,"]


def made(told: dict[str, Any]) -> list[str]:
    """Returns how the model was scaled and chosen."""
    lines = []
    if scaled := told["calibrated"]:
        lines = [
            f"- the log odds that it says were then multiplied by {scaled['slope']:.3f} and changed by {scaled['offset']:+.3f},",
            f"  which fits {scaled['games']} games in each variant on selection seeds from {scaled['first_seed']:,} on best",
        ]
    selected = told["selected"]
    return [*lines, f"- chosen by {selected['games']:,} games on selection seeds: won {selected['mean']:.1%}"]


def figures(told: dict[str, Any]) -> list[str]:
    """Returns the table of figures."""
    limit = f"a search looks at no more than {told['nodes']} decisions below each action" if "nodes" in told else ""
    if "search_nodes" in told:
        limit = f"the player is `search:{told['game']},depth=1,nodes={told['search_nodes']}`, or `depth=2`"
    last = told["first_seed"] + max(s["games"] for s in told["score"]) - 1
    lines = [
        f"Fair play on the {seeds_line(told['first_seed'], last)}; 95 %",
        f"intervals by Wilson; {limit}. Calibration error:",
        "the mean distance between the chance that the network says at a decision and the share of games then won, by tenths.",
        "",
        "| variant | search depth | games | won | 95 % interval | calibration error | ms per decision |",
        "|---|---|---|---|---|---|---|",
    ]
    return lines + [
        f"| {s['variant']} | {s['depth']} | {s['games']:,} | {s['mean']:.1%} | {s['ci_low']:.1%} to {s['ci_high']:.1%} "
        f"| {s['calibration_error']:.3f} | {1000 * s['seconds_per_move']:.2g} |"
        for s in told["score"]
    ]
