"""Publishing networks that value unfinished ships: measured by the ships they build on final seeds.

A kind of `leafwise.training.publish`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from leafwise.envs.core.contract.evaluator import Evaluator
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.stream import new_stream
from leafwise.envs.starship.builder import TRIED_FIRST, LookAhead
from leafwise.envs.starship.hand import HandBuilder
from leafwise.models.grid import GridNetwork, load_grid
from leafwise.search.frontier import bound_values
from leafwise.training.evaluation.arena import batches_of
from leafwise.training.evaluation.elo import bootstrap_interval
from leafwise.training.execution.places import executor_for
from leafwise.training.kernels.valued_games import ValuedGames
from leafwise.training.publish.card import interval, seeds_line
from leafwise.training.runs.seeds import CALIBRATION_SEED, FINAL_SEED
from leafwise.training.starship.builders import play, record

WHAT, UNIT, load = "value network", "updates", load_grid
OPTIONS = ("games",)


def prepare(network: GridNetwork, source: Path, told: Any, config: Any) -> tuple[GridNetwork, dict[str, Any]]:
    """Returns the network; raises ValueError for a number of ships that has no interval."""
    if len(config.games) > 1 or min(config.games, default=200) < 2:
        raise ValueError(f"expected --games as one number of ships, at least 2, got {config.games!r}")
    return network, {}


def measure(network: GridNetwork, config: Any) -> Iterator[dict[str, Any]]:
    """Yields the quality of the ships built one placement ahead, and of those by hand."""
    n = (config.games or (200,))[0]
    pieces = batches_of(range(FINAL_SEED, FINAL_SEED + n))
    with executor_for(Ships(network), config.processes, config.cluster, len(pieces)) as executor:
        parts = list(executor.in_order(pieces))
    learned, by_hand = ([one for part in parts for one in part[k]] for k in (0, 1))
    quality, bar = (np.array([r["quality"] for r in records]) for records in (learned, by_hand))
    score: dict[str, Any] = {"seeds": n, "first_seed": FINAL_SEED, "depth": 1}
    for name, found in (("learned", quality), ("hand", bar), ("gain", quality - bar)):
        low, high = bootstrap_interval(found)
        score[name] = {"mean": float(found.mean()), "ci_low": low, "ci_high": high}
    yield score | {"valid": float(np.mean([r["valid"] for r in learned]))}


class Ships:
    """Builds ships of seeds: one placement ahead with a network, and by hand."""

    def __init__(self, network: GridNetwork) -> None:
        self.network = network

    def __reduce__(self) -> Any:
        return Ships, (self.network,)

    def __call__(self, seeds: Sequence[int]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """Returns the records of the learned ships and of those by hand."""
        game = self.network.game
        values = bound_values(game, self.network.evaluator("learned"))
        ahead = LookAhead(game, values, "learned", depth=1)
        learned = [record(lambda s: play(game, ahead, s), seed) for seed in seeds]
        return learned, [record(lambda s: play(game, HandBuilder(s), s), seed) for seed in seeds]


def valued_piece(game: Game, leaf: Evaluator, config: Any, ships: range) -> ValuedGames:
    """Builds some of the ships one placement ahead on selection seeds.

    Returns what the best place was worth each time, and the quality.
    """
    ahead = LookAhead(game, bound_values(game, leaf), "learned", depth=1)
    values: list[float] = []
    games: list[int] = []
    outcomes: list[float] = []
    for k in ships:
        stream, before = new_stream(CALIBRATION_SEED + k), len(values)
        state = game.start().settle(stream)
        while not state.is_terminal:
            tried = ahead.children(state.row, TRIED_FIRST * ahead.width)
            values.append(float(tried.values.max()))
            state = state.play(int(tried.places[tried.values.argmax()])).settle(stream)
        games += [k] * (len(values) - before)
        outcomes += [state.returns] * (len(values) - before)
    return ValuedGames(np.array(values), np.array(outcomes), np.array(games))


def about(path: Path, told: dict[str, Any]) -> list[str]:
    """Returns what the model is."""
    widths, size = ", ".join(map(str, told["hidden"])), path.stat().st_size / 1e6
    return [
        f"A convolution over the grid and the numbers beside it, widths {widths}, {size:.2f} MB.",
        "It says what quality an unfinished ship will have. `leafwise ship gen --builder learned` builds with it,",
    ]


def made(told: dict[str, Any]) -> list[str]:
    """Returns how the model was chosen."""
    chosen = told["selected"]
    return [f"- chosen by the ships of {chosen['games']} selection seeds: mean quality {chosen['mean']:.4f}"]


def figures(told: dict[str, Any]) -> list[str]:
    """Returns the table of figures."""
    (score,) = told["score"]
    return [
        f"Ships on the hulls and requests of the {seeds_line(score['first_seed'], score['first_seed'] + score['seeds'] - 1)};",
        "quality 0 where a ship is not valid; 95 % bootstrap intervals:",
        "",
        "| builder | quality |",
        "|---|---|",
        f"| learned, one placement ahead | {interval(score['learned'], '.4f')} |",
        f"| by hand | {interval(score['hand'], '.4f')} |",
        f"| gain, paired | {interval(score['gain'], '+.4f')} |",
        "",
        f"{score['valid']:.1%} of the learned ships are valid.",
    ]
