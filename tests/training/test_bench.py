"""The benchmark of learning: a rate for each set of tuples and number of actors, and for self-play by what limits its searches."""

import pytest

from leafwise.envs.registry import game
from leafwise.training import bench


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, few in {"WARM_UP": 1, "STEP": 1, "PIECE": 20, "LARGEST": "five_4_tuples"}.items():
        monkeypatch.setattr(bench, name, few)


def test_moves_of_one_actor_and_of_two() -> None:
    rates = bench.bench_td(game("threes"), "five_4_tuples", seconds=0.01)
    assert next(iter(rates)) == "td_moves_five_4_tuples"
    assert set(rates) <= {"td_moves_five_4_tuples", "td_moves_five_4_tuples_actors=2"}
    assert min(rates.values()) > 0


def test_positions_of_self_play() -> None:
    rates = bench.bench_selfplay(game("trilobite"), seconds=0.01)
    assert list(rates) == ["selfplay_positions_depth=1", "selfplay_positions_depth=2"]
    assert min(rates.values()) > 0
    assert bench.bench_selfplay(game("threes"), seconds=0.01) == {}
