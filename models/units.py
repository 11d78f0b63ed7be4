"""What a leaf's numbers mean to people: the chance to win, the score to expect, by a map fitted on games.

A network says what it was trained to say: in Threes a potential, in two-player games a number from -1 to 1. `Units` turns the
value of a search with that leaf into what then happened on average in games of selection seeds. A model file holds its map in its
metadata, a shipped model's stands in `weights/units.json`.
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

from leafwise.envs.core.check.door import made_alike
from leafwise.envs.core.contract.evaluator import Evaluator
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.fields import marked
from leafwise.envs.core.files import read_text
from leafwise.envs.registry import as_game
from leafwise.models.files import LEARNED, best_leaf, load_evaluator, model_path, shipped_name
from leafwise.models.tensors import WEIGHTS, load_metadata, write_atomically
from leafwise.search.players import BEST
from leafwise.search.rollout import is_rollout

UNITS = "units"
"""The entry of a model file's metadata."""
FILE = WEIGHTS / "units.json"
CHANCE, CHANCE_WITH_DRAWS = "chance to win", "chance to win, a draw counting half"
SCORE = "expected final score"
PLAIN = "score of the leaf"
"""What values are called where nothing is known of their meaning."""
LEAST_SLOPE = 0.1
"""No piece of a fitted map is flatter than this share of its mean slope: two values that differ are told as two numbers, also
where the games that were played say nothing of the difference."""


@dataclass(frozen=True)
class Units:
    """A monotone map from values, for the player to move, to what people count.

    Raises ValueError for values that do not rise, meanings that fall, and numbers that are not finite.
    """

    name: str
    """What the numbers are: "chance to win"."""
    values: tuple[float, ...]
    """Values of a search, ascending."""
    meanings: tuple[float, ...]
    """What each of `values` means, never falling; linear in between. Beyond, shares of 1 are constant, scores go on."""
    error: float
    """Largest gap between the predicted and the observed mean of ten equal groups of positions, in games that the map was not
    fitted to; a share of the observed mean where the numbers are scores."""
    fitted: Mapping[str, Any] = field(default_factory=dict)
    """How: `games`, `first_seed`, `depth`, `plies` (random moves that a game begins with, at most), and with which rules:
    `variants`, the rule options of each that are not the defaults (where there are none, those of the model's file)."""

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):
            raise UserError(f"units: expected a name, got {self.name!r:.80}")
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
        """Returns what a value means."""
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
        """Returns what a value means, as people read it."""
        return self.text(self(value))

    def text(self, meaning: float) -> str:
        """Returns a number of the unit as people read it: `63.21 %`, `118,431`, `7.14`."""
        if self.is_share:
            return f"{100 * meaning:.2f} %"
        return f"{meaning:,.0f}" if self.meanings[-1] > 100 else f"{meaning:.2f}"

    def as_json(self) -> dict[str, Any]:
        """Returns what a file holds."""
        return {**asdict(self), "values": list(self.values), "meanings": list(self.meanings)}

    @staticmethod
    def of_json(told: Any, source: str) -> Units:
        """Returns the map that a file holds; raises ValueError that names the source if it is none."""
        try:
            return Units(**{**told, "values": tuple(told["values"]), "meanings": tuple(told["meanings"])})
        except (TypeError, KeyError, ValueError, OverflowError) as problem:
            raise UserError(f"{source}: expected units of values, got {str(told)[:80]!r}: {problem}") from None


def written(value: float, units: Units | None) -> str:
    """Returns a value as people read it: by its units, else as it is."""
    return f"{value:,.4f}" if units is None else units.written(value)


def load_with_units(game: Game, source: str | os.PathLike[str]) -> Evaluator:
    """Returns a trained model as a leaf that knows what its values mean to people; raises ValueError as `load_evaluator`."""
    return replace(load_evaluator(game, source), units=functools.partial(units_of, name=os.fspath(source)))


def units_of(game: str | Game, name: str) -> Units | None:
    """Returns the units of a leaf's values, the leaf named as players name it; None if nothing is known, or only for other rule
    options than this variant's, as `why_no_units` then says.

    Raises ValueError for a game that does not exist, and for a file whose units are not valid.
    """
    return _units_and_reason(as_game(game), name)[0]


def why_no_units(game: Game, name: str) -> str:
    """Returns a line that says why the values of a measured network have no unit in this variant; "" for any other leaf.

    Raises ValueError for a file with units that are none.
    """
    return _units_and_reason(game, name)[1]


def _units_and_reason(game: Game, name: str) -> tuple[Units | None, str]:
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
    own, fixed = (
        {option: value for option, value in about.get("options", {}).items() if (option in free) == is_free}
        for is_free in (True, False)
    )
    given = game.given_options
    if about.get("game", game.name) != game.name or fixed != {name: given[name] for name in given if name not in free}:
        return None, ""  # a model that this variant cannot load
    usual = game.variant(**{option: game.defaults[option] for option in free})
    measured = units.fitted.get("variants", [own])
    if any(same_rules(game, usual.variant(**rules)) for rules in measured):
        return units, ""
    told = " or ".join(rules_text(usual.variant(**rules)) for rules in measured)
    return None, f"no unit: the network was measured with {told}, not with {rules_text(game)}"


def rules_text(game: Game) -> str:
    """Returns the rule options of a variant that are not the defaults, `level=2,start_life=9`; "the usual rules" without any."""
    given = game.given_options
    return (
        ",".join(f"{name}={str(given[name])[:40]}" for name in game.rule_options if name in given) or "the usual rules"
    )


@functools.lru_cache(maxsize=64)
def same_rules(game: Game, other: Game) -> bool:
    """Whether two variants of a game have the same rules: the same options, or other words for them that make the same tables."""
    other = other.variant(**{name: getattr(game.options, name) for name in marked(game.options, "shown_only")})
    return game == other or (game.width == other.width and made_alike(game.tables(), other.tables()))


def units_of_file(path: Path) -> Units | None:
    """Returns the units of a model file's values, None if nothing is known; raises ValueError for units that are none."""
    if path.parent.resolve() == WEIGHTS.resolve() and path.name in shipped_units():
        return Units.of_json(shipped_units()[path.name], str(FILE))
    return _in_file(path, path.stat().st_mtime_ns)


@functools.lru_cache(maxsize=8)
def _in_file(path: Path, written: int) -> Units | None:
    told = load_metadata(path)
    return Units.of_json(told[UNITS], str(path)) if told.get(UNITS) else None


@functools.cache
def shipped_units() -> dict[str, Any]:
    """Returns the units of models that shipped without: file name -> what a file would hold."""
    found: dict[str, Any] = json.loads(read_text(FILE)) if FILE.exists() else {}
    return found


def save_shipped_units(name: str | os.PathLike[str], units: Units) -> None:
    """Keeps the units of a shipped model, by the name of its file."""
    told = {**shipped_units(), str(name): units.as_json()}
    lines = (f"{json.dumps(key)}: {json.dumps(told[key])}" for key in sorted(told))
    write_atomically(FILE, ("{\n" + ",\n".join(lines) + "\n}\n").encode())
    shipped_units.cache_clear()
