"""The study of Trap's whole turns."""

import pytest

from leafwise.experiments.trap.turns import Config, matches


def test_the_matches_of_the_study() -> None:
    assert [match.opponent for match in matches(Config(seconds=(0.005,)))] == [
        "turns:reach_open,seconds=0.005,clock=cpu",
        "search:reach_open,seconds=0.0025,clock=cpu,table_mb=4,candidates=near+traps,rare=0.25",
    ]
    with pytest.raises(ValueError, match=r"^expected rival_searches among whole turns, single decisions, got 'width'$"):
        list(matches(Config(rival_searches=("width",))))
