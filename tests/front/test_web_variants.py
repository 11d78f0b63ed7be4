"""Variants that a page asks for: a process of `leafwise web` keeps the last few, and answers clicks from what it keeps."""

from __future__ import annotations

import functools
import gc
from typing import Any

import pytest

from leafwise.envs.core.compile import linking
from leafwise.envs.core.contract.game import Game
from leafwise.envs.registry import game
from leafwise.models import ntuple_functions
from leafwise.web import choices, positions
from leafwise.web.asks import GameAsk, StateAsk
from leafwise.web.control import Control

CONTROL = Control(lambda message: None)


def ask(options: dict[str, Any]) -> None:
    """Asks for what a page shows of a variant."""
    list(positions.tell_game(GameAsk(game="trap", options=options), CONTROL))
    list(positions.tell_state(StateAsk(game="trap", options=options), CONTROL))


def kept() -> dict[str, int]:
    """Returns how much this process keeps: living games, entries of caches without a bound, compiled functions."""
    gc.collect()
    objects = gc.get_objects()
    caches = [one for one in objects if type(one) is functools._lru_cache_wrapper]  # isinstance would ask proxies
    found = {
        f"{one.__module__}.{one.__qualname__}": one.cache_info().currsize
        for one in caches
        if one.cache_info().maxsize is None
    }
    sizes = {name: len(getattr(linking, name)) for name in ("_FUNCTIONS", "_KEPT", "_SYMBOLS")}
    return found | sizes | {"games": sum(issubclass(type(one), Game) for one in objects)}


def test_memory_does_not_grow_with_the_variants_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(positions, "VARIANTS", 3)
    monkeypatch.setattr(positions, "_games", type(positions._games)())
    for name in ("has_solver", "programs"):
        monkeypatch.setattr(choices, name, functools.lru_cache(3)(getattr(choices, name).__wrapped__))
    for turns in range(1, 6):
        ask({"size": 3, "max_turns": turns})
    before = kept()
    for turns in range(6, 16):
        ask({"size": 3, "max_turns": turns})
    assert {name: count for name, count in kept().items() if count > before[name]} == {}


def test_a_click_makes_no_game_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    ask({"size": 3})
    for maker in ("find_game", "touch"):
        monkeypatch.setattr(positions, maker, None)
    ask({"size": 3})


def test_n_tuples_are_compiled_for_all_variants_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ntuple_functions, "_compiled", lambda *key: key)
    keys: list[Any] = [ntuple_functions.compiled(game("threes", bonus_p=p), None) for p in (0.1, 0.2)]  # type: ignore[arg-type]
    assert keys[0] == keys[1]
