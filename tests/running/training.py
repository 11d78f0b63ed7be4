"""`leafwise train` in tests: without a recipe, the game among the words."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from leafwise.__main__ import run


def train_words(method: str, words: Sequence[str]) -> list[str]:
    """Returns the words of the command, of which `--game GAME` names the game (else Threes)."""
    rest, game = [*words], "threes"
    if "--game" in rest:
        k = rest.index("--game")
        game, rest = rest[k + 1], [*rest[:k], *rest[k + 2 :]]
    return ["train", game, "--method", method, "--no-recipe", *rest]


def train_command(method: str, words: Sequence[str]) -> list[str]:
    """Returns the command for a process of its own."""
    return [sys.executable, "-m", "leafwise", *train_words(method, words)]


def learn(method: str, words: Sequence[str]) -> int:
    """Runs the command here; returns its status."""
    return run(train_words(method, words))
