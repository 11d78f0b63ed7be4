"""A search ends itself when its time is up, and makes use of the depth that time breaks off."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

from leafwise.envs.core.compile.intrinsics import HAS_CLOCKS, deadline_in, is_late
from leafwise.envs.registry import game
from leafwise.models import named_leaf
from leafwise.search import Search

TRAP = game("trap", size=4)
BOARD = "1#../..../#.../..#2 turn=0"
needs_clock = pytest.mark.skipif(not HAS_CLOCKS, reason="no clock that compiled code can read")


@needs_clock
@pytest.mark.parametrize(("kind", "twin"), [("wall", time.monotonic_ns), ("cpu", time.thread_time_ns)])
def test_a_deadline_passes_when_its_time_is_over(kind, twin):
    deadline = np.array(deadline_in(0.02, kind))
    start = twin()
    early = is_late(deadline)
    assert not early or twin() - start > 15e6
    while not is_late(deadline):
        pass
    assert twin() - start > 15e6
    assert not is_late(np.zeros(2, dtype=np.int64))
    assert is_late(np.array(deadline_in(-1.0, kind)))


@needs_clock
def test_the_time_of_the_thread_is_kept():
    def measured(**options: Any) -> tuple[int, float]:
        search = Search(TRAP, TRAP.score(), candidates="near", table_mb=0, **options)
        board = TRAP.parse(BOARD)
        search(board)
        start = time.thread_time()
        depth = search(board).depth
        assert not search._B.deadline[:2].any()
        return depth, time.thread_time() - start

    _, needed = measured(depth=5, deepening=True)
    seconds = 0.05 + 4 * needed
    depth, used = measured(seconds=seconds, clock="cpu")
    assert depth >= 5
    assert seconds / 2 < used < 4 * seconds


def test_a_depth_that_time_breaks_off_counts_as_far_as_it_went(monkeypatch):
    search = Search(TRAP, TRAP.score(), seconds=1e6, all_values=False)
    board = TRAP.parse(BOARD)
    search._begin_time()
    before = search._search_depth(board, 3)
    best = before.action
    actions = sorted(before.values, key=lambda a: -before.values[a])
    better = actions[1]

    def stopped_after_two(S, B, asked, n, values, is_bound, *rest):
        assert asked[:n].tolist() == actions
        values[:2], is_bound[:2] = (-0.5, before.values[better] - 0.01), False
        B.counts[3] = 1
        return 2

    monkeypatch.setattr(search, "_search_root", stopped_after_two)
    search._begin_time()
    search._B.counts[:] = 0
    result = search._search_depth(board, 4, before)
    assert (result.action, result.depth) == (better, 3)
    assert result.action != best
    assert result.value == result.values[better] == max(result.values.values())
    assert result.bounds == set(actions[2:])


def test_nothing_deeper_is_searched_when_it_could_change_nothing():
    options: dict[str, Any] = {"seconds": 1e6, "all_values": False}
    won = TRAP.parse("2#../#.1./..../.... turn=0 throw")
    result = Search(TRAP, TRAP.score(), **options)(won)
    assert (result.name, result.value, result.depth) == ("1,1", 1.0, 1)
    forced = TRAP.parse("1#../.#../..../...2 turn=0")
    assert Search(TRAP, TRAP.score(), **options)(forced).depth == 1


def test_loading_the_code_is_no_part_of_the_time(monkeypatch):
    search = Search(TRAP, TRAP.score(), candidates="near", table_mb=0, seconds=0.1, clock="wall")
    compiled, calls = search._search_root, []

    def slow_at_first(*arguments: Any) -> Any:
        calls.append(arguments)
        if len(calls) == 1:
            time.sleep(0.3)
        return compiled(*arguments)

    monkeypatch.setattr(search, "_search_root", slow_at_first)
    result = search(TRAP.parse(BOARD))
    assert result.depth > 1
    assert result.seconds < 0.3


@pytest.mark.parametrize(
    ("leaf", "options"), [("rows", {"threads": 2}), ("rows", {"batched": True}), ("rollout:n=2000", {})], ids=str
)
def test_a_deadline_leaves_only_whole_depths(leaf: str, options: dict[str, Any]) -> None:
    threes = game("threes")
    state, evaluator = threes.new(900_002), named_leaf(threes, leaf)
    result = Search(threes, evaluator, seconds=0.3, **options)(state)
    assert 1 <= result.depth < 64
    again = Search(threes, evaluator, result.depth, batched=options.get("batched", False))(state)
    assert result.values == pytest.approx(again.values, rel=1e-12)
