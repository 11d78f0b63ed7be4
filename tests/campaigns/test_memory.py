"""Steps and searches, again and again: the memory of the process stays what it was."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import leafwise
from contract.cases import GAMES, decisions_of
from leafwise.envs.core.contract.game import Game
from running.campaign import Campaign

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
