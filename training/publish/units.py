"""Fits the units of a model's values: a map from values to scores or win probabilities, stored with the model.

python -m leafwise.training.publish.units --model threes

The model plays games with itself on selection seeds. Half of the games fit an increasing function from the search's value to the
result of the game (the score, or 1 for a win, 1/2 for a draw, 0 for a loss). The other half measures its error. A shipped model has
its map in `models/weights/units.json`, any other in its file. A game's recipe may set the options and the name of the unit
(`[units]`), and its `publish` module may play games of its own (`valued_piece`).
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import product
from typing import Any

import numpy as np

from leafwise.envs.core.arrays import Floats, Ints
from leafwise.envs.core.commandline import parse
from leafwise.envs.core.contract.evaluator import Evaluator
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.interrupts import as_command
from leafwise.envs.core.ranges import Range, need_in
from leafwise.envs.registry import take_modules
from leafwise.models.files import game_of, load_evaluator, load_tensors, model_path
from leafwise.models.tensors import WEIGHTS, save_tensors
from leafwise.models.units import CHANCE, CHANCE_WITH_DRAWS, LEAST_SLOPE, SCORE, UNITS, Units, save_shipped_units
from leafwise.training.batches import batches_side_by_side
from leafwise.training.evaluation.calibration import monotone, tenths
from leafwise.training.execution import in_pieces, map_pieces
from leafwise.training.games import play_batches
from leafwise.training.runs import CALIBRATION_SEED
from leafwise.training.runs.loop import find_variant
from leafwise.training.runs.recipes import PUBLISH, recipe, recipes
from leafwise.training.types import Json

LARGEST_ERROR = 0.03
"""Maximum error without a warning."""
DIGITS = 7
PIECE, BATCH = 200, 20
"""Number of games in a job, and number played at once."""
FITTED = {
    "games": Range(2, 40_000),
    "depth": Range(1, 30),
    "plies": Range(0, 1000),
    "every": Range(1, 10**6),
    "slope": Range(0, 1, below=True),
}
"""Ranges of the numbers of a fit, after the recipe has replaced zeros."""


@dataclass(frozen=True)
class Config:
    """Options of the fit."""

    model: str
    """Name of a shipped model, run folder or model file."""
    games: int = 0
    """Number of games in each variant; half of them fit, the other half measure the error (0: from the game's recipe, else
    8000)."""
    depth: int = 1
    """Search depth of both players, in decisions."""
    plies: int = 8
    """Two-player games: maximum number of random moves at the start of a game."""
    nodes: int = 0
    """Maximum number of decisions that a search visits, as in players (0: from the recipe, else no limit)."""
    every: int = 0
    """Use one decision in so many (0: from the recipe, else every decision)."""
    processes: int = 1
    """Number of processes that play."""
    slope: float = LEAST_SLOPE
    """Minimum slope of a piece of the map, as a share of the mean slope (less where values tell exactly how a game ends)."""
    cluster: str = ""
    """Ray cluster that plays instead: auto, local or HOST:PORT."""


@dataclass(frozen=True)
class ValuedGames:
    """Decisions of games in the order of their seeds, one game after another."""

    values: Floats
    """[decisions]: value of the search, for the player to move."""
    outcomes: Floats
    """[decisions]: return of the game, for that player."""
    games: Ints
    """[decisions]: number of the game, from 0 on."""

    def share(self, odd: bool) -> ValuedGames:
        """Returns every other game."""
        kept = self.games % 2 == odd
        return ValuedGames(self.values[kept], self.outcomes[kept], self.games[kept])


def main(arguments: list[str] | None = None) -> int:
    """Runs the command line; wrong input is one line and status 2."""
    return as_command(_run, arguments)


def _run(arguments: list[str]) -> int:
    config = parse(Config, take_modules(arguments), "python -m leafwise.training.publish.units")
    path = model_path(config.model)
    game = game_of(path)
    units = fitted(game, partial(load_evaluator, game, path), config)
    if path.parent.resolve() == WEIGHTS.resolve():
        save_shipped_units(path.name, units)
    else:
        tensors, metadata = load_tensors(path)
        save_tensors(path, tensors, {**metadata, UNITS: units.as_json()})
    print(f"{path}: {units.name}, a map of {len(units.values)} points")
    print(f"mean error in the worst tenth of the positions: {units.error:.3f}")
    if units.error > LARGEST_ERROR:
        print(f"warning: the error is above {LARGEST_ERROR}; more games may help", file=sys.stderr)
    return 0


def fitted(game: Game, leaf: Callable[[], Evaluator], config: Config) -> Units:
    """Returns the units of a leaf's values; raises ValueError for numbers out of range."""
    unit_recipe = recipes(game.name).get(UNITS, {})
    usual = {"games": 8000, "nodes": 0, "every": 1} | {name: n for name, n in unit_recipe.items() if name != "name"}
    config = replace(config, **{name: getattr(config, name) or n for name, n in usual.items()})
    for name, limit in FITTED.items():
        need_in(getattr(config, name), limit, f"--{name}", kind=float if name == "slope" else int)
    played = valued_games(game, leaf, config)
    name = unit_recipe.get("name") or usual_name(game, played)
    if game.players == 2:  # points: 1, 1/2 or 0
        played = replace(played, outcomes=(1 + np.sign(played.outcomes)) / 2)
    fit, check = played.share(odd=False), played.share(odd=True)
    values, meanings = monotone(fit.values, fit.outcomes, least=config.slope)
    if (
        played.outcomes.min() >= 0 and played.outcomes.max() <= 1
    ):  # probabilities: the fit may go a little beyond 0 and 1
        low, high = min(meanings[0], 0.0), max(meanings[-1], 1.0)
        meanings = (meanings - low) / (high - low)
    values, meanings = rounded(values), rounded(meanings)
    kept = np.append(np.diff(values) > 0, True)
    fit_options: Json = {"games": config.games, "first_seed": CALIBRATION_SEED, "depth": config.depth}
    fit_options |= {"plies": config.plies} if game.players == 2 else {}
    fit_options |= {"nodes": config.nodes} if config.nodes else {}
    fit_options |= {"slope": config.slope} if config.slope != LEAST_SLOPE else {}
    # The variants, by options that differ from the defaults and that networks do not see
    variants = game_function(valued_variants, game)(game)
    fit_options |= {
        "variants": [{n: x for n, x in one.given_options.items() if n in one.rule_options} for one in variants]
    }
    units = Units(name, tuple(values[kept].tolist()), tuple(meanings[kept].tolist()), 0.0, fit_options)
    predicted, observed = tenths(np.interp(check.values, units.values, units.meanings), check.outcomes)
    off = np.abs(predicted - observed) / (observed if name == SCORE else 1.0)
    for mean, outcome, error in zip(predicted, observed, off, strict=True):
        print(f"predicted {mean:,.4g}, observed {outcome:,.4g}, error {error:.3f}", flush=True)
    return Units(name, units.values, units.meanings, round(float(off.max()), 4), fit_options)


