"""Builders of ships by name, and what each makes of the hull and requests of a seed."""

from __future__ import annotations

import functools
import re
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from leafwise.envs.core.contract.evaluator import Evaluator
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.contract.stream import new_stream
from leafwise.envs.core.errors import UserError
from leafwise.envs.starship.heuristic_builder import HandBuilder, hand_made_ships, hand_rollout
from leafwise.envs.starship.lookahead import WIDTH, LookAhead
from leafwise.envs.starship.plans import Plans
from leafwise.envs.starship.quality import TERMS
from leafwise.envs.starship.ship import measured
from leafwise.envs.starship.statistics import core_layout
from leafwise.models.leaves import named_leaf
from leafwise.models.players import player
from leafwise.search.frontier import bound_values
from leafwise.search.players import Player, RandomPlayer
from leafwise.training.starship.ppo import policy_builder
from leafwise.training.starship.samples import play

NOISE = 0.005
"""Standard deviation of the noise, in quality, that makes one ship differ from the next."""
LEARNED = "refine:500:build:learned,depth=1,heat=0.002"
AT_RANDOM = 64
"""Most ships with places drawn at random that are tried where a search, however noisy, builds no valid one."""
ROUNDS = 8
"""Times that a ship is begun anew by hand and changed, at most, where it is not valid yet."""

Build = Callable[[int], State]
"""seed -> the finished ship."""


def builder(text: str, game: Game) -> Build:
    """Returns the builder that a text names; raises ValueError for another.

    `hand`, `random`, `policy:RUN` (what `--method ppo` learned), `rollout:4` (one decision ahead, each place worth the mean
    of 4 ships finished by hand), or any player of `leafwise eval`, such as `build:hopeful,depth=1`. As a builder a search of
    depth 1 or 2 is compiled as a whole, and takes `heat=0.01` too: the cockpit's rotation is drawn at random, then cockpit and
    reactor among places about as good, at this temperature in quality. The others know all requests beforehand. `best:16`
    is the best of so many hand-made ships, `best:4:build:learned` the best of so many that a search builds, each after the first
    with some noise in its values. `valid:16:build:learned` builds again in that way only while the ship is not valid, with more
    noise each time, and where all 16 are not, draws places at random. `refine:300:hand` and `refine:300:build:learned,depth=1`
    put 300 parts of a ship elsewhere, one at a time, and keep what is no worse. `learned` is short for such a builder with
    the shipped network.
    """
    if text == "learned":
        text = LEARNED
    if best := re.fullmatch(r"best:([1-9][0-9]{0,5})", text):
        return lambda seed: hand_made_ships(game, seed, int(best[1]))[1]
    if refined := re.fullmatch(r"refine:([1-9][0-9]{0,6}):(.+)", text):
        return planned(game, refined[2], int(refined[1]))
    if several := re.fullmatch(r"(best|valid):([1-9][0-9]{0,5}):(build:.+)", text):
        return Tries(game, several[3], int(several[2]), until_valid=several[1] == "valid")
    if text == "hand":
        return lambda seed: play(game, HandBuilder(seed), seed)
    if text == "random":
        return lambda seed: play(game, RandomPlayer(seed), seed)
    if policy := re.fullmatch(r"policy:(.+)", text):
        learned = policy_builder(game, policy[1])
        return lambda seed: play(game, learned, seed)
    if rollout := re.fullmatch(r"rollout:([1-9][0-9]{0,3})", text):
        ahead: Player = LookAhead(game, bound_values(game, hand_rollout(game, int(rollout[1]))), text, depth=1)
    elif AHEAD.fullmatch(text):
        return planned(game, text)
    else:
        ahead = player(text, game)
    return lambda seed: play(game, ahead, seed)


AHEAD = re.compile(r"""build:((?:'[^']*'|"[^"]*"|[^,'"=])+)((?:,(?:depth=[12]|width=[1-9][0-9]{0,2}|heat=[0-9.]+))*)""")
"""Builders that look one or two placements ahead: the leaf, and options."""


