"""Ctrl-C ends every search at once with KeyboardInterrupt, and the search after it knows nothing of that."""

import contextlib
import os
import signal
import threading
import time
from typing import Any

import gymnasium
import numpy as np
import pytest

from leafwise.envs.core import interrupts
from leafwise.envs.core.contract.evaluator import Evaluator
from leafwise.envs.core.interrupts import SECOND_PRESS_SECONDS, Deferred, stoppable, uninterrupted
from leafwise.envs.registry import game
from leafwise.search import Search, Stopped
from leafwise.search.mcts import Mcts
from leafwise.search.rollout import rollout
from running.waiting import until

CASSIS = game("cassis")
START = CASSIS.start()
LONG: dict[str, Any] = {"pruning": False, "table_mb": 0}


@pytest.fixture(autouse=True)
def no_command_line(monkeypatch):
    """Has the process be none of a command's, whose second Ctrl-C ends it: other tests may have begun one in it."""
    monkeypatch.setattr(interrupts._listener, "ends_process", False)
    monkeypatch.setattr(interrupts._listener, "_pressed", 0.0)


def zeros(rows, T):
    return np.zeros(len(rows))


def batched(batch=zeros):
    return Evaluator("python", None, (), low=-1.0, high=1.0, batch=batch)


def press_ctrl_c_after(seconds):
    timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    return timer


def pressed(seconds, work, *arguments):
    """Does some work, and presses Ctrl-C after so many seconds, which may be before it begins."""
    press_ctrl_c_after(seconds)
    work(*arguments)


def compiled(search):
    """Lets a search begin, and stops it."""
    done = threading.Event()

    def stop():
        while not done.wait(0.2):
            search.stop()

    threading.Thread(target=stop, daemon=True).start()
    with contextlib.suppress(Stopped):
        search(START)
    done.set()


SEARCHES = {
    "clock": lambda: Search(CASSIS, CASSIS.score(), seconds=1e6, **LONG),
    "depth": lambda: Search(CASSIS, CASSIS.score(), 15, **LONG),
    "threads": lambda: Search(CASSIS, CASSIS.score(), 15, threads=2, **LONG),
    "roll-outs": lambda: Search(CASSIS, rollout(CASSIS, 1000), 9, **LONG),
    "batches": lambda: Search(CASSIS, batched(), 15),
    "simulations": lambda: Mcts(CASSIS, CASSIS.score(), simulations=10**12, proofs=False),
    "simulations against the clock": lambda: Mcts(CASSIS, CASSIS.score(), seconds=1e6, proofs=False),
    "simulations by batches": lambda: Mcts(CASSIS, batched(), seconds=1e6, proofs=False),
}


@pytest.mark.parametrize("make", SEARCHES.values(), ids=SEARCHES)
def test_ctrl_c_ends_a_search(make):
    compiled(make())  # so that the signal meets the search
    search, threads, began = make(), threading.active_count(), time.monotonic()
    timer = press_ctrl_c_after(1.0)
    with pytest.raises(KeyboardInterrupt):
        search(START)
    assert 0.9 < time.monotonic() - began < 31, "it is heard when somebody presses, not at its end, years away"
    timer.join()
    until(lambda: threading.active_count() <= threads)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # a destructor may swallow Python's own
def test_a_search_after_ctrl_c_is_as_if_nothing_had_been():
    expected = Search(CASSIS, CASSIS.score(), 3)(START).values
    search, heard = Search(CASSIS, CASSIS.score(), 3), 0
    for delay in np.linspace(0.0005, 0.02, 20):
        try:
            press_ctrl_c_after(float(delay))  # in here: on a busy machine it comes before the next line
            while True:
                assert search(START).values == expected
        except KeyboardInterrupt:
            heard += 1
    assert heard == 20
    assert search(START).values == expected


def test_a_loop_of_an_environment_hears_ctrl_c():
    env: Any = gymnasium.make("leafwise/Cassis-v0")

    def play():
        while True:
            env.reset(seed=1)
            while not any(env.step(int(np.argmax(env.unwrapped.action_masks())))[2:4]):
                pass

    with pytest.raises(KeyboardInterrupt):
        pressed(0.3, play)


def test_presses_end_each_a_search_and_never_the_process(monkeypatch):
    """However quickly one follows another: only a press for what an earlier one has not ended yet is a second one."""
    ended: list[int] = []
    search = Search(CASSIS, CASSIS.score(), 15, **LONG)
    compiled(search)
    monkeypatch.setattr(os, "_exit", ended.append)
    end = time.monotonic() + 3 * SECOND_PRESS_SECONDS
    while time.monotonic() < end:
        began, rescue = time.monotonic(), threading.Timer(20, search.stop)
        rescue.start()
        with pytest.raises(KeyboardInterrupt):
            pressed(0.005, search, START)
        rescue.cancel()
        assert time.monotonic() - began < 15, "it was heard when the search had ended"
    assert not ended


def test_a_deferred_interrupt_raises_nothing():
    stop = np.zeros(1, dtype=np.uint8)

    def work():
        timer = press_ctrl_c_after(0.2)
        while not stop[0]:
            time.sleep(0.001)
        timer.join()
        return "whole"

    with Deferred() as deferred:
        assert stoppable(work, stop) == "whole"
        assert deferred.requested
        assert stoppable(lambda: int(stop[0]), stop) == 1, "what begins afterwards ends at once"
        with pytest.raises(KeyboardInterrupt):
            deferred.check()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert stoppable(lambda: int(stop[0]), stop) == 0


def test_a_compilation_is_whole_when_it_is_broken_off():
    def press():
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.05)

    done = []

    def compiled_twice():
        with uninterrupted():
            with uninterrupted():
                press()
                done.append("inner")
            done.append("outer")

    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            compiled_twice()
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert done == ["inner", "inner"]

    def press_and_go_on():
        press()
        done.append("deferred")

    with Deferred() as deferred, pytest.raises(KeyboardInterrupt), deferred.raising(), uninterrupted():
        press_and_go_on()
    assert done[-1] == "deferred"


def test_a_block_that_begins_after_a_deferred_interrupt_is_not_ended_by_it():
    """As training again in the same process does."""
    stop = np.zeros(1, dtype=np.uint8)

    def work():
        end = time.monotonic() + 1.0
        while time.monotonic() < end and not stop[0]:
            time.sleep(0.001)
        return int(stop[0])

    with Deferred() as first:
        os.kill(os.getpid(), signal.SIGINT)
        assert stoppable(work, stop) == 1
    with Deferred() as second:
        assert stoppable(work, stop) == 0
    assert (first.requested, second.requested) == (True, False)