def valued_games(game: Game, leaf: Callable[[], Evaluator], config: Config) -> ValuedGames:
    """Plays the games of a leaf in all variants of the recipe, one variant after another."""
    variants = valued_variants(game)
    pieces = list(product(variants, in_pieces(range(config.games), PIECE)))
    parts = list(map_pieces(ValuedGamesWork(leaf, config), pieces, config.processes, config.cluster))
    return ValuedGames(
        *(np.concatenate([getattr(part, name) for part in parts]) for name in ("values", "outcomes", "games"))
    )


def valued_variants(game: Game) -> list[Game]:
    """Returns the variants of the recipe; the game itself if there are none."""
    return [find_variant(game.name, text) for text in recipe(game.name, "selfplay", None).get("variants") or ()] or [
        game
    ]


@dataclass(frozen=True)
class ValuedGamesWork:
    """Plays jobs of a leaf's games: a variant and the numbers of its games."""

    make: Callable[[], Evaluator]
    config: Config

    @cached_property
    def leaf(self) -> Evaluator:
        """The leaf, created in the process that plays."""
        return self.make()

    def __call__(self, piece: tuple[Game, range]) -> ValuedGames:
        """Returns the decisions of the games."""
        game, games = piece
        return game_function(valued_piece, game)(game, self.leaf, self.config, games)


def game_function(usual: Callable[..., Any], game: Game) -> Any:
    """Returns the function of that name in the game's `publish` module, else the default one."""
    module = recipes(game.name).get("modules", {}).get(PUBLISH)
    return getattr(importlib.import_module(module), usual.__name__, usual) if module else usual


def valued_piece(game: Game, leaf: Evaluator, config: Config, games: range) -> ValuedGames:
    """Plays some of the games of a leaf; uses one in `every` decisions of each batch."""
    seeds = range(CALIBRATION_SEED + games.start, CALIBRATION_SEED + games.stop)
    plies, parts = config.plies if game.players == 2 else 0, []
    play: Any = play_batches if leaf.value is not None else batches_side_by_side
    batches = play(game, leaf, seeds, BATCH, depth=config.depth, plies=plies, nodes=config.nodes, by_search=True)
    for begin, one in zip(games[::BATCH], batches, strict=True):
        kept = (np.arange(len(one.values)) + begin) % config.every == 0
        outcomes = np.where(one.players == 1, -1.0, 1.0) * one.outcomes()
        parts.append((one.values[kept], outcomes[kept], (begin + one.game_of())[kept]))
    return ValuedGames(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))


def usual_name(game: Game, played: ValuedGames) -> str:
    """Returns the name of the unit: a probability in games that are won or lost, else a score."""
    if game.players == 2:
        return CHANCE_WITH_DRAWS if (played.outcomes == 0).any() else CHANCE
    return CHANCE if np.isin(played.outcomes, (0.0, 1.0)).all() else SCORE


def rounded(numbers: Any) -> Any:
    """Returns numbers with a few digits, as a file holds them."""
    return np.array([float(f"{x:.{DIGITS}g}") for x in numbers])


if __name__ == "__main__":
    raise SystemExit(main())
