"""What an installed leafwise must do anywhere: step, search, load its model, without torch."""

import sys
import warnings
from pathlib import Path

warnings.simplefilter("error")

import gymnasium as gym  # noqa: E402

import leafwise  # noqa: E402

assert "site-packages" in str(Path(leafwise.__file__)), leafwise.__file__
env = gym.make("leafwise/Threes-v0")
_, info = env.reset(seed=1)
for _ in range(50):
    _, _, over, _, info = env.step(int(info["action_mask"].argmax()))
    if over:
        break
threes = leafwise.game("threes")
best = leafwise.Search(threes, leafwise.load("threes"), depth=2)(threes.new(1))
assert best.name in threes.actions, best
assert "torch" not in sys.modules
print("smoke test passed:", best)
