"""Publishes value networks for unfinished ships, measured by the ships they build on final seeds.

A kind of `leafwise.training.publish`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from leafwise.envs.core.contract.evaluator import Evaluator
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.stream import new_stream
from leafwise.envs.core.errors import UserError
from leafwise.envs.starship.plans import Plans
from leafwise.envs.starship.settings import PRESETS
from leafwise.models.grid import TENSORS, GridNetwork, load_grid
from leafwise.training.evaluation.arena import BATCH
from leafwise.training.evaluation.statistics import bounds, mean_interval
from leafwise.training.execution import in_pieces, map_pieces
from leafwise.training.publish import interval, seeds_line
from leafwise.training.publish.units import ValuedGames
from leafwise.training.runs import CALIBRATION_SEED
from leafwise.training.starship.builders import CompiledBuilder, builder, record

WHAT, UNIT, load = "value network", "updates", load_grid
OPTIONS = ("games",)
FIRST_SEED = 2_705_000
"""First seed of the card's figures."""
LEARNED_PRESETS = ("classic", "scout", "cruiser")
"""Presets that the shipped network learned from; the unit of its values is fitted to their ships."""


def prepare(network: GridNetwork, source: Path, metadata: Any, config: Any) -> tuple[GridNetwork, dict[str, Any]]:
    """Returns the network; raises ValueError for fewer than 2 ships, which have no interval."""
    if len(config.games) > 1 or min(config.games, default=200) < 2:
        raise UserError(f"expected --games as one number of ships, at least 2, got {config.games!r}")
    return network, {}


def for_preset(network: GridNetwork, preset: str) -> GridNetwork:
    """Returns the network for ships of another preset, with the same weights."""
    game = network.game.variant(preset=preset)
    return GridNetwork.create(game, network.hidden, tensors=network.tensors)


def measure(network: GridNetwork, config: Any) -> Iterator[dict[str, Any]]:
    """Yields for each preset the quality of ships built one placement ahead, and of hand-made ships."""
    n = (config.games or (200,))[0]
    for preset in PRESETS:
        pieces = in_pieces(range(FIRST_SEED, FIRST_SEED + n), BATCH)
        work = partial(both_builders, for_preset(network, preset))
        parts = list(map_pieces(work, pieces, config.processes, config.cluster))
        learned, by_hand = ([one for part in parts for one in part[k]] for k in (0, 1))
        quality, bar = (np.array([r["quality"] for r in records]) for records in (learned, by_hand))
        score: dict[str, Any] = {"variant": f"preset={preset}", "seeds": n, "first_seed": FIRST_SEED, "depth": 1}
        for name, values in (("learned", quality), ("hand", bar), ("gain", quality - bar)):
            score[name] = {"mean": float(values.mean()), **bounds(mean_interval(values))}
        yield score | {"valid": float(np.mean([r["valid"] for r in learned]))}


def both_builders(network: GridNetwork, seeds: Sequence[int]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Returns the records of ships built one placement ahead with a network, and of hand-made ships, for seeds."""
    ahead, by_hand = CompiledBuilder(network.game, network.evaluator("learned")), builder("hand", network.game)
    return [record(ahead, seed) for seed in seeds], [record(by_hand, seed) for seed in seeds]


def valued_variants(game: Game) -> list[Game]:
    """Returns the variants that the network learned from, whose ships `valued_piece` builds."""
    return [game.variant(preset=name) for name in LEARNED_PRESETS]


def valued_piece(game: Game, leaf: Evaluator, config: Any, ships: range) -> ValuedGames:
    """Builds some of the ships one placement ahead on selection seeds, one after another of each preset.

    Returns the value of the best place at each decision, and the final quality.
    """
    tensors = {name: getattr(leaf.weights, name) for name in TENSORS}
    widths = [len(tensors[name]) for name in ("first_bias", "second_bias", "hidden_bias")]
    network = GridNetwork.create(game, widths, tensors=tensors)
    plans = [
        Plans(preset.game, preset.evaluator("learned"))
        for preset in (for_preset(network, name) for name in LEARNED_PRESETS)
    ]
    values: list[float] = []
    games: list[int] = []
    outcomes: list[float] = []
    for k in ships:
        plan = plans[k % len(plans)]
        plan.start(new_stream(CALIBRATION_SEED + k))
        plan.by_value(new_stream(k))
        values += plan.story()[1].tolist()
        games += [k] * plan.decisions
        outcomes += [plan.quality] * plan.decisions
    return ValuedGames(np.array(values), np.array(outcomes), np.array(games))


def about(path: Path, metadata: dict[str, Any]) -> list[str]:
    """Returns what the model is."""
    widths, size = ", ".join(map(str, metadata["hidden"])), path.stat().st_size / 1e6
    return [
        "The convolutional network sees an unfinished ship and predicts the [quality](../../docs/terms.md#quality) of the",
        "finished ship, from 0 to 1. It works for the [presets](../../docs/terms.md#preset) of the table below.",
        f"Widths of the layers: {widths}. Size of the file: {size:.2f} MB.",
        "`leafwise ship gen --builder build:learned,depth=1` builds a ship with the network.",
    ]


def made(metadata: dict[str, Any]) -> list[str]:
    """Returns how the model was chosen."""
    chosen = metadata["selected"]
    return [
        f"- selection: the network with the best ships during training. Each test built {chosen['games']} ships with "
        f"[selection seeds](../../docs/terms.md#selection-seeds); the mean quality of this network's ships, "
        "averaged over the presets, was "
        f"{chosen['mean']:.4f}"
    ]


def figures(metadata: dict[str, Any]) -> list[str]:
    """Returns the table of figures."""
    first = metadata["score"][0]["first_seed"]
    rows = [
        f"| {score['variant'].partition('=')[2]} | {interval(score['learned'], '.4f')} | {interval(score['hand'], '.4f')} "
        f"| {interval(score['gain'], '+.4f')} | {score['valid']:.1%} |"
        for score in metadata["score"]
    ]
    return [
        "The table has the mean quality of the ships of two builders. The learned builder uses the network, looks",
        "one placement ahead, and never moves a part that is placed. The hand-made builder gets the same hulls and",
        "[requests](../../docs/terms.md#request). A ship that is not valid counts 0. The hulls have",
        f"{seeds_line(first)}. Intervals are 95 % intervals.",
        "",
        "| preset | learned builder | hand-made builder | mean gain on the same hulls | valid ships of the learned builder |",
        "|---|---|---|---|---|",
        *rows,
    ]
