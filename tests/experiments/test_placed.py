"""Studies in pieces: whoever works on them, the figures are the same."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

import leafwise
from leafwise.envs.starship import SCOUT
from leafwise.envs.starship import statistics as survey
from leafwise.experiments.friday import insight
from leafwise.experiments.friday.baselines import Entry, play_block
from leafwise.experiments.study import PlacedStudy
from leafwise.experiments.study.leaves import Match, openings, play_match
from leafwise.training.evaluation.agreement import Keeping, critical_positions
from leafwise.training.execution import executor_for
from leafwise.training.starship.builders import records

TRILOBITE = leafwise.game("trilobite")
Figures = Callable[[PlacedStudy], Any]


def ships(study: PlacedStudy) -> Any:
    found = survey.survey(SCOUT, range(9), checked=True, each=study.each)
    found.pop("ships_per_second")
    return found


def builders(study: PlacedStudy) -> Any:
    pieces = [range(4), range(4, 9)]
    found = study.each(partial(records, leafwise.game("starship"), "best:2"), pieces)
    return [{**one, "seconds": 0} for part in found for one in part]


def matches(study: PlacedStudy) -> Any:
    sides = ("trilobite", {"depth": 1}), ("", {"depth": 2})
    found = play_match(Match(TRILOBITE, sides), openings(TRILOBITE, 12, (0, 3)), study.each)
    found.pop("ms_per_move")
    return found


def solved(study: PlacedStudy) -> Any:
    with executor_for(Keeping(TRILOBITE), study.processes, study.cluster) as executor:
        found = critical_positions(TRILOBITE, 20, 5, (1, 7), executor=executor)
    return found.rows.tolist(), found.keeps.tolist()


def told(study: PlacedStudy) -> Any:
    game, options = leafwise.game("friday"), {"depth": 1, "nodes": 20}
    found = study.each(partial(insight.play, game, "friday", options), [range(2), range(2, 4)])
    return [(states[-1].row.tolist(), names) for part in found for states, names in part]


def played(study: PlacedStudy) -> Any:
    outcomes = play_block(Entry("search:friday,nodes=20", 9, 1), range(9), study.processes, study.cluster)
    return [(outcome.won, outcome.moves, outcome.values) for outcome in outcomes]


@pytest.fixture(scope="module")
def two() -> Iterator[PlacedStudy]:
    """A local cluster of two workers, which is gone after these tests."""
    yield PlacedStudy(processes=2, cluster="local")
    if "ray" in sys.modules:
        sys.modules["ray"].shutdown()


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")  # Ray's own
@pytest.mark.parametrize("figures", [ships, builders, matches, solved, told, played])
def test_a_study_comes_to_the_same_everywhere(
    figures: Figures, two: PlacedStudy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(survey, "PIECE", 4)
    here = figures(PlacedStudy())
    assert here
    assert here == figures(PlacedStudy(processes=2))
    assert here == figures(two)
