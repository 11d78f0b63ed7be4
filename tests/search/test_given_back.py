"""A search that nobody holds gives its table back at once, not when garbage is looked for."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest

from games import dice
from leafwise.search.engine import Search
from leafwise.search.mcts import Mcts


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        (Search, {"depth": 2, "table_mb": 1}),
        (Search, {"depth": 2, "threads": 2}),
        (Search, {"depth": 2, "batched": True}),
        (Search, {"seconds": 0.001}),
        (Mcts, {"simulations": 10}),
    ],
    ids=str,
)
def test_its_memory_goes_with_it(kind: type[Any], options: dict[str, Any]) -> None:
    gc.disable()
    try:
        search = kind(dice.GAME, dice.GAME.score(), **options)
        search(dice.GAME.new(1))
        gone = weakref.ref(search)
        del search
        assert gone() is None
    finally:
        gc.enable()
