"""Friday, whose abilities cost no depth: equal values with and without a table and in batches, and a bound on the work."""

from typing import Any

import numpy as np
import pytest

from contract.cases import positions
from leafwise.envs.core.contract.state import State
from leafwise.envs.registry import game
from leafwise.search import Search

FRIDAY = game("friday")
PIRATES = FRIDAY.score("pirates")
ROOT = np.uint64(0)
POSITIONS = [
    "turn=choose phase=green life=20 pirates=P3,P7 active=W1,E3 stack=S1*5,S2*8,S3*3,S4,S5 hazards=W3 aging=G1,G5,D1",
    "turn=fight phase=yellow life=3 pirates=P4,P9 active=E1 left=S2,W8 right=E7,C1 free=2 stack=S3 hazards=none aging=G5,D1,D2",
    "turn=fight phase=pirates life=1 pirates=P2,P6 fought=P2 left=C1*2,N1,N2!,E5 free=6 stack=S1,S3 discard=S2 aging=D1",
]
CROWDED = (
    "turn=fight phase=red life=4 pirates=P4,P9 stack=S4,S5,W3,W5,E1*2,E6,F1,F3,F6,N1,G2 bottom=W9 hazards=W1*2,W7,C1*2 "
    "aging=G5,G7,D1,D2,D3 active=F2 left=E5 right=W3!,W5!,W8,E7,E8! down=S3,G8 free=3 uses=6"
)
"""A turn of some 100,000 decisions."""


def recursion(state: State, depth: int) -> float:
    """Returns what a position is worth, in the words of the contract."""
    if state.is_terminal or (depth == 0 and (not state.is_chance or state.stage == PIRATES.stage)):
        return state.value(PIRATES)
    if state.is_chance:
        return sum(p * recursion(after, depth) for p, after in state.outcomes())
    return max(after_action(state, a, depth) for a in state.legal_actions)


def after_action(state: State, a: int, depth: int) -> float:
    cost = FRIDAY.rules.action_cost(state.rows(), ROOT, a, FRIDAY.tables())
    return recursion(state.play(a), depth - int(cost))


@pytest.mark.parametrize("text", POSITIONS)
def test_a_search_is_the_recursion(text: str) -> None:
    state = FRIDAY.parse(text)
    expected = {a: pytest.approx(after_action(state, a, 1), abs=1e-9) for a in state.legal_actions}
    for search in (Search(FRIDAY, PIRATES, 1), Search(FRIDAY, PIRATES, 1, batched=True)):
        assert search(state).values == expected


def test_fewer_candidates_are_never_none() -> None:
    T, some = FRIDAY.tables(PIRATES, "few"), np.zeros(FRIDAY.max_actions, dtype=np.int64)
    worthless = (
        POSITIONS[1].replace("turn=fight", "turn=target").replace("left=S2,W8 right=E7,C1", "left=S1,S2 right=E7!")
    )
    states = [*positions(FRIDAY), FRIDAY.parse(f"{worthless} uses=1 ability=double acting=right:E7")]
    fewer = 0
    for state in states:
        if state.legal_actions:
            n = FRIDAY.rules.candidates(state.rows(), ROOT, some, T)  # type: ignore[misc]
            assert 0 < n <= len(state.legal_actions)
            assert set(some[:n].tolist()) <= set(state.legal_actions)
            fewer += n < len(state.legal_actions)
    assert n == len(states[-1].legal_actions) == 2
    assert fewer > 4


def test_the_table_saves_most_of_a_turn() -> None:
    results = [Search(FRIDAY, PIRATES, 1, nodes=0, table_mb=size)(FRIDAY.parse(CROWDED)) for size in (0, None)]
    assert results[0].values.keys() == results[1].values.keys()
    assert all(abs(results[0].values[a] - value) < 1e-9 for a, value in results[1].values.items())
    assert results[1].nodes < results[0].nodes / 2


def test_the_work_on_a_turn_is_bounded() -> None:
    assert Search(FRIDAY, PIRATES, 2, nodes=0, seconds=0.005)(FRIDAY.parse(CROWDED)).depth == 1
    for limit in (None, 500):
        results = Search(FRIDAY, PIRATES, 2, nodes=limit)(FRIDAY.parse(CROWDED))
        assert 100 < results.nodes <= (limit or FRIDAY.search.nodes)


@pytest.mark.parametrize("options", [{}, {"threads": 2}, {"pruning": True}, {"all_values": False}], ids=str)
def test_against_the_clock_the_first_depth_grows(options: dict[str, Any]) -> None:
    """A crowded turn gets an answer of a few decisions when no time is left, and its exact values when there is enough."""
    state = FRIDAY.parse(CROWDED)
    hasty = Search(FRIDAY, PIRATES, seconds=1e-6, **options)(state)
    assert (hasty.depth, hasty.values.keys()) == (1, set(state.legal_actions))
    patient = Search(FRIDAY, PIRATES, 1, seconds=100.0, **options)(state)
    exact = Search(FRIDAY, PIRATES, 1, nodes=0)(state)
    assert 0 < 10 * hasty.nodes < exact.nodes
    assert patient.value == pytest.approx(exact.value, abs=1e-12)
    assert {a for a in patient.values if a not in patient.bounds} <= exact.values.keys()
    assert all(
        patient.values[a] == pytest.approx(exact.values[a], abs=1e-12) for a in exact.values.keys() - patient.bounds
    )
