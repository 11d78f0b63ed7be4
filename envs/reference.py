"""Measured results of known players and learners in each environment, from a file that a study writes.

`python -m leafwise.experiments.reference` measures them; `leafwise.reference("Threes-v0")` returns them. Imports nothing heavy.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from leafwise.envs.core.errors import UserError
from leafwise.envs.core.files import read_text
from leafwise.envs.registry import NAMESPACE

FILE = Path(__file__).with_name("reference.json")


@dataclass(frozen=True)
class Reference:
    """The mean undiscounted return of one player over episodes of a registered id, with its 95 % interval."""

    player: str
    """The player's text, as `leafwise.player` takes it; or a learner of Stable-Baselines3 or sb3-contrib."""
    role: str
    """"random", "hand-made", "learner", "shipped" or "best known" ("perfect" where it solves the game)."""
    mean: float
    ci_low: float | None
    ci_high: float | None
    """None if all episodes had the same score, which tells nothing of the spread; games won and lost always have an interval."""
    games: int
    first_seed: int | None
    """Seed of the first episode, the others follow; None if `source` has it."""
    training_steps: int | None
    """Environment steps that a learner was trained for, with its own defaults; None for players that do not learn."""
    source: str
    """The page of the figures, or the commit at which they were measured."""


@cache
def _measured() -> dict[str, Any]:
    return json.loads(read_text(FILE)) if FILE.exists() else {}


def reference(env_id: str) -> tuple[Reference, ...]:
    """Returns the results of known players in an environment, the weakest kind of player first.

    The environment is named by its id: `Threes-v0` or `leafwise/Threes-v0`. In a two-player game the opponent is the default of the
    environment ("greedy"), and the player goes first. Raises ValueError for an id without results.
    """
    known = _measured()
    short = env_id.removeprefix(f"{NAMESPACE}/") if isinstance(env_id, str) else env_id
    if not isinstance(env_id, str) or short not in known:
        raise UserError(f"expected an id among {', '.join(sorted(known)) or 'none'}, got {env_id!r}")
    return tuple(Reference(**one) for one in known[short].values())
