"""Root actions shared among threads: the same values, deadlines, Ctrl-C and errors."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from contract.cases import decisions_of
from games import dice, solitaire
from games.refusals import one_line
from leafwise.envs.registry import game
from leafwise.envs.threes.bench import POSITIONS
from leafwise.search import Search
from leafwise.search.base import share_out
from leafwise.search.rollout import rollout

THREES = game("threes")
CROWDED = THREES.parse(POSITIONS["s19"])


@pytest.mark.parametrize(
    "options",
    [
        {"table_mb": 1.0},
        *(pytest.param(x, marks=pytest.mark.long) for x in ({"pruning": False, "table_mb": 0}, {"pruning": True})),
    ],
    ids=str,
)
@pytest.mark.parametrize("g", [dice.GAME, solitaire.GAME], ids=lambda g: g.name)
def test_the_values_are_those_of_one_thread(g, options):
    alone, shared = (Search(g, g.score(), 4, threads=n, **options) for n in (1, 3))
    for state in decisions_of(g):
        expected, result = alone(state), shared(state)
        assert result.values == pytest.approx(expected.values, rel=1e-12, abs=1e-12)
        assert result.depth == expected.depth
        if "table_mb" in options and not options["table_mb"]:
            assert (result.nodes, result.leaves, result.line) == (expected.nodes, expected.leaves, expected.line)


def test_the_best_value_is_exact_where_the_others_are_bounds():
    alone, shared = (Search(dice.GAME, dice.GAME.score(), 4, threads=n, all_values=n == 1) for n in (1, 3))
    for state in decisions_of(dice.GAME):
        expected, result = alone(state), shared(state)
        assert result.value == pytest.approx(expected.value, rel=1e-12)
        assert result.action is not None
        assert expected.values[result.action] == pytest.approx(expected.value, rel=1e-12)
        assert all(result.values[a] > expected.values[a] - 1e-12 for a in result.bounds)


def test_scratch_of_an_evaluator_is_not_shared():
    evaluator = rollout(THREES, 50)
    alone, shared = (Search(THREES, evaluator, 1, threads=n) for n in (1, 3))
    assert shared(CROWDED).values == alone(CROWDED).values


def test_items_are_worked_on_at_the_same_time():
    meeting = threading.Barrier(3)
    assert share_out("abc", [1, 2, 3], lambda worker, item: meeting.wait() * 0 + item, meeting.abort) == [1, 2, 3]


def test_free_workers_take_the_next_item():
    slow_one_is_in, took = threading.Event(), []

    def work(worker, item):
        took.append((worker, item))
        if item == 0:
            slow_one_is_in.set()
            while len(took) < 6:
                time.sleep(0.001)
        else:
            slow_one_is_in.wait()
        return worker

    share_out("ab", range(6), work, lambda: None)
    assert len({worker for worker, item in took if item > 0}) == 1


def test_the_first_problem_is_raised_and_ends_the_others():
    gone = threading.Event()

    def work(worker, item):
        if item == 1:
            raise ValueError("expected something else")
        gone.wait()
        raise RuntimeError("stopped")

    with one_line("expected something else"):
        share_out("ab", [0, 1, 2, 3], work, gone.set)
    assert gone.is_set()


def test_calls_from_several_threads_wait_for_their_turn():
    game = solitaire.GAME
    search = Search(game, game.score(), depth=3)
    states = [game.new(seed) for seed in range(12)]
    alone = [search(state) for state in states]
    with ThreadPoolExecutor(4) as pool:
        for _ in range(5):
            together = list(pool.map(search, states))
            assert [(r.action, r.values, r.nodes) for r in together] == [(r.action, r.values, r.nodes) for r in alone]
