"""Leaves a second of shipped networks are measured."""

import pytest

from games import dice
from leafwise.envs.registry import game
from leafwise.models import bench


def test_a_shipped_network_is_measured_at_every_position(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "shipped_name", lambda game: "threes-small")
    monkeypatch.setattr(bench, "AT_LEAST", 1)
    rates = bench.bench_models(game("threes"), seconds=0.0)
    told = ("depth=1", "simulations/s", "leaves/s by simulations")
    assert set(rates) == {f"load:threes-small/{place}/{what}" for place in ("s18", "s20", "s19") for what in told}
    assert min(rates.values()) > 0


def test_nothing_is_told_where_nothing_is_shipped() -> None:
    assert bench.bench_models(dice.GAME, seconds=0.0) == {}
    assert bench.bench_models(game("threes", hint="exact"), seconds=0.0) == {}
