"""What a leaf's values mean to people: a chance to win or an expected score, by a map fitted on games.

A network's values depend on its training: in Threes a potential, in two-player games a number from -1 to 1. `Units` maps the value
of a search with that leaf to the average result in games of selection seeds. A model file has its map in its metadata, shipped
models have theirs in `weights/units.json`.
"""

from __future__ import annotations

import functools
import json
import math
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from leafwise.envs.core.check.rule_caller import is_same_definition
from leafwise.envs.core.contract.evaluator import Evaluator
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.errors import UserError, short
from leafwise.envs.core.fields import marked
from leafwise.envs.core.files import read_text
from leafwise.envs.registry import as_game
from leafwise.models.files import LEARNED, best_leaf, load_evaluator, model_path, shipped_name
from leafwise.models.tensors import WEIGHTS, load_metadata, write_atomically
from leafwise.search.players import BEST
from leafwise.search.rollout import is_rollout

UNITS = "units"
"""The key in a model file's metadata."""
FILE = WEIGHTS / "units.json"
CHANCE, CHANCE_WITH_DRAWS = "chance to win", "chance to win, a draw counting half"
SCORE = "expected final score"
PLAIN = "score of the leaf"
"""The name of values without a known unit."""
LEAST_SLOPE = 0.1
"""Minimum slope of each piece of a fitted map, as a share of its mean slope: different values become different numbers, even if the
games played show no difference."""


@dataclass(frozen=True)
class Units:
    """Translates values, which are for the player to move, into a unit that people use. The map is monotone.

    Raises ValueError for values that do not rise, meanings that fall, and numbers that are not finite.
    """

    name: str
    """The unit, like "chance to win"."""
    values: tuple[float, ...]
    """Values of a search, ascending."""
    meanings: tuple[float, ...]
    """The meaning of each of `values`, never falling; linear in between. Beyond both ends a share of 1 stays constant, and a
    score continues to change."""
    error: float
    """Largest difference between predicted and observed mean in ten equal groups of positions, from games not used for the fit. If
    the numbers are scores it is a share of the observed mean."""
    fitted: Mapping[str, Any] = field(default_factory=dict)
    """How it was fitted: `games`, `first_seed`, `depth`, `plies` (maximum number of random first moves), and `variants`: for each
    variant the rule options that are not the defaults (if missing, those of the model's file)."""

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):
            raise UserError(f"units: expected a name, got {self.name!r:.80}")
        for given in (self.values, self.meanings):
            if not isinstance(given, (tuple, list)):
                raise UserError(f"units: expected a tuple of numbers, got {short(repr(given))}")
        numbers = [*self.values, *self.meanings, self.error]
        if not all(isinstance(x, (int, float)) and math.isfinite(x) for x in numbers) or not self.values:
            raise UserError(f"units: expected finite numbers, got {numbers[:6]!r}")
        if (
            len(self.values) != len(self.meanings)
            or (np.diff(self.values) <= 0).any()
            or (np.diff(self.meanings) < 0).any()
        ):
            raise UserError(
                f"units: expected rising values, and for each a meaning that never falls, got {numbers[:6]!r}"
            )

    def __call__(self, value: float) -> float:
        """Returns the meaning of a value."""
        v, m = self.values, self.meanings
        beyond = 0.0 if self.is_share or len(v) == 1 else value - min(max(value, v[0]), v[-1])
        slope = LEAST_SLOPE * (m[-1] - m[0]) / (v[-1] - v[0]) if beyond else 0.0
        return float(np.interp(value, v, m)) + slope * beyond

    @property
    def is_share(self) -> bool:
        """Whether the numbers are shares of 1, which people read in percent: a chance, a quality."""
        return self.meanings[0] >= 0 and self.meanings[-1] <= 1

    @property
    def is_chance(self) -> bool:
        """Whether the numbers are chances to win."""
        return self.name.startswith(CHANCE)

    def written(self, value: float) -> str:
        """Formats the meaning of a value for people."""
        return self.text(self(value))

    def text(self, meaning: float) -> str:
        """Formats a number of the unit for people: `63.21 %`, `118,431`, `7.14`."""
        if self.is_share:
            return f"{100 * meaning:.2f} %"
        return f"{meaning:,.0f}" if self.meanings[-1] > 100 else f"{meaning:.2f}"

    def as_json(self) -> dict[str, Any]:
        """Returns the units as a file stores them."""
        return {**asdict(self), "values": list(self.values), "meanings": list(self.meanings)}

    @staticmethod
    def of_json(entry: Any, source: str) -> Units:
        """Returns the units that a file stores; raises ValueError that names the source if they are not valid."""
        try:
            return Units(**{**entry, "values": tuple(entry["values"]), "meanings": tuple(entry["meanings"])})
        except (TypeError, KeyError, ValueError, OverflowError) as problem:
            raise UserError(f"{source}: expected units of values, got {str(entry)[:80]!r}: {problem}") from None


