"""Observations of one array or of several named ones: a `Box`, or a `Dict` of boxes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from leafwise.envs.core.contract.game import Game

Observation = NDArray[Any] | dict[str, NDArray[Any]]
"""What an environment returns: one array, or arrays by name."""


def new_observations(game: Game, n: int) -> Any:
    """Returns what `rules.observe` writes n observations to: an array [n, ...], or a NamedTuple of such arrays."""
    space = game.observation_space()
    layout = game.observation.layout
    if layout is None:
        return _zeros(space, n)
    return layout(**{name: _zeros(box, n) for name, box in space.items()})  # type: ignore[union-attr]


def _zeros(box: gym.Space[Any], n: int) -> NDArray[Any]:
    if not isinstance(box, gym.spaces.Box):
        raise TypeError(f"expected a Box, got {box!r}")
    return np.zeros((n, *box.shape), dtype=box.dtype)


def reader(buffer: Any) -> Callable[[], Any]:
    """Returns a function that copies all observations of a buffer: an array, or a dict of arrays."""
    if isinstance(buffer, np.ndarray):
        return buffer.copy
    arrays = buffer._asdict()
    return lambda: {name: array.copy() for name, array in arrays.items()}


def at(buffer: Any, e: int) -> Any:
    """Returns the view of environment e in a buffer, itself a buffer."""
    return buffer[e] if isinstance(buffer, np.ndarray) else type(buffer)(*(array[e] for array in buffer))
