"""Positions of random games: each compared with the naive twin."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest

from contract.cases import CASES, GAMES, twin, walk
from contract.comparing import compare
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.state import State
from running.campaign import Campaign


def of_random_games(variants: list[Game], rng: Random) -> Iterator[State]:
    """Yields positions of one random game after another, every third behind an unusual position where the twin knows some."""
    while True:
        for game in variants:
            met: list[State] = []
            unusual = list(twin(game).unusual(rng))
            behind = [game.parse(rng.choice(unusual))] if unusual else []
            for start in (game.start(), game.start(), *behind):
                walk(start, rng.randrange(2**32), 150, met.append)
            yield from rng.sample(met, min(30, len(met)))


@pytest.mark.campaign(whole=20_000)
@pytest.mark.parametrize("game", GAMES, ids=lambda g: g.name)
def test_they_are_the_twins(game: Game, campaign: Campaign) -> None:
    variants = [case for case in CASES if case.name == game.name]
    campaign.run(map(compare, of_random_games(variants, campaign.rng)), "positions")
