"""What a run tells while it goes on: how long it takes, and a picture of a position with its values."""

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

import leafwise
from leafwise.envs.core.pictures import text_picture
from leafwise.training.runs import loop
from leafwise.training.runs.loop import Learner, RunEstimate, about
from leafwise.training.runs.position import middle_of, picture


@pytest.mark.parametrize(
    ("at", "evaluated", "told"),
    [
        ([100, 110], [True, True], "about 3 minutes"),  # 100 s, in which code was compiled, and 9 times 10
        ([10, 15, 25, 31], [True, False, False, False], "about 70 seconds"),
        ([10, 15], [True, False], None),
        ([10, 20, 35], [True, None, None], "about 2 minutes"),  # within the second step
        ([10, 50], [None, None], None),  # within the first, in which code is compiled
    ],
)
def test_the_first_line_tells_how_long_a_run_takes_by_steps_that_compile_nothing(
    at: list[int], evaluated: list[bool | None], told: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter([0, *at])
    monkeypatch.setattr(loop, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    run: Any = SimpleNamespace(method="dqn", unit="moves", goal=1000, done=0, game=SimpleNamespace(name="nim"))
    estimate, lines = RunEstimate(cast(Learner, run)), list[str]()
    for is_evaluated in evaluated:
        run.done += 100
        lines += estimate.lines(is_evaluated)
    assert lines == ([f"training Nim with dqn: 1,000 moves, {told} on this machine"] if told else [])


@pytest.mark.parametrize(
    ("seconds", "words"), [(3, "about 10 seconds"), (301, "about 5 minutes"), (9000, "about 2.5 hours")]
)
def test_times_are_told_in_words(seconds: float, words: str) -> None:
    assert about(seconds) == words


def test_a_picture_has_the_position_and_below_it_the_values_best_first() -> None:
    game = leafwise.game("cassis")
    state, score = middle_of(game), leafwise.score("cassis", "safe_edges")
    assert state == middle_of(game)
    assert str(game.new(seed=0)).count("x") == 0 < str(state).count("x")
    whole, board = picture(state, score), state.rgb()
    assert np.array_equal(whole[: len(board), : board.shape[1]], board)
    values = leafwise.Search(game, score, depth=1)(state).action_values
    best = sorted(values.items(), key=lambda item: -item[1])[:12]
    table = text_picture("\n".join(f"{name}: {value:.3g}" for name, value in best)).rgb()
    assert np.array_equal(whole[len(board) :, : table.shape[1]], table)
