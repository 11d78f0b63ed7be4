"""The study of Friday's learned leaf: figures of parts are those of the whole, a page says where intervals lie apart."""

from __future__ import annotations

import numpy as np
import pytest

from leafwise.envs.friday import GAME
from leafwise.experiments.friday.learned import LEAVES, LEVELS, apart, limit, together
from leafwise.search.players import SearchPlayer, player
from leafwise.training.evaluation.calibration import calibration


def test_figures_of_parts_are_those_of_the_whole() -> None:
    rng = np.random.default_rng(1)
    values = rng.random(400)
    won = (rng.random(400) < values**2).astype(float)
    parts = [
        {"games": 2, "wins": w, "decisions": 100.0, "ms": ms, "tenths": calibration(values[here], won[here])[1]}
        for w, ms, here in ((1, 1.0, slice(0, 200)), (2, 3.0, slice(200, 400)))
    ]
    found, (error, tenths) = together(parts), calibration(values, won)
    assert (found["games"], found["mean"], found["ms"]) == (4, 0.75, 2.0)
    assert found["calibration_error"] == pytest.approx(error)
    assert [t["decisions"] for t in found["tenths"]] == [t["decisions"] for t in tenths]


def test_it_tells_where_intervals_lie_apart() -> None:
    results = {}
    for level in LEVELS:
        results |= {f"1 ms, level {level}, {name}": {"ci_low": 0.1 * level, "ci_high": 0.25} for name in LEAVES}
    told = apart(results, "1 ms")
    assert told == "The learned leaf's interval lies above all others at level 3, 4, not at level 1, 2."


def test_a_limit_is_what_players_are_told() -> None:
    told = {kind: limit(kind, 100) for kind in ("depth 2", "1 ms", "10 ms")}
    assert told == {
        "depth 2": "depth=2,nodes=100",
        "1 ms": "seconds=0.001,clock=cpu",
        "10 ms": "seconds=0.01,clock=cpu",
    }
    search = player(f"search:pirates,{told['depth 2']}", GAME)
    assert isinstance(search, SearchPlayer)
    assert (search.search.depth, search.search.options.nodes) == (2, 100)