def planned(game: Game, text: str, tries: int = 0) -> Planned:
    """Returns the builder that `hand` or `build:LEAF` names, with depth 1 or 2, width and heat; ValueError for another."""
    if text == "hand":
        return Planned(game, tries=tries)
    found = AHEAD.fullmatch(text)
    if not found:
        raise UserError(f"expected hand or build:LEAF,depth=1,heat=0.01 after refine:{tries}:, got {text!r}")
    given = dict(word.split("=") for word in found[2].split(",")[1:])
    width = int(given.get("width", WIDTH)) if given.get("depth", "2") == "2" else 0
    evaluator = named_leaf(game, found[1].strip("'\""))
    bound_values(game, evaluator)  # refuses one whose values cannot be compared
    return Planned(game, evaluator, width=width, heat=float(given.get("heat", 0)), tries=tries)


class Planned:
    """Builds ships by hand or by looking ahead, in compiled code as a whole; changes them afterwards, if it is to."""

    def __init__(
        self, game: Game, evaluator: Evaluator | None = None, *, width: int = 0, heat: float = 0.0, tries: int = 0
    ) -> None:
        """With an evaluator the ship is worth most to it after each place, or with a `width` after the next one (`plans`).

        `heat` is the temperature of the core, whose rotation is drawn; `tries` places are changed afterwards, one at a time.
        """
        self.game, self.by_hand, self.tries = game, evaluator is None, tries
        self.how: dict[str, Any] = {"width": width, "core_heat": heat}
        self.plans = Plans(game, evaluator)

    def __call__(self, seed: int) -> State:
        plans, chances = self.plans, np.array([seed, 1 << 62], dtype=np.uint64)
        plans.start(new_stream(seed))
        if self.by_hand:
            plans.by_hand(chances)
        else:
            plans.by_value(chances, **self.how)
        for _ in range(ROUNDS if self.tries else 0):
            plans.improve(chances, self.tries)
            if plans.quality > 0:
                break
            plans.start(new_stream(seed))
            plans.by_hand(chances)
        return State.unchecked(self.game, plans.row)


class Tries:
    """Builds the ship of a seed several times by looking ahead; returns the best one."""

    def __init__(self, game: Game, text: str, most: int, *, until_valid: bool) -> None:
        """Builds `most` ships, or with `until_valid` only as many as it takes to have a valid one."""
        ahead = player(text, game)
        assert isinstance(ahead, LookAhead)
        self.game, self.ahead, self.most, self.until_valid = game, ahead, most, until_valid

    def __call__(self, seed: int) -> State:
        best = None
        for k in range(self.most):
            self.ahead.vary(NOISE * k if self.until_valid else NOISE * min(k, 1), seed + (k << 32))
            state = play(self.game, self.ahead, seed)
            if best is None or state.returns > best.returns:
                best = state
            if self.until_valid and best.returns > 0:
                return best
        assert best is not None
        if self.until_valid:
            tries = (play(self.game, RandomPlayer(seed + (k << 32)), seed) for k in range(AT_RANDOM))
            return next((state for state in tries if state.returns > 0), best)
        return best


def record(build: Build, seed: int) -> dict[str, Any]:
    """Returns what a builder made of a seed: quality, the six terms, whether valid, the core's layout, and processor seconds."""
    started = time.process_time()
    state = build(seed)
    seconds = time.process_time() - started
    figures = measured(np.array([state.row]), state.game.tables().ship)
    terms = {name: figures[name] for name in TERMS}
    valid = bool(figures["quality"] > 0)
    core = core_layout(state.row, state.game.tables().ship.grid)
    told = {"seed": seed, "quality": round(state.returns, 6), "valid": valid, **terms}
    return told | {"core": core and list(core), "seconds": round(seconds, 5)}


def records(game: Game, text: str, seeds: Sequence[int]) -> list[dict[str, Any]]:
    """Returns what the builder that a text names made of seeds: a piece of work, the same wherever it is done."""
    build = _ready(game, text)
    return [record(build, seed) for seed in seeds]


@functools.lru_cache(maxsize=4)
def _ready(game: Game, text: str) -> Build:
    """Returns a builder that has loaded its machine code, which is no part of a ship's time."""
    build = builder(text, game)
    build(0)
    return build
