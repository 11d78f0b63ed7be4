"""Calls with arguments that stay: they answer as calls that are handed everything, and see what is written later."""

import gc
import weakref
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from leafwise.envs.core.compile.emitted import hold
from leafwise.envs.core.compile.jit import DISABLED, PLAIN, bind

HERE = Path(__file__)


class Kept(NamedTuple):
    whole: np.ndarray
    plane: np.ndarray
    factor: float
    half: np.float32
    least: np.int64
    big: np.uint64
    flag: bool
    parts: tuple


@bind(HERE)
def told(held):
    S, T = held[0], held[1]
    S[0] += 1.0
    total = S[0] * T.factor + T.half + T.plane[1, 2] + T.whole[2, 1] + T.parts[0][1] + T.parts[1]
    return total + T.least + (1000.0 if T.flag else 0.0), T.big >> np.uint64(60), T.plane.shape[0] * T.plane.shape[1]


def kept(**other):
    given = {
        "whole": np.arange(12, dtype=np.uint8).reshape(4, 3), "plane": np.arange(40.0).reshape(8, 5)[1::2, 1:4], "factor": -2.5,
        "half": np.float32(0.5), "least": np.int64(-(2**40)), "big": np.uint64(0xF << 60), "flag": True,
        "parts": (np.array([3, 4], dtype=np.int16), 6),
    }  # fmt: skip
    return Kept(**{**given, **other})


@pytest.mark.parametrize("flag", [True, False])
def test_the_answer_is_that_of_a_call_with_everything(flag) -> None:
    S, T = np.zeros(1), kept(flag=flag)
    call = hold(told, S, T)
    for n in (1.0, 2.0, 3.0):
        T.whole[2, 1] = 7 + n
        expected = n * -2.5 + 0.5 + 18.0 + (7 + n) + 4 + 6 - 2**40 + (1000.0 if flag else 0.0)
        assert call() == (expected, 15, 12)
        assert S[0] == n


def test_the_call_keeps_its_arrays_alive() -> None:
    S = np.zeros(1)
    call, alive = hold(told, S, kept()), weakref.ref(S)
    del S
    gc.collect()
    assert alive() is not None
    first = call()
    assert call()[0] == first[0] - 2.5
    del call
    gc.collect()
    assert alive() is None


@pytest.mark.skipif(DISABLED or PLAIN, reason="nothing is taken apart")
def test_what_cannot_be_held_is_named() -> None:
    with pytest.raises(TypeError, match=r"^expected arrays, numbers or tuples of these, got 'word'$"):
        hold(told, np.zeros(1), kept(parts=("word", 6)))
