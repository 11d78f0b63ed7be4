"""Publishes n-tuple networks, packed to small tables and measured by complete games."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from leafwise.envs.core.arrays import Floats, Words
from leafwise.envs.core.errors import UserError
from leafwise.models.files import load_tensors
from leafwise.models.ntuple import NTupleNetwork, load_ntuples, merged, quantised
from leafwise.models.ntuple_functions import features
from leafwise.training.evaluation.statistics import interval_text
from leafwise.training.ntuple_td.kernels import kernels, new_trainer, play_games
from leafwise.training.runs import FINAL_SEED, PACKING_SEED, SELECTION_SEED
from leafwise.training.types import Json, Logged

WHAT, UNIT, load = "value network", "moves", load_ntuples
OPTIONS = ("games", "step", "loss_games", "first_seed")
REACHED = "reached_"


def prepare(network: NTupleNetwork, source: Path, metadata: Any, config: Any) -> tuple[NTupleNetwork, Json]:
    """Returns the packed network, and the loss by packing."""
    if config.first_seed < FINAL_SEED:
        raise UserError(f"expected --first-seed of at least {FINAL_SEED}, got {config.first_seed}")
    packed = quantised(network, config.step)
    return packed, {"step": config.step, "loss": packing_loss(network, packed, config)}


def packing_loss(before: NTupleNetwork, after: NTupleNetwork, config: Any) -> Logged:
    """Measures the effect of packing on the values of some 10,000 states and on the scores of the same seeds."""
    rows = valued_rows(before, 10_000)
    values = [values_of(network, rows) for network in (before, after)]
    games, where = config.loss_games, {"processes": config.processes, "cluster": config.cluster}
    error = np.abs(values[1] - values[0])
    scores = [play_games(n, 1, PACKING_SEED, games, **where).scores for n in (before, after)]
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


def valued_rows(network: NTupleNetwork, n: int) -> Words:
    """Returns states from games of a network."""
    actor, T = new_trainer(network.game, SELECTION_SEED), network.game.tables(network.evaluator("rows"))
    parts: list[Words] = []
    while sum(map(len, parts)) < n:
        before = int(actor.counts[0])
        kernels(network).td_games(actor, 1, 0.0, 0.0, 0, T)
        parts.append(actor.trajectory[: int(actor.counts[0]) - before : 7].copy())
    return np.concatenate(parts)[:n]


def values_of(network: NTupleNetwork, rows: Words) -> Floats:
    """Returns the compiled value of each row."""
    value, T = network.functions.ntuple_value, network.game.tables(network.evaluator("rows"))
    return np.array([value(rows, np.uint64(k), T) for k in range(len(rows))])


def measure(network: NTupleNetwork, config: Any) -> Iterator[Json]:
    """Yields the figures of final games, by depth."""
    names, first = features(network.game).names, config.first_seed
    for depth, games in enumerate(config.games or (1000, 500, 300), start=1):
        played = play_games(merged(network), depth, first, games, processes=config.processes, cluster=config.cluster)
        reached = {f"{REACHED}{names[rank]}": float((played.ranks >= rank).mean()) for rank in (13, 14, 15)}
        score = {"depth": depth, "first_seed": first, **played.figures(), **reached}
        interval = interval_text(score["ci_low"], score["ci_high"], ",.0f")
        print(f"depth {depth}: mean {score['mean']:,.0f} ({interval}), {games} games", flush=True)
        yield score


def about(path: Path, metadata: Json) -> list[str]:
    """Returns what the model is."""
    tuples = " ".join("".join(f"{cell:x}" for cell in t) for t in metadata["tuples"])
    packed = [tensor for name, tensor in load_tensors(path)[0].items() if "low" in name]
    seen = sum(int(np.frombuffer(zlib.decompress(tensor.tobytes()), np.uint8).size) for tensor in packed)
    return [
        f"The n-tuple network has {seen:,} table entries other than 0. Size of the file: {path.stat().st_size / 1e6:.1f} MB.",
        "It predicts the gain in potential until the end of the game. The potential of a board is the sum of",
        f"`points ** {metadata['power']}` over its cells. The tuples of the network are `{tuples}`; "
        "each digit or letter is a cell.",
    ]


def made(metadata: Json) -> list[str]:
    """Returns how the model was packed."""
    loss = metadata["loss"]
    return [
        f"- packing: the file stores entries as multiples of {metadata['step']:g}. The value of a board is a sum of "
        f"entries, about {loss['mean_value']:,.0f} on average; this rounding changes the value by {loss['rms_error']:.2g} "
        "(root mean square)",
        f"- effect of packing: it changes the mean score of {loss['games']} games at depth 1 by {loss['score_difference']:+,.0f}, "
        f"which the results above include (standard error {loss['standard_error']:,.0f})",
    ]


def figures(metadata: Json) -> list[str]:
    """Returns the table of figures."""
    reached = [name for name in metadata["score"][0] if name.startswith(REACHED)]
    cells = " | ".join(f"reached {name.removeprefix(REACHED)}" for name in reached)
    lines = [
        f"| search depth | games | mean score | 95 % interval | median score | {cells} | ms a move |",
        "|---|---|---|---|---|---|" + "---|" * len(reached),
    ]
    for s in metadata["score"]:
        shares = " | ".join(f"{100 * s[name]:.1f} %" for name in reached)
        lines.append(
            f"| {s['depth']} | {s['games']} | {s['mean']:,.0f} | {interval_text(s['ci_low'], s['ci_high'], ',.0f')} "
            f"| {s['median']:,.0f} | {shares} | {1000 * s['seconds_per_move']:.3f} |"
        )
    return [
        *lines,
        "",
        "A column `reached N` has the share of games that reached the tile N. Milliseconds are processor time of compiled code.",
        f"The games have seeds from {metadata['score'][0]['first_seed']:,} on. "
        "Neither training nor selection used these seeds.",
    ]
