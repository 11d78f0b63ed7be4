"""Ctrl-C is heard while compiled code runs."""

import os
import signal
import threading

import pytest

from leafwise.envs.registry import game
from leafwise.envs.threes.bench import POSITIONS
from leafwise.search import Search, background, engine

THREES = game("threes")
STATE = THREES.parse(POSITIONS["s19"])


def press_ctrl_c_after(seconds):
    timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    return timer


def test_a_search_against_the_clock_answers_what_is_known():
    Search(THREES, THREES.score("rows"), 2)(STATE)  # compiled, so that the signal meets the search
    search = Search(THREES, THREES.score("rows"), seconds=1e6)
    timer = press_ctrl_c_after(1.0)
    result = search(STATE)
    timer.join()
    assert result.depth >= 1
    assert set(result.values) == set(STATE.legal_actions)


def test_a_search_to_a_depth_passes_it_on():
    Search(THREES, THREES.score("rows"), 2)(STATE)
    search = Search(THREES, THREES.score("rows"), 30)
    timer = press_ctrl_c_after(1.0)
    with pytest.raises(KeyboardInterrupt):
        search(STATE)
    timer.join()
    assert Search(THREES, THREES.score("rows"), 4)(STATE).depth == 4


def test_only_a_search_that_may_take_long_starts_a_thread(monkeypatch):
    started = []

    class Counted(engine.Background):
        def __init__(self, work):
            started.append(1)
            super().__init__(work)

    monkeypatch.setattr(engine, "Background", Counted)
    search = Search(THREES, THREES.score("rows"), 4)
    alone = search(STATE)
    assert len(started) == 1, "nothing is known before the first"
    assert search(STATE).values == alone.values
    assert len(started) == 1, "some milliseconds"
    monkeypatch.setattr(background, "LISTENING_SECONDS", 1e-9)
    search(STATE)
    assert len(started) == 2
