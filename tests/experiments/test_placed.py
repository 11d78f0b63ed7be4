"""Studies in pieces: whoever works on them, the figures are the same."""

import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

import leafwise
from leafwise.envs.starship import SCOUT
from leafwise.envs.starship import statistics as survey
from leafwise.experiments.friday.baselines import Entry, play_block
from leafwise.experiments.study import DistributedStudy
from leafwise.experiments.study.leaves import LeafMatch, openings, play_match
from leafwise.training.evaluation.agreement import SolverJob, critical_positions
from leafwise.training.execution import executor_for
from leafwise.training.starship.builders import records

TRILOBITE = leafwise.game("trilobite")


def without(result: dict[str, Any], name: str) -> dict[str, Any]:
    """Returns figures without one that is of this machine."""
    return {key: value for key, value in result.items() if key != name}


def solved(study: DistributedStudy) -> Any:
    with executor_for(SolverJob(TRILOBITE), study.processes, study.cluster) as executor:
        positions = critical_positions(TRILOBITE, 20, 5, (1, 7), executor=executor)
    return positions.rows.tolist(), positions.keeps.tolist()


MATCH = LeafMatch(TRILOBITE, (("trilobite", {"depth": 1}), ("", {"depth": 2})))
BUILT = partial(records, leafwise.game("starship"), "best:2")
ENTRY = Entry("search:friday,nodes=20", 9, 1)
FIGURES: list[Callable[[DistributedStudy], Any]] = [
    lambda study: without(survey.survey(SCOUT, range(9), checked=True, each=study.each), "ships_per_second"),
    lambda study: [without(one, "seconds") for part in study.each(BUILT, [range(4), range(4, 9)]) for one in part],
    lambda study: without(play_match(MATCH, openings(TRILOBITE, 12, (0, 3)), study.each), "ms_per_move"),
    solved,
    lambda study: [(o.won, o.moves, o.values) for o in play_block(ENTRY, range(9), study.processes, study.cluster)],
]
"""What studies work out in pieces: ships, builders, matches, solved positions, games of Friday."""


@pytest.fixture(scope="module")
def two() -> Iterator[DistributedStudy]:
    """A local cluster of two workers, which is gone after these tests."""
    yield DistributedStudy(processes=2, cluster="local")
    if "ray" in sys.modules:
        sys.modules["ray"].shutdown()


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")  # Ray's own
@pytest.mark.parametrize("figures", FIGURES)
def test_a_study_comes_to_the_same_everywhere(
    figures: Callable[[DistributedStudy], Any], two: DistributedStudy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(survey, "PIECE", 4)
    here = figures(DistributedStudy())
    assert here
    assert here == figures(DistributedStudy(processes=2))
    assert here == figures(two)
