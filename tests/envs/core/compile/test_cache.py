"""A user's own game and the package's games share one cache of machine code, and neither needs the other's module."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[3]
PLAY = """
from leafwise.envs.core.gym.env import GameEnv
from leafwise.search import Search

for pruning in (False, True):
    Search(game, game.score(), 1, pruning=pruning)(game.new(0))
env = GameEnv(game)
_, info = env.reset(seed=0)
env.step(int(info["action_mask"].argmax()))
"""


@pytest.mark.long
def test_a_user_s_game_leaves_nothing_that_later_processes_cannot_read(tmp_path: Path) -> None:
    def run(first: str, **extra: str) -> None:
        environment = {**os.environ, "LEAFWISE_CACHE_DIR": str(tmp_path), **extra}
        done = subprocess.run([sys.executable, "-c", first + PLAY], env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr

    run("from games.dice import GAME as game", PYTHONPATH=str(TESTS))
    run("import leafwise; game = leafwise.game('threes')")
