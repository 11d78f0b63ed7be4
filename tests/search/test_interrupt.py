"""Ctrl-C is heard while compiled code runs."""

import os
import signal
import threading

import pytest

from leafwise.envs.registry import game
from leafwise.envs.threes.bench import POSITIONS
from leafwise.search import Search

pytestmark = pytest.mark.room("threes")

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