def written(value: float, units: Units | None) -> str:
    """Formats a value for people: by its units if they are known."""
    return f"{value:,.4f}" if units is None else units.written(value)


def load_with_units(game: Game, source: str | os.PathLike[str]) -> Evaluator:
    """Loads a trained model as an evaluator with units; raises ValueError as `load_evaluator` does."""
    return replace(load_evaluator(game, source), units=functools.partial(units_of, name=os.fspath(source)))


def units_of(game: str | Game, name: str) -> Units | None:
    """Returns the units of a leaf's values, by the leaf's name; None if they are unknown, or known only for other rule options.

    `why_no_units` then says why. Raises ValueError for a game that does not exist, and for a file whose units are not valid.
    """
    return _units_and_reason(as_game(game), name)[0]


def why_no_units(game: Game, name: str) -> str:
    """Returns a line that says why the values of a measured network have no unit in this variant; "" for any other leaf.

    Raises ValueError for a file whose units are not valid.
    """
    return _units_and_reason(game, name)[1]


def _units_and_reason(game: Game, name: str) -> tuple[Units | None, str]:
    if not isinstance(name, str):
        raise UserError(f"units: expected the name of a leaf, got {name!r:.120}")
    if name in ("", BEST):
        name = best_leaf(game)
    if name in game.scores or is_rollout(name):
        return None, ""
    path = model_path(shipped_name(game) if name == LEARNED else name)
    if path.suffix != ".safetensors" or not path.exists():
        return None, ""
    units = units_of_file(path)
    if units is None:
        return None, ""
    about, free = load_metadata(path), game.rule_options
    model_rules, fixed = (
        {option: value for option, value in about.get("options", {}).items() if (option in free) == is_free}
        for is_free in (True, False)
    )
    own_options = game.given_options
    if about.get("game", game.name) != game.name or fixed != {
        name: own_options[name] for name in own_options if name not in free
    }:
        return None, ""  # this variant cannot load the model
    usual = game.variant(**{option: game.defaults[option] for option in free})
    measured = units.fitted.get("variants", [model_rules])
    if any(same_rules(game, usual.variant(**rules)) for rules in measured):
        return units, ""
    measured_text = " or ".join(rules_text(usual.variant(**rules)) for rules in measured)
    return None, f"no unit: the network was measured with {measured_text}, not with {rules_text(game)}"


def rules_text(game: Game) -> str:
    """Formats the rule options of a variant that are not the defaults, `level=2,start_life=9`; "the usual rules" if there are
    none."""
    given = game.given_options
    return (
        ",".join(f"{name}={str(given[name])[:40]}" for name in game.rule_options if name in given) or "the usual rules"
    )


@functools.lru_cache(maxsize=64)
def same_rules(game: Game, other: Game) -> bool:
    """Whether two variants of a game have the same rules: equal options, or options that make equal tables."""
    other = other.variant(**{name: getattr(game.options, name) for name in marked(game.options, "shown_only")})
    return game == other or (game.width == other.width and is_same_definition(game.tables(), other.tables()))


def units_of_file(path: Path) -> Units | None:
    """Returns the units of a model file's values, None if unknown; raises ValueError if they are not valid."""
    if path.parent.resolve() == WEIGHTS.resolve() and path.name in shipped_units():
        return Units.of_json(shipped_units()[path.name], str(FILE))
    return _in_file(path, path.stat().st_mtime_ns)


@functools.lru_cache(maxsize=8)
def _in_file(path: Path, written: int) -> Units | None:
    metadata = load_metadata(path)
    return Units.of_json(metadata[UNITS], str(path)) if metadata.get(UNITS) else None


@functools.cache
def shipped_units() -> dict[str, Any]:
    """Returns the units of shipped models whose files have none: file name -> units as a file stores them."""
    units: dict[str, Any] = json.loads(read_text(FILE)) if FILE.exists() else {}
    return units


def save_shipped_units(name: str | os.PathLike[str], units: Units) -> None:
    """Writes the units of a shipped model to `weights/units.json`, by the name of its file."""
    entries = {**shipped_units(), str(name): units.as_json()}
    lines = (f"{json.dumps(key)}: {json.dumps(entries[key])}" for key in sorted(entries))
    write_atomically(FILE, ("{\n" + ",\n".join(lines) + "\n}\n").encode())
    shipped_units.cache_clear()
