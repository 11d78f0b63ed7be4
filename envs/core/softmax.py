"""Exponentials of any numbers, without overflow and without nan: the terms of a softmax, and the logistic function."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.compile.jit import jit

LARGEST = 709.0
"""The largest number whose exponential is finite, rounded down."""
FAR = 1e300
"""What counts for infinity where differences are taken."""


@jit(inline=True)
def softmax_term(x, greatest):
    """Returns exp(x - greatest) for the greatest of a softmax's numbers: 0 to 1, also where both are infinite."""
    return 1.0 if x == greatest else math.exp(x - greatest)


@jit(inline=True)
def logistic(x):
    """Returns 1 / (1 + exp(-x))."""
    return 1.0 / (1.0 + math.exp(min(-x, LARGEST)))


def logistic_of(x: NDArray[Any]) -> NDArray[np.float64]:
    """Returns `logistic` of every number of an array."""
    return np.asarray(1.0 / (1.0 + np.exp(np.minimum(-x, LARGEST))), dtype=np.float64)


@jit(inline=True)
def win_less_loss(win, draw, loss):
    """Returns the chance to win less that to lose, from three numbers whose softmax the chances to win, draw and lose are.

    The first is subtracted from all where no exponential can then overflow, else the greatest: both give the same chances, the
    first those of published figures to the last bit.
    """
    greatest = max(win, draw, loss)
    shift = win if greatest < win + 0.5 * LARGEST else greatest
    won, drawn, lost = softmax_term(win, shift), softmax_term(draw, shift), softmax_term(loss, shift)
    return (won - lost) / (won + drawn + lost)


def win_less_loss_of(x: NDArray[Any]) -> NDArray[np.float64]:
    """Returns `win_less_loss` of every row of an array [n, 3]."""
    x = np.clip(x.astype(np.float64), -FAR, FAR)
    win, greatest = x[:, :1], x.max(axis=1, keepdims=True)
    won, drawn, lost = np.exp(x - np.where(greatest < win + 0.5 * LARGEST, win, greatest)).T
    return np.asarray((won - lost) / (won + drawn + lost), dtype=np.float64)
