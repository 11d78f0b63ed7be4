"""Positions of random games: each compared with the naive twin."""

import os
import subprocess
import sys
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path
from random import Random
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import leafwise
from contract.cases import CASES, GAMES, decisions_of, twin, walk
from contract.comparing import compare
from contract.playthrough import END, listings_from
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


# Steps and searches, again and again: the memory of the process stays what it was


STATM = Path("/proc/self/statm")
WARM, MAY_GROW_MB, BATCH = 5, 32.0, 64
"""Rounds before the memory is first looked at, what garbage may come and go after it, and environments in a batch."""


def resident_mb() -> float:
    """Returns the memory that the process holds."""
    return int(STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


@pytest.mark.skipif(not STATM.exists(), reason="reads the memory from /proc")
@pytest.mark.campaign(whole=2_000)
@pytest.mark.parametrize("game", [g for g in GAMES if g.module.startswith("leafwise.")], ids=lambda g: g.name)
def test_it_is_flat(game: Game, campaign: Campaign) -> None:
    state, sizes, name = decisions_of(game)[0], list[float](), f"leafwise/{next(iter(game.ids))}-v0"

    def checks(rng: Random) -> Iterator[None]:
        env: Any = gym.make(name)
        batch: Any = gym.make_vec(name, num_envs=BATCH)
        while True:
            batch.reset(seed=rng.randrange(900_000))
            chooser = np.random.default_rng(rng.randrange(2**32))
            for _ in range(300):
                masks = batch.action_masks()
                batch.step((chooser.random(masks.shape) * masks).argmax(axis=1))
            env.reset(seed=rng.randrange(900_000))
            for _ in range(300):
                mask = env.unwrapped.action_masks()
                if any(env.step(int(rng.choice(np.flatnonzero(mask))))[2:4]):
                    env.reset()
            leafwise.Search(game, game.score(), 1)(state)
            sizes.append(resident_mb())
            assert sizes[-1] < sizes[: WARM + 1][-1] + MAY_GROW_MB, sizes[WARM:]
            yield

    campaign.run(checks(campaign.rng), "rounds of 300 steps, alone and in a batch, and a search")


# Random games in a build that checks every index: it ends with no IndexError and answers like the other build


TESTS = Path(__file__).parents[1]


@pytest.mark.campaign(whole=5_000)
def test_random_games(campaign: Campaign) -> None:
    environment = {**os.environ, "NUMBA_BOUNDSCHECK": "1", "PYTHONPATH": str(TESTS)}
    command = [sys.executable, "-W", "error", "-m", "contract.playthrough", str(campaign.seed)]
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)

    def checks() -> Iterator[None]:
        assert process.stdout is not None
        for expected in listings_from(campaign.seed):
            got = "".join(takewhile(lambda line: line != END, process.stdout))
            assert got.splitlines() == expected.splitlines()
            yield

    try:
        campaign.run(checks(), "games")
    finally:
        process.kill()
        process.communicate()
