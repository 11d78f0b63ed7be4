"""Scores of many games that the coverage of intervals is held against; `python tests/running/score_samples.py` makes them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

import leafwise
from leafwise.training.evaluation.arena import evaluate
from leafwise.training.starship.builders import records

FILE = Path(__file__).parents[1] / "golden/scores.json"
FIRST_SEED = 900_000
GAMES = {"threes random": 3000, "threes openness, depth 1": 500, "starship quality": 2000}
"""Games of each sample, the last one ships that are built by hand."""


def sample(name: str) -> NDArray[np.float64]:
    """Returns the scores of a sample, [games]."""
    return np.array(json.loads(FILE.read_text())[name], dtype=np.float64)


def random_scores(games: int) -> list[int]:
    """Returns the scores of random games of Threes."""
    env = gym.make_vec("leafwise/Threes-v0", num_envs=games)
    _, info = env.reset(seed=list(range(FIRST_SEED, FIRST_SEED + games)))  # type: ignore[arg-type]
    rng, scores, running = np.random.default_rng(FIRST_SEED), np.zeros(games), np.ones(games, dtype=bool)
    while running.any():
        actions = np.where(info["action_mask"] == 1, rng.random((games, 4)), -1.0).argmax(axis=1)
        _, reward, ended, _, info = env.step(actions)
        scores += np.where(running, reward, 0.0)
        running &= ~ended
    return [int(score) for score in scores]


def made() -> dict[str, list[Any]]:
    """Returns the samples, played anew."""
    threes, starship = leafwise.game("threes"), leafwise.game("starship")
    random, openness, quality = GAMES
    played = evaluate(threes, "search:openness,depth=1", GAMES[openness], FIRST_SEED)
    ships = records(starship, "hand", range(FIRST_SEED, FIRST_SEED + GAMES[quality]))
    return {
        random: random_scores(GAMES[random]),
        openness: [int(score) for score in played.scores],
        quality: [round(ship["quality"], 4) for ship in ships],
    }


if __name__ == "__main__":
    FILE.write_text(json.dumps(made(), separators=(",", ":")).replace('],"', '],\n"') + "\n")
