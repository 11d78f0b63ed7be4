"""The features of games on boards do not change unnoticed, since the shipped networks were trained on them.

After a change that is meant, write the file anew with `python -m pytest --regenerate-golden tests/envs/test_features.py`.
"""

import json
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import pytest

import leafwise
from games.walks import positions
from leafwise.envs.core.contract.features import SparseFeatures
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.state import State

FILE = Path(__file__).parents[1] / "golden/features.json"
VARIANTS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("trilobite", {}), ("trilobite", {"board": "7x6", "k": 4}), ("trilobite", {"board": "8x3", "k": 5}),
    ("cassis", {}), ("cassis", {"n": 8}), ("trap", {}), ("trap", {"size": 3}), ("trap", {"size": 9}),
)  # fmt: skip
GAMES = [leafwise.game(name, **options) for name, options in VARIANTS]


def seen(game: Game, features: SparseFeatures, state: State) -> list[int]:
    """Returns the active features at a position, for each set of features of the game."""
    F = np.full(features.most(game.options), -1, dtype=np.int64)
    assert features.active(state.row[None], np.uint64(0), F, game.tables()) == len(F)
    assert 0 <= F.min() <= F.max() < features.size(game.options)
    return F.tolist()


@pytest.mark.parametrize(("game", "name"), [(game, name) for game in GAMES for name in game.features], ids=repr)
def test_features_are_as_stored(game: Game, name: str, request: pytest.FixtureRequest) -> None:
    features, stored = game.features[name], json.loads(FILE.read_text()) if FILE.exists() else {}
    assert isinstance(features, SparseFeatures)
    states = positions(game, 300)
    features_of_states = [seen(game, features, state) for state in states]
    key, checksum = f"{game!r} {name}", crc32(np.array(features_of_states, dtype="<i8").tobytes())
    if request.config.getoption("--regenerate-golden"):
        FILE.write_text(json.dumps(stored | {key: checksum}, indent=1) + "\n")
    else:
        assert stored[key] == checksum
    if features.invariant:
        last = game.symmetry_count - 1
        assert [sorted(seen(game, features, state.transformed(last))) for state in states] == list(
            map(sorted, features_of_states)
        )
