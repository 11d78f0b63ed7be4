"""Builders of ships by name, and what each makes of the hull and requests of a seed."""

from __future__ import annotations

import functools
import re
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.contract.stream import new_stream
from leafwise.envs.starship.builder import LookAhead
from leafwise.envs.starship.hand import HandBuilder, hand_made_ships, hand_rollout
from leafwise.envs.starship.quality import TERMS
from leafwise.envs.starship.report import measured
from leafwise.models.players import player
from leafwise.search.frontier import bound_values
from leafwise.search.players import Player, RandomPlayer

NOISE = 0.005
"""Standard deviation of the noise, in quality, that makes one ship differ from the next."""
LEARNED = "valid:16:build:learned"
AT_RANDOM = 64
"""Most ships with places drawn at random that are tried where a search, however noisy, builds no valid one."""

Build = Callable[[int], State]
"""seed -> the finished ship."""


def builder(text: str, game: Game) -> Build:
    """Returns the builder that a text names; raises ValueError for another.

    `hand`, `random`, `policy:RUN` (what `--method ppo` learned), `rollout:4` (one decision ahead, each place worth the mean
    of 4 ships finished by hand), or any player of `leafwise eval`, such as `build:hopeful,depth=1`. `best:16` is the best of
    so many hand-made ships, `best:4:build:learned` the best of so many that a search builds, each after the first with some
    noise in its values: both may try all requests beforehand. `valid:16:build:learned` builds again in that way only while
    the ship is not valid, with more noise each time, and where all 16 are not, draws places at random; `learned` is short
    for that.
    """
    if best := re.fullmatch(r"best:([1-9][0-9]{0,5})", text):
        return lambda seed: hand_made_ships(game, seed, int(best[1]))[1]
    if text == "learned":
        text = LEARNED
    if several := re.fullmatch(r"(best|valid):([1-9][0-9]{0,5}):(build:.+)", text):
        return Tries(game, several[3], int(several[2]), until_valid=several[1] == "valid")
    if text == "hand":
        return lambda seed: play(game, HandBuilder(seed), seed)
    if text == "random":
        return lambda seed: play(game, RandomPlayer(seed), seed)
    if policy := re.fullmatch(r"policy:(.+)", text):
        from leafwise.training.starship.placing import policy_builder

        learned = policy_builder(game, policy[1])
        return lambda seed: play(game, learned, seed)
    if rollout := re.fullmatch(r"rollout:([1-9][0-9]{0,3})", text):
        ahead: Player = LookAhead(game, bound_values(game, hand_rollout(game, int(rollout[1]))), text, depth=1)
    else:
        ahead = player(text, game)
    return lambda seed: play(game, ahead, seed)


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


def play(game: Game, who: Player, seed: int) -> State:
    """Returns the ship that a player builds on the hull and requests of a seed."""
    stream = new_stream(seed)
    state = game.start().settle(stream)
    while not state.is_terminal:
        state = state.play(who.choose(state)).settle(stream)
    return state


def record(build: Build, seed: int) -> dict[str, Any]:
    """Returns what a builder made of a seed: quality, the six terms, whether valid, and processor seconds."""
    started = time.process_time()
    state = build(seed)
    seconds = time.process_time() - started
    figures = measured(np.array([state.row]), state.game.tables().ship)
    terms = {name: figures[name] for name in TERMS}
    valid = bool(figures["quality"] > 0)
    return {"seed": seed, "quality": round(state.returns, 6), "valid": valid, **terms, "seconds": round(seconds, 5)}


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
